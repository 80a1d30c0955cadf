package difalt

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// TestExplainedByNoise: of noise alone every task explains 1 on average, whatever the ridge.
func TestExplainedByNoise(t *testing.T) {
	const n, r, draws = 12, 3, 4000
	rng := rand.New(rand.NewPCG(1, 2))
	for _, ridge := range []float64{0, 3, 50} {
		sums := make([]float64, ofTurn)
		for range draws {
			a, e := mat.NewDense(n, r, nil), mat.NewVecDense(n, nil)
			for i := range n {
				e.SetVec(i, rng.NormFloat64())
				for j := range r {
					a.Set(i, j, rng.NormFloat64())
				}
			}
			var gram mat.Dense
			gram.Mul(a.T(), a)
			for j := range r {
				gram.Set(j, j, gram.At(j, j)+ridge)
			}
			var b, right mat.VecDense
			right.MulVec(a.T(), e)
			if err := b.SolveVec(&gram, &right); err != nil {
				t.Fatal(err)
			}
			addExplained(sums, a, b.RawVector().Data, []float64{0.6, 0, 0.8}, ridge)
		}
		if got := sums[0] / draws; math.Abs(got-1) > 5*math.Sqrt(2./draws) {
			t.Errorf("ridge %g: %.3f, want 1", ridge, got)
		}
	}
}
