package evidence

import (
	"context"
	"math"

	"github.com/difalt/difalt/fit/internal/nodes"
	"github.com/difalt/difalt/internal/mixedmodel"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/lapack/lapack64"
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

	rows     *Rows                   // for which the evidence is; nil of a mere prior
	gram     []float64               // sum of Z' V^-1 Z, w x w
	whitened [][]mixedmodel.Whitened // of every hosted node and task
	slopes   []float64               // see slopeSums; nil until they are needed
}

// Rotate turns the loadings to their principal axes. The evidence stays as it is.
func (pt *Point) Rotate() {
	pt.Prior.Rotate()
	pt.slopes = nil
}

// Penalized is the value with that of the loadings by their own prior.
func (pt *Point) Penalized() float64 {
	v := pt.Value
	for a, s := range pt.LoadingVariances {
		v += floats.Dot(pt.Column(a), pt.Column(a)) / s
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
	return r.at(ctx, pt.Prior)
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

// at evaluates a prior.
func (r *Rows) at(ctx context.Context, p *mixedmodel.Prior) (*Point, error) {
	w, s, l := r.Width, p.Covariance(), newPointSums(r.Width)
	pt := &Point{Prior: p, rows: r, whitened: perTask[mixedmodel.Whitened](r)}
	sum, err := r.sum(ctx, l.Len, func(g, i int, out []float64) {
		t := &r.Tasks[g][i]
		k, ok := t.Whiten(s, w)
		if !ok {
			l.failed.Add(out, 1)
		}
		pt.whitened[g][i] = k
		l.logDet.Add(out, k.LogDet)
		l.yy.Add(out, floats.Dot(k.Y, k.Y)+t.Rest)
		gram, zy := l.gram.Of(out), l.zy.Of(out)
		for a := range w {
			for i, y := range k.Y {
				row := k.Z[i*w : (i+1)*w]
				if v := row[a]; v != 0 {
					floats.AddScaled(gram[:w-a], v, row[a:])
					zy[a] += v * y
				}
			}
			gram = gram[w-a:]
		}
	})
	if err != nil {
		return nil, err
	}
	pt.solve(sum, &l)
	pt.Value -= r.logWeights
	return pt, nil
}

// solve sets mean, noise and value by the sums over tasks.
func (pt *Point) solve(sum []float64, l *pointSums) {
	w, total := pt.W, pt.rows.Total
	pt.gram = make([]float64, w*w)
	unpackTriangle(mixedmodel.Square(pt.gram, w), l.gram.Of(sum))
	zy, logDet := l.zy.Of(sum), l.logDet.First(sum)
	cover := append([]float64(nil), pt.gram...)
	pt.MeanCovariance, pt.Value = cover, math.Inf(1)
	for j := range w - 1 {
		cover[j*w+j] += 1 / pt.MeanVariance
	}
	if l.failed.First(sum) > 0 {
		return
	}
	chol, ok := lapack64.Potrf(blas64.Symmetric{N: w, Stride: w, Data: cover, Uplo: blas.Upper})
	if !ok {
		return
	}
	for j := range w {
		logDet += 2 * math.Log(cover[j*w+j])
	}
	pt.Mean = append([]float64(nil), zy...)
	lapack64.Potrs(chol, mixedmodel.Matrix(pt.Mean, w, 1))
	lapack64.Potri(chol)
	for i := range w {
		for j := range i {
			cover[i*w+j] = cover[j*w+i]
		}
	}
	freedom := max(total-1, 1)
	pt.Noise = (max(l.yy.First(sum)-floats.Dot(zy, pt.Mean), 0) + NoiseFloor*total) / freedom
	pt.Value = freedom*math.Log(pt.Noise) + logDet + float64(w-1)*math.Log(pt.MeanVariance)
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

// slopeSums are the sums over tasks of the derivatives of the value: by the loadings, and by the variances of intercept
// and spread.
type slopeSums struct {
	nodes.Layout
	loadings, intercept, spread nodes.Span
}

func newSlopeSums(w, rank int) (l slopeSums) {
	l.loadings, l.intercept, l.spread = l.Span(w*rank), l.Span(1), l.Span(1)
	return l
}

// gradient returns the derivatives of the value: by the loadings, w x rank by columns, and
// by the logarithms of intercept, spread and mean.
func (r *Rows) gradient(ctx context.Context, pt *Point) (loadings []float64, logs [3]float64, err error) {
	l := newSlopeSums(r.Width, pt.Rank)
	if pt.slopes == nil {
		pt.slopes, err = r.sum(ctx, l.Len, func(g, i int, out []float64) { pt.addSlopes(&pt.whitened[g][i], out, &l) })
		if err != nil {
			return nil, logs, err
		}
	}
	logs[0], logs[1] = pt.Intercept*l.intercept.First(pt.slopes), pt.Spread*l.spread.First(pt.slopes)
	for j := range r.Width - 1 {
		logs[2] += 1 - (pt.MeanCovariance[j*r.Width+j]+pt.Mean[j]*pt.Mean[j]/pt.Noise)/pt.MeanVariance
	}
	return l.loadings.Of(pt.slopes), logs, nil
}

// addSlopes adds the derivatives of one task. That by S is, with Z and y of the whitened task, A = Z'Z, g = Z'(y - Z mean)
// and the covariance C of the mean,
//
//	M = A - A C A - g g' / noise
func (pt *Point) addSlopes(k *mixedmodel.Whitened, out []float64, l *slopeSums) {
	m, r, w := len(k.Y), pt.Rank, pt.W
	if m == 0 {
		return
	}
	z := mixedmodel.Matrix(k.Z, m, w)
	g := k.Gradient(pt.Mean)
	// H = Z C Z', m x m, so that A C A = Z' H Z.
	zc := mixedmodel.Matrix(make([]float64, m*w), m, w)
	blas64.Gemm(blas.NoTrans, blas.NoTrans, 1, z, mixedmodel.Square(pt.MeanCovariance, w), 0, zc)
	h := mixedmodel.Square(make([]float64, m*m), m)
	blas64.Gemm(blas.NoTrans, blas.Trans, -1, zc, z, 0, h)
	for i := range m {
		h.Data[i*m+i]++
	}
	// Rows of (I - H) Z: M + g g' / noise = Z' (I - H) Z.
	hz := zc
	blas64.Gemm(blas.NoTrans, blas.NoTrans, 1, h, z, 0, hz)
	for i := range m {
		a, b := k.Z[i*w:][:w], hz.Data[i*w:][:w]
		l.intercept.Add(out, a[w-1]*b[w-1])
		l.spread.Add(out, floats.Dot(a[:w-1], b[:w-1]))
	}
	l.intercept.Add(out, -(g[w-1] * g[w-1] / pt.Noise))
	l.spread.Add(out, -(floats.Dot(g[:w-1], g[:w-1]) / pt.Noise))
	if r == 0 {
		return
	}
	loadings := l.loadings.Of(out)
	lz := mixedmodel.Matrix(make([]float64, r*m), r, m) // (Z L)'
	blas64.Gemm(blas.NoTrans, blas.Trans, 1, pt.Transposed(), z, 0, lz)
	blas64.Gemm(blas.NoTrans, blas.NoTrans, 2, lz, hz, 1, mixedmodel.Matrix(loadings, r, w))
	for a := range r {
		floats.AddScaled(loadings[a*w:][:w], -2*floats.Dot(g, pt.Column(a))/pt.Noise, g)
	}
}
