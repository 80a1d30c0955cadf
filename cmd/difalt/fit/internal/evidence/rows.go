// Package evidence is the estimator of a fit. From the rows of all tasks, as few as say the same, it finds the prior
// of a linear mixed model with the largest restricted likelihood, and says what that leaves unknown.
// It knows neither tables nor columns.
package evidence

import (
	"context"
	"math"

	"github.com/difalt/difalt/cmd/difalt/fit/internal/nodes"
	"github.com/difalt/difalt/cmd/difalt/fit/internal/parallel"
	"github.com/difalt/difalt/cmd/difalt/internal/mixedmodel"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Rows are those of the tasks of all nodes, or as few as say the same. Every task is worked on where it lives;
// what goes over the network are sums over all tasks of a node.
type Rows struct {
	Tasks   [][]*mixedmodel.Task // of every hosted node; nil for those that the source has
	Width   int                  // coefficients of a task, the constant last
	Count   float64              // tasks of all nodes
	Total   float64              // rows of all nodes
	Weights [][]float64          // of the rows of every task of the hosted nodes; nil are 1
	Workers int
	Source  Source

	kept     float64 // rows of all nodes, as few as say the same
	group    *nodes.Group
	released *released
	// The sum over all rows of the logarithms of the weights of their tasks, and the weight of a task of usual noise.
	logWeights, usual float64
}

// A Source has the rows of tasks that have no more of them than coefficients: there may be millions of tasks.
type Source interface {
	// Samples returns how many rows task i of hosted node g has.
	Samples(g, i int) int
	// Read sets z and y to them.
	Read(g, i int, z, y []float64)
}

// released is what the nodes have told one another of all rows, with whatever weights.
type released struct {
	evaluations int
	releases    []release
	errors      *mat.Dense // E of tasks that are alike, by their moments, between owners; nil before these are told
	alikes      []*Point   // that have one
}

// keptAlikes is how many alikes are kept, of the points that were asked last: each has several matrices of coefficients by coefficients, and can be
// made anew.
const keptAlikes = 2

// keep keeps the alike of a point.
func (h *released) keep(pt *Point) {
	h.alikes = append(h.alikes, pt)
	if len(h.alikes) > keptAlikes {
		h.alikes[0].alike = nil
		h.alikes = h.alikes[1:]
	}
}

// Forget lets go of what only evaluations need. Rows can still be read, and what was told be counted.
func (r *Rows) Forget() {
	for _, pt := range r.released.alikes {
		pt.alike = nil
	}
	r.released.alikes = nil
}

// NewRows returns the rows of the tasks of every hosted node, of so many coefficients each; total is the number of rows
// of all nodes that they were made of. The nodes add up how many tasks they have, and how many rows these are now.
func NewRows(ctx context.Context, group *nodes.Group, tasks [][]*mixedmodel.Task, source Source, width, total, workers int) (*Rows, error) {
	out := &Rows{Tasks: tasks, Source: source, Width: width, Total: float64(total), Workers: workers, group: group, released: new(released)}
	var l nodes.Layout
	count, kept := l.Span(1), l.Span(1)
	z := group.Zeros(l.Len)
	for g := range tasks {
		for i := range tasks[g] {
			count.Add(z[g], 1)
			kept.Add(z[g], float64(out.Len(g, i)))
		}
	}
	sum, err := group.Sum(ctx, z)
	if err != nil {
		return nil, err
	}
	out.Count, out.kept = count.First(sum), kept.First(sum)
	return out, nil
}

// Len returns how many rows task i of hosted node g has, as few as say the same.
func (r *Rows) Len(g, i int) int {
	if t := r.Tasks[g][i]; t != nil {
		return len(t.Y)
	}
	return r.Source.Samples(g, i)
}

// Task returns task i of hosted node g, weighted, in memory of the caller, who hands it back by Put.
func (r *Rows) Task(g, i int) (mixedmodel.Task, *mixedmodel.Scratch) {
	m, w := r.Len(g, i), r.Width
	scratch := mixedmodel.GetScratch(m * (w + 1))
	t := mixedmodel.Task{Z: scratch.Take(m * w), Y: scratch.Take(m), Rows: m}
	if kept := r.Tasks[g][i]; kept != nil {
		copy(t.Z, kept.Z)
		copy(t.Y, kept.Y)
		t.Rest, t.Rows = kept.Rest, kept.Rows
	} else {
		r.Source.Read(g, i, t.Z, t.Y)
	}
	if by := r.Weight(g, i); by != 1 {
		t.Rest *= by
		floats.Scale(math.Sqrt(by), t.Z)
		floats.Scale(math.Sqrt(by), t.Y)
	}
	return t, scratch
}

// Samples returns how many rows task i of hosted node g was made of.
func (r *Rows) Samples(g, i int) float64 {
	if t := r.Tasks[g][i]; t != nil {
		return float64(t.Rows)
	}
	return float64(r.Source.Samples(g, i))
}

// Evaluations is how often the nodes have summed up what all rows say at some prior, or about the noise of tasks there, with whatever
// weights: how often others were told a little of these rows.
func (r *Rows) Evaluations() int { return r.released.evaluations }

// PerTask returns how many rows a task has in the mean, as few as say the same.
func (r *Rows) PerTask() float64 { return r.kept / r.Count }

// Alone reports whether all rows are of a single owner: nobody else hears the sums.
func (r *Rows) Alone() bool { return !r.group.Dithers() }

// Weight is that of the rows of task i of hosted node g.
func (r *Rows) Weight(g, i int) float64 {
	if r.Weights == nil {
		return 1
	}
	return r.Weights[g][i]
}

// Weighted returns the same rows, with new weights for those of every task.
func (r *Rows) Weighted(ctx context.Context, n *TaskNoise) (*Rows, error) {
	out := *r
	out.Weights, out.usual = n.Weight, n.usual
	sum, err := r.sum(ctx, 1, r.dither(0), func(g, i int, sum []float64) { sum[0] += r.Samples(g, i) * math.Log(n.Weight[g][i]) })
	if err != nil {
		return nil, err
	}
	out.logWeights = sum[0]
	return &out, nil
}

// perTask returns memory for something about every task of every hosted node.
func perTask[T any](r *Rows) [][]T {
	all := make([][]T, len(r.Tasks))
	for g, tasks := range r.Tasks {
		all[g] = make([]T, len(tasks))
	}
	return all
}

// fine is the dither of a number that says little of a task, over what tasks differ by.
const fine = 0.1

// coarse is the dither of entries of matrices: a part of the error that the sum of so many tasks has in any case. Where coefficients outnumber what rows say of them, that would leave no matrix.
func (r *Rows) coarse() float64 {
	const ofError = 0.15
	return max(fine, ofError*math.Sqrt(r.Count)*min(1, math.Sqrt(r.Total)/float64(2*r.Width)))
}

// A dither is that of every number of a sum, over what tasks differ by; nil is none.
type dither func(j int) float64

// dither returns the one of a sum of which the first numbers are dithered coarsely, and the others finely. Where nobody else hears it there is none.
func (r *Rows) dither(coarsely int) dither {
	if r.Alone() {
		return nil
	}
	return func(j int) float64 {
		if j < coarsely {
			return r.coarse()
		}
		return fine
	}
}

// sum returns the sum over the tasks of all nodes of n numbers, to which add adds those of task i of hosted node g.
func (r *Rows) sum(ctx context.Context, n int, by dither, add func(g, i int, out []float64)) ([]float64, error) {
	z, squares := r.hostedSums(ctx, n, by != nil, add)
	if by != nil {
		for g, tasks := range r.Tasks {
			r.group.Dither(g, z[g], squares[g], len(tasks), by)
		}
	}
	return r.group.Sum(ctx, z)
}

// hostedSums returns the sums of every hosted node, and those of squares if they are wanted. Tasks are cut into fixed chunks, whose sums are added in
// order: the bits do not depend on the workers.
func (r *Rows) hostedSums(ctx context.Context, n int, squared bool, add func(g, i int, out []float64)) (z, squares [][]float64) {
	const parts = 8 // of a node, at most
	type chunk struct {
		g, lo, hi    int
		sum, squares []float64
	}
	var chunks []chunk
	for g, tasks := range r.Tasks {
		size := max((len(tasks)+parts-1)/parts, 8)
		for lo := 0; lo < len(tasks); lo += size {
			chunks = append(chunks, chunk{g: g, lo: lo, hi: min(lo+size, len(tasks))})
		}
	}
	parallel.For(ctx, r.Workers, len(chunks), func(_, k int) {
		c := &chunks[k]
		c.sum = make([]float64, n)
		task := c.sum
		if squared {
			c.squares, task = make([]float64, n), make([]float64, n)
		}
		for i := c.lo; i < c.hi && ctx.Err() == nil; i++ { // the next sum says who leaves
			if add(c.g, i, task); squared {
				floats.Add(c.sum, task)
				floats.Mul(task, task)
				floats.Add(c.squares, task)
				clear(task)
			}
		}
	})
	if z = r.group.Zeros(n); squared {
		squares = r.group.Zeros(n)
	}
	for _, c := range chunks {
		if c.sum != nil { // or the context has ended
			floats.Add(z[c.g], c.sum)
		}
		if c.squares != nil {
			floats.Add(squares[c.g], c.squares)
		}
	}
	return z, squares
}
