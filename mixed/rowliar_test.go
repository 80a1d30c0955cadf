package mixed

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/internal/check"
	"github.com/difalt/difalt/internal/dense"
	"gonum.org/v1/gonum/floats"
)

// The tests of this file are a center that lies about the mean of all owners: the mean that it wants is right
// for the rows with one value of a column, and wrong by 10^5 deviations for all others. Totals that are not
// sums of products of a row, or of a task, would then be about the rows with that value alone.

// blockSize returns the length of X'V^-1 X, X'V^-1 y, the deviance and the number of errors in a message.
func blockSize(p int) int { return dense.Triangle(p) + p + 2 }

// forceMean alters the sums of one evaluation so that all owners have a mean.
func forceMean(block, mean []float64) {
	p := len(mean)
	const sure = 1 << 30 // beside which the rows of others are nothing
	at := 0
	for i := range p {
		block[at] += sure
		at += p - i
		block[dense.Triangle(p)+i] += sure * mean[i]
	}
	block[dense.Triangle(p)+p] -= 1e15 // the evidence is high
}

// aimed returns the mean without deviations that is 0 where the first column has a value, and huge elsewhere.
func aimed(d *Design, value float64) []float64 {
	const huge = 1e5
	mean := make([]float64, d.Width())
	mean[0], mean[1] = huge*(d.Center[0]-value)/d.Scale[0], huge
	return mean
}

// A row with a value of a column that no other row has: with weights by distance, X'X would be of this row
// alone. Several owners have none: all rows are in every X'X, and no total has absolute errors, which bend at
// every row.
func TestMeanSteered(t *testing.T) {
	for name, o := range map[string]Options{"rules off": open, "default": {}, "strict": strictly} {
		const value = .05
		victim, own := drawn(41, "v", 2, 90, 90, 90), drawn(42, "a", 2, 60, 60)
		victim.Values[0][100] = value
		l, steered, done := &steerer{}, false, false
		l.lie = func(f *fitter, what string, v []float64) {
			if f.plain == nil || done {
				return
			}
			const numbers = groups + 1 + 1 // of rank 0, where the deviations, the mean and the noise have strengths
			switch {
			case strings.HasPrefix(what, "X'V^-1 X"):
				v[len(v)-numbers-1] = 1 // the point is higher
			case strings.HasPrefix(what, "scores") && !steered:
				// Hardly any deviations next: without any there is no sum.
				copy(v[len(v)-numbers-decisions:], []float64{0, 0, 0, 0, 0, 1e-9, 1e-9, 0, .1, 1})
				steered = true
			case strings.HasPrefix(what, "scores"): // all optimisers end
				done = true
				for _, b := range append(f.simpler(), baseline{}) {
					v[0] = 1
					if b.curves {
						v = v[len(f.curved.design.Curves):]
					}
					v = v[decisions+numbers:]
				}
			}
		}
		l.add = func(f *fitter, what string, v []float64) {
			if strings.HasPrefix(what, "X'V^-1 X") && !done {
				forceMean(v[len(v)-blockSize(3):], aimed(f.plain.design, value))
			}
		}
		_, err := l.trainBeside(t, Input{Table: victim}, Input{Table: own}, o)
		check.FailIf(t, !steered || !done, "%s: nothing was steered: %v", name, err)
		list := totalsOf(l.heard, "X'X")
		for _, h := range list {
			check.FailIf(t, math.Abs(h.others()[0]-270) > 1e-6, "%s: X'X of %v rows, not of all", name, h.others()[0])
		}
		check.FailIf(t, len(list) == 0, "%s: no X'X", name)
		for _, h := range totalsOf(l.heard, "errors") {
			for i, v := range h.others() {
				check.FailIf(t, i%scoreSize == 2 && v != 0 || i%scoreSize == 7 && v != 0,
					"%s: absolute errors %v", name, v)
			}
		}
	}
}

// At a posterior that is sure of all rows but those with one value, squared errors without the row would
// differ from 10^16 times those with it by one row: its residual, and so its target, was read. By task the
// difference says nothing of a row.
func TestRemaindersSteered(t *testing.T) {
	const value, at = .05, 100
	d := drawn(41, "v", 2, 90, 90, 90)
	d.Values[0][at] = value
	in := Input{Table: d}
	f := &fitter{Options: Options{NoCurves: true}, in: &in}
	check.Done(f.read(t.Context()))
	s := f.plain
	q := s.start()
	q.sigma, q.noise = []float64{0, 0, 0}, 1
	m := check.OK(s.meanPosterior(t.Context(), s.tasks, q))
	w := aimed(s.design, value)
	m.mean = make([]float64, s.p)
	for i := range s.p {
		for j := range s.p {
			m.c[i*s.p+j] = w[i] * w[j]
		}
	}
	c := &choice{s: s, optimum: optimum{q: q, m: m}}
	read := func(t *total) float64 { return t.v[0] - t.v[1]*square(leastRemainder) }
	want := square(f.rows.standardized(at, false))
	if got := read(c.leaveOneOut(t.Context())); math.Abs(got-want) > 1e-9 {
		t.Errorf("by row the square of the target is read as %v, in truth %v", got, want)
	}
	if got := read(c.crossValidate(t.Context())); math.Abs(got) > 1e-9 {
		t.Errorf("by task the difference is %v", got)
	}
}

// An owner is against noise by task where the mean is not one of its rows: all tasks but one would be loud.
func TestNoiseSteered(t *testing.T) {
	for aim, refused := range map[bool]bool{false: false, true: true} {
		d := drawn(43, "v", 1, slices.Repeat([]int{20}, 20)...)
		for i, k := range d.TaskOf {
			d.Values[0][i] = float64(k) // of the task
		}
		in := Input{Table: d}
		f := &fitter{Options: Options{NoCurves: true}, in: &in}
		check.Done(f.read(t.Context()))
		s := f.plain
		q := s.start()
		q.sigma = []float64{0, 0, 0}
		m := check.OK(s.meanPosterior(t.Context(), s.tasks, q))
		if aim {
			m.mean = aimed(s.design, 7)
		}
		list := check.OK(s.residualsOfTasks(t.Context(), m, s.tasks))
		noise := &taskNoise{usual: 1, freedom: 4}
		noise.set(list)
		check.FailIf(t, aim && floats.MinIdx(noise.variances) != 7,
			"task %d is the quiet one", floats.MinIdx(noise.variances))
		g := &guard{rows: f.rows, left: make([]bool, 20)}
		check.FailIf(t, g.refuses(list) != refused, "aimed %v: refused %v", aim, !refused)
	}
}

// Errors of an owner of which one is cut are in no total: all others would be cut, and one row alone would
// count.
func TestCutErrors(t *testing.T) {
	d := drawn(44, "v", 1, 30, 30)
	in := Input{Table: d}
	f := &fitter{Options: Options{NoCurves: true}, in: &in}
	check.Done(f.read(t.Context()))
	s := f.plain
	f.rows.guard = &guard{rows: f.rows, left: make([]bool, 2)}
	for size, out := range map[float64]bool{1: false, 1e7: true} {
		m := &meanPosterior{prior: s.prior(s.start()), mean: []float64{0, size}, c: make([]float64, 4)}
		f.theta = []float64{0, size, 0, size}
		sums := check.OK(f.scorerOf([]method{{name: Ours, s: s, m: m}}).sum(t.Context()))
		check.FailIf(t, (sums[0] == 0) != out || sums[2] != 0, "slope %v: sums %v", size, sums)
	}
	check.FailIf(t, len(f.rows.guard.did) != 1, "it says %q", f.rows.guard.did)
}

// What a missing value counts as is agreed on: a center that puts it far from all values reads the row of the
// only one. The rules have it count as the mean of the own rows.
func TestMissingSteered(t *testing.T) {
	for name, o := range map[string]Options{"rules off": open, "default": {}, "strict": strictly} {
		victim, own := drawn(45, "v", 2, 90, 90, 90), drawn(46, "a", 2, 60, 60)
		victim.Values[1][50] = math.NaN()
		const far = 1e6
		l, done := &steerer{}, false
		l.lie = func(_ *fitter, _ string, v []float64) {
			if !done && len(v) == 3*4 { // mean, size and deviation of the target, its logarithm and two columns
				v[9], v[10], v[11] = far, 1, 1
				done = true
			}
		}
		_, err := l.trainBeside(t, Input{Table: victim}, Input{Table: own}, o)
		check.FailIf(t, !done, "%s: nothing was steered: %v", name, err)
		check.FailIf(t, l.fit.plain == nil, "%s: the training ended: %v", name, err)
		d, p, g := l.fit.plain.design, l.fit.plain.p, make([]float64, 9)
		dense.Unpack(g, p, totalsOf(l.heard, "X'X")[0].others())
		got := d.Center[0] + d.Scale[0]*(g[1*p+2]+far*g[1])/far
		read := math.Abs(got-victim.Values[0][50]) < .05
		check.FailIf(t, read != (name == "rules off"), "%s: %v was read, in truth %v", name, got, victim.Values[0][50])
	}
}

// Where a curve of a column is the column itself, limited to its outer knots, the difference of the two is 0
// but in the rows beyond. A center that says so had these rows alone in a line of X'X: owners compare the
// curves with those that follow from totals, and slopes with those that a curve can have.
func TestCurvesSteered(t *testing.T) {
	var knots []float64
	lies := map[string]func(f *fitter, sums, values []float64){
		"values": func(f *fitter, _, values []float64) {
			for i, knot := range knots { // the first column of the first curve
				values[i] = (knot - f.plain.design.Center[0]) / f.plain.design.Scale[0]
			}
		},
		// The product of the feature and the first column.
		"products": func(_ *fitter, sums, _ []float64) { sums[len(knots)+1] += 1e9 },
	}
	for _, name := range []string{"none", "values", "products"} {
		lie := lies[name]
		for rules, o := range map[bool]Options{false: open, true: {}} {
			victim, own := drawn(47, "v", 2, 90, 90, 90), drawn(48, "a", 2, 60, 60)
			l := &steerer{}
			if lie != nil {
				l.lie = func(f *fitter, what string, v []float64) {
					if strings.HasPrefix(what, "products of splines") && name == "values" {
						lie(f, nil, v)
					}
				}
				l.add = func(f *fitter, what string, v []float64) {
					if strings.HasPrefix(what, "products of splines") && name == "products" {
						lie(f, v, nil)
					}
				}
			}
			_, err := l.trainBeside(t, Input{Table: victim}, Input{Table: own}, o)
			if name == "none" { // which says what the knots are
				check.Done(err)
				knots = l.fit.curved.design.Curves[0].Knots
				continue
			}
			list := totalsOf(l.heard, "X'X")
			check.FailIf(t, !errors.Is(err, consensus.ErrContradiction) && err != errLeft,
				"%s, rules %v: the victim goes on: %v", name, rules, err)
			check.FailIf(t, len(list) != 1, "%s, rules %v: %d totals of X'X, one with curves", name, rules, len(list))
		}
	}
}

// A column that is a function of another one, such as a price of each year, but in one row: with a curve, or
// with effects of years, a combination of columns is not 0 in that row alone.
func TestFunctionOfAColumn(t *testing.T) {
	for _, rules := range []bool{false, true} {
		o := open
		if rules {
			o = Options{}
		}
		var list []*Data
		for k, rows := range [][]int{{96, 96, 96, 96, 96}, {96, 96, 96, 96, 96}} {
			d := drawn(uint64(51+k), []string{"v", "a"}[k], 1, rows...)
			year, price := make([]float64, d.Rows()), make([]float64, d.Rows())
			for i := range year {
				year[i] = float64(2000 + i%8)
				price[i] = []float64{3, 1, 4, 1, 5, 9, 2, 6}[i%8]
			}
			d.Names, d.Values = append(d.Names, "year", "price"), append(d.Values, year, price)
			list = append(list, d)
		}
		victim := list[0]
		const at = 103
		victim.Values[2][at] += 2
		f, heard := listen(t, victim, list[1], o)
		row := -1e9
		if totals := totalsOf(heard, "X'X"); f.curved != nil && len(totals) > 1 {
			d, p := f.curved.design, f.curved.p
			g := make([]float64, p*p)
			dense.Unpack(g, p, totals[1].others())
			dense.Mirror(p, g)
			// The combination of the price and functions of the year that is 0 in rows of the
			// member.
			own := list[1]
			var columns []int
			features := f.rows.schema.Features()
			other := slices.Index(features, "x0")
			for j, c := range d.Columns() {
				if c.Feature != other {
					columns = append(columns, j)
				}
			}
			n := len(columns)
			products, x := make([]float64, n*n), make([]float64, p)
			for i := range own.Rows() {
				cells := make([]float64, len(features))
				for j, name := range features {
					cells[j] = own.Values[slices.Index(own.Names, name)][i]
				}
				d.Apply(x, cells)
				for a, j := range columns {
					for b, k := range columns {
						products[a*n+b] += x[j] * x[k]
					}
				}
			}
			for _, v := range nullSpace(products, n, 1e-10) {
				line := func(j int) (sum float64) {
					for a, k := range columns {
						sum += v[a] * g[k*p+j]
					}
					return sum
				}
				if math.Abs(line(0)) > 1e-6 {
					k := slices.IndexFunc(d.Columns(),
						func(c Column) bool { return c.Feature == other && c.Kind == LinearColumn })
					row = d.Center[other] + d.Scale[other]*line(k)/line(0)
				}
			}
		}
		read := math.Abs(row-victim.Values[0][at]) < .05
		check.FailIf(t, read == rules, "rules %v: %v was read, in truth %v", rules, row, victim.Values[0][at])
	}
}
