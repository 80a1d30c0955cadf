package evidence

import (
	"context"
	"math"
	"slices"

	"github.com/difalt/difalt/cmd/difalt/fit/internal/nodes"
	"github.com/difalt/difalt/cmd/difalt/fit/internal/parallel"
	"github.com/difalt/difalt/cmd/difalt/internal/mixedmodel"
	"github.com/difalt/difalt/kernel"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/lapack/lapack64"
	"gonum.org/v1/gonum/mat"
)

// NoiseFloor is the least variance of the noise, as a part of that of the target: an exact
// fit would leave nothing to compare strengths with.
const NoiseFloor = 1e-10

// A Point is a prior with the evidence of rows for it: how likely all targets are, with coefficients of tasks, mean
// and level of noise integrated or estimated (restricted likelihood: Patterson and Thompson 1971; Harville 1977).
type Point struct {
	*mixedmodel.Prior
	// LoadingVariances are those of the entries of every column of the loadings, which have a prior of their own; nil
	// if they have none. See Rows.Maximize.
	LoadingVariances []float64
	Value            float64   // -2 log likelihood, but for a constant; +Inf where rounding leaves none
	Noise            float64   // variance
	Mean             []float64 // of the coefficients, w
	MeanCovariance   []float64 // its covariance over Noise, w x w
	freedom          float64   // of the noise

	rows *Rows // for which the evidence is; nil of a mere prior
	pointTotals
	axes  *axes     // along which sums were told
	slope []float64 // of the value by the covariance of deviations, w x w; see addSlope
	alike *Alike    // once it is known
	means *meanSpectrum
}

// pointTotals are the sums over all tasks of which the evidence for a prior is made.
type pointTotals struct {
	about    []float64 // coefficients whose predictions targets are less
	gram, zy []float64 // Z'V^-1 Z, w x w, and Z'V^-1 y
	yy       float64   // y'V^-1 y
	logDet   float64   // of V
}

// Penalized is the value with that of loadings and slopes by their own priors.
func (pt *Point) Penalized() float64 {
	return pt.Value + penaltyOf(pt.Prior, pt.LoadingVariances) + slopesPenalty(pt.Slopes)
}

// penaltyOf returns -2 log density of loadings by their own prior, but for a constant.
func penaltyOf(p *mixedmodel.Prior, variances []float64) (v float64) {
	for a, s := range variances {
		v += floats.Dot(p.Column(a), p.Column(a)) / s
	}
	return v
}

// Posterior returns what a point says about coefficients, if its strengths are the true ones.
func (pt *Point) Posterior() *mixedmodel.Posterior {
	return &mixedmodel.Posterior{Prior: pt.Prior, Mean: pt.Mean, MeanCovariance: pt.MeanCovariance, S: pt.Covariance(), Noise: pt.Noise}
}

// Evaluate returns the point itself if it is about these rows, else the evidence of these rows for its prior.
func (r *Rows) Evaluate(ctx context.Context, pt *Point) (*Point, error) {
	if pt.rows == r {
		return pt, nil
	}
	return r.At(ctx, pt.Prior, pt.Mean)
}

// pointSums are the sums over tasks that the evidence for a prior is made of.
type pointSums struct {
	nodes.Layout
	gram   nodes.Span // Z'V^-1 Z by rows of its upper triangle
	zy, yy nodes.Span // Z'V^-1 y and y'V^-1 y
	logDet nodes.Span // of V
	failed nodes.Span // tasks for which rounding has left no V
}

func newPointSums(w int) (l pointSums) {
	l.gram, l.zy, l.yy, l.logDet, l.failed = l.Span(w*(w+1)/2), l.Span(w), l.Span(1), l.Span(1), l.Span(1)
	return l
}

// coarse is how many of them are dithered coarsely.
func (l *pointSums) coarse() int { return l.Len - 3 }

// MaxSum bounds the numbers that the nodes sum at once, by the coefficients.
func MaxSum(w int) int { return max(newPointSums(w).Len, noiseNumbers) }

// At evaluates a prior. Targets are less what coefficients predict that are near the mean, nil for zero: so what sums lose
// of their digits is a part of the residuals.
func (r *Rows) At(ctx context.Context, p *mixedmodel.Prior, about []float64) (*Point, error) {
	w, l, deviations := r.Width, newPointSums(r.Width), p.Deviations()
	r.released.evaluations++
	if about == nil {
		about = make([]float64, w)
	}
	by := r.dither(l.coarse())
	if r.Weights == nil && !slices.ContainsFunc(p.Covariance(), func(v float64) bool { return v != 0 }) {
		by = nil // moments of all rows are told as they are
	}
	pt := &Point{Prior: p, Value: math.Inf(1), rows: r, pointTotals: pointTotals{about: about}, axes: r.axesFor(p)}
	sum, err := r.sum(ctx, l.Len, by, func(g, i int, out []float64) {
		t, memory := r.Task(g, i)
		defer memory.Put()
		k, ok := t.WhitenInPlace(deviations)
		if !ok {
			l.failed.Add(out, 1)
		}
		l.logDet.Add(out, k.LogDet)
		l.yy.Add(out, t.Rest)
		gram, zy := l.gram.Of(out), l.zy.Of(out)
		along := pt.axes.rows(k.Z, w)
		for i, y := range k.Y {
			y -= floats.Dot(k.Z[i*w:(i+1)*w], about)
			row := along[i*w : (i+1)*w]
			l.yy.Add(out, y*y)
			floats.AddScaled(zy, y, row)
		}
		addTriangle(gram, along, along, w)
	})
	if err != nil {
		return nil, err
	}
	pt.gram, pt.zy, pt.yy, pt.logDet = make([]float64, w*w), slices.Clone(l.zy.Of(sum)), l.yy.First(sum), l.logDet.First(sum)
	unpackTriangle(mixedmodel.Square(pt.gram, w), l.gram.Of(sum))
	if by != nil {
		raise(pt.gram, w)
	}
	pt.axes.leave(pt.gram, w)
	pt.axes.leaveVector(pt.zy)
	if l.failed.First(sum) > 0.5 || !pt.solve() {
		return pt, nil
	}
	pt.Value += pt.logDet - r.logWeights
	if by == nil && !r.Alone() { // the slope is told after these moments
		r.released.errors = pt.regressionVariance()
		pt.axes = r.axesFor(p)
	}
	if !r.Alone() && Countable(w) { // else nobody asks
		r.released.releases = append(r.released.releases, newRelease(pt))
	}
	return pt, pt.setSlope(ctx)
}

// Seen returns the rows of the tasks of every hosted node as they are seen through V^-1/2, less their mean, and the mean of z z' over those of all
// nodes.
func (pt *Point) Seen() (nodes []*kernel.Tasks, moments *mat.SymDense) {
	w, deviations := pt.W, pt.Deviations()
	for g, tasks := range pt.rows.Tasks {
		samples := make([]int, len(tasks))
		for i := range tasks {
			samples[i] = pt.rows.Len(g, i)
		}
		b := kernel.NewBuilder(w, samples, kernel.Float64)
		parallel.For(context.Background(), pt.rows.Workers, len(tasks), func(_, i int) {
			t, memory := pt.rows.Task(g, i)
			defer memory.Put()
			k, _ := t.WhitenInPlace(deviations)
			for s, y := range k.Y {
				row := k.Z[s*w:][:w]
				b.SetRow(i, s, row, y-floats.Dot(row, pt.Mean))
			}
		})
		nodes = append(nodes, b.Tasks())
	}
	moments = mat.NewSymDense(w, slices.Clone(pt.gram))
	moments.ScaleSym(1/max(pt.rows.kept, 1), moments)
	return nodes, moments
}

// manyRows is the number of rows from which on products of them are taken at once.
const manyRows = 8

// addTriangle adds the upper triangle of the symmetric matrix A'B to one that is stored by its rows, for A and B of w columns each.
func addTriangle(sum, a, b []float64, w int) {
	m := len(a) / w
	if m < manyRows {
		for k := range m {
			own, to := b[k*w:][:w], sum
			for i, v := range a[k*w:][:w] {
				floats.AddScaled(to[:w-i], v, own[i:])
				to = to[w-i:]
			}
		}
		return
	}
	scratch := mixedmodel.GetScratch(w * w)
	defer scratch.Put()
	square, left := mixedmodel.Square(scratch.Take(w*w), w), mixedmodel.Matrix(a, m, w)
	if &a[0] == &b[0] {
		blas64.Syrk(blas.Trans, 1, left, 0, blas64.Symmetric{N: w, Stride: w, Data: square.Data, Uplo: blas.Upper})
	} else {
		blas64.Gemm(blas.Trans, blas.NoTrans, 1, left, mixedmodel.Matrix(b, m, w), 0, square)
	}
	for i := range w {
		floats.Add(sum[:w-i], square.Data[i*w+i:(i+1)*w])
		sum = sum[w-i:]
	}
}

// solve sets mean and noise by the sums over tasks, and the value but for log det V; false if rounding leaves none.
func (pt *Point) solve() bool {
	w := pt.W
	cover, right, square := slices.Clone(pt.gram), slices.Clone(pt.zy), pt.yy
	for j, m := range pt.about[:w-1] {
		cover[j*w+j] += 1 / pt.MeanVariance
		right[j] -= m / pt.MeanVariance
		square += m * m / pt.MeanVariance
	}
	chol, ok := lapack64.Potrf(blas64.Symmetric{N: w, Stride: w, Data: cover, Uplo: blas.Upper})
	if !ok {
		return false
	}
	logDet := 0.0
	for j := range w {
		logDet += 2 * math.Log(cover[j*w+j])
	}
	pt.Mean = slices.Clone(right)
	lapack64.Potrs(chol, mixedmodel.Matrix(pt.Mean, w, 1))
	square -= floats.Dot(right, pt.Mean)
	floats.Add(pt.Mean, pt.about)
	lapack64.Potri(chol)
	for i := range w {
		for j := range i {
			cover[i*w+j] = cover[j*w+i]
		}
	}
	determined := 0.0
	for j := range w - 1 {
		determined += max(1-cover[j*w+j]/pt.MeanVariance, 0)
	}
	pt.MeanCovariance, pt.freedom = cover, pt.freedomOf(pt.MeanVariance, determined)
	pt.Noise = (max(square, 0) + NoiseFloor*pt.rows.Total) / pt.freedom
	pt.Value = pt.freedom*math.Log(pt.Noise) + logDet + float64(w-1)*math.Log(pt.MeanVariance)
	return true
}

// unpackTriangle sets a symmetric matrix to what has its upper triangle by rows.
func unpackTriangle(m blas64.General, packed []float64) {
	for i := range m.Rows {
		for j := i; j < m.Rows; j++ {
			m.Data[i*m.Stride+j], m.Data[j*m.Stride+i] = packed[0], packed[0]
			packed = packed[1:]
		}
	}
}

// setSlope sets the slope of the value by all entries of the covariance of deviations: from it follow those by loadings of any
// rank, and by strengths.
func (pt *Point) setSlope(ctx context.Context) error {
	w := pt.W
	n, deviations := w*(w+1)/2, pt.Deviations()
	sum, err := pt.rows.sum(ctx, n, pt.rows.dither(n), func(g, i int, out []float64) {
		t, memory := pt.rows.Task(g, i)
		defer memory.Put()
		k, _ := t.WhitenInPlace(deviations)
		pt.addSlope(&k, out)
	})
	if err != nil {
		return err
	}
	pt.slope = make([]float64, w*w)
	unpackTriangle(mixedmodel.Square(pt.slope, w), sum)
	pt.axes.leave(pt.slope, w)
	return nil
}

// addSlope adds the slope of one task, by the rows of its upper triangle. It is, with Z and the residuals e = y - Z mean of the whitened task,
// A = Z'Z, g = Z'e and the covariance C of the mean,
//
//	M = A - A C A - g g' / noise = Z' (I - Z C Z' - e e' / noise) Z
func (pt *Point) addSlope(k *mixedmodel.Whitened, out []float64) {
	m, w := len(k.Y), pt.W
	if m == 0 {
		return
	}
	z := mixedmodel.Matrix(k.Z, m, w)
	scratch := mixedmodel.GetScratch(m*w + m*m + m)
	defer scratch.Put()
	zc, h, e := mixedmodel.Matrix(scratch.Take(m*w), m, w), mixedmodel.Square(scratch.Take(m*m), m), scratch.Take(m)
	mixedmodel.Product(z, mixedmodel.Square(pt.MeanCovariance, w), zc)
	mixedmodel.Product(zc, z, h)
	for i, y := range k.Y {
		e[i] = y - floats.Dot(k.Z[i*w:][:w], pt.Mean)
	}
	for i := range m {
		for j := range m {
			h.Data[i*m+j] = unit(i, j) - h.Data[i*m+j] - e[i]*e[j]/pt.Noise
		}
	}
	along, hz := pt.axes.rows(k.Z, w), zc
	if m < manyRows {
		clear(hz.Data)
		for i, v := range h.Data {
			floats.AddScaled(hz.Data[i/m*w:][:w], v, along[i%m*w:][:w])
		}
	} else {
		blas64.Gemm(blas.NoTrans, blas.NoTrans, 1, h, mixedmodel.Matrix(along, m, w), 0, hz)
	}
	addTriangle(out, along, hz.Data, w)
}

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
