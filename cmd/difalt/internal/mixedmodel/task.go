// Package mixedmodel computes what a Gaussian linear mixed model needs of one task:
//
//	y = X theta + e,  theta = mean + deviation,  deviation ~ N(0, S),  e ~ N(0, Noise I),
//
// with S = diag(Deviations)^2 + Loadings Loadings'. A [Solver] reduces a [Task] under a [Prior] to its
// information X'V^-1 X and X'V^-1 y, where V = X S X' + Noise I is the covariance of y for a known mean.
// Likelihoods, posterior coefficients and their covariances follow from these two.
package mixedmodel

import (
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
)

// A Task holds the data of one task: either its rows (X and Y) or their products (G and C). Rows of
// weight w are multiplied by sqrt(w) before. Solvers read a Task and never change it.
type Task struct {
	Rows int       // number of rows, those of weight 0 left out
	X    []float64 // Rows x P, by rows; nil where G is set
	Y    []float64 // Rows
	G    []float64 // X'X, P x P; only the upper triangle is read; nil where X is set
	C    []float64 // X'y, P; nil where X is set
	YY   float64   // y'y, in both forms
	// Noise is the ratio of this task's noise variance to the prior's; 0 means 1.
	Noise float64
}

// AddRows adds the products of rows x, n x P by rows, and targets y to G and C. It leaves Rows and YY alone.
func (t *Task) AddRows(x, y []float64) {
	p := len(t.C)
	rows := general(len(y), p, x)
	blas64.Syrk(blas.Trans, 1, rows, 1, symmetric(p, t.G))
	blas64.Gemv(blas.Trans, 1, rows, vector(y), 1, vector(t.C))
}

// Residual returns the sum of squares |y - X theta|^2, which rounding never makes negative.
func (t *Task) Residual(theta []float64) float64 {
	if t.G == nil {
		sum, p := 0.0, len(theta)
		for i, y := range t.Y {
			e := y - floats.Dot(t.X[i*p:][:p], theta)
			sum += e * e
		}
		return sum
	}
	g := make([]float64, len(theta))
	blas64.Symv(1, symmetric(len(theta), t.G), vector(theta), 0, vector(g))
	return max(t.YY-2*floats.Dot(theta, t.C)+floats.Dot(theta, g), 0)
}

func vector(x []float64) blas64.Vector { return blas64.Vector{N: len(x), Inc: 1, Data: x} }

// general returns an m x n matrix by rows on the memory of x.
func general(m, n int, x []float64) blas64.General {
	return blas64.General{Rows: m, Cols: n, Stride: max(n, 1), Data: x}
}

// symmetric returns the n x n matrix whose upper triangle is in x, which holds all n x n entries.
func symmetric(n int, x []float64) blas64.Symmetric {
	return blas64.Symmetric{Uplo: blas.Upper, N: n, Stride: max(n, 1), Data: x}
}

// mirror copies the upper triangle of the n x n matrix x to the lower one.
func mirror(x []float64, n int) {
	for i := range n {
		for j := i + 1; j < n; j++ {
			x[j*n+i] = x[i*n+j]
		}
	}
}
