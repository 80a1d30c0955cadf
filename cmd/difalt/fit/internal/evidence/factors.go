package evidence

import (
	"math"

	"github.com/difalt/difalt/cmd/difalt/internal/mixedmodel"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/lapack/lapack64"
	"gonum.org/v1/gonum/mat"
)

// An alikePoint is a prior as an Alike sees it.
type alikePoint struct {
	value, noise, trace float64   // but for what depends on the mean's variance; noise over that of the base
	loadings            []float64 // slope by the loadings along the axes, by columns
	intercept, spread   float64   // slope by these variances
}

// at evaluates a prior, with a noise that the mean's variance makes so much larger; false where there is no evidence. It takes
// products of w x w and w x rank only: B is a diagonal matrix and one of rank + 1. A climb calls it some hundred times a step.
func (a *Alike) at(p *mixedmodel.Prior, noise float64) (out alikePoint, ok bool) {
	w, n := p.W, p.Rank+1
	s := mixedmodel.GetScratch(w + 5*w*n + 7*n*n)
	defer s.Put()
	f, ok := a.factor(p, s)
	if !ok {
		return out, false
	}
	y, dx := s.Take(n*w), s.Take(n*w) // (C X)' and (D^-1 X)'
	xx, xy, nx, ny := s.Take(n*n), s.Take(n*n), s.Take(n*n), s.Take(n*n)
	rows := func(x []float64) blas64.General { return mixedmodel.Matrix(x, n, w) }
	inner := func(x []float64) blas64.General { return mixedmodel.Square(x, n) }
	mixedmodel.Product(rows(f.x), a.scatter.RawMatrix(), rows(y))
	for c := range n {
		floats.DivTo(dx[c*w:][:w], f.x[c*w:][:w], f.d)
	}
	mixedmodel.Product(rows(f.x), rows(f.x), inner(xx))
	mixedmodel.Product(rows(f.x), rows(y), inner(xy))
	mixedmodel.Product(inner(f.inner), inner(xx), inner(nx)) // of symmetric matrices
	mixedmodel.Product(inner(f.inner), inner(xy), inner(ny))
	traceB, square := -traceOf(inner(nx)), traceOfProduct(inner(nx), inner(ny))
	mixedmodel.Product(rows(dx), rows(y), inner(xx))
	out.trace, square = -traceOf(inner(ny)), square-2*traceOfProduct(inner(f.inner), inner(xx))
	for i, v := range f.d {
		c := a.scatter.At(i, i)
		out.trace += c / v
		traceB += 1 / v
		square += c / (v * v)
	}
	if out.noise = noise + (out.trace-a.base)/a.freedom; !(out.noise > leastNoise) {
		return out, false
	}
	out.value = a.freedom*math.Log(out.noise) + a.tasks*(f.logDet+a.logSlopes)
	// B^-1 F, and the slope of the value times F.
	rest, low := xx, xy
	mixedmodel.Product(inner(f.inner), inner(f.k), inner(rest))
	floats.Scale(-1, rest)
	for i := range n {
		rest[i*n+i]++
	}
	times := func(m, x, out []float64) {
		blas64.Gemm(blas.Trans, blas.NoTrans, 1, inner(m), rows(x), 0, rows(out))
	}
	z, sz := dx, s.Take(n*w)
	times(rest, f.x, z)
	times(rest, y, sz)
	mixedmodel.Product(rows(sz), rows(f.x), inner(nx))
	mixedmodel.Product(inner(f.inner), inner(nx), inner(low))
	times(low, f.x, y)
	for c := range n {
		for i, v := range f.d {
			k := c*w + i
			z[k] = a.tasks*z[k] - (sz[k]/v-y[k])/out.noise
		}
	}
	out.intercept = floats.Dot(a.constant, z[p.Rank*w:])
	out.spread = a.tasks*traceB - square/out.noise - out.intercept
	out.loadings = floats.ScaleTo(make([]float64, p.Rank*w), 2, z[:p.Rank*w])
	return out, true
}

// leastNoise is how much of the noise at the point there must be left: where tasks have few rows, that of tasks that are alike
// goes to zero, and says nothing long before.
const leastNoise = 3e-3

// factors are B of a prior as D + F J F', D diagonal, F the loadings and the constant along the axes: D, X' = (D^-1 F)', K = F'X, N with
// B^-1 = D^-1 - X N X', and log det B.
type factors struct {
	d, x, k, inner []float64
	logDet         float64
}

// factor returns those of a prior, in the memory that it is given; false where rounding leaves none.
func (a *Alike) factor(p *mixedmodel.Prior, s *mixedmodel.Scratch) (f factors, ok bool) {
	w, n := p.W, p.Rank+1
	f.d, f.x, f.k, f.inner = s.Take(w), s.Take(n*w), s.Take(n*n), s.Take(n*n)
	along, m := s.Take(n*w), s.Take(n*n) // F' and I + J K
	copy(f.d, a.errors)
	floats.AddConst(p.Spread, f.d)
	copy(along[p.Rank*w:], a.constant)
	if p.Rank > 0 {
		mixedmodel.Product(p.Transposed(), a.into.RawMatrix(), mixedmodel.Matrix(along, p.Rank, w))
	}
	for c := range n {
		floats.DivTo(f.x[c*w:][:w], along[c*w:][:w], f.d)
	}
	mixedmodel.Product(mixedmodel.Matrix(along, n, w), mixedmodel.Matrix(f.x, n, w), mixedmodel.Square(f.k, n))
	last := p.Intercept - p.Spread // of J, which has ones before
	for i := range n {
		j := 1.0
		if i == p.Rank {
			j = last
		}
		for c := range n {
			m[i*n+c] = j*f.k[i*n+c] + unit(i, c)
			f.inner[i*n+c] = unit(i, c)
		}
	}
	size, swaps := floats.Norm(m, 2), make([]int, n)
	if !lapack64.Getrf(mixedmodel.Square(m, n), swaps) {
		return f, false
	}
	sign := 1.0
	for i, with := range swaps {
		if with != i {
			sign = -sign
		}
		if m[i*n+i] < 0 {
			sign = -sign
		}
		f.logDet += math.Log(math.Abs(m[i*n+i]))
	}
	lapack64.Getrs(blas.NoTrans, mixedmodel.Square(m, n), mixedmodel.Square(f.inner, n), swaps)
	if !(sign > 0) || !(size*floats.Norm(f.inner, 2) < mat.ConditionTolerance) {
		return f, false
	}
	for i := range n {
		f.inner[i*n+p.Rank] *= last
	}
	for _, v := range f.d {
		f.logDet += math.Log(v)
	}
	return f, true
}

func traceOf(x blas64.General) (sum float64) {
	for i := range x.Rows {
		sum += x.Data[i*x.Stride+i]
	}
	return sum
}

// traceOfProduct returns tr x y.
func traceOfProduct(x, y blas64.General) (sum float64) {
	for i := range x.Rows {
		sum += blas64.Dot(mixedmodel.Vector(x.Data[i*x.Stride:][:x.Cols]), blas64.Vector{N: y.Rows, Inc: y.Stride, Data: y.Data[i:]})
	}
	return sum
}
