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
	return t.whitenTo(make([]float64, len(t.Y)*(w+1)), s, w)
}

// whitenTo is Whiten in the given memory, of as many numbers as the rows have.
func (t *Task) whitenTo(memory, s []float64, w int) (k Whitened, ok bool) {
	m := len(t.Y)
	if m == 0 {
		return k, true
	}
	own := taskIn(memory, m, w)
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

// WhitenInPlace is Whiten in the memory of the task, whose rows it overwrites.
func (t *Task) WhitenInPlace(by *Deviations) (k Whitened, ok bool) {
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
	return t.through(v)
}

// Gradient sets g to Z'V^-1 (y - Z mean), the slope of the likelihood by the deviation at zero.
func (k *Whitened) Gradient(g, mean []float64) {
	w := len(mean)
	clear(g)
	for i, u := range k.Y {
		row := k.Z[i*w:][:w]
		floats.AddScaled(g, u-floats.Dot(row, mean), row)
	}
}

// Vector returns the vector of the data.
func Vector(v []float64) blas64.Vector { return blas64.Vector{N: len(v), Inc: 1, Data: v} }
