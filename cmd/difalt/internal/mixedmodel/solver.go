package mixedmodel

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/lapack/lapack64"
)

// A Prior is the distribution of the deviations of tasks from their mean, N(0, diag(Deviations)^2 + L L'),
// and the variance of the noise.
type Prior struct {
	Deviations []float64 // P standard deviations, 0 where a coefficient has no deviation of its own
	Rank       int
	Loadings   []float64 // L, P x Rank by columns
	Noise      float64   // variance
}

// Covariance returns S = diag(Deviations)^2 + L L', P x P.
func (p *Prior) Covariance() []float64 {
	n := len(p.Deviations)
	s := make([]float64, n*n)
	for j, d := range p.Deviations {
		s[j*n+j] = d * d
	}
	for a := range p.Rank {
		l := vector(p.Loadings[a*n:][:n])
		blas64.Ger(1, l, l, general(n, n, s))
	}
	return s
}

// Multiply sets dst to S v for P entries each; dst must not alias v.
func (p *Prior) Multiply(dst, v []float64) {
	for j, d := range p.Deviations {
		dst[j] = d * d * v[j]
	}
	for a := range p.Rank {
		l := p.Loadings[a*len(v):][:len(v)]
		floats.AddScaled(dst, floats.Dot(l, v), l)
	}
}

// ErrNumeric reports that rounding or overflow leaves a matrix without a Cholesky factor.
var ErrNumeric = errors.New("the numbers of the task are out of range")

// A Solver reduces tasks under one prior. It belongs to one goroutine. Reset sets the prior, and Set the task
// of the other methods.
type Solver struct {
	prior  *Prior
	task   *Task
	noise  float64   // variance of the noise of the task
	own    []int     // coefficient of every independent column of F, S = F F'
	q      int       // columns of F, the loadings last
	factor []float64 // Cholesky factor R of Noise I + F'G F (q x q) or of V (n x n), upper
	fg     []float64 // F'G, q x P; only for products
	half   []float64 // R'^-1 F'G or R'^-1 X
	vector []float64 // R'^-1 F'c or R'^-1 y
	log    float64   // log det V
	square float64   // y'V^-1 y
	buffers
}

// buffers are the memory of a Solver for results and steps on the way.
type buffers struct {
	a, b        []float64 // q or n entries, and P
	m, h        []float64 // information
	part, inner []float64 // of AddSpread
}

// Reset makes s a solver for a prior, which must not change while the solver is in use. s keeps its memory.
func (s *Solver) Reset(prior *Prior) {
	p := len(prior.Deviations)
	s.prior, s.task, s.own = prior, nil, s.own[:0]
	s.b, s.h = grow(s.b, p), grow(s.h, p)
	for j, d := range prior.Deviations {
		if d != 0 {
			s.own = append(s.own, j)
		}
	}
	s.q = len(s.own) + prior.Rank
}

// Set factorises the covariance of a task, whose rows or products must not change until the next Set: n rows
// cost n^2 P, products q^3/3 + q P for q columns of F. The error is ErrNumeric.
func (s *Solver) Set(t *Task) error {
	s.task, s.noise = t, s.prior.Noise
	if t.Noise != 0 {
		s.noise *= t.Noise
	}
	n := s.q
	if t.G == nil {
		n = t.Rows
	}
	s.factor, s.vector, s.a = grow(s.factor, n*n), grow(s.vector, n), grow(s.a, n)
	if t.G == nil {
		s.rowCovariance()
		copy(s.vector, t.Y)
	} else {
		s.productCovariance()
		s.project(s.vector, t.C)
	}
	if n > 0 {
		r, ok := lapack64.Potrf(symmetric(n, s.factor))
		if !ok {
			return ErrNumeric
		}
		blas64.Trsv(blas.Trans, r, vector(s.vector))
	}
	s.log = float64(t.Rows-n) * math.Log(s.noise)
	for i := range n {
		s.log += 2 * math.Log(s.factor[i*n+i])
	}
	s.square = floats.Dot(s.vector, s.vector)
	if t.G != nil {
		s.square = (t.YY - s.square) / s.noise
	}
	if bad := s.log + s.square; math.IsNaN(bad) || math.IsInf(bad, 0) {
		return ErrNumeric
	}
	return nil
}

// grow returns a slice of n entries of any value, in the memory of x where that is enough.
func grow(x []float64, n int) []float64 {
	if cap(x) < n {
		return make([]float64, n)
	}
	return x[:n]
}

// rowCovariance sets factor to V = X S X' + noise I.
func (s *Solver) rowCovariance() {
	t, p := s.task, len(s.b)
	n := t.Rows
	s.half = grow(s.half, n*p)
	for i := range n {
		for j, d := range s.prior.Deviations {
			s.half[i*p+j] = t.X[i*p+j] * d
		}
	}
	v := symmetric(n, s.factor)
	blas64.Syrk(blas.NoTrans, 1, general(n, p, s.half), 0, v)
	for a := range s.prior.Rank {
		blas64.Gemv(blas.NoTrans, 1, general(n, p, t.X), vector(s.loadings(a)), 0, vector(s.a))
		blas64.Syr(1, vector(s.a), v)
	}
	for i := range n {
		s.factor[i*n+i] += s.noise
	}
}

// productCovariance sets fg to F'G and factor to F'G F + noise I.
func (s *Solver) productCovariance() {
	g, p, q, own := s.task.G, len(s.b), s.q, len(s.own)
	s.fg = grow(s.fg, q*p)
	for i, j := range s.own {
		d, row := s.prior.Deviations[j], s.fg[i*p:][:p]
		for k := range j {
			row[k] = d * g[k*p+j]
		}
		floats.ScaleTo(row[j:], d, g[j*p+j:(j+1)*p])
	}
	for a := range s.prior.Rank {
		blas64.Symv(1, symmetric(p, g), vector(s.loadings(a)), 0, vector(s.fg[(own+a)*p:][:p]))
	}
	for i := range q {
		row, to := s.fg[i*p:][:p], s.factor[i*q:][:q]
		s.project(to, row)
		to[i] += s.noise
	}
}

// loadings returns column a of the loadings.
func (s *Solver) loadings(a int) []float64 { return s.prior.Loadings[a*len(s.b):][:len(s.b)] }

// project sets dst, q entries, to F'x.
func (s *Solver) project(dst, x []float64) {
	for i, j := range s.own {
		dst[i] = s.prior.Deviations[j] * x[j]
	}
	for a := range s.prior.Rank {
		dst[len(s.own)+a] = floats.Dot(x, s.loadings(a))
	}
}

// triangle returns the Cholesky factor.
func (s *Solver) triangle() blas64.Triangular {
	n := len(s.vector)
	return blas64.Triangular{Uplo: blas.Upper, Diag: blas.NonUnit, N: n, Stride: max(n, 1), Data: s.factor}
}

// LogDeterminant returns log det V.
func (s *Solver) LogDeterminant() float64 { return s.log }

// Square returns y'V^-1 y.
func (s *Solver) Square() float64 { return s.square }

// Score sets dst, P entries, to X'V^-1 (y - X mean). dst must not alias mean.
func (s *Solver) Score(dst, mean []float64) {
	if s.task.G == nil {
		copy(s.a, s.task.Y)
	}
	copy(dst, s.task.C)
	s.add(dst, -1, mean)
}

// Times sets dst, P entries, to X'V^-1 X v. dst must not alias v.
func (s *Solver) Times(dst, v []float64) {
	clear(s.a)
	clear(dst)
	s.add(dst, 1, v)
}

// add sets dst to X'V^-1 (e + sign X v), where e is in s.a for rows, and X'e in dst for products.
func (s *Solver) add(dst []float64, sign float64, v []float64) {
	t, p, n := s.task, len(s.b), len(s.vector)
	from := general(n, p, t.X)
	if t.G != nil {
		from = general(n, p, s.fg)
		blas64.Symv(sign, symmetric(p, t.G), vector(v), 1, vector(dst))
		s.project(s.a, dst)
	} else {
		clear(dst)
	}
	if n > 0 {
		back := -1.0
		if t.G == nil {
			back = 1
			blas64.Gemv(blas.NoTrans, sign, from, vector(v), 1, vector(s.a))
		}
		blas64.Trsv(blas.Trans, s.triangle(), vector(s.a))
		blas64.Trsv(blas.NoTrans, s.triangle(), vector(s.a))
		blas64.Gemv(blas.Trans, back, from, vector(s.a), 1, vector(dst))
	}
	if t.G != nil { // (x - G F (noise I + F'G F)^-1 F'x) / noise is X'V^-1 e for x = X'e
		floats.Scale(1/s.noise, dst)
	}
}

// AddInformation adds M = X'V^-1 X to the upper triangle of m, P x P, and X'V^-1 y to h. It costs
// n P^2 or 2 q P^2.
func (s *Solver) AddInformation(m, h []float64) {
	t, p := s.task, len(s.b)
	scale, rows := 1.0, len(s.vector)
	s.half = grow(s.half, rows*p)
	if t.G == nil {
		copy(s.half, t.X)
	} else {
		copy(s.half, s.fg)
		scale = -1 / s.noise
		floats.AddScaled(m, -scale, t.G)
		floats.AddScaled(h, -scale, t.C)
	}
	if rows > 0 {
		half := general(rows, p, s.half)
		blas64.Trsm(blas.Left, blas.Trans, 1, s.triangle(), half)
		blas64.Syrk(blas.Trans, scale, half, 1, symmetric(p, m))
		blas64.Gemv(blas.Trans, scale, half, vector(s.vector), 1, vector(h))
	}
}

// Information returns M, P x P with both triangles, and h of AddInformation. Both alias the solver.
func (s *Solver) Information() (m, h []float64) {
	p := len(s.b)
	s.m = grow(s.m, p*p)
	clear(s.m)
	clear(s.h)
	s.AddInformation(s.m, s.h)
	mirror(s.m, p)
	return s.m, s.h
}

// AddSpread adds the diagonal of M C M to dst, P entries, for C, P x P with both triangles. It costs n P^2,
// and P^3 for products.
func (s *Solver) AddSpread(dst, c []float64) {
	n, p := len(s.vector), len(s.b)
	if s.task.G != nil {
		m, _ := s.Information()
		s.part = grow(s.part, p*p)
		blas64.Gemm(blas.NoTrans, blas.NoTrans, 1, general(p, p, m), general(p, p, c), 0, general(p, p, s.part))
		for j := range p {
			dst[j] += floats.Dot(s.part[j*p:][:p], m[j*p:][:p])
		}
		return
	}
	if n == 0 {
		return
	}
	s.half, s.part, s.inner = grow(s.half, n*p), grow(s.part, n*p), grow(s.inner, n*n)
	copy(s.half, s.task.X)
	half, part, inner := general(n, p, s.half), general(n, p, s.part), general(n, n, s.inner)
	blas64.Trsm(blas.Left, blas.Trans, 1, s.triangle(), half)
	blas64.Gemm(blas.NoTrans, blas.NoTrans, 1, half, general(p, p, c), 0, part)
	blas64.Gemm(blas.NoTrans, blas.Trans, 1, part, half, 0, inner)
	blas64.Gemm(blas.NoTrans, blas.NoTrans, 1, inner, half, 0, part)
	for i := range n {
		for j, v := range s.half[i*p:][:p] {
			dst[j] += v * s.part[i*p+j]
		}
	}
}

// Coefficients sets theta to the posterior mean of the task's coefficients, mean + S X'V^-1 (y - X mean),
// and cov, P x P or nil, to their posterior covariance
//
//	S - S M S + (I - S M) C (I - M S),
//
// where C, P x P or nil for none, is the covariance of the error of the mean (Henderson 1975).
func (s *Solver) Coefficients(theta, cov, mean, c []float64) {
	p := len(s.b)
	s.Score(s.b, mean)
	s.prior.Multiply(theta, s.b)
	floats.Add(theta, mean)
	if cov == nil {
		return
	}
	m, _ := s.Information()
	prior := s.prior.Covariance()
	sm := general(p, p, make([]float64, p*p)) // I - S M
	blas64.Gemm(blas.NoTrans, blas.NoTrans, -1, general(p, p, prior), general(p, p, m), 0, sm)
	for j := range p {
		sm.Data[j*p+j]++
	}
	blas64.Gemm(blas.NoTrans, blas.NoTrans, 1, sm, general(p, p, prior), 0, general(p, p, cov))
	if c != nil {
		part := general(p, p, make([]float64, p*p))
		blas64.Gemm(blas.NoTrans, blas.NoTrans, 1, sm, general(p, p, c), 0, part)
		blas64.Gemm(blas.NoTrans, blas.Trans, 1, part, sm, 1, general(p, p, cov))
	}
	for i := range p { // rounding leaves the two triangles apart
		for j := range i {
			v := (cov[i*p+j] + cov[j*p+i]) / 2
			cov[i*p+j], cov[j*p+i] = v, v
		}
	}
}
