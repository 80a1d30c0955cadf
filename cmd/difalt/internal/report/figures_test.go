package report

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/difalt/difalt/mixed"
)

// The figure of tasks counts the tasks on which the model has the smaller error, without ties and without
// tasks that have no error.
func TestTasksFigure(t *testing.T) {
	of := func(model, other float64) mixed.TaskScore {
		return mixed.TaskScore{Train: []mixed.Errors{{RMSE: model}, {RMSE: 99}, {RMSE: other}}}
	}
	tasks := []mixed.TaskScore{of(1, 2), of(2, 2), of(3, 2), of(0, 1), of(math.NaN(), 1), of(1, math.NaN())}
	r := &Report{Result: &Result{
		Scores:  []mixed.Score{{Method: "model"}, {Method: "another"}, {Method: "the best"}},
		Verdict: mixed.Verdict{Other: "the best"},
		tasks:   slices.Values(tasks),
	}}
	f := r.tasksFigure()
	if want := "the model has the smaller error: 2 of 4 tasks."; f.image == nil || !strings.Contains(f.words, want) ||
		!strings.Contains(f.words, "training rows") || !strings.Contains(f.image.Text, "the best") {
		t.Errorf("the figure says %q, want %q", f.words, want)
	}
	r.tasks = slices.Values([]mixed.TaskScore{of(0, 0)})
	if f := r.tasksFigure(); f.image != nil {
		t.Errorf("a figure without errors: %q", f.words)
	}
}

// The figure of many tasks draws some of them and counts all.
func TestManyTasks(t *testing.T) {
	r := &Report{Result: &Result{Scores: []mixed.Score{{Method: "model"}, {Method: "another"}}}}
	r.tasks = func(yield func(mixed.TaskScore) bool) {
		for i := range 30_000 {
			if !yield(mixed.TaskScore{Train: []mixed.Errors{{RMSE: float64(1 + i%7)}, {RMSE: 4}}}) {
				return
			}
		}
	}
	f := r.tasksFigure()
	if n := len(f.image.SVG()); n > 200_000 {
		t.Errorf("the picture has %d bytes", n)
	}
	if !strings.Contains(f.words, "12858 of 30000 tasks. 1500 of them are drawn.") ||
		!strings.Contains(f.image.Text, "least 1,") {
		t.Errorf("%q, %q", f.words, f.image.Text)
	}
}

// The figure of a curve shows the expected target of an average task with its interval.
func TestCurveFigures(t *testing.T) {
	r := &Report{Result: &Result{}, model: curvedModel(t)}
	list := r.curveFigures()
	if len(list) != 1 || list[0].file != "curve-1" || !strings.Contains(list[0].words, "along c with") {
		t.Fatalf("%+v", list)
	}
	s := list[0].image.Panels[0].Series[0]
	// At the second knot, c = 1: 5 + c/2 * 1 + 1 * .5, with the variance .01 (1 + 1/4 + 1).
	at := slices.IndexFunc(s.X, func(x float64) bool { return x >= 1 })
	if far := 1.959963984540054 * .15; math.Abs(s.X[at]-1)+math.Abs(s.Y[at]-6) > .1 ||
		math.Abs(s.High[at]-s.Y[at]-far) > .01 || math.Abs(s.Y[at]-s.Low[at]-far) > .01 {
		t.Errorf("at %v: %v, from %v to %v", s.X[at], s.Y[at], s.Low[at], s.High[at])
	}
}
