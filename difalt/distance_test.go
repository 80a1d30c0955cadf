package difalt_test

import (
	"math"
	"testing"

	"github.com/difalt/difalt/difalt"
	"gonum.org/v1/gonum/mat"
)

// TestSubspaceDistance compares with singular values of the dense formula, over many magnitudes.
func TestSubspaceDistance(t *testing.T) {
	for _, eps := range []float64{1, 1e-3, 1e-8, 1e-13} {
		for _, dims := range [][3]int{{50, 4, 4}, {9, 1, 1}, {128, 10, 3}, {33, 2, 7}} {
			a, b := orthonormal(dims[0], dims[1], 1), orthonormal(dims[0], dims[2], 2)
			for j := range dims[2] { // b close to the span of a
				for i := range b.Col(j) {
					b.Col(j)[i] = eps*b.Col(j)[i] + a.Col(j % dims[1])[i]*float64(1+j)
				}
			}
			b.Orthonormalize(nil, nil)
			var uu, m mat.Dense
			uu.Mul(a, a.T())
			m.Mul(&uu, b)
			var svd mat.SVD
			if !svd.Factorize(minus(b, &m), mat.SVDNone) {
				t.Fatal("no svd")
			}
			if got, want := difalt.SubspaceDistance(a, b), svd.Values(nil)[0]; math.Abs(got-want) > 1e-6*want+1e-15 {
				t.Errorf("eps %g, dims %v: got %v, want %v", eps, dims, got, want)
			}
			if b.Col(0)[3] = math.NaN(); !math.IsNaN(difalt.SubspaceDistance(a, b)) {
				t.Errorf("dims %v: the distance of NaN is a number", dims)
			}
		}
	}
}
func scaled(f float64, a mat.Matrix) *mat.Dense {
	var m mat.Dense
	m.Scale(f, a)
	return &m
}

func minus(u, v mat.Matrix) *mat.Dense {
	var m mat.Dense
	m.Sub(u, v)
	return &m
}

func inner(a, b mat.Matrix) float64 {
	var m mat.Dense
	m.Mul(a.T(), b)
	return mat.Trace(&m)
}
