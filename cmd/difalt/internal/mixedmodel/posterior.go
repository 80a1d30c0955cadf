package mixedmodel

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// A Posterior says what the rows of all tasks leave unknown about the coefficients of one, before its own rows count.
type Posterior struct {
	*Prior
	Mean           []float64 // of the coefficients, w
	MeanCovariance []float64 // of that mean, in units of Noise, w x w; zero where the mean is known
	S              []float64 // covariance of the deviations, in units of Noise, w x w
	Noise          float64   // variance of the noise: of all tasks, unless they differ
	Freedom        float64   // degrees of freedom of the estimate of Noise; 0 if these are not known
	// NoisePrior says how tasks differ by their noise; its Freedom is 0 if they do not.
	NoisePrior NoisePrior
	// Uncertainty is the covariance of the loadings, by columns, and of the logarithms of Intercept and
	// Spread; nil takes them as known.
	Uncertainty *mat.SymDense
	// SlopesFreedom is to how many degrees of freedom the variance of the slopes of every feature is known, W - 1; nil if that is only
	// what Uncertainty says of Spread.
	SlopesFreedom []float64
}

// Coefficients sets theta to the coefficients of a task by its rows, and cov, w x w unless it is nil, to
// their covariance: that of a linear mixed model with the error of the mean (Henderson 1975), and
// to first order what Uncertainty and SlopesFreedom add to it (Kackar and Harville 1984). That counts twice: with estimated strengths the
// rest is too small by as much again (Prasad and Rao 1990). All of it is larger by what makes up for the degrees of freedom of strengths, where these
// are few. It is false if rounding leaves no solution.
func (p *Posterior) Coefficients(t *Task, theta, cov []float64) bool {
	m, w := len(t.Y), p.W
	scratch := GetScratch(m*(4*w+m+1) + w)
	defer scratch.Put()
	k, ok := t.whitenTo(scratch.Take(m*(w+1)), p.S, w)
	if !ok {
		return false
	}
	g, s := scratch.Take(w), Square(p.S, w)
	k.Gradient(g, p.Mean)
	copy(theta, p.Mean)
	blas64.Gemv(blas.NoTrans, 1, s, Vector(g), 1, Vector(theta))
	if cov == nil {
		return true
	}
	// Noise S + C - K'(Noise K + B - (B z')K) - B'K for z = V^-1/2 Z, K = z S and B = z C, with the covariance C of what all tasks share.
	c := Square(cov, w)
	floats.ScaleTo(cov, p.Noise, p.MeanCovariance)
	if p.Uncertainty != nil {
		p.addUncertain(c, g)
	}
	z, ks := Matrix(k.Z, m, w), Matrix(scratch.Take(m*w), m, w)
	if m > 0 {
		b, a := Matrix(scratch.Take(m*w), m, w), Matrix(scratch.Take(m*w), m, w)
		bz := Square(scratch.Take(m*m), m)
		Product(z, s, ks)
		blas64.Gemm(blas.NoTrans, blas.NoTrans, 1, z, c, 0, b)
		Product(b, z, bz)
		floats.AddScaledTo(a.Data, b.Data, p.Noise, ks.Data)
		blas64.Gemm(blas.NoTrans, blas.NoTrans, -1, bz, ks, 1, a)
		blas64.Gemm(blas.Trans, blas.NoTrans, -1, ks, a, 1, c)
		blas64.Gemm(blas.Trans, blas.NoTrans, -1, b, ks, 1, c)
	}
	floats.AddScaled(cov, p.Noise, p.S)
	if p.Uncertainty != nil {
		floats.Scale(math.Pow(Interval95(p.freedom(cov, z, ks)), 2), cov)
	}
	return true
}

// freedomRows is the number of rows by which freedom judges.
const freedomRows = 6

// freedom returns to how many degrees of freedom the covariance of a task's coefficients is known, by Satterthwaite: 2 v^2 over the variance of v, v being
// variances of expected targets, of which the derivative by S along dS is x'Q dS Q'x, Q = I - K'z. Rows x have features of size 1, of either sign, the
// constant too. Nothing depends on the order or the signs of features: they count from the largest of the mean, with the sign that they have there, and not
// if that is 0, as of a column that is constant. 0 if strengths are known.
func (p *Posterior) freedom(cov []float64, z, k blas64.General) float64 {
	squares, uncertain, w := 0.0, 0.0, p.W
	scratch := GetScratch(3 * w)
	defer scratch.Put()
	x, u, place := scratch.Take(w), scratch.Take(w), scratch.Take(w)
	for j, m := range p.Mean[:w-1] {
		place[j] = 0
		for i, other := range p.Mean[:w-1] {
			if a, b := math.Abs(other), math.Abs(m); a > b || a == b && i < j {
				place[j]++
			}
		}
	}
	place[w-1] = 0
	for n := range freedomRows {
		v := 0.0
		for j := range x {
			x[j] = float64(1 - 2*(int(place[j])/(n/2+1)%2))
			switch {
			case j == w-1:
				x[j] *= float64(1 - 2*(n%2))
			case p.Mean[j] == 0:
				x[j] = 0
			case p.Mean[j] < 0:
				x[j] = -x[j]
			}
		}
		for j := range x {
			v += x[j] * floats.Dot(cov[j*w:][:w], x)
		}
		copy(u, x)
		for i := range z.Rows {
			floats.AddScaled(u, -floats.Dot(k.Data[i*w:][:w], x), z.Data[i*w:][:w])
		}
		_, slopes := p.Covary(u, u)
		squares += v * v
		uncertain += p.Uncertain(slopes)
	}
	if uncertain == 0 {
		return 0
	}
	return max(2*squares/uncertain, 1)
}

// addUncertain adds twice the covariance of S g to m, w x w, for g that is known: by entries of column a of the loadings S g has the derivatives
// l_a g' + l_a'g I, and by the logarithms of intercept and spread their parts of S times g.
func (p *Posterior) addUncertain(m blas64.General, g []float64) {
	w, r, known := p.W, p.Rank, p.Uncertainty.RawSymmetric()
	n := known.N
	scratch := GetScratch(n + 3*w + r)
	defer scratch.Put()
	u, su, spread, sum, along := scratch.Take(n), scratch.Take(w), scratch.Take(w), scratch.Take(w), scratch.Take(r)
	constant := p.Intercept * g[w-1]
	clear(spread)
	if p.SlopesFreedom == nil {
		for j := range w - 1 {
			spread[j] = p.Slope(j) * g[j]
		}
	}
	for a := range r {
		along[a] = floats.Dot(p.Column(a), g)
	}
	clear(sum)
	for i := range n {
		copy(u[i:], known.Data[i*known.Stride+i:i*known.Stride+n])
		for j := range i {
			u[j] = known.Data[j*known.Stride+i]
		}
		// Of S g with entry i.
		clear(su)
		for a, lg := range along {
			own := u[a*w:][:w]
			floats.AddScaled(su, floats.Dot(own, g), p.Column(a))
			floats.AddScaled(su, lg, own)
		}
		su[w-1] += constant * u[n-2]
		floats.AddScaled(su, u[n-1], spread)
		switch a, j := i/w, i%w; i {
		case n - 2:
			floats.AddScaled(m.Data[(w-1)*w:], 2*constant, su)
		case n - 1:
			blas64.Ger(2, Vector(spread), Vector(su), m)
		default:
			floats.AddScaled(m.Data[j*w:][:w], 2*along[a], su)
			floats.AddScaled(sum, 2*g[j], su)
			if j == w-1 {
				blas64.Ger(1, Vector(p.Column(a)), Vector(sum), m)
				clear(sum)
			}
		}
	}
	for k, f := range p.SlopesFreedom {
		v := p.Slope(k) * g[k]
		m.Data[k*w+k] += 4 / f * v * v
	}
}

// ForNew returns the posterior for a task that the prior was not estimated with: its deviation
// from the mean counts with the errors of mean and loadings.
func (p *Posterior) ForNew() *Posterior {
	w := p.W
	n := *p
	n.S, n.MeanCovariance = slices.Clone(p.S), make([]float64, w*w)
	floats.Add(n.S, p.MeanCovariance)
	if p.Uncertainty != nil {
		for a := range p.Rank {
			for i := range w {
				for j := range w {
					n.S[i*w+j] += p.Uncertainty.At(a*w+i, a*w+j)
				}
			}
		}
	}
	return &n
}

// Covary returns the covariance of a' deviation and b' deviation of a task without rows, and its derivatives by what Uncertain knows
// about: the entries of Uncertainty, and the logarithms of the variances of slopes in place of that of Spread. nil if nothing is.
func (p *Posterior) Covary(a, b []float64) (v float64, slopes []float64) {
	w, c := p.W, p.W-1
	for i, x := range a {
		if x != 0 {
			v += p.Noise * x * floats.Dot(p.S[i*w:][:w], b)
		}
	}
	if p.Uncertainty == nil {
		return v, nil
	}
	n, _ := p.Uncertainty.Dims()
	slopes = make([]float64, n, n+len(p.SlopesFreedom))
	for k := range p.Rank {
		l := p.Column(k)
		floats.AddScaled(slopes[k*w:][:w], p.Noise*floats.Dot(l, b), a)
		floats.AddScaled(slopes[k*w:][:w], p.Noise*floats.Dot(l, a), b)
	}
	slopes[n-2] = p.Noise * p.Intercept * a[c] * b[c]
	for j := range c {
		if by := p.Noise * p.Slope(j) * a[j] * b[j]; p.SlopesFreedom == nil {
			slopes[n-1] += by
		} else {
			slopes = append(slopes, by)
		}
	}
	return v, slopes
}

// Uncertain returns the variance, to first order, of an estimate with derivatives as from Covary; 0 if the prior is known.
func (p *Posterior) Uncertain(slopes []float64) (v float64) {
	if p.Uncertainty == nil {
		return 0
	}
	n, _ := p.Uncertainty.Dims()
	u := p.Uncertainty.RawSymmetric()
	for i, x := range slopes[:n] {
		if x != 0 { // most are, for a single coefficient
			row := u.Data[i*u.Stride:][:n]
			v += x * (x*row[i] + 2*floats.Dot(row[i+1:], slopes[i+1:n]))
		}
	}
	for j, f := range p.SlopesFreedom {
		v += 2 / f * slopes[n+j] * slopes[n+j]
	}
	return v
}
