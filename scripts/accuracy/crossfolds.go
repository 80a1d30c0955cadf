package main

import (
	"context"
	"math"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/dataset"
	"github.com/difalt/difalt/internal/mixedmodel"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/model"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/lapack/lapack64"
)

// A member is one of the models that cross-validation chooses from: those of package fit,
//
//	y = z'(mean + deviation_t) + noise,   deviation_t ~ N(0, low U U' + spread I + intercept e e'),
//
// with U of so many orthonormal columns that package difalt finds, and mean ~ N(0, shared I). The
// strengths are numbers k that stand for the variance 10^(k/2) in units of that of the noise, or none.
type member struct{ rank, low, intercept, spread, shared int }

// none is a strength that leaves its part of the model out.
const none = math.MinInt

func variance(k int) float64 {
	if k == none {
		return 0
	}
	return math.Pow(10, float64(k)/2)
}

// prior returns the prior that a member stands for, with the basis of its directions.
func (m member) prior(w int, u *kernel.Basis) *mixedmodel.Prior {
	p := &mixedmodel.Prior{W: w, Rank: m.rank, Loadings: make([]float64, m.rank*w),
		Intercept: variance(m.intercept), Spread: variance(m.spread), MeanVariance: variance(m.shared)}
	for a := range m.rank {
		floats.AddScaled(p.Column(a), math.Sqrt(variance(m.low)), u.Col(a))
	}
	return p
}

// A part of a table is rows to train on, and others to judge by, both of every node and task.
type part struct{ train, held [][]mixedmodel.Task }

// A folds is a table cut for cross-validation: parts of it, and all of it. All nodes of the network
// live here, and send one another sums as fit does.
type folds struct {
	net   *consensus.Network
	w     int
	seed  uint64
	parts []part
	all   part // judged by nothing
	rows  float64
}

// foldCount is the number of folds.
const foldCount = 5

// newFolds cuts a table, scaled as a model of all of its rows has scaled it.
func newFolds(net *consensus.Network, t *dataset.Table, p *model.Parameters, seed uint64) (*folds, error) {
	layout, err := t.Layout()
	if err != nil {
		return nil, err
	}
	f := &folds{net: net, w: p.Prior.W, seed: seed, rows: float64(t.Rows())}
	fold := t.Folds(nil, foldCount, seed)
	of := make([][]int, len(t.Tasks()))
	for i := range t.Rows() {
		of[t.Task(i)] = append(of[t.Task(i)], i)
	}
	take := func(use func(fold int) bool) (out [][]mixedmodel.Task) {
		c := mixedmodel.NewCompressor(f.w)
		for _, tasks := range layout {
			var own []mixedmodel.Task
			for _, k := range tasks {
				for _, i := range of[k] {
					if use(fold[i]) {
						row := c.Next()
						scaledRow(row[:f.w], t.X(make([]float64, len(t.Features())), i), p)
						row[f.w] = (t.Y(i) - p.Scaling.Target) / p.Scaling.TargetScale
					}
				}
				own = append(own, c.Task())
			}
			out = append(out, own)
		}
		return out
	}
	for k := range foldCount {
		f.parts = append(f.parts, part{take(func(fold int) bool { return fold != k }), take(func(fold int) bool { return fold == k })})
	}
	f.all = part{train: take(func(int) bool { return true })}
	return f, nil
}

// scaledRow sets z to the features of a row, scaled, along the directions of the model if it has any, and
// the constant last.
func scaledRow(z, x []float64, p *model.Parameters) {
	full := make([]float64, p.Scaling.Width())
	copy(full, x)
	p.Scaling.Apply(full)
	if p.Directions == nil {
		copy(z, full)
		return
	}
	k := len(x)
	for j := range len(z) - 1 {
		z[j] = floats.Dot(p.Directions[j*k:][:k], full[:k])
	}
	z[len(z)-1] = full[k]
}

// sum adds up what the nodes have over the network.
func (f *folds) sum(ctx context.Context, z [][]float64) ([]float64, error) {
	if err := f.net.Sum(ctx, z); err != nil {
		return nil, err
	}
	f.net.Commit()
	return z[0], nil
}

func (f *folds) zeros(n int) [][]float64 {
	z := make([][]float64, f.net.Len())
	for g := range z {
		z[g] = make([]float64, n)
	}
	return z
}

// A fitted is a member fitted to a part: everything that predicts.
type fitted struct {
	prior *mixedmodel.Prior
	s     []float64 // covariance of deviations
	mean  []float64
	white [][]mixedmodel.Whitened
	// freedom is how many coefficients the deviations of all tasks amount to.
	freedom float64
}

// fit fits members to parts: the k-th of priors to the k-th of parts. All of them share one sum over the nodes.
func (f *folds) fit(ctx context.Context, priors []*mixedmodel.Prior, parts []part) ([]*fitted, error) {
	w := f.w
	each := w*w + w + 1 // Z'V^-1 Z, of which the triangle is sent, Z'V^-1 y, and the freedom
	size := w*(w+1)/2 + w + 1
	out, z := make([]*fitted, len(parts)), f.zeros(len(parts)*size)
	for k, p := range parts {
		own := &fitted{prior: priors[k], s: priors[k].Covariance()}
		for g, tasks := range p.train {
			buf, white := make([]float64, each), make([]mixedmodel.Whitened, len(tasks))
			for i := range tasks {
				white[i], _ = tasks[i].Whiten(own.s, w) // positive definite: there is nothing but rounding to fail
				own.add(buf, &white[i], w)
			}
			own.white = append(own.white, white)
			pack(z[g][k*size:][:size], buf, w)
		}
		out[k] = own
	}
	sum, err := f.sum(ctx, z)
	if err != nil {
		return nil, err
	}
	for k, own := range out {
		own.solve(sum[k*size:][:size], w)
	}
	return out, nil
}

// add adds the sums of one task.
func (own *fitted) add(buf []float64, k *mixedmodel.Whitened, w int) {
	m := len(k.Y)
	if m == 0 {
		return
	}
	rows := blas64.General{Rows: m, Cols: w, Stride: w, Data: k.Z}
	gram := blas64.General{Rows: w, Cols: w, Stride: w, Data: buf[:w*w]}
	blas64.Gemm(blas.Trans, blas.NoTrans, 1, rows, rows, 1, gram)
	blas64.Gemv(blas.Trans, 1, rows, vector(k.Y), 1, vector(buf[w*w:][:w]))
	ks := mixedmodel.Square(make([]float64, m*w), w)
	ks.Rows = m
	blas64.Gemm(blas.NoTrans, blas.NoTrans, 1, rows, mixedmodel.Square(own.s, w), 0, ks)
	buf[w*w+w] += floats.Dot(ks.Data, k.Z) // tr(I - V^-1)
}

func vector(v []float64) blas64.Vector { return blas64.Vector{N: len(v), Inc: 1, Data: v} }

// pack keeps of the matrix its upper triangle.
func pack(out, buf []float64, w int) {
	for i := range w {
		out = out[copy(out, buf[i*w+i:(i+1)*w]):]
	}
	copy(out, buf[w*w:])
}

// solve sets the mean by its sums: ridge regression with a free constant.
func (own *fitted) solve(sum []float64, w int) {
	a, at := make([]float64, w*w), 0
	for i := range w {
		at += copy(a[i*w+i:(i+1)*w], sum[at:])
		if i < w-1 {
			a[i*w+i] += 1 / own.prior.MeanVariance
		}
	}
	own.mean, own.freedom = append([]float64(nil), sum[at:at+w]...), sum[at+w]
	if r, ok := lapack64.Potrf(blas64.Symmetric{N: w, Stride: w, Data: a, Uplo: blas.Upper}); ok {
		lapack64.Potrs(r, blas64.General{Rows: w, Cols: 1, Stride: 1, Data: own.mean})
	} else {
		clear(own.mean)
	}
}

// theta returns the coefficients of a task.
func (own *fitted) theta(g, i int) []float64 {
	pull := own.white[g][i].Gradient(own.mean)
	theta := append([]float64(nil), own.mean...)
	blas64.Gemv(blas.NoTrans, 1, mixedmodel.Square(own.s, len(theta)), vector(pull), 1, vector(theta))
	return theta
}

// errors returns the mean squared errors of members on the held rows of every fold: as many as priors, foldCount each,
// in units of what the target was scaled to, and the freedom of each, the mean over the folds.
func (f *folds) errors(ctx context.Context, members []member, bases func(member, int) *kernel.Basis) (square [][]float64, freedom []float64, err error) {
	n := len(members) * foldCount
	priors, parts := make([]*mixedmodel.Prior, n), make([]part, n)
	for j := range priors {
		m, k := members[j/foldCount], j%foldCount
		priors[j], parts[j] = m.prior(f.w, bases(m, k)), f.parts[k]
	}
	fits, err := f.fit(ctx, priors, parts)
	if err != nil {
		return nil, nil, err
	}
	z := f.zeros(2 * n)
	for j, own := range fits {
		for g, tasks := range parts[j].held {
			for i := range tasks {
				t := &tasks[i]
				theta := own.theta(g, i)
				z[g][2*j] += t.Rest
				z[g][2*j+1] += float64(t.Rows)
				for r, y := range t.Y {
					e := y - floats.Dot(theta, t.Z[r*f.w:][:f.w])
					z[g][2*j] += e * e
				}
			}
		}
	}
	sum, err := f.sum(ctx, z)
	if err != nil {
		return nil, nil, err
	}
	square, freedom = make([][]float64, len(members)), make([]float64, len(members))
	for j := range n {
		square[j/foldCount] = append(square[j/foldCount], sum[2*j]/max(sum[2*j+1], 1))
		freedom[j/foldCount] += fits[j].freedom / foldCount
	}
	return square, freedom, nil
}
