package mixed

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/difalt/difalt/internal/check"
	"github.com/difalt/difalt/internal/dense"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// withFlag returns a table of tasks of 20 rows where a flag is 1 in ten rows of some tasks, and in one row of
// each of so many others; and the numbers and the target of these rows.
func withFlag(tasks, full, alone int) (d *Data, wanted [][]float64) {
	d = drawn(uint64(alone), "v", 3, slices.Repeat([]int{20}, tasks)...)
	flag, r := make([]float64, d.Rows()), rand.New(rand.NewPCG(uint64(alone), 23))
	for i := range flag {
		for j := range 3 {
			d.Values[j][i] = float64(r.IntN(41)-20) / 10
		}
		k := i / 20
		if k < full && i%2 == 0 {
			flag[i] = 1
		}
		if k >= full && k < full+alone && i%20 == k%20 {
			flag[i] = 1
			wanted = append(wanted, []float64{d.Values[0][i], d.Values[1][i], d.Values[2][i], d.Targets[i]})
		}
	}
	d.Names, d.Values = append(d.Names, "flag"), append(d.Values, flag)
	return d, wanted
}

// polesRead counts the rows that a center reads of those with a flag that are alone with it in their task. It
// has the owners add up without deviations, and for two strengths along the direction that is the flag: their
// totals tell sums over the tasks with one such row apart from those with ten.
func polesRead(t *testing.T, alone int, o Options) (right, asked int, failed error) {
	rank, times := 1, 0
	o.Rank, o.CommonNoise = &rank, true
	victim, wanted := withFlag(40, 4, alone)
	own, _ := withFlag(10, 2, 0)
	strengths := []float64{0, 1, 3}
	from := make([]int, len(strengths))
	l := &steerer{}
	l.lie = func(f *fitter, name string, v []float64) {
		if f.plain == nil || times == len(from) {
			return
		}
		w := f.plain.steersTo(name, v)
		if w == nil {
			return
		}
		if s := strengths[times]; s > 0 {
			d := f.plain.design
			j := slices.Index(f.rows.schema.Features(), "flag")
			w[0], w[1+j] = s*d.Center[j], s*d.Scale[j]
		}
		from[times] = len(l.heard) + 1
		times++
	}
	_, err := l.trainBeside(t, Input{Table: victim}, Input{Table: own}, o)
	if times < len(from) {
		return 0, len(wanted), err
	}
	s := l.fit.plain
	p := s.p
	less := func(k int) []float64 { // sum over tasks of p p'/(1/strength^2 + a)
		d := l.heard[from[0]+1].others()
		floats.Sub(d, l.heard[from[k]+1].others())
		return d
	}
	one, two := less(1), less(2)
	factor := func(k int, a float64) float64 { return 1 / (1/square(strengths[k]) + a) }
	const ten = 10
	det := factor(1, 1)*factor(2, ten) - factor(2, 1)*factor(1, ten)
	sums := make([]float64, len(one))
	floats.AddScaled(sums, factor(2, ten)/det, one)
	floats.AddScaled(sums, -factor(1, ten)/det, two)
	g := make([]float64, p*p)
	dense.Unpack(g, p, sums)
	dense.Mirror(p, g)
	return readFlag(l.fit, s.design, g, sums[dense.Triangle(p):][:p], wanted), len(wanted), nil
}

// readFlag counts the rows with a flag that follow from their X'X, p x p, and X'y.
func readFlag(f *fitter, d *Design, g, xy []float64, wanted [][]float64) (right int) {
	p, features := d.Width(), f.rows.schema.Features()
	null := nullSpace(g, p, 1e-9)
	if len(null) < 2 { // the flag is the constant in these rows
		return 0
	}
	x, row := make([]float64, len(features)), make([]float64, p)
	x[slices.Index(features, "flag")] = 1
	var found [][]float64
	var columns []float64
	for _, x[0] = range steps(-2, 2) {
		for _, x[1] = range steps(-2, 2) {
			for _, x[2] = range steps(-2, 2) {
				ordered := make([]float64, len(features))
				for j := range 3 {
					ordered[slices.Index(features, []string{"x0", "x1", "x2"}[j])] = x[j]
				}
				ordered[slices.Index(features, "flag")] = 1
				d.Apply(row, ordered)
				if offSpace(row, null) < 1e-12 {
					found, columns = append(found, []float64{x[0], x[1], x[2]}), append(columns, row...)
				}
			}
		}
	}
	for k, target := range f.targetsOf(columns, xy, p) {
		for _, want := range wanted {
			if slices.Equal(found[k], want[:3]) && math.Abs(target-want[3]) < .05 {
				right++
			}
		}
	}
	return right
}

// Two strengths along one direction tell tasks apart by their numbers of rows with a value, in a table of any
// size: so a center reads rows that are alone with a value in their task, if these are fewer than columns.
// Only strict rules leave such rows out. docs/privacy.md has the numbers.
func TestPolesOfAFlag(t *testing.T) {
	for name, c := range map[string]struct {
		o     Options
		reads bool
	}{"without rules": {open, true}, "default rules": {Options{}, true}, "strict rules": {strictly, false}} {
		for _, alone := range []int{1, 2} {
			right, asked, err := polesRead(t, alone, c.o)
			check.FailIf(t, err != nil, "%s: %v", name, err)
			t.Logf("%s: %d of %d rows are read", name, right, asked)
			if c.reads && right < asked || !c.reads && right > 0 {
				t.Errorf("%s: %d of %d rows are read", name, right, asked)
			}
		}
	}
}

// readProducts counts the rows alone with the flag in their task that follow from the sums of products of
// every task. r are the rows of the victim that are in totals.
func readProducts(r *rows, victim *Data, wanted [][]float64) (right int) {
	for _, k := range r.list {
		sums := make([]float64, 5) // of the flag times 1, the numbers, and the target
		for _, i := range r.of(k) {
			row := []float64{1}
			for j := range 3 {
				row = append(row, victim.Values[j][i])
			}
			row = append(row, victim.Targets[i])
			floats.AddScaled(sums, victim.Values[3][i], row)
		}
		if sums[0] == 1 && slices.ContainsFunc(wanted, func(w []float64) bool { return slices.Equal(w, sums[1:]) }) {
			right++
		}
	}
	return right
}

// Somebody who knows the sums of products of every task, as members may in tables of few tasks, reads no row
// that is alone with a value in its task.
func TestRowsAloneInTasks(t *testing.T) {
	for rules, o := range map[bool]Options{false: open, true: {}} {
		victim, wanted := withFlag(8, 4, 4)
		own, _ := withFlag(10, 2, 0)
		fits, errs := describeTogether(t, []Input{{Table: victim}, {Table: own}}, o)
		check.Done(errs[0])
		right := readProducts(fits[0].rows, victim, wanted)
		check.FailIf(t, rules == (right == len(wanted)) || rules && right > 0,
			"rules %v: %d of %d rows are read", rules,
			right, len(wanted))
	}
}

// Two of three owners that pool what they know are one reader of the third one, whose tasks alone hide each
// other. They read the rows alone with a flag in 12 tasks whose products they know; none where that owner
// reckons with them. With two owners there is one reader in any case, and of two in five none reads alone.
func TestColluders(t *testing.T) {
	for name, c := range map[string]struct {
		others, colluding, limit, read int
	}{
		"three owners, each alone": {2, 0, 10, 4},
		"two of three pool":        {2, 2, 20, 0},
		"more than there are pool": {2, 9, 20, 0},
		"three of five pool":       {4, 3, 10, 4},
		"all others of five pool":  {4, 4, 20, 0},
		"two owners":               {1, 0, 20, 0},
	} {
		victim, wanted := withFlag(12, 8, 4)
		list := []Input{{Table: victim}}
		for range c.others {
			own, _ := withFlag(20, 2, 0)
			list = append(list, Input{Table: own})
		}
		o := Options{Disclosure: Disclosure{Colluding: c.colluding}}
		fits, errs := describeTogether(t, list, o)
		check.Done(errs[0])
		g := fits[0].rows.guard
		right := readProducts(fits[0].rows, victim, wanted)
		if right != c.read || g.LeastSmall != c.limit {
			t.Errorf("%s: %d of %d rows are read, want %d; %d small tasks hide each other, want %d",
				name, right, len(wanted), c.read, g.LeastSmall, c.limit)
		}
		said := slices.ContainsFunc(g.did, func(note string) bool { return strings.Contains(note, "--colluding") })
		check.FailIf(t, said != (c.colluding > 1), "%s: the report says %q", name, g.did)
	}
}

// ofSizes returns a table of tasks of different sizes, in each of which one row has a flag; beside tasks of
// 20 rows of which ten have it, and tasks of 200 rows without it. wanted has the number and the target of the
// rows that are alone with the flag.
func ofSizes(seed uint64, sizes []int) (d *Data, wanted [][]float64) {
	rows := slices.Concat(sizes, slices.Repeat([]int{20}, 4), slices.Repeat([]int{200}, 20))
	d = drawn(seed, "v", 1, rows...)
	flag, place := make([]float64, d.Rows()), 0
	for i, k := range d.TaskOf {
		if i > 0 && d.TaskOf[i-1] != k {
			place = 0
		}
		switch {
		case k < len(sizes) && place == k:
			flag[i] = 1
			wanted = append(wanted, []float64{d.Values[0][i], d.Targets[i]})
		case k >= len(sizes) && k < len(sizes)+4 && place < 10:
			flag[i] = 1
		}
		place++
	}
	d.Names, d.Values = append(d.Names, "flag"), append(d.Values, flag)
	return d, wanted
}

// A poleScan has the directions of sizesRead: for every share of the constant beside a flag, a strength for
// each pole.
type poleScan struct {
	sizes     []int // of tasks with one row with the flag
	shares    []float64
	strengths []float64
}

func newPoleScan(sizes []int) *poleScan {
	s := &poleScan{sizes, []float64{-.3, .5, 1}, nil}
	for _, share := range s.shares {
		for _, a := range s.poles(share) {
			s.strengths = append(s.strengths, 1/math.Sqrt(a))
		}
	}
	return s
}

// poles returns the poles of the tasks of ofSizes: of those with ten rows with the flag, of those without it,
// and of the tasks of each size.
func (s *poleScan) poles(share float64) []float64 {
	pole := func(rows, having int) float64 {
		return float64(having)*square(1+share) + float64(rows-having)*square(share)
	}
	list := []float64{pole(20, 10), pole(200, 0)}
	for _, n := range s.sizes {
		list = append(list, pole(n, 1))
	}
	return list
}

// sums returns the sums over the rows with the flag of the task of a size, times one of them. without is the
// total without deviations, and with the totals for all strengths. It is nil where poles are too near.
func (s *poleScan) sums(size int, without []float64, with [][]float64) []float64 {
	at := make([]float64, len(without))
	for e, share := range s.shares {
		list := s.poles(share)
		n := len(list)
		factors := mat.NewDense(n, n, nil)
		for i := range n {
			for j, a := range list {
				factors.Set(i, j, 1/(1/square(s.strengths[e*n+i])+a))
			}
		}
		extrapolated := 1.0 // to a share of 0, by the polynomial through all shares
		for _, other := range s.shares {
			if other != share {
				extrapolated *= other / (other - share)
			}
		}
		wanted, weights := mat.NewVecDense(n, nil), mat.VecDense{}
		wanted.SetVec(n-len(s.sizes)+size, extrapolated)
		if weights.SolveVec(factors.T(), wanted) != nil {
			return nil
		}
		for i := range n {
			floats.AddScaled(at, weights.AtVec(i), without)
			floats.AddScaled(at, -weights.AtVec(i), with[e*n+i])
		}
	}
	return at
}

// sizesRead counts the rows that a center reads of those that are alone with a flag in tasks of different
// sizes. It has the owners add up for some strengths along directions of the flag and a share of the
// constant. Tasks of one size and number of rows with the flag have one pole, so that their sums are told
// apart; and these are polynomials of the share, which are about the rows with the flag alone where it is 0.
func sizesRead(t *testing.T, sizes []int, o Options) (right, asked int, failed error) {
	rank, times, scan := 1, 0, newPoleScan(sizes)
	o.Rank, o.CommonNoise = &rank, true
	victim, wanted := ofSizes(131, sizes)
	own, _ := ofSizes(132, nil)
	from := make([]int, 1+len(scan.strengths)) // the first one without deviations
	l := &steerer{}
	l.lie = func(f *fitter, name string, v []float64) {
		if f.plain == nil || times == len(from) {
			return
		}
		w := f.plain.steersTo(name, v)
		if w == nil {
			return
		}
		if times > 0 {
			d, j := f.plain.design, slices.Index(f.rows.schema.Features(), "flag")
			s, share := scan.strengths[times-1], scan.shares[(times-1)/len(scan.poles(0))]
			w[0], w[1+j] = s*(d.Center[j]+share), s*d.Scale[j]
		}
		from[times] = len(l.heard) + 1
		times++
	}
	_, err := l.trainBeside(t, Input{Table: victim}, Input{Table: own}, o)
	if times < len(from) {
		return 0, len(wanted), err
	}
	var totals [][]float64
	for _, k := range from {
		totals = append(totals, l.heard[k+1].others())
	}
	f := l.fit
	d, j := f.plain.design, slices.Index(f.rows.schema.Features(), "x0")
	for k := range sizes {
		sums := scan.sums(k, totals[0], totals[1:])
		if sums == nil {
			continue
		}
		x := d.Center[j] + d.Scale[j]*sums[1+j]/sums[0]
		y := f.rows.target.Restore(sums[dense.Triangle(f.plain.p)] / sums[0])
		if math.Abs(x-wanted[k][0]) < .05 && math.Abs(y-wanted[k][1]) < .05 {
			right++
		}
	}
	return right, len(wanted), nil
}

// Directions of a flag and the constant tell tasks apart by their sizes, too: a center then reads rows that
// are alone with the flag in their task where these are more than the columns. docs/privacy.md has the
// numbers.
func TestPolesOfSizes(t *testing.T) {
	for name, c := range map[string]struct {
		o     Options
		reads bool
	}{"without rules": {open, true}, "default rules": {Options{}, true}, "strict rules": {strictly, false}} {
		right, asked, err := sizesRead(t, []int{16, 26, 42}, c.o)
		check.FailIf(t, err != nil, "%s: %v", name, err)
		t.Logf("%s: %d of %d rows are read", name, right, asked)
		check.FailIf(t, c.reads != (right == asked) || !c.reads && right > 0,
			"%s: %d of %d rows are read", name, right, asked)
	}
}
