package model

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// TestEffects compares every effect with its contrast written out.
func TestEffects(t *testing.T) {
	for _, freedom := range []float64{0, 4} {
		p := synthetic()
		mean, cov, quantile := p.Mean, p.MeanCovariance, 1.959963984540054
		if freedom > 0 {
			mean, cov, quantile = p.Tasks.Theta[:9], p.Tasks.Covariance(0), 2.7764451051977987
			p.Effects = &Estimate{Mean: mean, Covariance: cov, Freedom: freedom}
		}
		c, between := unpack(cov, 9), spread(&p.Prior)
		contrast := func(a ...float64) (estimate, se, sd float64) {
			v := mat.NewVecDense(9, a)
			return 3 * mat.Dot(v, mat.NewVecDense(9, mean)), 3 * math.Sqrt(mat.Inner(v, c, v)), 3 * math.Sqrt(mat.Inner(v, between, v))
		}
		var bend [3]float64 // mean squares over the knots, ends counted half
		for i, w := range []float64{1. / 6, 1. / 3, 1. / 3, 1. / 6} {
			v := p.Design.Curves[0].Values
			e, se, sd := contrast(0, 0, 0, 0, 0, 0, 0, v[i], v[4+i])
			bend[0], bend[1], bend[2] = bend[0]+w*e*e, bend[1]+w*se*se, bend[2]+w*sd*sd
		}
		want := []struct {
			kind             EffectKind
			term, reference  string
			estimate, se, sd float64
		}{{kind: Level, term: LevelTerm}, {kind: Slope, term: "age"}, {kind: Slope, term: "dose"},
			{kind: Contrast, term: "site=b", reference: "site=a"}, {kind: Contrast, term: "site=c", reference: "site=a"},
			{kind: Departure, term: "age", estimate: math.Sqrt(bend[0]), se: math.Sqrt(bend[1]), sd: math.Sqrt(bend[2])}}
		for i, a := range [][]float64{{1, 0, 0, 0, 0, 0, 0, 0, 0}, {0, 1. / 9, 0, 0, 0, 0, 0, 0, 0}, {0, 0, 2, 0, 0, 0, 0, 0, 0},
			{0, 0, 0, -2, 1 / .45, 0, 0, 0, 0}, {0, 0, 0, -2, 0, 2.5, 0, 0, 0}} {
			want[i].estimate, want[i].se, want[i].sd = contrast(a...)
		}
		want[0].estimate += 10
		got := mustNew(t, p).Effects()
		if len(got) != len(want) {
			t.Fatalf("%d effects, want %d", len(got), len(want))
		}
		for i, w := range want {
			e := got[i]
			if e.Kind != w.kind || e.Term != w.term || e.Reference != w.reference {
				t.Errorf("effect %d is %v: want %v", i, e, w)
			}
			near(t, "estimate of "+w.term, e.Estimate, w.estimate)
			near(t, "standard error of "+w.term, e.StandardError, w.se)
			near(t, "deviation of "+w.term, e.Deviation, w.sd)
			low := w.estimate - quantile*w.se
			if w.kind == Departure {
				low = max(low, 0)
			}
			near(t, "lower limit of "+w.term, e.Low, low)
			near(t, "upper limit of "+w.term, e.High, w.estimate+quantile*w.se)
		}
	}
}

func TestDescribe(t *testing.T) {
	p := synthetic()
	p.Tasks.Names[1] = "s\x1b[31m"
	p.Tasks.Covariance = nil
	var out bytes.Buffer
	if err := mustNew(t, p).Describe(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"version 1, estimated by evidence", "score", "26, between 5 and 8 per task", "age, from 20 to 80 with 4 knots",
		"1.643, standard deviation in the unit of the target", "as wide as those of unseen tasks"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "\x1b") {
		t.Error("the summary contains an escape character of a task's name")
	}
}
