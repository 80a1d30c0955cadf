package evidence

import (
	"math"

	"github.com/difalt/difalt/internal/mixedmodel"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
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

// SlopesFreedom returns to how many degrees of freedom the variance of the slopes of every feature is known, two over the variance of its
// logarithm by the information of scoring and the prior; nil where all have the same, or where rounding leaves none.
func (a *Alike) SlopesFreedom(p *mixedmodel.Prior) []float64 {
	if p.Slopes == nil {
		return nil
	}
	info, _ := a.slopesInformation(p)
	for j := range p.W - 1 {
		info.SetSym(j, j, info.At(j, j)+1/(slopesDeviation*slopesDeviation))
	}
	var c mat.Cholesky
	var inverse mat.SymDense
	if !c.Factorize(info) || c.InverseTo(&inverse) != nil {
		return nil
	}
	out := make([]float64, p.W-1)
	for j := range out {
		out[j] = 2 / inverse.At(j, j)
	}
	return out
}

// Moments returns the mean of z z' over all rows, of a point without deviations, which sees rows as they are.
func (pt *Point) Moments() []float64 {
	out := make([]float64, len(pt.gram))
	floats.ScaleTo(out, 1/pt.rows.Total, pt.gram)
	return out
}
