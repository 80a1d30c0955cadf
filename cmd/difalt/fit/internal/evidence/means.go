package evidence

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// A meanSpectrum is a point as it depends on the variance v of the mean, with all else as it is: along the eigenvectors of Z'V^-1 Z
// about the constant every direction is by itself, and no system has to be solved for another v.
type meanSpectrum struct {
	pt     *Point
	values []float64 // eigenvalues
	right  []float64 // Z'V^-1 y along them
	about  []float64 // what targets are less, along them
	level  float64   // of the constant
	square float64   // y'V^-1 y less what the constant explains
}

// spectrum returns that of a point; nil if rounding leaves none.
func (pt *Point) spectrum() *meanSpectrum {
	if pt.means != nil {
		return pt.means
	}
	w := pt.W
	k, row := w-1, pt.gram[(w-1)*w:]
	s := &meanSpectrum{pt: pt, level: row[k]}
	if k == 0 || !(s.level > 0) {
		return nil
	}
	s.square = pt.yy - pt.zy[k]*pt.zy[k]/s.level
	right, about := mat.NewVecDense(k, nil), mat.NewVecDense(k, pt.about[:k])
	centred := mat.NewSymDense(k, nil)
	for i := range k {
		right.SetVec(i, pt.zy[i]-row[i]/s.level*pt.zy[k])
		for j := i; j < k; j++ {
			centred.SetSym(i, j, pt.gram[i*w+j]-row[i]/s.level*row[j])
		}
	}
	var e mat.EigenSym
	if !e.Factorize(centred, true) {
		return nil
	}
	var q mat.Dense
	e.VectorsTo(&q)
	along := func(v *mat.VecDense) []float64 {
		var out mat.VecDense
		out.MulVec(q.T(), v)
		return out.RawVector().Data
	}
	s.values, s.right, s.about = e.Values(nil), along(right), along(about)
	pt.means = s
	return s
}

// at returns the noise and the value, but for log det V, with a variance v of the mean, and the slope of the value by the
// logarithm of v; see Point.solve.
func (s *meanSpectrum) at(v float64) (noise, value, slope float64) {
	square, means, traces, determined := s.square, 0.0, 0.0, 0.0
	value = math.Log(s.level)
	for i, l := range s.values {
		l = max(l, 0)
		cover, right := l+1/v, s.right[i]-s.about[i]/v
		change := right / cover
		square += s.about[i]*s.about[i]/v - right*change
		means += (s.about[i] + change) * (s.about[i] + change)
		traces += 1 / cover
		determined += l / cover
		value += math.Log1p(l * v) // log cover, and log v of the prior
	}
	freedom := s.pt.freedomOf(v, determined)
	noise = (max(square, 0) + NoiseFloor*s.pt.rows.Total) / freedom
	value += freedom * math.Log(noise)
	return noise, value, float64(len(s.values)) - (traces+means/noise)/v
}

// freedomOf is that of the noise, with a variance v of the mean and as many of its coefficients as rows determine. A mean that is free
// takes its part: its variance is not that of so many times the noise.
func (pt *Point) freedomOf(v, determined float64) float64 {
	freedom := pt.rows.Total - 1
	if v >= MaxStrength {
		freedom -= determined
	}
	return max(freedom, 1)
}
