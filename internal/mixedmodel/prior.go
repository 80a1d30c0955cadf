package mixedmodel

import (
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// A Prior is what tasks have in common. The coefficients of task t, the constant last, are
// a mean that all share and a deviation of its own,
//
//	mean ~ N(0, MeanVariance I), the constant free,
//	deviation_t ~ N(0, L L' + Spread diag(Slopes) + Intercept e e'),
//
// with loadings L, Slopes about the features and e about the constant. All variances are in units of
// that of the noise, so that their inverses are ridges.
type Prior struct {
	W, Rank                         int
	Loadings                        []float64 // L, by columns
	Intercept, Spread, MeanVariance float64
	Slopes                          []float64 // W - 1; nil are all 1
}

// Slope returns the variance of the deviations of feature j, but for what loadings say.
func (p *Prior) Slope(j int) float64 {
	if p.Slopes == nil {
		return p.Spread
	}
	return p.Spread * p.Slopes[j]
}

// Covariance returns that of the deviations, W x W.
func (p *Prior) Covariance() []float64 {
	w := p.W
	s := make([]float64, w*w)
	if p.Rank > 0 {
		blas64.Gemm(blas.Trans, blas.NoTrans, 1, p.Transposed(), p.Transposed(), 0, Square(s, w))
	}
	for j := range w - 1 {
		s[j*w+j] += p.Slope(j)
	}
	s[w*w-1] += p.Intercept
	return s
}

// Transposed returns the loadings, transposed: Rank x W.
func (p *Prior) Transposed() blas64.General { return Matrix(p.Loadings, p.Rank, p.W) }

// Column returns a column of the loadings.
func (p *Prior) Column(a int) []float64 { return p.Loadings[a*p.W:][:p.W] }

// Clone returns a copy.
func (p *Prior) Clone() *Prior {
	c := *p
	c.Loadings, c.Slopes = slices.Clone(p.Loadings), slices.Clone(p.Slopes)
	return &c
}

// Rotate turns the loadings to their principal axes, the largest first: the columns
// become orthogonal, their largest entries positive, and L L' stays.
func (p *Prior) Rotate() {
	if p.Rank == 0 {
		return
	}
	var svd mat.SVD
	if !svd.Factorize(mat.NewDense(p.Rank, p.W, slices.Clone(p.Loadings)), mat.SVDThin) {
		return
	}
	var v mat.Dense
	svd.VTo(&v)
	clear(p.Loadings)
	for a, s := range svd.Values(nil) {
		column := p.Column(a)
		mat.Col(column, a, &v)
		if floats.Max(column) < -floats.Min(column) {
			s = -s
		}
		floats.Scale(s, column)
	}
}

// Matrix returns the matrix of the data, which are its rows.
func Matrix(data []float64, rows, columns int) blas64.General {
	return blas64.General{Rows: rows, Cols: columns, Stride: max(columns, 1), Data: data}
}

// Square returns the n x n matrix of the data.
func Square(data []float64, n int) blas64.General { return Matrix(data, n, n) }

// Mass returns tr L L'.
func (p *Prior) Mass() float64 { return floats.Dot(p.Loadings, p.Loadings) }
