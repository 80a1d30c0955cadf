package difalt

import (
	"math"

	"github.com/difalt/difalt/internal/sizes"
	"github.com/difalt/difalt/kernel"
	tiles "github.com/difalt/difalt/kernel/blas"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/lapack"
)

// SubspaceDistance returns SD_2(u, v) = |(I - u u') v|_2 for u and v with orthonormal columns: the sine of
// the largest angle between a direction in the span of v and the span of u. It panics if u and v differ in
// their number of rows, or if one is nil.
func SubspaceDistance(u, v *kernel.Basis) float64 {
	if u == nil || v == nil {
		panic("difalt: a basis is nil")
	}
	d, ur := u.Dims()
	vd, vr := v.Dims()
	if d != vd {
		panic("difalt: bases have different numbers of rows")
	}
	return newDistance(d, ur, vr).between(u, v)
}

// distance is the scratch memory for subspace distances.
type distance struct {
	m                         *kernel.Basis
	gram, inner, values, work []float64
}

func newDistance(d, ur, vr int) *distance {
	return &distance{
		m: kernel.NewBasis(d, vr), inner: make([]float64, ur*vr), values: make([]float64, vr),
		work: make([]float64, 3*vr), gram: make([]float64, vr*vr),
	}
}

// between returns SD_2(u, v), the root of the largest eigenvalue of M'M for M = (I - u u') v.
func (k *distance) between(u, v *kernel.Basis) float64 {
	r := len(k.values)
	k.m.CopyFrom(v)
	project(k.m, u, k.inner)
	d, _ := v.Dims()
	m, ld := k.m.Data(), k.m.Stride() // by rows, M'
	tiles.Implementation{}.Dgemm(blas.NoTrans, blas.Trans, r, r, d, 1, m, ld, m, ld, 0, k.gram, r)
	if !sizes.Finite(k.gram) {
		return math.NaN()
	}
	if !(tiles.Lapack{}).Dsyev(lapack.EVNone, blas.Upper, r, k.gram, r, k.values, k.work, len(k.work)) {
		return math.NaN()
	}
	return math.Sqrt(max(0, k.values[r-1]))
}

// project replaces v by (I - u u') v; inner is scratch for v'u.
func project(v, u *kernel.Basis, inner []float64) {
	d, vr := v.Dims()
	_, ur := u.Dims()
	x, y := u.Data(), v.Data() // by rows, u' and v'
	tiles.Implementation{}.Dgemm(blas.NoTrans, blas.Trans, vr, ur, d, 1, y, v.Stride(), x, u.Stride(), 0, inner, ur)
	tiles.Implementation{}.Dgemm(blas.NoTrans, blas.NoTrans, vr, d, ur, -1, inner, ur, x, u.Stride(), 1, y, v.Stride())
}
