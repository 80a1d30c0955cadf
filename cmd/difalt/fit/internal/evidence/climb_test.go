package evidence

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/internal/mixedmodel"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Where all tasks have the same rows, the information of tasks that are alike is the sum of theirs.
func TestInformationOfTasksAlike(t *testing.T) {
	rows, _, p := testRows(t)
	e := *rows
	e.Tasks = make([][]*mixedmodel.Task, len(rows.Tasks))
	for g, tasks := range rows.Tasks {
		e.Tasks[g] = slices.Repeat(rows.Tasks[0][3:4], len(tasks))
	}
	e.Total = e.Count * float64(rows.Tasks[0][3].Rows)
	pt, err := e.At(t.Context(), p, nil)
	if err != nil {
		t.Fatal(err)
	}
	n := p.W*p.Rank + 2
	want := mat.NewSymDense(n, nil)
	for _, list := range e.Tasks {
		for i := range list {
			k, _ := list[i].Whiten(p.Covariance(), p.W)
			want.AddSym(want, information(p, pt.curvature(gramOf(&k, p.W))))
		}
	}
	a, ok := pt.Alike()
	if !ok {
		t.Fatal("none")
	}
	got := a.Information(p)
	for i := range n {
		for j := range n {
			if d := got.At(i, j) - want.At(i, j); math.Abs(d) > 1e-3*math.Sqrt(want.At(i, i)*want.At(j, j)) {
				t.Errorf("entry %d, %d is %v, want %v", i, j, got.At(i, j), want.At(i, j))
			}
		}
	}
}

// From a poor start, a climb by loadings or by their lengths is after few evaluations at the top that a far longer one finds, though the spread
// ends at zero, and one that begins there is at its end.
func TestClimbTakesFewEvaluations(t *testing.T) {
	rows, _, p := testRows(t)
	scale := []float64{1, 1}
	free := Unknown()
	for _, lengths := range []bool{false, true} {
		if lengths {
			scale = nil
		}
		top, converged, err := rows.Maximize(t.Context(), &Point{Prior: p}, scale, free, 1e-6, 1000)
		if err != nil || !converged {
			t.Fatal(converged, err)
		}
		rows, _, _ = testRows(t) // which have not been evaluated yet
		near, converged, err := rows.Maximize(t.Context(), &Point{Prior: p}, scale, free, 0.1, 100)
		if err != nil || !converged {
			t.Fatal(converged, err)
		}
		took := rows.Evaluations()
		if gap := near.Penalized() - top.Penalized(); gap > 0.3 || took > 13 {
			t.Errorf("lengths %v: %v above the top after %d evaluations", lengths, gap, took)
		}
		again := rows.Evaluations()
		if _, _, err = rows.Maximize(t.Context(), near, scale, free, 0.1, 100); err != nil {
			t.Fatal(err)
		}
		if took := rows.Evaluations() - again; took > 0 {
			t.Errorf("lengths %v: from there on %d evaluations more", lengths, took)
		}
	}
}

// Tasks of fewer rows than coefficients explain less than their alikes would, so that steps are too long along some directions and too short
// along others: a climb by loadings takes few evaluations all the same, and as many when targets are rounded otherwise.
func TestClimbOfShortTasks(t *testing.T) {
	const rank, most = 3, 16
	base, _, _ := testRows(t)
	for _, shape := range [][3]int{{40, 12, 25}, {100, 10, 26}, {200, 3, 11}} {
		var least, largest int
		for draw, rounding := range []float64{0, 1e-7, 2e-7} {
			tasks := [][]*mixedmodel.Task{shortTasks(shape[0], shape[1], shape[2], rank, rounding), nil, nil}
			rows, err := NewRows(t.Context(), base.group, tasks, nil, shape[2], shape[0]*shape[1], 1)
			if err != nil {
				t.Fatal(err)
			}
			moments, err := rows.Evaluate(t.Context(), &Point{Prior: &mixedmodel.Prior{W: shape[2], MeanVariance: 0.1}})
			if err != nil {
				t.Fatal(err)
			}
			alike, ok := moments.Alike()
			if !ok {
				t.Fatal("none")
			}
			start := alike.Start(rank)
			start.Intercept, start.Spread = 0.1, 0.01
			_, converged, err := rows.Maximize(t.Context(), &Point{Prior: start}, slices.Repeat([]float64{0.05}, rank), Unknown(), 0.1, 100)
			if took := rows.Evaluations(); err != nil || !converged || took > most {
				t.Errorf("%v: %d evaluations, converged %v, %v", shape, took, converged, err)
			}
			if draw == 0 {
				least, largest = rows.Evaluations(), rows.Evaluations()
			}
			least, largest = min(least, rows.Evaluations()), max(largest, rows.Evaluations())
		}
		if largest > least+2 {
			t.Errorf("%v: %d to %d evaluations", shape, least, largest)
		}
	}
}

// shortTasks returns tasks of rows whose coefficients differ along so many directions.
func shortTasks(count, rows, width, rank int, rounding float64) (tasks []*mixedmodel.Task) {
	draw, other := rand.New(rand.NewPCG(0, 7)), rand.New(rand.NewPCG(1, 7))
	normal := func(n int, scale float64) []float64 {
		v := make([]float64, n)
		for i := range v {
			v[i] = scale * draw.NormFloat64()
		}
		return v
	}
	axes, shared := normal(rank*width, 5/float64(width)), normal(width, 0.2)
	c := mixedmodel.NewCompressor(width)
	for range count {
		theta := slices.Clone(shared)
		for a := range rank {
			floats.AddScaled(theta, draw.NormFloat64(), axes[a*width:][:width])
		}
		for range rows {
			row := append(normal(width-1, 1), 1)
			copy(c.Next(), append(row, floats.Dot(row, theta)+0.5*draw.NormFloat64()+rounding*other.NormFloat64()))
		}
		tasks = append(tasks, c.Task())
	}
	return tasks
}

// Tasks of one row to many, with columns that are the same in all rows of a task, are not like their alikes at all: a climb by variances arrives all
// the same, and no lower than one from those by which targets were drawn.
func TestClimbOfUnlikeTasks(t *testing.T) {
	base, _, _ := testRows(t)
	for _, shape := range []struct {
		count, width, constant, most int
		slopes                       float64
	}{{200, 14, 5, 16, 0.15}, {300, 14, 2, 9, 0.1}, {300, 14, 8, 16, 0.05}} {
		for seed := range uint64(6) {
			const noise = 0.15
			tasks, total := unlikeTasks(seed, shape.count, shape.width, shape.constant, shape.most, noise, shape.slopes)
			rows, err := NewRows(t.Context(), base.group, [][]*mixedmodel.Task{tasks, nil, nil}, nil, shape.width, total, 1)
			if err != nil {
				t.Fatal(err)
			}
			moments, err := rows.Evaluate(t.Context(), &Point{Prior: &mixedmodel.Prior{W: rows.Width, MeanVariance: 0.1}})
			if err != nil {
				t.Fatal(err)
			}
			alike, ok := moments.Alike()
			if !ok {
				t.Fatal("none")
			}
			start := alike.Top(&mixedmodel.Prior{W: rows.Width, Intercept: 0.1, Spread: 0.01, MeanVariance: 0.1}, nil, Unknown(), Enough)
			truth := &mixedmodel.Prior{W: rows.Width, Intercept: 1 / (noise * noise), Spread: shape.slopes * shape.slopes / (noise * noise), MeanVariance: 0.1}
			var values []float64
			for _, p := range []*mixedmodel.Prior{start, truth} {
				pt, converged, err := rows.Maximize(t.Context(), &Point{Prior: p}, nil, Unknown(), 0.1, 40)
				if err != nil || !converged {
					t.Errorf("%v, seed %d: converged %v, %v", shape, seed, converged, err)
					continue
				}
				values = append(values, pt.Penalized())
			}
			if len(values) == 2 && values[0] > values[1]+8 { // there is more than one top
				t.Errorf("%v, seed %d: ends at %v, from the true variances at %v", shape, seed, values[0], values[1])
			}
		}
	}
}

// unlikeTasks returns tasks of up to so many rows, few more often than many, with noise that differs between them.
func unlikeTasks(seed uint64, count, width, constant, most int, noise, slopes float64) (tasks []*mixedmodel.Task, total int) {
	draw := rand.New(rand.NewPCG(seed, 25))
	c := mixedmodel.NewCompressor(width)
	for range count {
		theta, own := make([]float64, width), make([]float64, width)
		for j := range theta {
			theta[j], own[j] = slopes*draw.NormFloat64(), draw.NormFloat64()
		}
		theta[width-1], own[width-1] = draw.NormFloat64(), 1
		deviation := noise * math.Exp(0.7*draw.NormFloat64())
		for range 1 + int(float64(most)*draw.Float64()*draw.Float64()) {
			row := c.Next()
			copy(row, own)
			for j := constant; j < width-1; j++ {
				row[j] = 0.6*own[j] + 0.8*draw.NormFloat64()
			}
			row[width] = floats.Dot(row[:width], theta) + deviation*draw.NormFloat64()
			total++
		}
		tasks = append(tasks, c.Task())
	}
	return tasks, total
}

// A step ends half-way, in logarithms, to a root of a variance that it would reach or pass and whose slope leads back; one whose slope leads on does not hold it.
func TestStepsEndBeforeWhatLeadsBack(t *testing.T) {
	rows, _, p := testRows(t)
	top, _, err := rows.Maximize(t.Context(), &Point{Prior: p}, []float64{1, 1}, Unknown(), 0.1, 100)
	if err != nil || top.MeanVariance < 0.01 {
		t.Fatal(err, top.MeanVariance)
	}
	at := func(times float64) *Point {
		q := top.Prior.Clone()
		q.MeanVariance *= times
		pt, err := rows.Evaluate(t.Context(), &Point{Prior: q})
		if err != nil {
			t.Fatal(err)
		}
		pt.LoadingVariances = top.LoadingVariances
		return pt
	}
	from := at(1. / 8)
	for beyond, want := range map[float64]float64{1. / 2: 64, 16: math.Sqrt(16. / 8)} {
		var way Way
		seen := at(beyond)
		way.see(len(seen.Loadings), coordinates(seen), seen.partials())
		way.Aim(from, at(64))
		if got := way.Next().MeanVariance / top.MeanVariance; math.Abs(got/want-1) > 1e-6 {
			t.Errorf("past %v times the top a step to 64 times ends at %v, want %v", beyond, got, want)
		}
	}
}

// A climb that may take no step says that it has not arrived, and strengths that give no
// likelihood are an error.
func TestClimbThatCannotArrive(t *testing.T) {
	rows, _, p := testRows(t)
	free := Unknown()
	p.Loadings[0] = 30
	if _, converged, err := rows.Maximize(t.Context(), &Point{Prior: p}, []float64{1, 1}, free, 1e-4, 0); converged || err != nil {
		t.Errorf("after no step: converged %v, %v", converged, err)
	}
	p.Loadings[0] = 1e200
	if _, _, err := rows.Maximize(t.Context(), &Point{Prior: p}, []float64{1, 1}, free, 1e-4, 9); err == nil {
		t.Error("loadings out of range are no error")
	}
}

// The slope of an ascent is that of its values, also when a point is asked for it again.
func TestSlopeOfAscent(t *testing.T) {
	rows, _, p := testRows(t)
	pt, err := rows.Evaluate(t.Context(), &Point{Prior: p})
	if err != nil {
		t.Fatal(err)
	}
	a, ok := pt.Alike()
	if !ok {
		t.Fatal("none")
	}
	variances := slices.Repeat([]float64{0.3}, p.Rank)
	c := &ascent{Alike: a, start: p.Clone(), variances: variances, given: Unknown(), noise: 1}
	x := c.variables()
	first := slices.Clone(c.slope(x))
	if again := c.slope(x); !slices.Equal(again, first) {
		t.Errorf("asked again, the slope is %v, and was %v", again, first)
	}
	for i := range x {
		const h = 1e-5
		up, down := slices.Clone(x), slices.Clone(x)
		up[i] += h
		down[i] -= h
		high := c.near(up).value
		low := c.near(down).value
		if want := (high - low) / (2 * h); math.Abs(first[i]-want) > 1e-4*(1+math.Abs(want)) {
			t.Errorf("by variable %d the slope is %v, want %v", i, first[i], want)
		}
	}
}
