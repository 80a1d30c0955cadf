package mixed

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/transport"
	"github.com/difalt/difalt/internal/check"
	"github.com/difalt/difalt/internal/dense"
	"github.com/difalt/difalt/internal/testnet"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// The tests of this file are a member that follows the program, and reads rows of the other owners from the
// totals. Each attack succeeds where the rules about own rows are off, and reads nothing where they are
// on.

// A heardTotal is a total as a member learns it, and its own part.
type heardTotal struct {
	name       string
	own, total []float64
	agreed     bool // one of the owners has decided on these numbers
}

// others returns the part of the other owners.
func (h *heardTotal) others() []float64 {
	return floats.SubTo(make([]float64, len(h.own)), h.total, h.own)
}

// A listener is the Sums of a member that keeps what it learns.
type listener struct {
	*seat
	heard []heardTotal
}

// Add implements Sums.
func (l *listener) Add(ctx context.Context, name string, v []float64, d *Decision) error {
	own := slices.Clone(v)
	err := l.seat.Add(ctx, name, v, d)
	l.heard = append(l.heard, heardTotal{name, own, slices.Clone(v), false})
	if d != nil {
		l.heard = append(l.heard, heardTotal{"", nil, slices.Clone(d.Numbers), true})
	}
	return err
}

// listen trains with a victim, and returns the training of the listener with all that it has heard.
func listen(t *testing.T, victim, own *Data, o Options) (*fitter, []heardTotal) {
	t.Helper()
	return listenAmong(t, []Input{{Table: victim}}, Input{Table: own}, o)
}

// listenAmong is listen for several victims.
func listenAmong(t *testing.T, victims []Input, own Input, o Options) (*fitter, []heardTotal) {
	t.Helper()
	return listenWith(t, victims, nil, own, o)
}

// listenWith is listenAmong for a listener with partners, which tell it their rows.
func listenWith(t *testing.T, victims, partners []Input, own Input, o Options) (*fitter, []heardTotal) {
	t.Helper()
	all := slices.Concat(victims, partners, []Input{own})
	seats, last := newMeeting(network("path", len(all))), len(all)-1
	l := &listener{seat: seats[last]}
	var f *fitter
	var wait sync.WaitGroup
	for i, in := range all {
		with := o
		if i >= len(victims) {
			with.Disclosure = open.Disclosure // their own rules protect themselves alone
		}
		if with.Sums = seats[i]; i == last {
			with.Sums = l
		}
		fit := &fitter{Options: with, in: &in}
		if i == last {
			f = fit
		}
		wait.Go(func() {
			if _, _, err := fit.fit(t.Context()); err != nil {
				seats[i].leave(err)
			}
		})
	}
	wait.Wait()
	return f, l.heard
}

// totalsOf returns the totals whose name begins so.
func totalsOf(heard []heardTotal, name string) (list []*heardTotal) {
	for i := range heard {
		if strings.HasPrefix(heard[i].name, name) {
			list = append(list, &heard[i])
		}
	}
	return list
}

// grid returns a random number on the grid that the attacks read: .1.
func grid(r *rand.Rand, size float64) float64 { return math.Round(10*size*r.NormFloat64()) / 10 }

// drawn returns a table of tasks with so many rows; the columns are on the grid.
func drawn(seed uint64, name string, columns int, rows ...int) *Data {
	r := rand.New(rand.NewPCG(seed, 9))
	d := &Data{}
	for j := range columns {
		d.Names = append(d.Names, fmt.Sprint("x", j))
	}
	for k, n := range rows {
		for range n {
			x := make([]float64, columns)
			for j := range x {
				x[j] = grid(r, 2)
			}
			check.Done(d.Append(fmt.Sprint(name, k), grid(r, 2)+float64(k)+x[0], x...))
		}
	}
	return d
}

// X'X of few rows has a null space. A row lies off it, and its columns are known functions of one number with
// curves: every number of the grid is tried.
func TestRowsFromGram(t *testing.T) {
	for rows, reads := range map[int]bool{5: true, 6: true, 40: false} {
		for rules, o := range map[bool]Options{false: open, true: {}} {
			victim := drawn(uint64(rows), "v", 1, rows)
			f, heard := listen(t, victim, drawn(1, "a", 1, 30, 30), o)
			found := map[float64]bool{}
			if list := totalsOf(heard, "X'X"); len(list) > 1 && f.curved != nil {
				design, p := f.curved.design, f.curved.p
				g := mat.NewSymDense(p, nil)
				packed := list[1].others()
				full := make([]float64, p*p)
				dense.Unpack(full, p, packed)
				for i := range p {
					for j := i; j < p; j++ {
						g.SetSym(i, j, full[i*p+j])
					}
				}
				var eigen mat.EigenSym
				check.FailIf(t, !eigen.Factorize(g, true), "no eigenvalues")
				var vectors mat.Dense
				eigen.VectorsTo(&vectors)
				values := eigen.Values(nil)
				null := 0
				for null < p && values[null] < 1e-10*values[p-1] {
					null++
				}
				column := make([]float64, p)
				for k := -80; k <= 80 && null > 0; k++ {
					x := float64(k) / 10
					design.Apply(column, []float64{x})
					off := 0.0
					for j := range null {
						off += square(floats.Dot(column, mat.Col(nil, j, &vectors)))
					}
					if off < 1e-9*floats.Dot(column, column) {
						found[x] = true
					}
				}
			}
			right := 0
			for _, x := range victim.Values[0] {
				if found[x] {
					right++
				}
			}
			all := reads && !rules
			if all && (right < rows || len(found) > rows) || !all && right > 0 {
				t.Errorf("%d rows, rules %v: %d of them were read, among %d values", rows, rules, right, len(found))
			}
		}
	}
}

// rowOfLevel reads the features of the only row with a level, or with another value than 0 in a column, from
// its line of X'X: those of feature j are value times that of the row.
func rowOfLevel(f *fitter, heard []heardTotal, feature string) (row []float64) {
	j := slices.Index(f.rows.schema.Features(), feature)
	list := totalsOf(heard, "X'X")
	if j < 0 || len(list) == 0 || f.plain == nil {
		return nil
	}
	d, p := f.plain.design, f.plain.p
	g := make([]float64, p*p)
	dense.Unpack(g, p, list[0].others())
	dense.Mirror(p, g)
	raw := func(i, k int) float64 { // sum over rows of the raw column i times the standardised column k
		return d.Scale[i]*g[(1+i)*p+k] + d.Center[i]*g[k]
	}
	count := raw(j, 0)
	for i := range d.Scale {
		row = append(row, d.Center[i]+d.Scale[i]*raw(j, 1+i)/count)
	}
	return row
}

// A level, and a column that is 0 elsewhere, of one row shows that row, in a table of any size.
func TestRareValues(t *testing.T) {
	for rules, o := range map[bool]Options{false: open, true: {}} {
		victim, own := drawn(3, "v", 2, 90, 90, 90), drawn(4, "a", 2, 60, 60)
		for _, d := range []*Data{victim, own} {
			d.Names = append(d.Names, "kind", "flag")
			kind, flag := make([]float64, d.Rows()), make([]float64, d.Rows())
			for i := range kind {
				kind[i] = float64(i % 2)
			}
			d.Values = append(d.Values, kind, flag)
			d.Levels = [][]string{nil, nil, {"a", "b"}, nil}
		}
		victim.Levels[2] = []string{"a", "b", "secret"}
		victim.Values[2][17], victim.Values[3][33] = 2, 1
		own.Levels[2] = []string{"a", "b", "secret"} // a level that the member guesses
		own.Values[3][5] = 1
		f, heard := listen(t, victim, own, o)
		for feature, at := range map[string]int{"kind=secret": 17, "flag": 33} {
			row := rowOfLevel(f, heard, feature)
			right := 0
			names := f.rows.schema.Features()
			for j, want := range []float64{victim.Values[0][at], victim.Values[1][at]} {
				if k := slices.Index(names, fmt.Sprint("x", j)); row != nil && k >= 0 && math.Abs(row[k]-want) < .01 {
					right++
				}
			}
			if !rules && right < 2 || rules && right == 2 {
				t.Errorf("%s, rules %v: %d of 2 features were read: %v", feature, rules, right, row)
			}
		}
	}
}

// A node on the way of the settings that makes two others believe that they have equal options can have them
// train with different ones, where settings are not signed. The rules of an owner follow its own options and
// rows, so that they hold all the same: the member reads a row of a level where they are off, and none where
// they are on.
func TestAlteredSettings(t *testing.T) {
	for name, alter := range map[string]func(o *Options){
		"curves": func(o *Options) { o.NoCurves = true }, "noise": func(o *Options) { o.CommonNoise = true },
		"rank": func(o *Options) { o.Rank = new(int) }, "logarithm": func(o *Options) { o.LogTarget = true },
	} {
		for rules, o := range map[bool]Options{false: open, true: {}} {
			victim, own := drawn(3, "v", 2, 90, 90, 90), drawn(4, "a", 2, 60, 60)
			for _, d := range []*Data{victim, own} {
				flag := make([]float64, d.Rows())
				d.Names, d.Values = append(d.Names, "flag"), append(d.Values, flag)
				flag[33] = 1
				for i := range d.Targets {
					d.Targets[i] = 30 + math.Abs(d.Targets[i]) // that has a logarithm
				}
			}
			altered := o
			alter(&altered)
			var f *fitter
			var heard []heardTotal
			w := weightsOf("path", 2)
			errs := testnet.Run(w.Graph(), nil, func(i int, tr transport.Transport) error {
				net := check.OK(consensus.New(w, tr))
				if i == 0 {
					_, _, err := Together(t.Context(), []Input{{Table: victim}}, net, altered)
					return err
				}
				l := &listener{seat: newMeeting(net)[0]}
				mine := open
				mine.Sums = l
				f = &fitter{Options: mine, in: &Input{Table: own}}
				_, _, err := f.fit(t.Context())
				heard = l.heard
				return err
			})
			blame := new(Error)
			check.FailIf(t, errors.As(errs[0], &blame), "%s, rules %v: the victim blames itself: %v", name, rules,
				errs[0])
			row := rowOfLevel(f, heard, "flag")
			read := row != nil && math.Abs(row[slices.Index(f.rows.schema.Features(), "x0")]-victim.Values[0][33]) < .01
			check.FailIf(t, read == rules, "%s, rules %v: the row was read: %v", name, rules, read)
		}
	}
}

// A column that differs from another one in one row shows that row by the difference of two lines of X'X, in
// a table of any size; so does a column of two values that is a code for another one.
func TestTwins(t *testing.T) {
	for rules, o := range map[bool]Options{false: open, true: {}} {
		victim, own := drawn(5, "v", 2, 90, 90, 90), drawn(6, "a", 2, 60, 60)
		for _, d := range []*Data{victim, own} {
			again, yes, no := slices.Clone(d.Values[0]), make([]float64, d.Rows()), make([]float64, d.Rows())
			for i := range yes {
				yes[i], no[i] = float64(i%2), float64(3-2*(i%2))
			}
			d.Names, d.Values = append(d.Names, "again", "yes", "no"), append(d.Values, again, yes, no)
			d.Values[2][17] += 2
			d.Values[4][33] = 4 - d.Values[4][33]
		}
		f, heard := listen(t, victim, own, o)
		for at, weights := range map[int]map[string]float64{17: {"again": 1, "x0": -1}, 33: {"no": 1, "yes": 2}} {
			row := rowOfCombination(f, heard, weights, .01)
			right := 0
			for j, want := range []float64{victim.Values[0][at], victim.Values[1][at]} {
				if row != nil && math.Abs(row[j]-want) < .01 {
					right++
				}
			}
			if rules == (right == 2) {
				t.Errorf("row %d, rules %v: %d of 2 features were read: %v", at, rules, right, row)
			}
		}
	}
}

// rowOfCombination reads the features x0 and x1 of the only row where a sum of columns with weights is not a
// constant. They are numbers of the grid, to within a tolerance.
func rowOfCombination(f *fitter, heard []heardTotal, weights map[string]float64, tolerance float64) (row []float64) {
	list := totalsOf(heard, "X'X")
	if len(list) == 0 || f.plain == nil {
		return nil
	}
	d, p := f.plain.design, f.plain.p
	g := make([]float64, p*p)
	dense.Unpack(g, p, list[0].others())
	dense.Mirror(p, g)
	all := f.rows.schema.Features()
	w, line := make([]float64, p), make([]float64, p)
	for name, weight := range weights {
		k := slices.Index(all, name)
		w[1+k] = weight * d.Scale[k]
	}
	for k := range line { // sums of the combination, but for a constant, times the standardised columns
		line[k] = floats.Dot(w, g[k*p:][:p])
	}
	// The combination is c + delta in one row, and c elsewhere: its second moment tells both.
	n, sum := g[0], line[0]
	spread := floats.Dot(w, line) - sum*sum/n // delta^2 (1 - 1/n)
	for _, sign := range []float64{1, -1} {
		delta := sign * math.Sqrt(spread/(1-1/n))
		c := (sum - delta) / n
		var try []float64
		inside := true
		for _, name := range []string{"x0", "x1"} {
			k := slices.Index(all, name)
			v := d.Center[k] + d.Scale[k]*(line[1+k]-c*g[1+k])/delta
			try = append(try, v)
			inside = inside && math.Abs(10*v-math.Round(10*v)) < tolerance
		}
		if inside {
			return try
		}
	}
	return nil
}

// Rows that a combination of columns shows: where a column is no longer a multiple of another one, or the sum
// of two, and the row of a value far beyond all others, but for rounding. The rules leave these rows out.
func TestExposedRows(t *testing.T) {
	for rules, o := range map[bool]Options{false: open, true: {}} {
		victim, own := drawn(15, "v", 2, 90, 90, 90), drawn(16, "a", 2, 60, 60)
		for _, d := range []*Data{victim, own} {
			n := d.Rows()
			both, inches := floats.AddTo(make([]float64, n), d.Values[0], d.Values[1]), slices.Clone(d.Values[1])
			floats.Scale(2.54, inches)
			floats.AddConst(7, inches)
			d.Names, d.Values = append(d.Names, "both", "inches"), append(d.Values, both, inches)
		}
		victim.Values[2][40] += 3
		victim.Values[3][77]++
		f, heard := listen(t, victim, own, o)
		for at, weights := range map[int]map[string]float64{
			40: {"both": 1, "x0": -1, "x1": -1},
			77: {"inches": 1, "x1": -2.54},
		} {
			row := rowOfCombination(f, heard, weights, .01)
			read := row != nil && math.Abs(row[0]-victim.Values[0][at])+math.Abs(row[1]-victim.Values[1][at]) < .01
			check.FailIf(t, read == rules, "row %d, rules %v: it was read as %v", at, rules, row)
		}
		far := drawn(17, "v", 2, 90, 90, 90)
		far.Values[0][70] = 1000
		f, heard = listen(t, far, drawn(18, "a", 2, 60, 60), o)
		row := rowOfCombination(f, heard, map[string]float64{"x0": 1}, 10)
		read := row != nil && math.Abs(row[1]-far.Values[1][70]) < .2
		check.FailIf(t, read == rules, "a value far out, rules %v: the row was read as %v, in truth %v", rules, row,
			far.Values[1][70])
	}
}

// Every strength gives another function of the products of every task, so that a task of one row beside a
// large one follows by least squares. The unknowns are the products of the large task, and the small task's
// row.
func TestSmallTaskFromProducts(t *testing.T) {
	rank := 0
	for rules, o := range map[bool]Options{false: open, true: {}} {
		o.Rank, o.NoCurves, o.CommonNoise = &rank, true, true
		victim, own := drawn(11, "v", 1, 25, 1), drawn(12, "a", 1, 12, 12, 12)
		f, heard := listen(t, victim, own, o)
		evaluations := evaluationsOf(heard)
		check.FailIf(t, len(evaluations) < 10, "%d evaluations", len(evaluations))
		design, target := f.plain.design, f.rows.target
		x, y := (victim.Values[0][25]-design.Center[0])/design.Scale[0], target.Standardize(victim.Targets[25])
		read := false
		r := rand.New(rand.NewPCG(5, 6))
		for starts := 0; starts < 15 && !read; starts++ {
			start := []float64{25 * .3 * r.NormFloat64(), 25 * (.5 + r.Float64()), 25 * .3 * r.NormFloat64(),
				25 * .5 * r.NormFloat64(),
				1.5 * r.NormFloat64(), 1.5 * r.NormFloat64()} // as rows of the member's own
			at, residual := leastSquares(start, func(u []float64) []float64 { return misfit(evaluations, u) })
			near := math.Abs(at[4]-x)*design.Scale[0] < .05 && math.Abs(at[5]-y)*target.Scale < .05
			read = near && residual < 1e-7
		}
		if read == rules {
			t.Errorf("rules %v: the row was read: %v", rules, read)
		}
	}
}

// An evaluationHeard is the other owner's part of X'V^-1 X (its upper triangle) and X'V^-1 y, and the
// strengths.
type evaluationHeard struct {
	deviations [2]float64
	noise      float64
	sums       []float64
}

// evaluationsOf returns the evaluations of optimisers with three strengths of groups, one of the mean, and
// noise: those that follow a step of all optimisers, so that it says where these are.
func evaluationsOf(heard []heardTotal) (list []evaluationHeard) {
	const state, block = decisions + 5, 3 + 2 + 1 + 1
	for i := range heard {
		h := &heard[i]
		if !strings.HasPrefix(h.name, "X'V^-1 X") || i < 2 || !strings.HasPrefix(heard[i-2].name, "scores") {
			continue
		}
		states, others, running := heard[i-1].total, h.others(), 0
		for c := range slices.Chunk(states, state) {
			if c[0] == 0 {
				running++
			}
		}
		if len(states)%state != 0 || running*block != len(others) {
			continue
		}
		for len(states) > 0 && len(others) >= block {
			c := states[:state]
			if states = states[state:]; c[0] != 0 { // it has ended
				continue
			}
			e := evaluationHeard{[2]float64{c[decisions], c[decisions+1]}, c[decisions+4], slices.Clone(others[:5])}
			floats.Scale(1/powerOfTwo(e.noise), e.sums)
			list, others = append(list, e), others[block:]
		}
	}
	return list
}

// misfit returns the differences of sums heard and those of a task of 25 rows with products u[0] to u[3], and
// one of the row u[4] with the response u[5].
func misfit(list []evaluationHeard, u []float64) (out []float64) {
	for _, e := range list {
		sums := make([]float64, 5)
		for _, task := range [][5]float64{{25, u[0], u[1], u[2], u[3]}, {1, u[4], u[4] * u[4], u[5], u[4] * u[5]}} {
			g := mat.NewDense(2, 2, []float64{task[0], task[1], task[1], task[2]})
			c := mat.NewVecDense(2, []float64{task[3], task[4]})
			v := mat.NewDense(2, 2, nil) // noise I + G D, whose inverse times G is X'V^-1 X
			d := mat.NewDiagDense(2, []float64{square(e.deviations[0]), square(e.deviations[1])})
			v.Mul(g, d)
			for i := range 2 {
				v.Set(i, i, v.At(i, i)+e.noise)
			}
			var m mat.Dense
			var h mat.VecDense
			if m.Solve(v, g) != nil || h.SolveVec(v, c) != nil {
				return slices.Repeat([]float64{1e6}, 5*len(list))
			}
			floats.Add(sums, []float64{m.At(0, 0), m.At(0, 1), m.At(1, 1), h.AtVec(0), h.AtVec(1)})
		}
		for i, v := range sums {
			out = append(out, (v-e.sums[i])*e.noise)
		}
	}
	return out
}

// leastSquares minimises |f(x)| from a start by Levenberg and Marquardt's method, and returns the root mean
// square.
func leastSquares(x []float64, f func(x []float64) []float64) ([]float64, float64) {
	damping, n := 1e-2, len(x)
	now := f(x)
	for range 60 {
		jacobian := mat.NewDense(len(now)+n, n, nil)
		right := mat.NewVecDense(len(now)+n, nil)
		for j := range x {
			step := 1e-6 * (1 + math.Abs(x[j]))
			moved := slices.Clone(x)
			moved[j] += step
			for i, v := range f(moved) {
				jacobian.Set(i, j, (v-now[i])/step)
			}
			jacobian.Set(len(now)+j, j, damping)
		}
		for i, v := range now {
			right.SetVec(i, -v)
		}
		var step mat.VecDense
		if step.SolveVec(jacobian, right) != nil {
			break
		}
		next := floats.AddTo(make([]float64, n), x, step.RawVector().Data)
		if after := f(next); floats.Norm(after, 2) < floats.Norm(now, 2) {
			x, now, damping = next, after, damping/5
		} else {
			damping *= 4
		}
	}
	return x, floats.Norm(now, 2) / math.Sqrt(float64(len(now)))
}

// Tasks that are left out for the sake of curves are in no total: the difference of X'X without curves and
// with them would be their own.
func TestMiddlingTasksInNoTotal(t *testing.T) {
	victim := drawn(13, "v", 2, slices.Concat(slices.Repeat([]int{30}, 10), []int{12})...)
	f, heard := listen(t, victim, drawn(14, "a", 2, slices.Repeat([]int{30}, 10)...), Options{})
	list := totalsOf(heard, "X'X")
	check.FailIf(t, len(list) < 2 || f.curved == nil, "%d totals of X'X", len(list))
	for i, name := range []string{"without curves", "with curves"} {
		if n := list[i].others()[0]; math.Abs(n-300) > 1e-6 {
			t.Errorf("X'X %s has %v rows of the victim, want 300", name, n)
		}
	}
	sizes := totalsOf(heard, "tasks")[0].others()
	check.FailIf(t, sizes[0] != 10 || sizes[1] != 300, "%v tasks with %v rows were counted", sizes[0], sizes[1])
}

// A row with nearly all weight is in every sum of products nearly alone; the rules bound weights.
func TestHeavyRow(t *testing.T) {
	for rules, o := range map[bool]Options{false: open, true: {}} {
		victim := drawn(61, "v", 2, 90, 90, 90)
		victim.Weighting = slices.Repeat([]float64{1}, victim.Rows())
		const at = 131
		victim.Weighting[at] = 1e7
		f, heard := listen(t, victim, drawn(62, "a", 2, 60, 60), o)
		d, g := f.plain.design, make([]float64, 9)
		dense.Unpack(g, 3, totalsOf(heard, "X'X")[0].others())
		right := 0
		for j := range 2 {
			if v := d.Center[j] + d.Scale[j]*g[1+j]/g[0]; math.Abs(v-victim.Values[j][at]) < .05 {
				right++
			}
		}
		check.FailIf(t, rules == (right == 2), "rules %v: %d of 2 features were read", rules, right)
	}
}

// Where few rows have another target than all others, X'y is about these rows alone; with curves it has more
// functions of their values than there are rows.
func TestRareTargets(t *testing.T) {
	for rules, o := range map[bool]Options{false: open, true: {}} {
		victim, own := drawn(63, "v", 1, 90, 90, 90), drawn(64, "a", 1, 60, 60)
		clear(victim.Targets)
		for i := range own.Targets {
			own.Targets[i] = float64(i % 2)
		}
		wanted := []float64{victim.Values[0][20], victim.Values[0][200]}
		victim.Targets[20], victim.Targets[200] = 1, 1
		f, heard := listen(t, victim, own, o)
		xy := othersTargets(f, totalsOf(heard, "X'X")[1].others(), own)
		design, p := f.curved.design, f.curved.p
		a, b := make([]float64, p), make([]float64, p)
		var found []float64
		least := 1e-6
		for _, x := range steps(-6, 6) {
			for _, y := range steps(x, 6) {
				design.Apply(a, []float64{x})
				design.Apply(b, []float64{y})
				floats.Add(a, b)
				if off := floats.Distance(a, xy, math.Inf(1)); off < least {
					least, found = off, []float64{x, y}
				}
			}
		}
		slices.Sort(wanted)
		read := len(found) == 2 && math.Abs(found[0]-wanted[0])+math.Abs(found[1]-wanted[1]) < .01
		check.FailIf(t, read == rules, "rules %v: %v was read, in truth %v", rules, found, wanted)
	}
}

// othersTargets returns the sums of products of the columns with curves and of the targets, as they are, of
// other owners: from the optimum of pooled ridge. own are the rows of the listener, and products those of
// the others, packed.
func othersTargets(f *fitter, products []float64, own *Data) []float64 {
	m := f.baselines[slices.IndexFunc(f.baselines, func(m method) bool { return m.name == PooledCurves })]
	xy, row, read := slices.Clone(m.m.h), make([]float64, f.curved.p), f.rows.reader()
	floats.Scale(m.q.noise, xy)
	for i := range own.Rows() {
		f.curved.design.Apply(row, read(i))
		floats.AddScaled(xy, -f.rows.standardized(i, false), row)
	}
	floats.Scale(f.rows.target.Scale, xy)
	floats.AddScaled(xy, f.rows.target.Center, products[:len(xy)])
	return xy
}
