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
		sums := make([]float64, sumsOfAxis)
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

// TestTilt compares with the leading eigenvectors of random matrices with one direction in them.
func TestTilt(t *testing.T) {
	const draws = 30
	rng := rand.New(rand.NewPCG(3, 4))
	k := &data{features: 40, tasks: 400}
	edge := math.Pow(math.Sqrt(40)+math.Sqrt(400), 2)
	for _, theta := range []float64{.8, 1.5, 4} {
		said, sine := 0.0, 0.0
		for range draws {
			m := mat.NewDense(k.tasks, k.features, nil)
			for i := range k.tasks {
				for j := range k.features {
					m.Set(i, j, rng.NormFloat64())
				}
				m.Set(i, 0, m.At(i, 0)*math.Sqrt(1+theta)) // a signal of theta beside noise of 1
			}
			var gram mat.SymDense
			gram.SymOuterK(1, m.T())
			var e mat.EigenSym
			e.Factorize(&gram, true)
			var v mat.Dense
			e.VectorsTo(&v)
			said += k.tilt(e.Values(nil)[k.features-1]/edge) / draws
			cos := v.At(0, k.features-1)
			sine += math.Sqrt(1-cos*cos) / draws
		}
		if q := said / sine; q < .85 || q > 1.15 {
			t.Errorf("theta %g: %.3f, want %.3f", theta, said, sine)
		}
	}
}
