package evidence

import (
	"math"
	"slices"

	"github.com/difalt/difalt/cmd/difalt/internal/mixedmodel"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// An Alike is the evidence near a point as it would be if all tasks said the same about their coefficients: each as much as
// they do in the mean, and together what the slope at the point is. So it has the value and the slope of the evidence there,
// needs no sum over the nodes, and is exact for tasks of the same features. With B = E + S, where E is the error of a task's own regression
// and S the covariance of deviations, it is
//
//	freedom log(1 + (tr B^-1 C - tr B0^-1 C) / freedom) + tasks log det B
//
// for a scatter C of these regressions, all over the noise (a factor analysis of the coefficients, as in Tipping and Bishop 1999).
type Alike struct {
	pt             *Point
	tasks, freedom float64
	e, c           *mat.Dense // E and C
	// slopes are those of the priors that are seen. All is along axes in which E and variances of slopes are diagonal: the columns of axes, and the
	// rows of into, its inverse.
	slopes     []float64
	logSlopes  float64 // sum of their logarithms
	axes, into *mat.Dense
	errors     []float64  // E along them
	scatter    *mat.Dense // C along them
	constant   []float64  // the constant along them
	base       float64    // tr B0^-1 C
	value      float64    // at the point
}

// Alike returns that of a point; false if rounding leaves none.
func (pt *Point) Alike() (*Alike, bool) {
	if pt.alike != nil || math.IsInf(pt.Value, 0) {
		return pt.alike, pt.alike != nil
	}
	w, tasks := pt.W, pt.rows.Count
	a := &Alike{pt: pt, tasks: tasks, freedom: pt.freedom, axes: new(mat.Dense), errors: make([]float64, w)}
	inverse := pt.regressionVariance()
	if inverse == nil {
		return nil, false
	}
	// E = A^-1 - S has what rows say at most as its least eigenvalue: features have a deviation of 1.
	least := tasks / (pt.rows.Total * float64(w))
	s, b := mat.NewDense(w, w, pt.Covariance()), new(mat.Dense)
	b.Sub(inverse, s)
	a.c = new(mat.Dense)
	if a.e = spectral(symmetric(b), func(q, v, _ float64) float64 { return q * math.Max(v, least) }); a.e == nil {
		return nil, false
	}
	b.Add(a.e, s)
	a.c.Product(b, mat.NewDense(w, w, slices.Clone(pt.slope)), b)
	a.c.Apply(func(i, j int, v float64) float64 { return tasks*b.At(i, j) - v }, a.c)
	if !a.setAxes(pt.Slopes) {
		return nil, false
	}
	at, _ := a.at(pt.Prior, 1)
	// Tasks of few rows explain less than their alikes would: never all that there is.
	a.base, a.freedom = at.trace, max(a.freedom, 1.25*at.trace)
	at, ok := a.at(pt.Prior, 1)
	if a.value = at.value; ok {
		pt.alike = a
		pt.rows.released.keep(pt)
	}
	return a, ok
}

// regressionVariance returns B = E + S, that of the coefficients of a task by a regression of its own rows, if tasks are alike; nil if rounding leaves
// none.
func (pt *Point) regressionVariance() *mat.Dense {
	w := pt.W
	gram := slices.Clone(pt.gram)
	floats.Scale(1/pt.rows.Count, gram)
	return spectral(mat.NewSymDense(w, pt.curvature(gram)), func(q, v, most float64) float64 { return q / math.Max(v, 1e-9*most) }) // of less rows say nothing
}

// spectral returns the sum of f(q, v, most) q' over the eigenvectors q of a matrix, entry by entry, for their eigenvalues v and the largest; nil if rounding leaves no numbers.
func spectral(m mat.Symmetric, f func(q, v, most float64) float64) *mat.Dense {
	var e mat.EigenSym
	if !e.Factorize(m, true) {
		return nil
	}
	values, q, out := e.Values(nil), new(mat.Dense), new(mat.Dense)
	e.VectorsTo(q)
	out.Apply(func(_, j int, x float64) float64 { return f(x, values[j], values[len(values)-1]) }, q)
	out.Mul(out, q.T())
	if v := mat.Norm(out, 1); math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return out
}

// setAxes sets all that is along axes, for priors of such slopes; false if rounding leaves none.
func (a *Alike) setAxes(slopes []float64) bool {
	w := a.pt.W
	root, e := make([]float64, w), new(mat.EigenSym)
	root[w-1], a.logSlopes = 1, 0
	for j := range w - 1 {
		root[j] = math.Sqrt(slopeOf(slopes, j))
		a.logSlopes += math.Log(slopeOf(slopes, j))
	}
	scaled := new(mat.Dense)
	scaled.Apply(func(i, j int, v float64) float64 { return v / (root[i] * root[j]) }, a.e)
	if !e.Factorize(symmetric(scaled), true) {
		return false
	}
	q := new(mat.Dense)
	e.VectorsTo(q)
	a.slopes, a.errors, a.axes, a.into, a.scatter = slopes, e.Values(nil), new(mat.Dense), new(mat.Dense), new(mat.Dense)
	for i, v := range a.errors {
		a.errors[i] = math.Max(v, 1e-300)
	}
	a.axes.Apply(func(i, _ int, v float64) float64 { return v * root[i] }, q)
	a.into.Apply(func(_, j int, v float64) float64 { return v / root[j] }, q.T())
	a.scatter.Product(a.into, a.c, a.into.T())
	a.constant = mat.Col(nil, w-1, a.into)
	return true
}

// with returns what is known as it is seen by priors of other slopes.
func (a *Alike) with(slopes []float64) *Alike {
	if slices.Equal(slopes, a.slopes) {
		return a
	}
	if out := *a; out.setAxes(slopes) {
		return &out
	}
	return a
}

// symmetric returns the symmetric matrix of an upper triangle.
func symmetric(m *mat.Dense) *mat.SymDense {
	w, _ := m.Dims()
	out := mat.NewSymDense(w, nil)
	for i := range w {
		for j := i; j < w; j++ {
			out.SetSym(i, j, m.At(i, j))
		}
	}
	return out
}

func unit(i, j int) float64 {
	if i == j {
		return 1
	}
	return 0
}

// Start returns a prior of a rank to climb from: the loadings of the point, less its shortest or more the axes along which tasks differ by most
// of what else is expected; its intercepts, and a quarter of the spread, since what loadings explain is no longer spread over all
// directions.
func (a *Alike) Start(rank int) *mixedmodel.Prior {
	w := a.pt.W
	p := a.pt.Prior.Clone()
	p.Rotate()
	p.Spread /= 4
	kept := min(rank, p.Rank)
	p.Rank, p.Loadings = kept, p.Loadings[:w*kept]
	b := a.covariance(p)
	p.Rank, p.Loadings = rank, append(p.Loadings, make([]float64, w*(rank-kept))...)
	var chol mat.Cholesky
	var e mat.EigenSym
	if !chol.Factorize(b) {
		return p
	}
	r := chol.RawU().(*mat.TriDense)
	seen := mat.DenseCopyOf(a.c)
	for range 2 { // (U')^-1 times it, from both sides
		blas64.Trsm(blas.Left, blas.Trans, 1, r.RawTriangular(), seen.RawMatrix())
		seen = mat.DenseCopyOf(seen.T())
	}
	sym := mat.NewSymDense(w, nil)
	for i := range w {
		for j := i; j < w; j++ {
			sym.SetSym(i, j, (seen.At(i, j)+seen.At(j, i))/(2*a.tasks))
		}
	}
	if !e.Factorize(sym, true) {
		return p
	}
	var v mat.Dense
	e.VectorsTo(&v)
	values := e.Values(nil)
	for k := kept; k < rank; k++ {
		at := w - 1 - (k - kept)
		axis := mat.NewVecDense(w, p.Column(k))
		axis.MulVec(r.T(), v.ColView(at))
		axis.ScaleVec(math.Sqrt(math.Max(values[at]-1, 0.1)), axis)
	}
	return p
}

// covariance returns B of a prior.
func (a *Alike) covariance(p *mixedmodel.Prior) *mat.SymDense {
	b := mat.NewDense(p.W, p.W, p.Covariance())
	b.Add(b, a.e)
	return symmetric(b)
}

// Observed returns half of the second derivatives of the value by the loadings, by columns: entry i, j of order w rank. What is expected of
// them is right where the loadings are as long as the data have them; their prior shortens them, and where coefficients
// outnumber tasks by much the value is steeper there: the expected volume would pass noise for a rank (Louis 1982).
func (a *Alike) Observed(p *mixedmodel.Prior) func(i, j int) float64 {
	seen := a.seen(p, 1)
	return observed(p, seen.inverse, seen.scatter, a.tasks, seen.noise)
}

// Information returns the Fisher information of the evidence (half the expected second derivatives of the value) about
// the loadings of a prior, by columns, and the logarithms of intercept and spread, of order w rank + 2.
func (a *Alike) Information(p *mixedmodel.Prior) *mat.SymDense {
	info := information(p, a.seen(p, 1).inverse)
	info.ScaleSym(a.tasks, info)
	return info
}

// A seen is a prior by its matrix B. It takes w cubed, where Alike.at with its axes takes w squared times the rank, but no new axes for other slopes.
type seen struct {
	inverse, scatter []float64 // B^-1 and B^-1 C B^-1
	value            float64   // as at has it; +Inf where there is no evidence
	noise            float64   // with the mean's variance at the point
}

// seen returns a prior with a noise that the mean's variance makes so much larger.
func (a *Alike) seen(p *mixedmodel.Prior, noise float64) (s seen) {
	var chol mat.Cholesky
	b, inverse, c := a.covariance(p), new(mat.SymDense), new(mat.Dense)
	if !chol.Factorize(b) { // to rounding, as far as it goes
		least := 1e-14 * mat.Trace(b)
		for j := range p.W {
			b.SetSym(j, j, b.At(j, j)+least)
		}
		if s.value = math.Inf(1); !chol.Factorize(b) {
			s.inverse, s.scatter, s.noise = make([]float64, p.W*p.W), make([]float64, p.W*p.W), 1
			return s
		}
	}
	logDet := chol.LogDet()
	_ = chol.InverseTo(inverse)
	full := mat.DenseCopyOf(inverse)
	c.Product(full, a.c, full)
	s.inverse, s.scatter = full.RawMatrix().Data, c.RawMatrix().Data
	more := (floats.Dot(s.inverse, a.c.RawMatrix().Data) - a.base) / a.freedom
	if s.value += a.freedom*math.Log(noise+more) + a.tasks*logDet; !(noise+more > leastNoise) || math.IsNaN(s.value) {
		s.value = math.Inf(1)
	}
	s.noise = max(1+more, 1e-300)
	return s
}
