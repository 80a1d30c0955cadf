package report

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/difalt/difalt/mixed"
)

// The figure of tasks counts the tasks on which the model has the smaller error, without ties and without tasks
// that have no error.
func TestTasksFigure(t *testing.T) {
	of := func(model, other float64) mixed.TaskScore {
		return mixed.TaskScore{Train: []mixed.Errors{{RMSE: model}, {RMSE: 99}, {RMSE: other}}}
	}
	tasks := []mixed.TaskScore{of(1, 2), of(2, 2), of(3, 2), of(0, 1), of(math.NaN(), 1), of(1, math.NaN())}
	r := &Report{Result: &Result{
		Scores: []mixed.Score{{Method: "model"}, {Method: "another"}, {Method: "the best"}}, Verdict: mixed.Verdict{Other: "the best"},
		tasks: slices.Values(tasks),
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
