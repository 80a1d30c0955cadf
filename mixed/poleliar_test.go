package mixed

import (
	"math"
	"math/rand/v2"
	"slices"
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
	if len(found) == 0 || len(found) > p {
		return 0
	}
	var y mat.VecDense
	if y.SolveVec(mat.NewDense(len(found), p, columns).T(), mat.NewVecDense(p, xy)) != nil {
		return 0
	}
	for _, want := range wanted {
		for k, at := range found {
			target := f.rows.target.Restore(y.AtVec(k))
			if slices.Equal(at, want[:3]) && math.Abs(target-want[3]) < .05 {
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

// Somebody who knows the sums of products of every task, as members may in tables of few tasks, reads no row
// that is alone with a value in its task.
func TestRowsAloneInTasks(t *testing.T) {
	for rules, o := range map[bool]Options{false: open, true: {}} {
		victim, wanted := withFlag(8, 4, 4)
		own, _ := withFlag(10, 2, 0)
		fits, errs := describeTogether(t, []Input{{Table: victim}, {Table: own}}, o)
		check.Done(errs[0])
		r, right := fits[0].rows, 0
		for _, k := range r.list {
			var sums []float64 // of the flag times 1, the numbers, and the target
			for _, i := range r.of(k) {
				row := []float64{1}
				for j := range 3 {
					row = append(row, victim.Values[j][i])
				}
				row = append(row, victim.Targets[i])
				floats.Scale(victim.Values[3][i], row)
				if sums == nil {
					sums = make([]float64, len(row))
				}
				floats.Add(sums, row)
			}
			if sums[0] == 1 && slices.ContainsFunc(wanted, func(w []float64) bool { return slices.Equal(w, sums[1:]) }) {
				right++
			}
		}
		check.FailIf(t, rules == (right == len(wanted)) || rules && right > 0, "rules %v: %d of %d rows are read", rules,
			right, len(wanted))
	}
}
