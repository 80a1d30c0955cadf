package evidence

import (
	"math"

	"github.com/difalt/difalt/internal/mixedmodel"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
)

// LogLikelihood returns that of all rows for the estimates of a point, mean and noise included, with its constant: of
//
//	y ~ N(Z mean, noise V / weight).
//
// It is of totals that are known: nobody is told more. Noise that tasks have for themselves counts as known.
func (pt *Point) LogLikelihood() float64 {
	w, r := pt.W, pt.rows
	change, image := make([]float64, w), make([]float64, w)
	floats.SubTo(change, pt.Mean, pt.about)
	blas64.Gemv(blas.NoTrans, 1, mixedmodel.Square(pt.gram, w), mixedmodel.Vector(change), 0, mixedmodel.Vector(image))
	square := pt.yy - 2*floats.Dot(change, pt.zy) + floats.Dot(change, image)
	return -(r.Total*math.Log(2*math.Pi*pt.Noise) - r.logWeights + pt.logDet + square/pt.Noise) / 2
}

// Moments returns the mean of z z' over all rows, of a point without deviations, which sees rows as they are.
func (pt *Point) Moments() []float64 {
	out := make([]float64, len(pt.gram))
	floats.ScaleTo(out, 1/pt.rows.Total, pt.gram)
	return out
}
