package kernel

import (
	"slices"
	"sync/atomic"
	"time"
)

// An Executor steps several groups in parallel on a pool. Every worker computes the chunks in every step
// that it computed in the step before, so that its caches stay useful.
//
// An Executor is used by one goroutine at a time. It does not own the pool.
type Executor struct {
	pool   *Pool
	groups []*Group
	grads  map[*Basis]bool
	u      []*Basis // of the groups, during a call
	jobs   []*job   // of the workers
	chunks []place  // of all groups
	first  []int    // worker w computes chunks[first[w]:first[w+1]]
	shared []place  // the parts of chunks that workers share
	dealt  atomic.Int64
	phases struct{ multiply, solve, gradient, reduce func(worker int) } // stored: calls do not allocate
}

// A place is a chunk of a group, or one of its parts.
type place struct {
	group int
	chunk chunk
	part  int
}

// NewExecutor returns an executor for the groups, each of them once. It allocates a workspace for every
// worker, as large as the tasks of the worker need.
func NewExecutor(pool *Pool, groups []*Group) *Executor {
	if pool == nil || slices.Contains(groups, nil) {
		panic(noPool)
	}
	pool.mustBeMade()
	known := make(map[*Group]bool, len(groups))
	for _, g := range groups {
		g.mustBeMade()
		if known[g] {
			panic(groupTwice)
		}
		known[g] = true
	}
	e := newExecutor(pool, slices.Clone(groups))
	bytes := 0
	for _, g := range groups {
		bytes += g.tasks.Bytes()
	}
	for w, j := range e.jobs {
		j.cached = bytes <= l2Budget*len(e.jobs)
		s := size{d: 1, r: 1}
		for _, p := range slices.Concat(e.chunks[e.first[w]:e.first[w+1]], e.shared) {
			s = s.union(p.chunk.needs())
		}
		j.ws = newWorkspace(s)
	}
	return e
}

// newExecutor returns an executor whose jobs have no workspaces, and prefetch: the samples of a group that is
// stepped by itself may have left the caches since its last step.
func newExecutor(pool *Pool, groups []*Group) *Executor {
	e := &Executor{pool: pool, groups: groups, u: make([]*Basis, len(groups))}
	e.grads = make(map[*Basis]bool, len(groups))
	var cost []int // of the chunks, in entries of X
	total := 0
	for i, g := range groups {
		e.grads[g.grad] = true
		for _, c := range g.chunks {
			n := 0
			for part := range c.parts() {
				e.shared = append(e.shared, place{i, c, part})
			}
			if c.parts() == 0 {
				for _, rows := range g.tasks.rows[c.sums().lo:c.sums().hi] {
					n += rows * g.tasks.stride
				}
			}
			e.chunks = append(e.chunks, place{i, c, 0})
			cost = append(cost, n)
			total += n
		}
	}
	e.first = split(cost, total, pool.Workers())
	for range pool.Workers() {
		e.jobs = append(e.jobs, new(job))
	}
	e.phases.multiply = func(w int) { e.eachPart(w, chunk.multiply) }
	e.phases.solve = e.solve
	e.phases.gradient = func(w int) { e.eachPart(w, chunk.gradient) }
	e.phases.reduce = e.reduce
	return e
}

// Step does Group.Step with u[i] for every group i, bit for bit.
func (e *Executor) Step(u []*Basis, ridge float64) { e.call(u, ridge, step) }

// Minimize does Group.Minimize with u[i] for every group i, bit for bit.
func (e *Executor) Minimize(u []*Basis, ridge float64) { e.call(u, ridge, minimize) }

// Gradient does Group.Gradient with u[i] for every group i, bit for bit.
func (e *Executor) Gradient(u []*Basis) { e.call(u, 0, descend) }

// call checks the arguments and runs a call.
func (e *Executor) call(u []*Basis, ridge float64, w work) {
	if e == nil || e.pool == nil {
		panic(notNewExecutor)
	}
	if len(u) != len(e.groups) {
		panic(badBases)
	}
	for i, g := range e.groups {
		g.check(u[i], ridge)
		if e.grads[u[i]] {
			panic(aliased)
		}
	}
	copy(e.u, u)
	e.run(ridge, w)
}

// run computes all chunks on the bases e.u, and then forgets these.
func (e *Executor) run(ridge float64, w work) {
	for _, u := range e.u {
		u.clearPadding()
	}
	for _, j := range e.jobs {
		j.ridge, j.work = ridge, w
	}
	e.runParts(e.phases.multiply)
	e.pool.Run(e.phases.solve)
	e.runParts(e.phases.gradient)
	if w.gradient && len(e.chunks) > len(e.groups) {
		e.pool.Run(e.phases.reduce)
	}
	for _, g := range e.groups {
		g.collect()
	}
	for _, j := range e.jobs {
		j.g, j.u = nil, nil
		j.ws.forget()
	}
	clear(e.u)
}

// begin returns the job of a worker for a chunk of a group.
func (e *Executor) begin(worker, group int) *job {
	j := e.jobs[worker]
	j.g, j.u = e.groups[group], e.u[group]
	return j
}

// epoch is a time before all steps: time.Since takes half as long as time.Now.
var epoch = time.Now()

// solve computes the chunks of a worker.
func (e *Executor) solve(worker int) {
	for _, p := range e.chunks[e.first[worker]:e.first[worker+1]] {
		j, sums := e.begin(worker, p.group), p.chunk.sums()
		start := time.Since(epoch)
		sums.objective = 0
		if j.work.gradient {
			clear(sums.grad.data)
		}
		p.chunk.solve(j)
		sums.elapsed = time.Since(epoch) - start
	}
}

// runParts lets the workers compute all parts of shared chunks, if there are any.
func (e *Executor) runParts(phase func(worker int)) {
	if len(e.shared) > 0 {
		e.dealt.Store(0)
		e.pool.Run(phase)
	}
}

// eachPart calls f for parts of shared chunks. Workers take the next part from a common counter, so that a
// worker that loses its core to another program takes fewer parts.
func (e *Executor) eachPart(worker int, f func(c chunk, j *job, part int)) {
	for i := int(e.dealt.Add(1)) - 1; i < len(e.shared); i = int(e.dealt.Add(1)) - 1 {
		p := e.shared[i]
		f(p.chunk, e.begin(worker, p.group), p.part)
	}
}

// reduce adds up a worker's columns of the gradients: the columns of all groups are dealt out in turn.
func (e *Executor) reduce(worker int) {
	for i, g := range e.groups {
		for j := range g.r {
			if (i*g.r+j)%e.pool.Workers() == worker {
				g.reduce(j)
			}
		}
	}
}

// split cuts the chunks into runs of about equal cost, one for each worker.
func split(cost []int, total, workers int) []int {
	first := make([]int, workers+1)
	j, done := 0, 0
	for w := 1; w <= workers; w++ {
		// A chunk goes to the worker in whose share its middle falls.
		for j < len(cost) && (w == workers || (2*done+cost[j])*workers < 2*w*total) {
			done += cost[j]
			j++
		}
		first[w] = j
	}
	return first
}
