package mixedmodel

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/lapack/lapack64"
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

// A Whitened is a task seen through V^-1/2, V = I + Z S Z' with the covariance S of the deviations.
type Whitened struct {
	Z, Y   []float64 // V^-1/2 Z, m x w, and V^-1/2 y, m
	LogDet float64   // of V
}

// smallProduct is the number of multiplications up to which matrices are multiplied row by row: there may be millions of tasks of a row or two.
const smallProduct = 1 << 11

// Product sets out to a b'.
func Product(a, b, out blas64.General) {
	if a.Rows*a.Cols*b.Rows > smallProduct {
		blas64.Gemm(blas.NoTrans, blas.Trans, 1, a, b, 0, out)
		return
	}
	for i := range a.Rows {
		row, to := a.Data[i*a.Stride:][:a.Cols], out.Data[i*out.Stride:][:b.Rows]
		for j := range to {
			to[j] = floats.Dot(row, b.Data[j*b.Stride:][:a.Cols])
		}
	}
}

// Whiten returns a task seen through V^-1/2; false if rounding leaves no V.
func (t *Task) Whiten(s []float64, w int) (k Whitened, ok bool) {
	m := len(t.Y)
	if m == 0 {
		return k, true
	}
	own := newTask(m, w)
	copy(own.Z, t.Z)
	copy(own.Y, t.Y)
	z := Matrix(t.Z, m, w)
	scratch := GetScratch(m * (w + m))
	defer scratch.Put()
	zs, v := Matrix(scratch.Take(m*w), m, w), scratch.Take(m*m)
	Product(z, Square(s, w), zs)
	Product(zs, z, Square(v, m))
	return own.through(v)
}

// through returns the task seen through V^-1/2, in its own memory, of V - I by its upper triangle, which becomes the factor of V.
func (t *Task) through(v []float64) (k Whitened, ok bool) {
	m := len(t.Y)
	for i := range m {
		v[i*m+i]++
	}
	r, ok := lapack64.Potrf(blas64.Symmetric{N: m, Stride: m, Data: v, Uplo: blas.Upper})
	if !ok {
		return k, false
	}
	for i := range m {
		k.LogDet += 2 * math.Log(v[i*m+i])
	}
	t.solve(r)
	k.Z, k.Y = t.Z, t.Y
	return k, true
}

// solve multiplies the rows by the inverse of the transposed factor.
func (t *Task) solve(r blas64.Triangular) {
	m := r.N
	if w := len(t.Z) / m; m*m*w <= smallProduct {
		for k := range m {
			z, by := t.Z[k*w:][:w], r.Data[k*r.Stride:]
			floats.Scale(1/by[k], z)
			t.Y[k] *= 1 / by[k]
			for i := k + 1; i < m; i++ {
				floats.AddScaled(t.Z[i*w:][:w], -by[i], z)
				t.Y[i] -= by[i] * t.Y[k]
			}
		}
		return
	}
	blas64.Trsm(blas.Left, blas.Trans, 1, r, Matrix(t.Z, m, len(t.Z)/m))
	blas64.Trsm(blas.Left, blas.Trans, 1, r, Matrix(t.Y, m, 1))
}

// Deviations are the covariance S = D + L L' of a prior as WhitenInPlace takes it.
type Deviations struct {
	roots    []float64      // of D
	loadings blas64.General // L'
}

// Deviations returns those of the prior.
func (p *Prior) Deviations() *Deviations {
	d := &Deviations{make([]float64, p.W), p.Transposed()}
	for j := range p.W - 1 {
		d.roots[j] = math.Sqrt(p.Slope(j))
	}
	d.roots[p.W-1] = math.Sqrt(p.Intercept)
	return d
}

// RootLen is how many numbers the factor of V has for a task of m rows.
func RootLen(m int) int { return m * (m + 1) / 2 }

// WhitenInPlace is Whiten in the memory of the task, whose rows it overwrites. It sets root, of RootLen numbers, to the factor of V: with it
// Rewhiten does the same to the same rows, without LogDet.
func (t *Task) WhitenInPlace(by *Deviations, root []float64) (k Whitened, ok bool) {
	m, w, r := len(t.Y), len(by.roots), by.loadings.Rows
	if m == 0 {
		return k, true
	}
	scratch := GetScratch(m * (w + r + m))
	defer scratch.Put()
	// V = I + A A' for A = Z (D^1/2 L).
	a, v := Matrix(scratch.Take(m*(w+r)), m, w+r), scratch.Take(m*m)
	for i := range m {
		floats.MulTo(a.Data[i*a.Stride:][:w], t.Z[i*w:][:w], by.roots)
	}
	if r > 0 {
		Product(Matrix(t.Z, m, w), by.loadings, blas64.General{Rows: m, Cols: r, Stride: a.Stride, Data: a.Data[w:]})
	}
	if m*m*(w+r) > smallProduct {
		blas64.Syrk(blas.NoTrans, 1, a, 0, blas64.Symmetric{N: m, Stride: m, Data: v, Uplo: blas.Upper})
	} else {
		Product(a, a, Square(v, m))
	}
	if k, ok = t.through(v); !ok {
		return k, false
	}
	for i := range m {
		root = root[copy(root, v[i*m+i:(i+1)*m]):]
	}
	return k, true
}

// Rewhiten is WhitenInPlace with the factor that it has found.
func (t *Task) Rewhiten(root []float64) Whitened {
	if m := len(t.Y); m > 0 {
		scratch := GetScratch(m * m)
		defer scratch.Put()
		v := scratch.Take(m * m)
		for i := range m {
			root = root[copy(v[i*m+i:(i+1)*m], root):]
		}
		t.solve(blas64.Triangular{N: m, Stride: m, Data: v, Uplo: blas.Upper, Diag: blas.NonUnit})
	}
	return Whitened{Z: t.Z, Y: t.Y}
}

// Gradient returns Z'V^-1 (y - Z mean), the slope of the likelihood by the deviation at zero.
func (k *Whitened) Gradient(mean []float64) []float64 {
	g := make([]float64, len(mean))
	k.GradientTo(g, mean)
	return g
}

// GradientTo sets g to Gradient.
func (k *Whitened) GradientTo(g, mean []float64) {
	w := len(mean)
	clear(g)
	for i, u := range k.Y {
		row := k.Z[i*w:][:w]
		floats.AddScaled(g, u-floats.Dot(row, mean), row)
	}
}

// Gram returns Z'V^-1 Z.
func (k *Whitened) Gram(w int) []float64 {
	g := Square(make([]float64, w*w), w)
	k.gramTo(g)
	return g.Data
}

// gramTo sets g to Gram.
func (k *Whitened) gramTo(g blas64.General) {
	clear(g.Data)
	if m := len(k.Y); m > 0 {
		z := Matrix(k.Z, m, g.Rows)
		blas64.Gemm(blas.Trans, blas.NoTrans, 1, z, z, 0, g)
	}
}

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

// Coefficients returns the coefficients of a task by its rows, and their covariance unless
// that is not wanted: that of a linear mixed model with the error of the mean (Henderson 1975), and
// to first order what Uncertainty and SlopesFreedom add to it (Kackar and Harville 1984). That counts twice: with estimated strengths the
// rest is too small by as much again (Prasad and Rao 1990). ok is false if rounding leaves no solution.
func (p *Posterior) Coefficients(t *Task, covariance bool) (theta, cov []float64, ok bool) {
	w := p.W
	k, ok := t.Whiten(p.S, w)
	if !ok {
		return nil, nil, false
	}
	g := k.Gradient(p.Mean)
	theta = slices.Clone(p.Mean)
	blas64.Gemv(blas.NoTrans, 1, Square(p.S, w), Vector(g), 1, Vector(theta))
	if !covariance {
		return theta, nil, true
	}
	// Noise S Q' + Q M Q' with Q = I - S Z'V^-1 Z.
	scratch := GetScratch(3 * w * w)
	defer scratch.Put()
	q, m, qm := Square(scratch.Take(w*w), w), Square(scratch.Take(w*w), w), Square(scratch.Take(w*w), w)
	k.gramTo(qm)
	blas64.Gemm(blas.NoTrans, blas.NoTrans, -1, Square(p.S, w), qm, 0, q)
	for j := range w {
		q.Data[j*w+j]++
	}
	floats.ScaleTo(m.Data, p.Noise, p.MeanCovariance)
	if p.Uncertainty != nil {
		p.addUncertain(m, g)
	}
	cov = make([]float64, w*w)
	blas64.Gemm(blas.NoTrans, blas.Trans, p.Noise, Square(p.S, w), q, 0, Square(cov, w))
	blas64.Gemm(blas.NoTrans, blas.NoTrans, 1, q, m, 0, qm)
	blas64.Gemm(blas.NoTrans, blas.Trans, 1, qm, q, 1, Square(cov, w))
	return theta, cov, true
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

// Vector returns the vector of the data.
func Vector(v []float64) blas64.Vector { return blas64.Vector{N: len(v), Inc: 1, Data: v} }

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
