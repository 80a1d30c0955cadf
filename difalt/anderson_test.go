package difalt

import (
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// solvePositive solves B'B c = b, and refuses matrices that are not positive definite, NaN included.
func TestSolvePositive(t *testing.T) {
	rng := rand.New(rand.NewPCG(41, 42))
	for k := 1; k < 9; k++ {
		b, a := mat.NewDense(k+3, k, nil), mat.NewDense(k, k, nil)
		b.Apply(func(int, int, float64) float64 { return rng.NormFloat64() }, b)
		a.Mul(b.T(), b)
		c, got := mat.NewVecDense(k, nil), make([]float64, k)
		for i := range got {
			got[i] = rng.NormFloat64()
			c.SetVec(i, got[i])
		}
		upper := mat.DenseCopyOf(a)
		for i := range k {
			for j := range i {
				upper.Set(i, j, 1e9) // is not read
			}
		}
		if !solvePositive(upper.RawMatrix().Data, got) {
			t.Fatalf("order %d: not positive definite", k)
		}
		var back mat.VecDense
		back.MulVec(a, mat.NewVecDense(k, got))
		back.SubVec(&back, c)
		if e := mat.Norm(&back, 2); !(e <= 1e-11*mat.Norm(c, 2)) {
			t.Errorf("order %d: A c differs from b by %g", k, e)
		}
	}
	zero := 0.0
	for _, a := range [][]float64{{0}, {-1}, {zero / zero}, {1, 2, 0, 3}, {1, 1, 0, 1}} {
		if solvePositive(a, make([]float64, map[int]int{1: 1, 4: 2}[len(a)])) {
			t.Errorf("%v counts as positive definite", a)
		}
	}
}
