package evidence

import (
	"math"
	"slices"

	"github.com/difalt/difalt/cmd/difalt/internal/mixedmodel"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// The variance of the slopes of a feature is the spread times a number of its own, whose logarithm has a normal prior of this standard
// deviation. With more coefficients than maxSlopes all features have the spread: finding slopes takes w^3.
const (
	slopesDeviation = 2.0
	maxSlopes       = 120
)

// slopeOf is that of a feature; nil are all 1.
func slopeOf(slopes []float64, j int) float64 {
	if slopes == nil {
		return 1
	}
	return slopes[j]
}

// slopesPenalty returns -2 log density of slopes by their prior, but for a constant.
func slopesPenalty(list []float64) (v float64) {
	for _, s := range list {
		v += math.Pow(math.Log(s)/slopesDeviation, 2)
	}
	return v
}

// slopesInformation returns half of the expected second derivatives of the value by the logarithms of slopes, and its first ones: with the
// variance v_j of slopes they are tasks v_j v_k (B^-1_jk)^2 / 2 and v_j (tasks B^-1 - B^-1 C B^-1 / noise)_jj.
func (a *Alike) slopesInformation(p *mixedmodel.Prior) (info *mat.SymDense, first []float64) {
	s := a.seen(p, 1)
	return s.slopesInformation(p, a.tasks)
}

func (s *seen) slopesInformation(p *mixedmodel.Prior, tasks float64) (info *mat.SymDense, first []float64) {
	w := p.W
	info, first = mat.NewSymDense(w-1, nil), make([]float64, w-1)
	for j := range first {
		v := p.Slope(j)
		first[j] = v * (tasks*s.inverse[j*w+j] - s.scatter[j*w+j]/s.noise)
		for k := j; k < w-1; k++ {
			info.SetSym(j, k, tasks*v*p.Slope(k)*s.inverse[j*w+k]*s.inverse[j*w+k]/2)
		}
	}
	return info, first
}

// OccamOfSlopes returns what the evidence loses since slopes are not known but estimated, by Laplace's approximation.
func (a *Alike) OccamOfSlopes(p *mixedmodel.Prior) float64 {
	if p.Slopes == nil {
		return 0
	}
	h, _ := a.slopesInformation(p)
	h.ScaleSym(slopesDeviation*slopesDeviation, h)
	for j := range p.W - 1 {
		h.SetSym(j, j, h.At(j, j)+1)
	}
	var c mat.Cholesky
	if !c.Factorize(h) {
		return math.Inf(1)
	}
	return c.LogDet()
}

// chooseSlopes returns a prior with the slopes of the largest evidence if all else stays, by scoring (Fisher 1925), and by how much that
// is more. The spread is the geometric mean of the variances of slopes.
func (a *Alike) chooseSlopes(p *mixedmodel.Prior, noise float64) (best *mixedmodel.Prior, gain float64) {
	const steps, little = 10, 0.02
	best = p
	at := a.seen(best, noise)
	value := at.value + slopesPenalty(best.Slopes)
	for range steps {
		step := a.slopesStep(best, &at)
		if step == nil {
			break
		}
		before := value
		for range maxCuts {
			next := best.Clone()
			next.Slopes = make([]float64, len(step))
			for j, v := range step {
				next.Slopes[j] = math.Exp(v) * slopeOf(best.Slopes, j)
			}
			mean := math.Exp(floats.Sum(logsOf(next.Slopes)) / float64(len(step)))
			floats.Scale(1/mean, next.Slopes)
			next.Spread = limitStrength(next.Spread * mean)
			there := a.seen(next, noise)
			if v := there.value + slopesPenalty(next.Slopes); v < value {
				best, at, value = next, there, v
				break
			}
			floats.Scale(0.25, step)
		}
		if gain += before - value; before-value < little {
			break
		}
	}
	return best, gain
}

// slopesStep returns the step of scoring in the logarithms of slopes; nil if rounding leaves none.
func (a *Alike) slopesStep(p *mixedmodel.Prior, at *seen) []float64 {
	info, first := at.slopesInformation(p, a.tasks)
	for j := range first {
		info.SetSym(j, j, info.At(j, j)+1/(slopesDeviation*slopesDeviation))
		first[j] += 2 * math.Log(slopeOf(p.Slopes, j)) / (slopesDeviation * slopesDeviation)
	}
	var c mat.Cholesky
	var step mat.VecDense
	if !c.Factorize(info) || c.SolveVecTo(&step, mat.NewVecDense(len(first), first)) != nil {
		return nil
	}
	for j, v := range step.RawVector().Data {
		first[j] = math.Min(math.Max(-v/2, -2), 2)
	}
	return first
}

func logsOf(list []float64) []float64 {
	out := slices.Clone(list)
	for j, v := range out {
		out[j] = math.Log(v)
	}
	return out
}
