package mixed

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/difalt/difalt/internal/check"
	"github.com/difalt/difalt/internal/dense"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// The tests of this file are a member of two that lies: by rows that it has made up, which move the knots of
// curves, or as the center of the network, which says at which strengths all owners add up. What it reads is
// in docs/privacy.md; `go test -run 'TestKnotsSteered|TestStrengthsSteered|TestWhatALiarReads' -v ./mixed`
// prints the numbers.

// strictly are options with the strict rules.
var strictly = Options{Disclosure: Disclosure{Strict: true}}

// A steerer is a listener that replaces what it decides for all owners. The network has the path of two
// nodes, whose center it is.
type steerer struct {
	listener
	lie func(f *fitter, name string, v []float64) // nil: it decides as all would
	add func(f *fitter, name string, v []float64) // to its part of a total; nil: nothing
	fit *fitter
	// partner is the table of a second liar, which tells it its rows; nil: there is none. Its rows may be
	// made up.
	partner *Data
}

// Add implements Sums.
func (l *steerer) Add(ctx context.Context, name string, v []float64, d *Decision) error {
	if l.add != nil {
		l.add(l.fit, name, v)
	}
	if d != nil && l.lie != nil {
		honest := d.Decide
		d.Decide = func(total []float64) {
			honest(total)
			l.lie(l.fit, name, d.Numbers)
		}
	}
	return l.listener.Add(ctx, name, v, d)
}

// steersTo alters what is decided for the only optimiser of a form so that it goes on, whatever its
// evidence, to strengths without deviations but for loadings, which the result has room for, and with a
// noise of 1. It is nil where the numbers are not about the next point.
func (s *stats) steersTo(name string, v []float64) (loadings []float64) {
	const rank = 1
	n := groups + rank*s.linear + 1 + len(s.design.Curves) + 1
	switch {
	case strings.HasPrefix(name, "X'V^-1 X") && len(v) == 1+n: // a point is as high as the best one
		v[0] = 1
	case strings.HasPrefix(name, "scores") && len(v) == decisions+n:
		clear(v[:decisions+groups+rank*s.linear])
		v[len(v)-1] = 1
		return v[decisions+groups:][:rank*s.linear]
	}
	return nil
}

// trainBeside trains with a victim, and returns the report of the victim, or its error.
func (l *steerer) trainBeside(t *testing.T, victim, own Input, o Options) (report *Report, failed error) {
	t.Helper()
	nodes := 2
	if l.partner != nil {
		nodes = 3
	}
	net := network("path", nodes)
	seats, center := newMeeting(net), net.Graph().Center()
	honest, mine, first := o, o, 1-center
	l.seat = seats[center]
	honest.Sums, mine.Sums, mine.Disclosure = seats[first], l, open.Disclosure
	l.fit = &fitter{Options: mine, in: &own}
	var wait sync.WaitGroup
	wait.Go(func() {
		if _, report, failed = (&fitter{Options: honest, in: &victim}).fit(t.Context()); failed != nil {
			seats[first].leave(failed)
		}
	})
	wait.Go(func() {
		if _, _, err := l.fit.fit(t.Context()); err != nil {
			l.leave(err)
		}
	})
	second := &listener{}
	if l.partner != nil {
		theirs := mine
		second.seat = seats[2]
		theirs.Sums = second
		wait.Go(func() {
			if _, _, err := (&fitter{Options: theirs, in: &Input{Table: l.partner}}).fit(t.Context()); err != nil {
				second.leave(err)
			}
		})
	}
	wait.Wait()
	for i := range min(len(second.heard), len(l.heard)) {
		if !l.heard[i].agreed {
			floats.Add(l.heard[i].own, second.heard[i].own)
		}
	}
	return report, failed
}

// nullSpace returns an orthonormal basis of the vectors that a symmetric matrix takes to 0, by columns, nil
// for none.
func nullSpace(a []float64, p int, least float64) (list [][]float64) {
	values, vectors := eigenOf(a, p)
	for k := 0; k < len(values) && math.Abs(values[k]) < least*values[p-1]; k++ {
		list = append(list, mat.Col(nil, k, vectors))
	}
	return list
}

// not determine them.
func (f *fitter) targetsOf(columns, xy []float64, p int) (list []float64) {
	var y mat.VecDense
	rows := len(columns) / p
	if rows == 0 || rows > p ||
		y.SolveVec(mat.NewDense(rows, p, columns).T(), mat.NewVecDense(p, xy)) != nil {
		return nil
	}
	for k := range rows {
		list = append(list, f.rows.target.Restore(y.AtVec(k)))
	}
	return list
}

// offSpace returns the squared length of the part of v in a space with an orthonormal basis, as a share of
// that of v.
func offSpace(v []float64, basis [][]float64) float64 {
	sum := 0.0
	for _, b := range basis {
		sum += square(floats.Dot(v, b))
	}
	return sum / floats.Dot(v, v)
}

// steps are the numbers on the grid of the drawn tables.
func steps(from, to float64) (list []float64) {
	for k := math.Round(10 * from); k <= math.Round(10*to); k++ {
		list = append(list, k/10)
	}
	return list
}

// knotsSteered counts the complete rows that a liar reads of the rows of a victim beyond 6 in its first
// column, which it chooses. Rows that it makes up move the knots there, so that some functions of the curve
// are 0 in all other rows.
func knotsSteered(t *testing.T, tail int, o Options) (right int, report *Report) {
	victim := drawn(uint64(tail), "v", 2, slices.Repeat([]int{50}, 10)...)
	r := rand.New(rand.NewPCG(uint64(tail), 21))
	for i := range victim.Values[0] {
		victim.Values[0][i] = max(min(victim.Values[0][i], 5), -5)
	}
	var wanted [][2]float64
	places := r.Perm(35)
	for k := range tail {
		i := 500 * k / tail
		victim.Values[0][i] = float64(65+places[k%len(places)]) / 10
		wanted = append(wanted, [2]float64{victim.Values[0][i], victim.Values[1][i]})
	}
	made := drawn(2, "a", 2, slices.Repeat([]int{400}, 60)...)
	for i := range made.Values[0] {
		made.Values[0][i] = 6 + 4*r.Float64()
	}
	l := &steerer{}
	report, _ = l.trainBeside(t, Input{Table: victim}, Input{Table: made}, o)
	list := totalsOf(l.heard, "X'X")
	if len(list) < 2 || l.fit.curved == nil {
		return 0, report
	}
	return readTail(l.fit.curved.design, list[1].others(), wanted), report
}

// readTail counts the rows that follow from X'X, packed, of rows of which few lie beyond 6 in the first
// column.
func readTail(d *Design, packed []float64, wanted [][2]float64) (right int) {
	p := d.Width()
	g := make([]float64, p*p)
	dense.Unpack(g, p, packed)
	dense.Mirror(p, g)
	curve := slices.IndexFunc(d.Curves, func(c Curve) bool { return c.Feature == 0 })
	if curve < 0 {
		return 0
	}
	var own []int // the columns that are functions of the first feature
	for j, c := range d.Columns() {
		if j == 0 || c.Kind == LinearColumn && c.Feature == 0 || c.Kind == CurveColumn && c.Curve == curve {
			own = append(own, j)
		}
	}
	n := len(own)
	column := make([]float64, p)
	functions := func(x float64) (list []float64) {
		d.Apply(column, []float64{x, 0})
		for _, j := range own {
			list = append(list, column[j])
		}
		return list
	}
	elsewhere := make([]float64, n*n)
	for _, x := range steps(-5, 5) {
		v := functions(x)
		for i := range v {
			floats.AddScaled(elsewhere[i*n:][:n], v[i], v)
		}
	}
	local := nullSpace(elsewhere, n, 1e-12) // functions that are 0 in all other rows
	q := len(local)
	if q == 0 {
		return 0
	}
	values := func(x float64) (list []float64) {
		v := functions(x)
		for _, b := range local {
			list = append(list, floats.Dot(b, v))
		}
		return list
	}
	products := make([]float64, q*q) // of local functions over the rows in the tail
	second := make([]float64, q)     // and of them and the second column
	for a, u := range local {
		for i, at := range own {
			for b, v := range local {
				for k, to := range own {
					products[a*q+b] += u[i] * g[at*p+to] * v[k]
				}
			}
			second[a] += u[i] * g[at*p+2]
		}
	}
	null := nullSpace(products, q, 1e-9)
	if len(null) == 0 {
		return 0
	}
	var found []float64
	for _, x := range steps(6, 10) {
		if v := values(x); offSpace(v, null) < 1e-7 {
			found = append(found, x)
		}
	}
	if len(found) == 0 || len(found) > q {
		return 0
	}
	f := mat.NewDense(q, len(found), nil)
	for k, x := range found {
		f.SetCol(k, values(x))
	}
	var z mat.VecDense
	if z.SolveVec(f, mat.NewVecDense(q, second)) != nil {
		return 0
	}
	for _, row := range wanted {
		k := slices.Index(found, row[0])
		if k >= 0 && math.Abs(d.Center[1]+d.Scale[1]*z.AtVec(k)-row[1]) < .05 {
			right++
		}
	}
	return right
}

// Knots that a member has moved into a tail of few rows show these rows; with the rules they show none, since
// the owner votes against the curve after the knots are known.
func TestKnotsSteered(t *testing.T) {
	for _, tail := range []int{1, 2, 3, 11, 200} {
		off, _ := knotsSteered(t, tail, open)
		on, report := knotsSteered(t, tail, Options{})
		strict, _ := knotsSteered(t, tail, strictly)
		t.Logf("%d rows in the tail: %d read without rules, %d with them", tail, off, on)
		if on+strict > 0 || tail <= 3 && off < tail {
			t.Errorf("%d rows in the tail: %d read without rules, %d with them", tail, off, on)
		}
		voted := func(note string) bool { return strings.Contains(note, `the curve of "x0": fewer than 12`) }
		if report == nil || slices.ContainsFunc(report.Notes, voted) != (tail < 12) {
			t.Errorf("%d rows in the tail: the report is %v", tail, report)
		}
	}
}

// withLevel returns a table of tasks of 20 rows where so many rows of different tasks have the level secret,
// and x2 differs from x1 in these rows alone, by 1; and what a liar wants: the numbers and the target of
// these rows.
func withLevel(tasks, rare int) (d *Data, wanted [][]float64) {
	d = drawn(uint64(rare), "v", 2, slices.Repeat([]int{20}, tasks)...)
	kind, r := make([]float64, d.Rows()), rand.New(rand.NewPCG(uint64(rare), 22))
	for i := range kind {
		d.Values[0][i], d.Values[1][i] = float64(r.IntN(81)-40)/10, float64(r.IntN(81)-40)/10
		kind[i] = float64(i % 2)
		if k := i / 20; i%20 == k%20 && k < rare {
			kind[i] = 2
			wanted = append(wanted, []float64{d.Values[0][i], d.Values[1][i], d.Targets[i]})
		}
	}
	second := slices.Clone(d.Values[1])
	for i, k := range kind {
		second[i] += max(k-1, 0)
	}
	d.Names, d.Values = append(d.Names, "kind", "x2"), append(d.Values, kind, second)
	d.Levels = [][]string{nil, nil, {"a", "b", "secret"}, nil}
	return d, wanted
}

// A steering gives the constant and the columns of levels the weights of one direction, from the features of
// all owners.
type steering func(d *Design, features []string) []float64

// byLevel is the direction that is 1 in rows with the level secret, and 0 in all others.
func byLevel(d *Design, features []string) []float64 {
	w := make([]float64, 1+len(features))
	j := slices.Index(features, "kind=secret")
	w[0], w[1+j] = d.Center[j], d.Scale[j]
	return w
}

// byOtherLevels is the same direction, from the other levels: 1 less all of them.
func byOtherLevels(d *Design, features []string) []float64 {
	w := make([]float64, 1+len(features))
	w[0] = 1
	for j, name := range features {
		if name == "kind=a" || name == "kind=b" {
			w[0] -= d.Center[j]
			w[1+j] = -d.Scale[j]
		}
	}
	return w
}

// byDifference is the same direction, from two columns of numbers: x2 less x1.
func byDifference(d *Design, features []string) []float64 {
	w := make([]float64, 1+len(features))
	one, two := slices.Index(features, "x1"), slices.Index(features, "x2")
	w[0] = d.Center[two] - d.Center[one]
	w[1+one], w[1+two] = -d.Scale[one], d.Scale[two]
	return w
}

// strengthsSteered counts the complete rows, with the target, that a center reads of the rows with a level.
// It has the owners add up once without deviations, and once where the only one is along a direction. The
// difference of the two totals is half the sum of x x' over the rows with the level, and of x y.
func strengthsSteered(t *testing.T, rare int, to steering, o Options) (right int, report *Report) {
	rank, times := 1, 0
	o.Rank, o.CommonNoise = &rank, true
	victim, wanted := withLevel(40, rare)
	own, _ := withLevel(10, 3)
	var from [2]int // places of what is agreed on in all that is heard
	l := &steerer{}
	l.lie = func(f *fitter, name string, v []float64) {
		s := f.formSteered()
		if f.first == nil || times == len(from) { // rank 0 and the simpler methods come first
			return
		}
		w := s.steersTo(name, v)
		if w == nil {
			return
		}
		if times == 1 {
			copy(w, to(s.design, f.rows.schema.Features()))
		}
		from[times] = len(l.heard) + 1 // after the total that the decision follows from
		times++
	}
	report, err := l.trainBeside(t, Input{Table: victim}, Input{Table: own}, o)
	check.FailIf(t, times < len(from), "nothing was steered: %v", err)
	s := l.fit.formSteered()
	p := s.p
	d := l.heard[from[0]+1].others()
	floats.Sub(d, l.heard[from[1]+1].others())
	floats.Scale(2, d) // of a row alone in its task, 1 - 1/(1 + 1) is left
	g := make([]float64, p*p)
	dense.Unpack(g, p, d)
	dense.Mirror(p, g)
	return readLevel(l.fit, s.design, g, d[dense.Triangle(p):][:p], wanted), report
}

// formSteered returns the form of the model that a liar steers: that with curves, if there are any.
func (f *fitter) formSteered() *stats {
	if f.curved != nil {
		return f.curved
	}
	return f.plain
}

// readLevel counts the rows with a level that follow from their X'X, p x p, and X'y.
func readLevel(f *fitter, d *Design, g, xy []float64, wanted [][]float64) (right int) {
	p, features := d.Width(), f.rows.schema.Features()
	null := nullSpace(g, p, 1e-12)
	if len(null) == 0 {
		return 0
	}
	x := make([]float64, len(features))
	x[slices.Index(features, "kind=secret")] = 1
	a, b, c := slices.Index(features, "x0"), slices.Index(features, "x1"), slices.Index(features, "x2")
	var found [][]float64
	var columns []float64
	for _, x[a] = range steps(-4, 4) {
		for _, x[b] = range steps(-4, 4) {
			row := make([]float64, p)
			x[c] = x[b] + 1
			d.Apply(row, x)
			if offSpace(row, null) < 1e-15 {
				found = append(found, []float64{x[a], x[b]})
				columns = append(columns, row...)
			}
		}
	}
	for k, target := range f.targetsOf(columns, xy, p) {
		for _, row := range wanted {
			if at := found[k]; at[0] == row[0] && at[1] == row[1] && math.Abs(target-row[2]) < .05 {
				right++
			}
		}
	}
	return right
}

// Strengths that a member chooses show the rows of a level of fewer rows than columns.
func TestStrengthsSteered(t *testing.T) {
	for name, to := range map[string]steering{
		"its column":   byLevel,
		"other levels": byOtherLevels,
		"a difference": byDifference,
	} {
		for _, rare := range []int{2, 12, 16, 26} {
			off, _ := strengthsSteered(t, rare, to, open)
			on, _ := strengthsSteered(t, rare, to, Options{})
			strict, _ := strengthsSteered(t, rare, to, strictly)
			t.Logf("%s: level of %d rows: %d read without rules, %d with them, %d with strict ones", name, rare, off,
				on, strict)
			if on+strict > 0 || rare <= 16 && off < rare {
				t.Errorf("%s: level of %d rows: %d read without rules, %d with them", name, rare, off, on)
			}
		}
	}
}

// smallRead counts the tasks of so many rows of which a center reads the last column and the target, knowing
// the others: as many as rows. For a task it has all owners add up with a huge deviation along the direction
// that is 0 in these rows, and near that direction, towards ones that are 1 in one of the rows. Elsewhere the
// totals hardly change; the difference of a pair is the products of that row.
func smallRead(t *testing.T, size int, partner *Data, o Options) (right, asked int) {
	const first, many, large, near = 300, 120, 1e5, 5e-4
	rows := slices.Concat(slices.Repeat([]int{30}, first/30), slices.Repeat([]int{size}, many))
	victim, own := drawn(31, "v", size+1, rows...), drawn(32, "a", size+1, 30, 30, 30)
	count := map[float64]int{}
	for _, x := range victim.Values[0][first:] {
		count[x]++
	}
	var wanted []int // first rows of tasks
	for i := first; i < victim.Rows() && len(wanted) < 36/(1+2*size); i += size {
		if size > 1 || count[victim.Values[0][i]] == 1 {
			wanted = append(wanted, i)
		}
	}
	// For every task the direction, and the two beside it for every row; constant first, of columns as
	// they are.
	var directions [][]float64
	for _, at := range wanted {
		known := mat.NewDense(size, size+1, nil)
		for i := range size {
			known.Set(i, 0, 1)
			for j := range size {
				known.Set(i, 1+j, victim.Values[j][at+i])
			}
		}
		var svd mat.SVD
		check.FailIf(t, !svd.Factorize(known, mat.SVDFull), "no singular values")
		var v, inverse, squared mat.Dense
		svd.VTo(&v)
		squared.Mul(known, known.T())
		check.Done(inverse.Solve(&squared, known)) // (K K')^-1 K, whose rows are 1 in one row and 0 in the others
		zero := mat.Col(nil, size, &v)
		directions = append(directions, zero)
		for i := range size {
			for _, sign := range []float64{1, -1} {
				beside := slices.Clone(zero)
				floats.AddScaled(beside, sign*near, inverse.RawRowView(i))
				directions = append(directions, beside)
			}
		}
	}
	rank, times := 1, 0
	o.Rank, o.CommonNoise = &rank, true
	from := make([]int, len(directions)) // places of what is agreed on in all that is heard
	l := &steerer{partner: partner}
	l.lie = func(f *fitter, name string, v []float64) {
		if f.plain == nil || times == len(from) {
			return
		}
		w := f.plain.steersTo(name, v)
		if w == nil {
			return
		}
		d, direction := f.plain.design, directions[times]
		w[0] = large * direction[0]
		for j := range size {
			w[0] += large * direction[1+j] * d.Center[j]
			w[1+j] = large * direction[1+j] * d.Scale[j]
		}
		from[times] = len(l.heard) + 1
		times++
	}
	_, err := l.trainBeside(t, Input{Table: victim}, Input{Table: own}, o)
	check.FailIf(t, times < len(from), "nothing was steered: %v", err)
	d, target, p := l.fit.plain.design, l.fit.rows.target, l.fit.plain.p
	heard := func(k int) []float64 { return l.heard[from[k]+1].others() }
	for k, at := range wanted {
		each := 1 + 2*size
		read := true
		for i := range size {
			sum := heard(k * each) // the products of the row: 1, the columns, and behind them the target
			floats.AddScaled(sum, -.5, heard(k*each+1+2*i))
			floats.AddScaled(sum, -.5, heard(k*each+2+2*i))
			other := d.Center[size] + d.Scale[size]*sum[1+size]/sum[0]
			y := target.Restore(sum[dense.Triangle(p)] / sum[0])
			read = read && math.Abs(other-victim.Values[size][at+i]) < .05 && math.Abs(y-victim.Targets[at+i]) < .05
		}
		if read {
			right++
		}
	}
	return right, len(wanted)
}

// A center reads tasks of few rows of which it knows as many columns as they have rows, although the rules of
// owners hold: the rules leave tasks of one row out, and only strict ones the others. SECURITY.md says so.
func TestWhatALiarReads(t *testing.T) {
	for size := 1; size <= 3; size++ {
		for name, c := range map[string]struct {
			o     Options
			reads bool
		}{
			"without rules":          {open, true},
			"default rules":          {Options{}, size > 1},
			"strict rules":           {strictly, false},
			"strict rules, no curve": {Options{NoCurves: true, Disclosure: Disclosure{Strict: true}}, false},
		} {
			read, asked := smallRead(t, size, nil, c.o)
			t.Logf("%s: %d of %d tasks of %d rows were read", name, read, asked, size)
			if c.reads && read < asked || !c.reads && read > 0 {
				t.Errorf("%s: %d of %d tasks of %d rows were read", name, read, asked, size)
			}
		}
	}
}

// Two liars of three owners that pool what they know read tasks of two rows and of three as one of two owners
// does, also where the third one reckons with them: numbers of tasks do not hide such tasks from a liar. They
// read none under strict rules.
func TestTwoLiars(t *testing.T) {
	for size := 1; size <= 3; size++ {
		for name, c := range map[string]struct {
			rules Disclosure
			reads bool
		}{
			"without rules": {open.Disclosure, true},
			"default rules": {Disclosure{}, size > 1},
			"colluding":     {Disclosure{Colluding: 2}, size > 1},
			"strict rules":  {Disclosure{Strict: true, Colluding: 2}, false},
		} {
			partner := drawn(33, "b", size+1, 30, 30, 30)
			read, asked := smallRead(t, size, partner, Options{Disclosure: c.rules})
			t.Logf("%s: %d of %d tasks of %d rows were read", name, read, asked, size)
			if c.reads && read < asked || !c.reads && read > 0 {
				t.Errorf("%s: %d of %d tasks of %d rows were read", name, read, asked, size)
			}
		}
	}
}
