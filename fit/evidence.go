package fit

import (
	"context"
	"math"

	"github.com/difalt/difalt/internal/mixedmodel"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/lapack/lapack64"
)

// An evidence says how likely the targets of all nodes are under a prior, by their restricted
// likelihood: with coefficients of tasks, mean and level of noise integrated or estimated,
// as in a linear mixed model (Patterson and Thompson 1971; Harville 1977). Every task is
// worked on where it lives; what goes over the network are sums over all tasks of a node.
type evidence struct {
	*assembly
	tasks   [][]mixedmodel.Task // of every hosted node, weighed
	weight  [][]float64         // by these; nil are 1
	count   float64             // tasks of all nodes
	w       int
	total   float64 // rows of all nodes
	workers int
	// The sum over all rows of the logarithms of the weights of their tasks.
	logWeights float64
}

// noiseFloor is the least variance of the noise, as a part of that of the target: an exact
// fit would leave nothing to compare strengths with.
const noiseFloor = 1e-10

// A point is an evidence at some prior.
type point struct {
	*mixedmodel.Prior
	of    *evidence               // nil of a mere prior
	scale []float64               // see maximize
	value float64                 // -2 log likelihood, but for a constant; +Inf where rounding leaves none
	noise float64                 // variance
	shift []float64               // the mean, w
	cover []float64               // its covariance over noise, w x w
	gram  []float64               // sum of Z' V^-1 Z, w x w
	white [][]mixedmodel.Whitened // of every node and task
	sums  []float64               // of gradient; nil if nobody has asked
}

// Rotate is that of the prior. All else stays.
func (pt *point) Rotate() {
	pt.Prior.Rotate()
	pt.sums = nil
}

// reach returns a point, or what its prior gives if it is not of this evidence.
func (e *evidence) reach(ctx context.Context, pt *point) (*point, error) {
	if pt.of == e {
		return pt, nil
	}
	return e.at(ctx, pt.Prior)
}

// at evaluates a prior.
func (e *evidence) at(ctx context.Context, p *mixedmodel.Prior) (*point, error) {
	w := e.w
	s := p.Covariance()
	pt := &point{Prior: p, of: e, white: make([][]mixedmodel.Whitened, len(e.tasks))}
	// Of every node: Z'V^-1 Z, Z'V^-1 y, y'V^-1 y, log det V, and where rounding has left no V.
	n := w*(w+1)/2 + w + 3
	z := e.overTasks(ctx, n, func(g, i int, out []float64) {
		t := &e.tasks[g][i]
		k, ok := t.Whiten(s, w)
		if !ok {
			out[n-1]++
		}
		pt.white[g][i] = k
		m := len(k.Y)
		out[n-2] += k.LogDet
		out[n-3] += floats.Dot(k.Y, k.Y) + t.Rest
		if m == 0 {
			return
		}
		at := 0
		for a := range w { // Z'V^-1 Z by rows of its triangle, and Z'V^-1 y
			for r := range m {
				row := k.Z[r*w : (r+1)*w]
				if v := row[a]; v != 0 {
					floats.AddScaled(out[at:at+w-a], v, row[a:])
					out[w*(w+1)/2+a] += v * k.Y[r]
				}
			}
			at += w - a
		}
	}, func(g int) { pt.white[g] = make([]mixedmodel.Whitened, len(e.tasks[g])) })
	sum, err := e.sum(ctx, z)
	if err != nil {
		return nil, err
	}
	pt.solve(sum, w, e.total)
	pt.value -= e.logWeights
	return pt, nil
}

// solve sets mean, noise and value by the sums of at.
func (pt *point) solve(sum []float64, w int, total float64) {
	pt.gram, pt.cover = make([]float64, w*w), make([]float64, w*w)
	at := 0
	for i := range w {
		for j := i; j < w; j++ {
			pt.gram[i*w+j], pt.gram[j*w+i] = sum[at], sum[at]
			at++
		}
	}
	xy, yy, logDet, failed := sum[at:at+w], sum[at+w], sum[at+w+1], sum[at+w+2]
	copy(pt.cover, pt.gram)
	for j := range w - 1 {
		pt.cover[j*w+j] += 1 / pt.MeanVariance
	}
	pt.value = math.Inf(1)
	if failed > 0 {
		return
	}
	chol, ok := lapack64.Potrf(blas64.Symmetric{N: w, Stride: w, Data: pt.cover, Uplo: blas.Upper})
	if !ok {
		return
	}
	for j := range w {
		logDet += 2 * math.Log(pt.cover[j*w+j])
	}
	pt.shift = append([]float64(nil), xy...)
	lapack64.Potrs(chol, blas64.General{Rows: w, Cols: 1, Stride: 1, Data: pt.shift})
	lapack64.Potri(chol)
	for i := range w {
		for j := range i {
			pt.cover[i*w+j] = pt.cover[j*w+i]
		}
	}
	left := max(total-1, 1)
	pt.noise = (max(yy-floats.Dot(xy, pt.shift), 0) + noiseFloor*total) / left
	pt.value = left*math.Log(pt.noise) + logDet + float64(w-1)*math.Log(pt.MeanVariance)
}

// gradient returns the derivatives of the value: by the loadings, w x rank by columns, and
// by the logarithms of intercept, spread and mean.
func (e *evidence) gradient(ctx context.Context, pt *point) (loadings []float64, logs [3]float64, err error) {
	n := e.w * pt.Rank
	if pt.sums == nil {
		z := e.overTasks(ctx, n+2, func(g, i int, out []float64) {
			slope(&pt.white[g][i], pt, e.w, out[:n], &out[n], &out[n+1])
		}, nil)
		if pt.sums, err = e.sum(ctx, z); err != nil {
			return nil, logs, err
		}
	}
	sum := pt.sums
	logs[0], logs[1] = pt.Intercept*sum[n], pt.Spread*sum[n+1]
	for j := range e.w - 1 {
		logs[2] += 1 - (pt.cover[j*e.w+j]+pt.shift[j]*pt.shift[j]/pt.noise)/pt.MeanVariance
	}
	return sum[:n], logs, nil
}

// slope adds the derivatives of one task: by the loadings, and by the variances of
// intercept and spread. The derivative by S is, with A = K'K and g = K'(u - K mean),
//
//	M = A - A C A - g g' / noise
func slope(k *mixedmodel.Whitened, pt *point, w int, loadings []float64, intercept, spread *float64) {
	m, r := len(k.Y), pt.Rank
	if m == 0 {
		return
	}
	km := blas64.General{Rows: m, Cols: w, Stride: w, Data: k.Z}
	g := k.Gradient(pt.shift)
	// H = K C K', m x m, so that A C A = K' H K.
	kc := blas64.General{Rows: m, Cols: w, Stride: w, Data: make([]float64, m*w)}
	blas64.Gemm(blas.NoTrans, blas.NoTrans, 1, km, mixedmodel.Square(pt.cover, w), 0, kc)
	h := mixedmodel.Square(make([]float64, m*m), m)
	blas64.Gemm(blas.NoTrans, blas.Trans, -1, kc, km, 0, h)
	for i := range m {
		h.Data[i*m+i]++
	}
	// Rows of (I - H) K: M + g g' / noise = K' (I - H) K.
	hk := kc
	blas64.Gemm(blas.NoTrans, blas.NoTrans, 1, h, km, 0, hk)
	for i := range m {
		a, b := k.Z[i*w:][:w], hk.Data[i*w:][:w]
		*intercept += a[w-1] * b[w-1]
		*spread += floats.Dot(a[:w-1], b[:w-1])
	}
	*intercept -= g[w-1] * g[w-1] / pt.noise
	*spread -= floats.Dot(g[:w-1], g[:w-1]) / pt.noise
	if r == 0 {
		return
	}
	kl := blas64.General{Rows: r, Cols: m, Stride: m, Data: make([]float64, r*m)}
	blas64.Gemm(blas.NoTrans, blas.Trans, 1, pt.Matrix(), km, 0, kl)
	blas64.Gemm(blas.NoTrans, blas.NoTrans, 2, kl, hk, 1, blas64.General{Rows: r, Cols: w, Stride: w, Data: loadings})
	for a := range r {
		floats.AddScaled(loadings[a*w:][:w], -2*floats.Dot(g, pt.Column(a))/pt.noise, g)
	}
}

// overTasks returns, for every hosted node, the sum of n numbers to which add adds those of a
// task. Tasks are cut into fixed chunks, whose sums are added in order: the bits do not
// depend on the workers. before is called for every node first.
func (e *evidence) overTasks(ctx context.Context, n int, add func(g, i int, out []float64), before func(g int)) [][]float64 {
	const parts = 8 // of a node, at most
	type chunk struct{ g, lo, hi int }
	var chunks []chunk
	for g, tasks := range e.tasks {
		if before != nil {
			before(g)
		}
		size := max((len(tasks)+parts-1)/parts, 8)
		for lo := 0; lo < len(tasks); lo += size {
			chunks = append(chunks, chunk{g, lo, min(lo+size, len(tasks))})
		}
	}
	sums := make([][]float64, len(chunks))
	parallel(e.workers, len(chunks), func(_, c int) {
		sums[c] = make([]float64, n)
		for i := chunks[c].lo; i < chunks[c].hi && ctx.Err() == nil; i++ { // the next sum says who leaves
			add(chunks[c].g, i, sums[c])
		}
	})
	z := e.zeros(n)
	for c, s := range sums {
		floats.Add(z[chunks[c].g], s)
	}
	return z
}
