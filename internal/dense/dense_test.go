package dense

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// Solutions and eigenvectors satisfy their equations, and near singular matrices have no solution.
func TestFactorAndEigen(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for n := 1; n < 40; n++ {
		a := mat.NewSymDense(n, nil)
		for i := range n {
			for j := i; j < n; j++ {
				a.SetSym(i, j, rng.NormFloat64())
			}
			a.SetSym(i, i, a.At(i, i)+2*float64(n))
		}
		b := make([]float64, n)
		b[n-1] = 1
		r, ok := Factor(n, slices.Clone(a.RawSymmetric().Data))
		Solve(r, b)
		var product mat.VecDense
		product.MulVec(a, mat.NewVecDense(n, b))
		for i := range n {
			want := float64((i + 1) / n)
			if !ok || !(math.Abs(product.AtVec(i)-want) <= 1e-13) {
				t.Fatalf("order %d: A x = %v", n, product.RawVector().Data)
			}
		}
		vectors := slices.Clone(a.RawSymmetric().Data)
		values, ok := Eigen(n, vectors)
		var left, right mat.Dense
		left.Mul(a, mat.NewDense(n, n, vectors))
		right.Mul(mat.NewDense(n, n, vectors), mat.NewDiagDense(n, values))
		if !ok || !slices.IsSorted(values) || !mat.EqualApprox(&left, &right, 1e-12*float64(n)) {
			t.Fatalf("order %d: the eigenvalues %v", n, values)
		}
	}
	for _, last := range []float64{1, 1 + 1e-17, 0, math.NaN()} {
		if _, ok := Factor(2, []float64{1, 1, 0, last}); ok {
			t.Errorf("[1 1; 1 %v] has a factor", last)
		}
	}
}
