package mixed

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/difalt/difalt/internal/check"
	"github.com/difalt/difalt/internal/dense"
	"gonum.org/v1/gonum/mat"
)

// conditioned returns mean and covariance of the coefficients given a table's rows of one task:
// m + C X' (X C X' + noise/weights)^-1 (y - X m), and C - C X' (...)^-1 X C.
func conditioned(p *Parameters, l *list, mean []float64, c mat.Matrix, noise float64) (*mat.VecDense, *mat.Dense,
	*mat.Dense) {
	n := l.Rows()
	x, y := mat.NewDense(n, 9, nil), mat.NewVecDense(n, nil)
	for i := range n {
		p.Design.Apply(x.RawRowView(i), l.x[i])
		y.SetVec(i, p.Target.Standardize(l.y[i]))
	}
	var v, gain, cov, cx mat.Dense
	cx.Mul(c, x.T())
	v.Mul(x, &cx)
	for i := range n {
		v.Set(i, i, v.At(i, i)+noise/l.weights[i])
	}
	if err := gain.Solve(&v, cx.T()); err != nil {
		panic(err)
	}
	m := mat.NewVecDense(9, mean)
	var r, out mat.VecDense
	r.MulVec(x, m)
	r.SubVec(y, &r)
	out.MulVec(gain.T(), &r)
	out.AddVec(m, &out)
	cov.Mul(&cx, &gain)
	cov.Sub(c, &cov)
	return &out, &cov, x
}

func TestAdapt(t *testing.T) {
	p := synthetic()
	m := check.OK(New(p))
	prior := spread(&p.Prior)
	prior.Add(prior, unpack(p.MeanCovariance, 9))
	for _, c := range []struct {
		task string
		rows int
		mean []float64
		cov  mat.Matrix
		at   int
	}{
		{"new", 4, p.Mean, prior, 4},
		{"new", 30, p.Mean, prior, 4},
		{"s", 12, p.Tasks.Theta[9:18], unpack(p.Tasks.Covariances[1].Packed, 9), 1},
	} {
		t.Run(c.task, func(t *testing.T) {
			l := drawRows(m, c.rows, c.task)
			for i := range l.y {
				l.weights = append(l.weights, .5+float64(i%3))
			}
			theta, cov, _ := conditioned(&p, l, c.mean, c.cov, .3)
			got := check.OK(m.Adapt(t.Context(), l))
			packed := got.covariance(c.at)
			for i := range 9 {
				near(t, "coefficient", got.theta(c.at)[i], theta.AtVec(i))
			}
			for i, want := range pack(cov) {
				near(t, "covariance", packed[i], want)
			}
			x := []float64{50, 3, 0, 0, 1, 7}
			before, _ := m.PredictError("w", x)
			if after, _ := got.PredictError("w", x); after != before {
				t.Errorf("another task's prediction is %v, was %v", after, before)
			}
			if n := got.p.Tasks.Samples[c.at]; n != c.rows+map[string]int{"s": 6}[c.task] {
				t.Errorf("the task has %d samples", n)
			}
			check.FailIf(t, len(m.Tasks()) != 4 || m.p.Tasks.Samples[1] != 6, "Adapt has changed its model")
		})
	}
}

// The variance of a task's noise is a fixed point of EM under its prior.
func TestAdaptNoise(t *testing.T) {
	p := synthetic()
	byTask(&p)
	m := check.OK(New(p))
	l := drawRows(m, 40, "new")
	for i := range l.y {
		l.y[i] = 10 + 9*math.Sin(float64(1+i)*12.9898) // noise far above the usual one
		l.weights = append(l.weights, 1)
	}
	got := check.OK(m.Adapt(t.Context(), l))
	noise := got.p.Tasks.Noise[4]
	prior := spread(&p.Prior)
	prior.Add(prior, unpack(p.MeanCovariance, 9))
	theta, cov, x := conditioned(&p, l, p.Mean, prior, noise)
	var fitted mat.VecDense
	fitted.MulVec(x, theta)
	rss, spent := 0.0, 0.0
	for i := range l.y {
		rss += square(p.Target.Standardize(l.y[i]) - fitted.AtVec(i))
		spent += mat.Inner(x.RowView(i), cov, x.RowView(i))
	}
	if want := (5*.3 + rss + spent) / 45; math.Abs(noise/want-1) > 1e-3 || noise < 1 {
		t.Errorf("the variance of the noise is %v, want %v", noise, want)
	}
	again := check.OK(got.Adapt(t.Context(), l)) // the noise of a known task is its own
	if f, before := again.p.Tasks.Freedom[4], got.p.Tasks.Freedom[4]; f < before+30 ||
		math.Abs(again.p.Tasks.Noise[4]/noise-1) > .2 {
		t.Errorf("%v degrees of freedom after %v, noise %v after %v", f, before, again.p.Tasks.Noise[4], noise)
	}
	if f, want := got.p.Tasks.Freedom[4], 45-spent/noise; math.Abs(f-want) > .01 {
		t.Errorf("its degrees of freedom are %v, want %v", f, want)
	}
}

func TestAdaptRefuses(t *testing.T) {
	plain := synthetic()
	logarithm := plain
	logarithm.Target.Log = true
	bare := plain
	bare.Tasks.Covariances = nil
	for _, c := range []struct {
		name, want string
		p          Parameters
		task       string
		change     func(l *list)
	}{
		{"features", "the table has the features", plain, "new", func(l *list) { l.features = l.features[1:] }},
		{"no target", "no target column", plain, "new", func(l *list) { l.y = nil }},
		{"no rows", "no rows", plain, "new", func(l *list) { l.task = nil }},
		{"weights", "the table has 2 weights for 5 rows", plain, "new", func(l *list) { l.weights = []float64{1, 1} }},
		{"task", "row 3 of the table is of task 1: the table has 1", plain, "new", func(l *list) { l.task[2] = 1 }},
		{"infinite feature", `row 2 of the table, task "new": feature "dose" is +Inf: it is infinite`, plain,
			"new", func(l *list) { l.x[1][1] = math.Inf(1) }},
		{"missing target", `row 3 of the table, task "new": the target is NaN`, plain,
			"new", func(l *list) { l.y[2] = math.NaN() }},
		{"negative target", `row 1 of the table, task "new": the target is -1: the model is of the target's logarithm`,
			logarithm, "new", func(l *list) { l.y[0] = -1 }},
		{"weight", `row 4 of the table, task "new": the weight is -1`, plain,
			"new", func(l *list) { l.weights = []float64{1, 1, 1, -1, 1} }},
		{"huge feature", `row 1 of the table, task "new": feature "dose" is 1e+308: it is infinite, or too far`, plain,
			"new", func(l *list) { l.x[0][1] = 1e308 }},
		{"far feature", `row 1 of the table, task "new": feature "dose" is 1e+10: it is infinite, or too far`, plain,
			"new", func(l *list) { l.x[0][1] = 1e10 }},
		{"far feature of a known task", `row 1 of the table, task "s": feature "dose" is -1e+12`, plain,
			"s", func(l *list) { l.x[0][1] = -1e12 }},
		{"far target", `row 3 of the table, task "new": the target is 1e+100: it must be finite, and not so far`, plain,
			"new", func(l *list) { l.y[2] = 1e100 }},
		{"no covariances", `task "s": the model does not keep covariances`, bare, "s", func(*list) {}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := check.OK(New(c.p))
			l := drawRows(m, 5, c.task)
			c.change(l)
			_, err := m.Adapt(t.Context(), l)
			check.Error(t, err, c.want)
		})
	}
}

// Adapt ends with the error of its context, in the middle of a task, too.
func TestAdaptEnds(t *testing.T) {
	p := synthetic()
	byTask(&p)
	m := check.OK(New(p))
	l := drawRows(m, 1000, "new")
	for left := int64(0); ; left += 7 {
		ctx := &countdown{Context: t.Context()}
		ctx.left.Store(left)
		got, err := m.Adapt(ctx, l)
		if err == nil && left > 50 {
			return
		}
		if !errors.Is(err, context.Canceled) || got != nil {
			t.Fatalf("after %d looks: %v", left, err)
		}
	}
}

// A model does not grow beyond the limit of covariances that training keeps.
func TestAdaptLimit(t *testing.T) {
	const f = 1500
	w := f + 1
	most := mostCovariances / dense.Triangle(w)
	covariance := make([]float64, dense.Triangle(w))
	p := Parameters{
		Design: Design{Fill: make([]float64, f), Center: make([]float64, f), Scale: slices.Repeat([]float64{1}, f)},
		Target: Target{Scale: 1},
		Mean:   make([]float64, w), MeanCovariance: covariance,
		Prior: Prior{Deviations: slices.Repeat([]float64{.5}, w), Noise: Noise{Variance: 1}},
		Tasks: Tasks{Samples: slices.Repeat([]int{1}, most-1), Theta: make([]float64, (most-1)*w)},
	}
	for j := range f {
		p.Schema.Columns = append(p.Schema.Columns, fmt.Sprint(j))
	}
	for k := range most - 1 {
		p.Tasks.Names = append(p.Tasks.Names, fmt.Sprint(k))
		p.Tasks.Covariances = append(p.Tasks.Covariances, Covariance{Packed: covariance})
	}
	m := check.OK(New(p))
	l := &list{features: m.Features(), tasks: []string{"one more", "too many"}, task: []int{0, 1}, y: []float64{1, 2}}
	l.x = [][]float64{make([]float64, f), make([]float64, f)}
	_, err := m.Adapt(t.Context(), l)
	check.Error(t, err, `task "too many": with its rows the model would keep more than 256 MiB of covariances`,
		"train a model with these rows")
	l.task[1] = 0
	check.OK(m.Adapt(t.Context(), l))
}

// Rows of weight 0 count as absent, as in a training: Adapt neither counts them nor adds a task that has no
// others, and Repeats does not see them.
func TestAdaptWithoutWeight(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 6))
	draw := func() (y, x, z float64) { return r.NormFloat64(), r.NormFloat64(), r.NormFloat64() }
	old := newTable(t, "x", "z")
	for i := range 60 {
		y, x, z := draw()
		add(t, old, string(rune('a'+i%6)), y, x, z)
	}
	m, _ := fitted(t, old, Options{})
	plain, weighted := newTable(t, "x", "z"), newTable(t, "x", "z")
	for range 4 {
		y, x, z := draw()
		add(t, plain, "new", y, x, z)
		add(t, weighted, "new", y, x, z)
		add(t, weighted, "new", y+1, x, z)
		add(t, weighted, "weightless", y, x, z)
		weighted.Weighting = append(weighted.Weighting, 1, 0, 0)
	}
	want, got := check.OK(m.Adapt(t.Context(), plain)), check.OK(m.Adapt(t.Context(), weighted))
	check.FailIf(t, !reflect.DeepEqual(got.Parameters(), want.Parameters()), "tasks %q, samples %d: want %q, %d",
		got.Tasks(), got.Parameters().Tasks.Samples, want.Tasks(), want.Parameters().Tasks.Samples)
	for _, table := range []*Data{plain, weighted} {
		again := got.Repeats(table)
		check.FailIf(t, !slices.Equal(again, []string{"new"}), "repeated are %q", again)
	}
	weighted.Targets[1] = math.NaN()
	_, err := m.Adapt(t.Context(), weighted)
	check.Error(t, err, "row 2", "target is NaN")
}

// Rows that a model has learned are known again, in any order, task by task, also after they were saved;
// others are not.
func TestRepeats(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	table, again := newTable(t, "x", "z"), newTable(t, "x", "z")
	type row struct {
		task string
		y    float64
		x    []float64
	}
	var rows []row
	for i := range 60 {
		rows = append(rows, row{string(rune('a' + i%6)), r.NormFloat64(), []float64{r.NormFloat64(), float64(i % 3)}})
		add(t, table, rows[i].task, rows[i].y, rows[i].x...)
	}
	m, _ := fitted(t, table, Options{})
	for _, row := range slices.Backward(rows) {
		if row.task == "b" {
			row.y++ // another row
		}
		if row.task == "c" && row.x[0] > 0 {
			continue
		}
		add(t, again, row.task, row.y, row.x...)
	}
	add(t, again, "new", 1, 2, 3)
	var file bytes.Buffer
	check.Done(m.Save(&file))
	m = check.OK(Load(bytes.NewReader(file.Bytes()), int64(file.Len())))
	got := m.Repeats(again)
	slices.Sort(got)
	if want := []string{"a", "d", "e", "f"}; !slices.Equal(got, want) {
		t.Errorf("repeated are %q, want %q", got, want)
	}
	twice := check.OK(m.Adapt(t.Context(), again))
	if got := twice.Repeats(again); !slices.Equal(got, []string{"new"}) {
		t.Errorf("after the tasks were adapted, repeated are %q", got)
	}
}
