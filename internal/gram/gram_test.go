package gram_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/difalt/difalt/internal/gram"
	"github.com/difalt/difalt/kernel"
	"gonum.org/v1/gonum/mat"
)

// Inverse, eigenvalues, eigenvectors and leverages are those of gonum, and directions that no task uses are
// bounded.
func TestMatrix(t *testing.T) {
	const r, tasks, scale = 4, 9, 0.25
	rng := rand.New(rand.NewPCG(1, 1))
	b := make([]float64, tasks*r)
	for i := range b {
		b[i] = rng.NormFloat64()
	}
	var want, inverse mat.Dense
	coefficients := mat.NewDense(tasks, r, b)
	want.Mul(coefficients.T(), coefficients)
	want.Scale(scale, &want)
	p, m := make([]float64, r*(r+1)/2), gram.New(r)
	gram.Outer(p, b, r, nil, scale)
	m.Invert(p)
	if err := inverse.Inverse(&want); err != nil || !mat.EqualApprox(mat.NewDense(r, r, m.Inverse), &inverse, 1e-12) {
		t.Errorf("inverse %v, want %v", m.Inverse, mat.Formatted(&inverse))
	}
	for k, value := range m.Values {
		v := mat.NewVecDense(r, m.Vector(k))
		var product mat.VecDense
		if product.MulVec(&want, v); math.Abs(mat.Norm(v, 2)-1) > 1e-14 {
			t.Errorf("eigenvector %d has norm %v", k, mat.Norm(v, 2))
		}
		if product.AddScaledVec(&product, -value, v); mat.Norm(&product, 2) > 1e-14*mat.Norm(&want, 2) {
			t.Errorf("vector %d is no eigenvector of %v", k, value)
		}
	}
	first := mat.NewVecDense(r, b[:r])
	if h := mat.Inner(first, &inverse, first); math.Abs(m.Leverage(b[:r])-h) > 1e-12 ||
		m.Condition() != m.Values[r-1]/m.Values[0] ||
		m.Least() != m.Values[0] || m.P[1] != p[1] {
		t.Errorf("leverage %v, want %v; condition %v, least %v", m.Leverage(b[:r]), h, m.Condition(), m.Least())
	}
	dst, v := kernel.NewBasis(11, r), kernel.NewBasis(11, r)
	for k := range 11 * r {
		v.Col(k % r)[k/r] = rng.NormFloat64()
	}
	var product mat.Dense
	product.Mul(v, &inverse)
	gram.AddProduct(dst, v, m.Inverse)
	if !mat.EqualApprox(dst, &product, 1e-12) {
		t.Errorf("product %v, want %v", mat.Formatted(dst), mat.Formatted(&product))
	}
	gram.Outer(p, []float64{2, 0, 0, 0}, r, nil, 1) // no task uses other directions
	m.Invert(p)
	if math.Abs(m.Inverse[0]-.25) > 1e-15 || math.Abs(m.Inverse[5]-.25e6) > 1e-9 || !math.IsInf(m.Condition(), 1) ||
		m.Least() != 4e-6 {
		t.Errorf("rank 1: inverse %v, condition %v, least %v", m.Inverse, m.Condition(), m.Least())
	}
	clear(p)
	if m.Invert(p); m.Inverse[0] != 0 {
		t.Errorf("inverse of zero %v", m.Inverse)
	}
}
