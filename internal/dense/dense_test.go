package dense

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/lapack/lapack64"
	"gonum.org/v1/gonum/mat"
)

// Factors of semidefinite matrices are gonum's, with its pivots and rank.
func TestPstrf(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for n := 1; n < 80; n++ {
		rank := 1 + rng.IntN(n)
		x := make([]float64, rank*n)
		for i := range x {
			x[i] = rng.NormFloat64()
		}
		var g mat.Dense
		g.Mul(mat.NewDense(rank, n, x).T(), mat.NewDense(rank, n, x))
		ours, theirs := slices.Clone(g.RawMatrix().Data), slices.Clone(g.RawMatrix().Data)
		order, other, work := make([]int, n), make([]int, n), make([]float64, 2*n)
		got, k := Pstrf(Symmetric(n, ours), order, 1e-9*float64(n), work)
		want, m, _ := lapack64.Pstrf(Symmetric(n, theirs), other, 1e-9*float64(n), work)
		if k != m || k != rank || !slices.Equal(order, other) {
			t.Fatalf("order %d, rank %d: %d with pivots %v, want %d with %v", n, rank, k, order, m, other)
		}
		for i := range rank {
			for j := i; j < n; j++ {
				if v, w := got.Data[i*n+j], want.Data[i*n+j]; !(math.Abs(v-w) <= 1e-9*float64(n)) {
					t.Fatalf("order %d, rank %d: R(%d, %d) is %v, want %v", n, rank, i, j, v, w)
				}
			}
		}
	}
}

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
