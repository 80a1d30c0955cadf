package measure

import "github.com/difalt/difalt/kernel"

// An Iteration is everything that is timed on one set of tasks: the step, and the
// two ceilings over it with the same workers.
type Iteration struct {
	*Ceiling
	executor *kernel.Executor
	u        []*kernel.Basis
}

// NewIteration returns the iteration of a problem whose tasks were packed.
func NewIteration(p *Problem, nodes []*kernel.Tasks, workers int) *Iteration {
	it := new(Iteration)
	var groups []*kernel.Group
	for _, tasks := range nodes {
		groups = append(groups, kernel.NewGroup(tasks, p.Rank))
		it.u = append(it.u, p.U.Clone()) // every node has its own
	}
	pool := kernel.NewPool(workers)
	it.executor = kernel.NewExecutor(pool, groups)
	it.Ceiling = NewCeiling(pool, nodes...)
	return it
}

// Step takes one iteration over all tasks: the least squares and the gradients.
func (it *Iteration) Step() { it.executor.Step(it.u, 0) }

// Close ends the workers.
func (it *Iteration) Close() { it.pool.Close() }
