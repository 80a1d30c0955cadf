package measure

import (
	"github.com/difalt/difalt/kernel"
)

// An Iteration is everything that is timed on one set of tasks: the step, and the
// two ceilings over it with the same workers.
type Iteration struct {
	pool   *kernel.Pool
	engine *kernel.Engine
	u      []*kernel.Basis
	*Ceiling
}

// NewIteration returns the iteration of a problem whose tasks were packed.
func NewIteration(p *Problem, tasks *kernel.Tasks, workers int) *Iteration {
	pool := kernel.NewPool(workers)
	group := kernel.NewGroup(tasks, p.Rank)
	return &Iteration{
		pool:    pool,
		engine:  kernel.NewEngine(pool, []*kernel.Group{group}),
		u:       []*kernel.Basis{p.U},
		Ceiling: NewCeiling(pool, tasks.Bytes()),
	}
}

// Step takes one iteration over all tasks: the least squares and the gradient.
func (it *Iteration) Step() { it.engine.Step(it.u, 0) }

// Close ends the workers.
func (it *Iteration) Close() { it.pool.Close() }
