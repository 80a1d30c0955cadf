package mixed

import (
	"github.com/difalt/difalt/internal/dense"
	"github.com/difalt/difalt/internal/rounded"
	"gonum.org/v1/gonum/blas"
)

// A taskData holds the data of one task of a Gaussian linear mixed model,
//
//	y = X theta + e,  theta = mean + deviation,  deviation ~ N(0, S),  e ~ N(0, Noise I),
//
// with S = diag(Deviations)^2 + Loadings Loadings' of a [Prior]: either its rows (X and Y) or their products
// (G and C). Rows of weight w are multiplied by sqrt(w) before. Solvers read a taskData and never change it.
type taskData struct {
	Rows int       // number of rows of positive weight
	X    []float64 // Rows x P, by rows; nil where G is set
	Y    []float64 // Rows
	G    []float64 // X'X, P x P; only the upper triangle is read; nil where X is set
	C    []float64 // X'y, P; nil where X is set
	YY   float64   // y'y, in both forms
	// Noise is the ratio of this task's noise variance to the prior's; 0 means 1.
	Noise float64
}

// AddRows adds the products of rows x, n x P by rows, and targets y to G and C. It leaves Rows and YY alone.
func (t *taskData) AddRows(x, y []float64) {
	p := len(t.C)
	rows := dense.General(len(y), p, x)
	dense.Syrk(blas.Trans, 1, rows, 1, dense.Symmetric(p, t.G))
	dense.Gemv(blas.Trans, 1, rows, dense.Vector(y), 1, dense.Vector(t.C))
}

// Residual returns the sum of squares |y - X theta|^2, which rounding never makes negative.
func (t *taskData) Residual(theta []float64) (sum float64) {
	p := len(theta)
	if t.G == nil {
		for i, y := range t.Y {
			e := y - rounded.Dot(t.X[i*p:][:p], theta)
			sum += float64(e * e)
		}
		return sum
	}
	g := make([]float64, p)
	dense.Symv(1, dense.Symmetric(p, t.G), dense.Vector(theta), 0, dense.Vector(g))
	return max(t.YY-2*rounded.Dot(theta, t.C)+rounded.Dot(theta, g), 0)
}
