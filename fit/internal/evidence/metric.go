package evidence

import (
	"math"

	"github.com/difalt/difalt/internal/mixedmodel"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/lapack/lapack64"
	"gonum.org/v1/gonum/mat"
)

// A metric holds Cholesky factors R of what is expected of half of the second derivatives of a climb, a block diagonal matrix.
type metric []blas64.Triangular

// solve turns v into (2 R'R)^-1 v.
func (m metric) solve(v []float64) {
	for _, r := range m {
		x := mixedmodel.Vector(v[:r.N])
		blas64.Trsv(blas.Trans, r, x)
		blas64.Trsv(blas.NoTrans, r, x)
		blas64.Scal(0.5, x)
		v = v[r.N:]
	}
}

// metric returns that of a climb at its best point, if all tasks were alike: that takes no sum over the nodes.
func (c *climb) metric() metric {
	w, r, pt := c.Width, c.best.Rank, c.best
	info := c.expected(pt)
	n := w*r + 3
	var free []int // strengths, in info
	for k, v := range deviations(pt.Prior) {
		if !c.given.free(k) {
			continue
		}
		free = append(free, w*r+k)
		for i := range n {
			info.SetSym(i, w*r+k, 2/v*info.At(i, w*r+k))
		}
		info.SetSym(w*r+k, w*r+k, 2/v*info.At(w*r+k, w*r+k))
	}
	for k, at := range free { // of a parabola with its bottom at zero, in the root
		slope := c.slope[len(c.slope)-len(free)+k]
		info.SetSym(at, at, info.At(at, at)+math.Abs(slope)/(2*deviations(pt.Prior)[at-w*r])+leastCurvature)
	}
	if c.variances == nil {
		return metric{factorOf(c.lengthwise(info, free))}
	}
	for a, s := range c.variances {
		for i := range w {
			info.SetSym(a*w+i, a*w+i, info.At(a*w+i, a*w+i)+1/s)
		}
	}
	var m metric
	var list []int
	for k := range w * r {
		if list = append(list, k); !jointly(w, r) && len(list) == w {
			m = append(m, factorOf(square(info, list)))
			list = nil
		}
	}
	if list = append(list, free...); len(list) > 0 {
		m = append(m, factorOf(square(info, list)))
	}
	return m
}

// leastCurvature is that along a strength or length.
const leastCurvature = 1e-6

// expected returns the information, as Information does and then about the logarithm of the mean's variance, if every
// task said the same about its coefficients.
func (r *Rows) expected(pt *Point) *mat.SymDense {
	w, n, l := r.Width, r.Width*pt.Rank, newInformationSums(r.Width, pt.Rank)
	gram := append([]float64(nil), pt.gram...)
	floats.Scale(1/r.Count, gram)
	out := make([]float64, l.Len)
	pt.addInformation(pt.curvature(gram), out, &l)
	floats.Scale(r.Count, out)
	info := l.matrix(out, w, pt.Rank, n+3)
	mean := 0.0
	for j := range w - 1 {
		v := 1 - pt.MeanCovariance[j*w+j]/pt.MeanVariance
		mean += v * v / 2
	}
	info.SetSym(n+2, n+2, mean)
	return info
}

// lengthwise returns the information about logarithms of the lengths of the loadings, and about others.
func (c *climb) lengthwise(info *mat.SymDense, free []int) []float64 {
	w, r := c.Width, c.best.Rank
	n := r + len(free)
	along := mat.NewDense(w*r+3, n, nil) // what changes with these
	for a := range r {
		for i, v := range c.best.Column(a) {
			along.Set(a*w+i, a, v)
		}
	}
	for k, at := range free {
		along.Set(at, r+k, 1)
	}
	var product, out mat.Dense
	product.Mul(info, along)
	out.Mul(along.T(), &product)
	for a := range r {
		out.Set(a, a, out.At(a, a)+math.Abs(c.slope[a])/2+leastCurvature)
	}
	return out.RawMatrix().Data
}

// square returns the rows and columns of a list.
func square(a *mat.SymDense, list []int) []float64 {
	n := len(list)
	out := make([]float64, n*n)
	for i, p := range list {
		for j, q := range list {
			out[i*n+j] = a.At(p, q)
		}
	}
	return out
}

// factorOf returns the Cholesky factor of a matrix, or the unit matrix if rounding leaves it without one.
func factorOf(a []float64) blas64.Triangular {
	n := int(math.Sqrt(float64(len(a))))
	r, ok := lapack64.Potrf(blas64.Symmetric{N: n, Stride: n, Data: a, Uplo: blas.Upper})
	if !ok {
		for i := range a {
			r.Data[i] = 0
			if i%(n+1) == 0 {
				r.Data[i] = 1
			}
		}
	}
	return r
}
