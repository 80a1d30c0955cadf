package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/difalt/difalt/internal/check"
	"github.com/difalt/difalt/mixed"
)

// The summary of a model names its parts, and no character of a name reaches the terminal that could write
// elsewhere.
func TestDescribe(t *testing.T) {
	m := check.OK(mixed.New(mixed.Parameters{
		Estimator: "evidence",
		Schema:    mixed.Schema{Columns: []string{"age"}},
		Design: mixed.Design{
			Fill: []float64{50}, Center: []float64{50}, Scale: []float64{10},
			Curves: []mixed.Curve{{Feature: 0, Knots: []float64{20, 40, 60, 80}, Values: []float64{1, -1, -1, 1}}},
		},
		Target: mixed.Target{Column: "score", Center: 3, Scale: 2, Log: true},
		Mean:   []float64{0, .5, .1}, MeanCovariance: []float64{.01, 0, 0, .01, 0, .01},
		Prior: mixed.Prior{Deviations: []float64{.3, .2, .1}, Noise: mixed.Noise{Variance: .675, TaskFreedom: 4}},
		Tasks: mixed.Tasks{
			Column: "clinic", Names: []string{"north", "s\x1b[31m"}, Samples: []int{8, 5},
			Theta: []float64{.2, .6, .1, -.2, .4, .1}, Noise: []float64{.5, .7}, Freedom: []float64{12, 9},
		},
		Goodness: mixed.Goodness{R2Marginal: .25, R2Conditional: .5},
	}))
	var out bytes.Buffer
	describe(&out, m)
	for _, want := range []string{
		"version 1, estimated by evidence", "score, by its logarithm", "2 of column clinic",
		"13, between 5 and 8 per task", "1, in 3 columns", "age, from 20 to 80 with 4 knots",
		"1.643, standard deviation in the logarithm of the target", "50.0 % of the variance, 25.0 %",
		"as wide as those of unseen tasks", "in 95 % of the tasks",
	} {
		check.FailIf(t, !strings.Contains(out.String(), want), "no %q in\n%s", want, out.String())
	}
	check.FailIf(t, strings.Contains(out.String(), "\x1b"), "the summary contains an escape character of a task's name")
}
