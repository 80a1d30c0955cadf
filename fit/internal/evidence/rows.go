// Package evidence is the estimator of a fit. From the rows of all tasks, as few as say the same, it finds the prior
// of a linear mixed model with the largest restricted likelihood, and says what that leaves unknown.
// It knows neither tables nor columns.
package evidence

import (
	"context"
	"math"

	"github.com/difalt/difalt/fit/internal/nodes"
	"github.com/difalt/difalt/fit/internal/parallel"
	"github.com/difalt/difalt/internal/mixedmodel"
	"gonum.org/v1/gonum/floats"
)

// Rows are those of the tasks of all nodes, or as few as say the same. Every task is worked on where it lives;
// what goes over the network are sums over all tasks of a node.
type Rows struct {
	Tasks   [][]mixedmodel.Task // of every hosted node, weighted
	Width   int                 // coefficients of a task, the constant last
	Count   float64             // tasks of all nodes
	Total   float64             // rows of all nodes
	Weights [][]float64         // of the rows of every task of the hosted nodes; nil are 1
	Workers int

	group *nodes.Group
	// The sum over all rows of the logarithms of the weights of their tasks.
	logWeights float64
}

// NewRows returns the rows of the tasks of every hosted node, of so many coefficients each; total is the number of rows
// of all nodes that they were made of. The nodes add up how many tasks they have.
func NewRows(ctx context.Context, group *nodes.Group, tasks [][]mixedmodel.Task, width, total, workers int) (*Rows, error) {
	z := group.Zeros(1)
	for g, list := range tasks {
		z[g][0] = float64(len(list))
	}
	sum, err := group.Sum(ctx, z)
	if err != nil {
		return nil, err
	}
	return &Rows{Tasks: tasks, Width: width, Count: sum[0], Total: float64(total), Workers: workers, group: group}, nil
}

// weight is that of the rows of a task.
func (r *Rows) weight(g, i int) float64 {
	if r.Weights == nil {
		return 1
	}
	return r.Weights[g][i]
}

// Weighted returns the same rows, with new weights for those of every task.
func (r *Rows) Weighted(ctx context.Context, weights [][]float64) (*Rows, error) {
	out := *r
	out.Tasks, out.Weights = perTask[mixedmodel.Task](r), weights
	sum, err := r.sum(ctx, 1, func(g, i int, sum []float64) {
		t, w := &r.Tasks[g][i], weights[g][i]
		out.Tasks[g][i] = t.Weighted(w / r.weight(g, i))
		sum[0] += float64(t.Rows) * math.Log(w)
	})
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

// sum returns the sum over the tasks of all nodes of n numbers, to which add adds those of task i of hosted node g.
func (r *Rows) sum(ctx context.Context, n int, add func(g, i int, out []float64)) ([]float64, error) {
	return r.group.Sum(ctx, r.hostedSums(ctx, n, add))
}

// hostedSums returns the same for every hosted node. Tasks are cut into fixed chunks, whose sums are added in order:
// the bits do not depend on the workers.
func (r *Rows) hostedSums(ctx context.Context, n int, add func(g, i int, out []float64)) [][]float64 {
	const parts = 8 // of a node, at most
	type chunk struct{ g, lo, hi int }
	var chunks []chunk
	for g, tasks := range r.Tasks {
		size := max((len(tasks)+parts-1)/parts, 8)
		for lo := 0; lo < len(tasks); lo += size {
			chunks = append(chunks, chunk{g, lo, min(lo+size, len(tasks))})
		}
	}
	sums := make([][]float64, len(chunks))
	parallel.For(r.Workers, len(chunks), func(_, c int) {
		sums[c] = make([]float64, n)
		for i := chunks[c].lo; i < chunks[c].hi && ctx.Err() == nil; i++ { // the next sum says who leaves
			add(chunks[c].g, i, sums[c])
		}
	})
	z := r.group.Zeros(n)
	for c, s := range sums {
		floats.Add(z[chunks[c].g], s)
	}
	return z
}
