package mixed

import (
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/difalt/difalt/internal/check"
)

// oddTable returns a table whose features are x, a constant, the number of the row, and a digit. The given
// function makes the target of x and noise.
func oddTable(t *testing.T, target func(i int, x, e float64) float64) *Data {
	t.Helper()
	r, table := rand.New(rand.NewPCG(2, 3)), newTable(t, "x", "same", "number", "digit")
	for i := range 120 {
		x := r.NormFloat64()
		add(t, table, string(rune('a'+i%6)), target(i, x, r.NormFloat64()), x, 3, float64(i), float64(i*7%10))
	}
	return table
}

func TestNotes(t *testing.T) {
	linear := func(_ int, x, e float64) float64 { return 5 + x + 0.3*e }
	growth := func(_ int, x, e float64) float64 { return math.Exp(2*x + 0.2*e) }
	wrong := func(i int, x, e float64) float64 {
		if i == 50 {
			return -60
		}
		return linear(i, x, e)
	}
	for name, c := range map[string]struct {
		target func(i int, x, e float64) float64
		o      Options
		want   []string // parts of notes
		not    string
	}{
		"columns": {linear, Options{},
			[]string{`Columns that are the same in all training rows, to 12 digits, have no effect: "same".`},
			"--log-target"},
		"outlier":                {wrong, Options{CommonNoise: true}, []string{`row 51 of task "c"`}, "log-target"},
		"outlier, noise by task": {wrong, Options{}, []string{`row 51 of task "c"`}, "log-target"},
		"logarithm":              {growth, Options{NoCurves: true}, []string{"try --log-target"}, "exactly"},
		"logarithm taken":        {growth, Options{LogTarget: true}, nil, "--log-target"},
		"exact": {func(_ int, x, _ float64) float64 { return 2 * x }, Options{},
			[]string{"fitted almost exactly"}, "target is the same|--log-target"},
		"equal targets": {func(int, float64, float64) float64 { return 4 }, Options{},
			[]string{"same in all training rows"}, "exactly|--log-target"},
	} {
		t.Run(name, func(t *testing.T) {
			_, r := fitted(t, oddTable(t, c.target), c.o)
			all := strings.Join(r.Notes, "\n")
			for _, o := range r.Outliers {
				all += fmt.Sprintf("\nrow %d of task %q", o.Row+1, o.Task)
			}
			check.FailIf(t, len(r.Outliers) > 0 && name == "columns", "outliers %+v", r.Outliers)
			for _, part := range c.want {
				check.FailIf(t, !strings.Contains(all, part), "notes lack %q:\n%s", part, all)
			}
			check.FailIf(t, regexp.MustCompile(c.not).MatchString(all), "notes have %q:\n%s", c.not, all)
		})
	}
}

// A fit of the logarithm is a fit of a table of logarithms, with predictions on the scale of the target.
func TestLogTarget(t *testing.T) {
	target := func(_ int, x, e float64) float64 { return math.Exp(1 + 0.5*x + 0.2*e) }
	a, _ := fitted(t, oddTable(t, target), Options{LogTarget: true})
	b, _ := fitted(t, oddTable(t, func(i int, x, e float64) float64 { return math.Log(target(i, x, e)) }), Options{})
	x := []float64{0.7, 3, 50, 4}
	ya, _, errA := a.Predict("b", x)
	yb, _, errB := b.Predict("b", x)
	check.FailIf(t, errA != nil || errB != nil || math.Abs(math.Log(ya)-yb) > 1e-9,
		"predictions %v and exp %v (%v, %v)", ya, yb, errA, errB)
}

func TestVerdict(t *testing.T) {
	scores := func(list ...float64) (out []Score) {
		for i, rmse := range list {
			out = append(out, Score{Method: []string{Ours, Pooled, Separate}[i], Test: Errors{Rows: 100, RMSE: rmse}})
		}
		return out
	}
	// Ten tasks: each has the same share of all errors, or the errors of methods are in different tasks.
	alike := func(list ...float64) (out []comparison) {
		for _, rmse := range list {
			out = append(out, comparison{10, 100 * 100 * square(rmse*list[0]) / 10, 100 * 100 * square(rmse*rmse) / 10})
		}
		return out
	}
	apart := func(list ...float64) []comparison {
		out := alike(list...)
		for i := range out {
			out[i].square *= 8
			if i > 0 {
				out[i].product = 0
			}
		}
		return out
	}
	single := alike(3, 5, 4)
	for i := range single {
		single[i].tasks = 1
	}
	for name, c := range map[string]struct {
		scores      []Score
		comparisons []comparison
		other       string
		gain        float64
		words       string
	}{
		"better": {scores(3, 5, 4), alike(3, 5, 4), Separate, 0.25,
			"25.0 % lower than that of the best simpler method"},
		"worse": {scores(5, 4, 6), alike(5, 4, 6), Pooled, -0.25,
			"25.0 % to -25.0 %: use the simpler method"},
		"inconclusive":   {scores(3.9, 4, 5), apart(3.9, 4, 5), Pooled, 0.025, "inconclusive"},
		"better, unsure": {scores(3, 4, 5), apart(3, 4, 5), Pooled, 0.25, "the model is the better guess"},
		"worse, unsure":  {scores(6, 4, 5), apart(6, 4, 5), Pooled, -0.5, "but use the simpler method"},
		"twice as bad":   {scores(6, 2, 3), alike(6, 2, 3), Pooled, -2, "200.0 % higher than that of"},
		"far worse":      {scores(9, 2, 3), alike(9, 2, 3), Pooled, -3.5, "is 4.5 times that of"},
		"one task": {scores(3, 5, 4), single, Separate, 0.25,
			"is 25.0 % lower than that of the best simpler method, \"one ridge per task\" (4)."},
		"exact": {scores(1e-8, 1e-7), alike(1e-8, 1e-7), Pooled, math.NaN(),
			"Both the model and \"pooled ridge\" predict held-out rows almost exactly."},
		"nothing held out": {[]Score{{Method: Ours}, {Method: Pooled}}, nil, "", math.NaN(), "No rows were held out"},
	} {
		t.Run(name, func(t *testing.T) {
			v := newVerdict(c.scores, c.comparisons, 1)
			if v.Other != c.other || !(math.Abs(v.Gain-c.gain) < 1e-3 || math.IsNaN(c.gain) && math.IsNaN(v.Gain)) ||
				!strings.Contains(v.Text, c.words) {
				t.Errorf("verdict %+v, want %q, gain %v, %q", v, c.other, c.gain, c.words)
			}
		})
	}
}

// The interval of the gain has the share of draws that it claims, and never claims less than no error.
func TestVerdictInterval(t *testing.T) {
	r, inside := rand.New(rand.NewPCG(4, 4)), 0
	const draws, tasks = 400, 40
	for range draws {
		sums, scores := make([]float64, 2*scoreSize), []Score{{Method: Ours}, {Method: Pooled}}
		for range tasks {
			size := math.Exp(0.5 * r.NormFloat64()) // of both errors in this task
			e := taskErrors{{}, {}}
			for range 6 {
				e[0][1].count(size*r.NormFloat64(), 0, farthestAlone)
				e[1][1].count(1.25*size*r.NormFloat64(), 0, farthestAlone)
			}
			e.addTo(sums)
		}
		v := summarise(scores, sums, 1)
		check.FailIf(t, v.High >= 1 || v.Low >= v.Gain || v.Gain >= v.High, "verdict %+v", v)
		if v.Low <= 0.2 && 0.2 <= v.High {
			inside++
		}
	}
	check.FailIf(t, inside < draws*92/100 || inside > draws*98/100, "%d of %d intervals hold the gain", inside, draws)
}

// A loss of more than ten times the other error has no digits: they say nothing.
func TestGainInterval(t *testing.T) {
	for _, c := range []struct {
		low, high float64
		want      string
	}{
		{-.124, .31, " The 95 % interval over tasks of this gain is -12.4 % to 31.0 %"},
		{-9.5, .5, " is -950.0 % to 50.0 %"},
		{-13774, .999, " is less than -1000 % to 99.9 %"},
		{-1e300, -11, " is less than -1000 % to less than -1000 %"},
	} {
		if got := gainInterval(c.low, c.high); !strings.HasSuffix(got, c.want) {
			t.Errorf("%v to %v: %q, want %q", c.low, c.high, got, c.want)
		}
	}
}

func TestTally(t *testing.T) {
	var a tally
	a.count(1, 2, farthestAlone)
	a.count(3, 3, farthestAlone)
	a.count(5, 3, farthestAlone)
	e := a.Errors(10)
	if e.Rows != 3 || math.Abs(e.RMSE-10*math.Sqrt(5.0/3)) > 1e-12 || math.Abs(e.MAE-10) > 1e-12 ||
		math.Abs(e.ExplainedVariance-(1-5.0/8)) > 1e-12 {
		t.Errorf("errors %+v", e)
	}
	if e := (tally{}).Errors(1); e.Rows != 0 || !math.IsNaN(e.RMSE) || !math.IsNaN(e.ExplainedVariance) {
		t.Errorf("errors of no rows: %+v", e)
	}
}

// The farthest rows and the first columns are named, and the others counted.
func TestNames(t *testing.T) {
	if got := names(strings.Fields("x0 x1 x2 x3 x4 x5 x6 x7 x8 x9")); !strings.HasPrefix(got, `"x0", "x1", `) ||
		!strings.HasSuffix(got, `, "x7" and 2 more`) {
		t.Error(got)
	}
	for range new(Report).Tasks() {
		t.Error("an empty report has a task")
	}
	// Reports of one process are joined with the outliers of all tables, the farthest first.
	joined := joinReports([]*Report{{Outliers: []Outlier{{Task: "a", Row: 1, Deviations: 7}}},
		{Outliers: []Outlier{{Task: "b", Row: 4, Deviations: 9.5}}}})
	if got := joined.Outliers; len(got) != 2 || got[0] != (Outlier{"b", 1, 4, 9.5}) ||
		got[1] != (Outlier{"a", 0, 1, 7}) {
		t.Errorf("outliers %+v", got)
	}
}
