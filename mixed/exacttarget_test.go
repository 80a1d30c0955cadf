package mixed

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/difalt/difalt/internal/check"
)

// No density of rows is higher than that of rows without residuals at the least noise. Sums of squares that
// rounding leaves negative would exceed it, and then rounding would choose the form.
func TestEvidenceOfExactTarget(t *testing.T) {
	most := -math.Log(2*math.Pi*leastNoise) / 2 // of a row
	for _, near := range []float64{0, 1e-6, 1e-3} {
		for seed := range uint64(4) {
			r := rand.New(rand.NewPCG(seed, 8))
			table := newTable(t, "price", "discount", "sale", "other", "share")
			for i := range 96 {
				price, discount, other := 2+r.NormFloat64(), r.NormFloat64(), r.NormFloat64()
				sale := price - discount + near*r.NormFloat64()
				share := discount - price/2 + near*r.NormFloat64()
				add(t, table, fmt.Sprint(i%6), sale-other, price, discount, sale, other, share)
			}
			_, report, err := Fit(t.Context(), Input{Table: table, HeldOut: holdOut(table)}, Options{})
			check.Done(err)
			for _, c := range report.Candidates {
				if v := c.Evidence / 72; v > most {
					t.Errorf("columns apart by %v, seed %d, rank %d, curves %v: %v nats a row, at most %v are possible",
						near, seed, c.Rank, c.Curves, v, most)
				}
			}
		}
	}
}

// A target that is a line of a column in every task is predicted to nearly all digits: the noise at its floor
// costs none. Tasks have many rows, so that only their products are kept.
func TestExactTargetKeepsDigits(t *testing.T) {
	for _, curves := range []bool{false, true} {
		r := rand.New(rand.NewPCG(7, 8))
		table := newTable(t, "share", "day")
		for i := range 1200 {
			k, share := i%5, r.Float64()
			y := math.Pow(10, float64(k)) * (1 + 3*share)
			add(t, table, fmt.Sprint(k), y, share, float64(i))
		}
		_, report := fitted(t, table, Options{NoCurves: !curves}, holdOut(table)...)
		for _, score := range []Score{report.Scores[0], report.Scores[3]} {
			if e := 1 - score.Test.ExplainedVariance; !(e <= 1e-12) {
				t.Errorf("curves %v: %s leaves %v of the variance", curves, score.Method, e)
			}
		}
	}
}

// The mean of coefficients under a wide prior has a posterior where rounding errors of the information exceed
// what the rows tell about some combinations of columns. No deviation is larger than in the prior.
func TestEffectsOfExactTarget(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 9))
		table := newTable(t, "a", "b", "c", "d", "sum", "other")
		for i := range 1000 {
			x := make([]float64, 6)
			for j := range 4 {
				x[j] = float64(r.IntN(2 + j))
			}
			x[4], x[5] = x[0]+x[1]+x[2]+x[3], 1-x[0]
			add(t, table, fmt.Sprint(i%4), x[4]+float64(i%4)/10, x...)
		}
		s := statsOf(t, table, false, 1)
		q := s.start()
		q.noise, q.sigma = leastNoise, []float64{.01, 5e-5, 0}
		m := check.OK(s.meanPosterior(t.Context(), s.tasks, q))
		estimate, err := (&fitter{}).effects(&choice{s: s, optimum: optimum{q: q, m: m}}, m)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		at := 0
		for j := range s.p {
			sd := math.Sqrt(estimate.Covariance[at])
			if !(sd >= 0 && sd <= 1.01*constantSD0) || !(math.Abs(estimate.Mean[j]) <= 4*constantSD0) {
				t.Errorf("seed %d: coefficient %d is %v, with the deviation %v", seed, j, estimate.Mean[j], sd)
			}
			at += s.p - j
		}
	}
}
