package measure

import (
	"context"
	"math"

	"github.com/difalt/difalt/internal/synth"
	"github.com/difalt/difalt/kernel"
)

// An Iteration is everything that is timed on one set of tasks: the step, and the
// two ceilings over it with the same workers.
type Iteration struct {
	*Ceiling
	executor *kernel.Executor
	groups   []*kernel.Group
	u        []*kernel.Basis
}

// NewIteration returns the iteration of a problem whose tasks were packed.
func NewIteration(p *Problem, nodes []*kernel.Tasks, workers int) *Iteration {
	it := new(Iteration)
	for _, tasks := range nodes {
		it.groups = append(it.groups, kernel.NewGroup(tasks, p.Rank))
		it.u = append(it.u, p.U.Clone()) // every node has its own
	}
	pool := kernel.NewPool(workers)
	it.executor = kernel.NewExecutor(pool, it.groups)
	it.Ceiling = NewCeiling(pool, nodes...)
	return it
}

// Step takes one iteration over all tasks: the least squares and the gradients.
func (it *Iteration) Step() { it.executor.Step(it.u, 0) }

// Schedule takes iterations until the kernel's schedule for them is final, and returns it.
func (it *Iteration) Schedule() string { return FinalSchedule(it.executor, it.Step) }

// FinalSchedule calls step, which is one of an executor, until the executor's schedule for
// such steps is final, and returns it.
func FinalSchedule(e *kernel.Executor, step func()) (schedule string) {
	for final := false; !final; schedule, final = e.Schedule() {
		step()
	}
	return schedule
}

// Reduce lets the steps to come read copies of the samples in 16 bits, a little away from
// an anchor.
func (it *Iteration) Reduce() {
	for _, g := range it.groups {
		g.Reduce()
		g.Anchor()
	}
	it.Step()
	for _, u := range it.u {
		for k := range u.Col(0) {
			u.Col(0)[k] += 1e-3 * float64(k%7)
		}
	}
}

// Close ends the workers.
func (it *Iteration) Close() { it.pool.Close() }

// A Problem is seeded data of a shape, and a random orthonormal start U that is not U*, so
// that the gradient does not vanish. Entries of X_t are float32, so that both storages
// hold the same numbers.
type Problem struct {
	Shape
	U      *kernel.Basis // where the iteration is taken
	Source *synth.Source
}

// NewProblem returns the problem of a shape and seed.
func NewProblem(s Shape, seed uint64) *Problem {
	data := synth.Data{Features: s.Features, Tasks: s.Tasks, Samples: s.Samples, Rank: s.Rank, Single: true}
	return &Problem{s, synth.Orthonormal(s.Features, s.Rank, synth.Stream(seed, math.MaxUint64)), data.Source(seed)}
}

// Pack draws all tasks into the kernel's layout, dealt out to a number of nodes in
// runs of equal length.
func (p *Problem) Pack(nodes int, storage kernel.Storage) []*kernel.Tasks {
	packed := make([]*kernel.Tasks, nodes)
	for g := range packed {
		packed[g], _ = p.Source.Pack(context.Background(), p.Tasks*g/nodes, p.Tasks*(g+1)/nodes, storage) // in memory it cannot fail
	}
	return packed
}
