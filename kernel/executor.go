package kernel

import (
	"slices"
	"sync/atomic"
)

// An Executor steps several groups in parallel on a pool. Every worker computes the same chunks of the same
// groups in every step, so that its caches stay useful.
//
// An Executor is used by one goroutine at a time. It does not own the pool.
type Executor struct {
	pool   *Pool
	groups []*Group
	jobs   []job
	first  []int // first job of worker w
	long   []job // the parts of long tasks
	ws     []*Workspace
	grown  int // sum of Group.grown when the workspaces were made

	u        []*Basis // arguments of the running step
	ridge    float64
	gradient bool
	run      struct{ multiply, step, finish, reduce func(worker int) }
	reduces  bool         // some group has more than one chunk
	dealt    atomic.Int64 // parts of long tasks that workers have taken
}

// A job is a chunk of a group, or a part of it if that is a long task.
type job struct{ group, chunk, part int }

// NewExecutor returns an executor for the groups, each of them once. It allocates a workspace for every
// worker, as large as the tasks of the worker need.
func NewExecutor(pool *Pool, groups []*Group) *Executor {
	if pool == nil || slices.Contains(groups, nil) {
		panic(noPool)
	}
	e := &Executor{pool: pool, groups: groups}
	var cost []int
	total := 0
	known := make(map[*Group]bool, len(groups))
	for i, g := range groups {
		if known[g] {
			panic(groupTwice)
		}
		known[g] = true
		e.grown += g.grown
		e.reduces = e.reduces || len(g.chunks) > 1
		for c := range g.chunks {
			n := 0
			for t := g.chunks[c].lo; t < g.chunks[c].hi; t++ {
				n += g.fit.rows[t]
			}
			if k := g.chunks[c].long; k != nil {
				n = 0 // its parts are dealt out on their own
				for p := range k.parts {
					e.long = append(e.long, job{i, c, p})
				}
			}
			e.jobs = append(e.jobs, job{i, c, 0})
			cost = append(cost, n*g.fit.stride)
			total += n * g.fit.stride
		}
	}
	e.first = split(cost, total, pool.Workers())
	for w := range pool.Workers() {
		e.ws = append(e.ws, e.workspace(w))
	}
	e.run.multiply = func(w int) {
		e.eachPart(w, func(g *Group, c *chunk, p int, u *Basis, ws *Workspace) { g.multiplyPart(c, p, u, ws) })
	}
	e.run.step = e.each
	e.run.finish = func(w int) {
		e.eachPart(w, func(g *Group, c *chunk, p int, u *Basis, ws *Workspace) { g.gradientPart(c, p, u, ws, e.gradient) })
	}
	e.run.reduce = e.reduceColumns
	return e
}

// workspace returns a workspace for the jobs of a worker.
func (e *Executor) workspace(worker int) *Workspace {
	rows, d, r := 0, 1, 1
	for _, j := range append(e.jobs[e.first[worker]:e.first[worker+1]:e.first[worker+1]], e.long...) {
		g := e.groups[j.group]
		rows, d, r = max(rows, g.chunks[j.chunk].maxRows), max(d, g.fit.d), max(r, g.r)
	}
	return NewWorkspace(rows, d, r)
}

// each computes the chunks of a worker.
func (e *Executor) each(worker int) {
	ws := e.ws[worker]
	ws.begin()
	for i := e.first[worker]; i < e.first[worker+1]; i++ {
		at := e.jobs[i].group
		c := &e.groups[at].chunks[e.jobs[i].chunk]
		e.groups[at].step(c, e.u[at], e.ridge, ws, e.gradient)
	}
}

// eachPart calls f for parts of long tasks, which workers take one after the other: they need about the same
// time, and a worker that other programs hold up takes fewer.
func (e *Executor) eachPart(worker int, f func(g *Group, c *chunk, part int, u *Basis, ws *Workspace)) {
	ws := e.ws[worker]
	ws.begin()
	for {
		i := int(e.dealt.Add(1)) - 1
		if i >= len(e.long) {
			return
		}
		j := e.long[i]
		g := e.groups[j.group]
		f(g, &g.chunks[j.chunk], j.part, e.u[j.group], ws)
	}
}

// reduceColumns adds up the partial gradients of a worker's columns: those of all groups are dealt out in
// turn.
func (e *Executor) reduceColumns(worker int) {
	for i, g := range e.groups {
		for j := range g.r {
			if (i*g.r+j)%e.pool.Workers() == worker {
				g.reduce(j)
			}
		}
	}
}

// Step does Group.Step with u[i] for every group i, bit for bit.
func (e *Executor) Step(u []*Basis, ridge float64) {
	e.check(u, ridge)
	e.compute(u, ridge, true)
	if e.reduces {
		e.pool.Run(e.run.reduce)
	}
	for _, g := range e.groups {
		g.collect()
	}
}

// Minimize does Group.Minimize with u[i] for every group i, bit for bit.
func (e *Executor) Minimize(u []*Basis, ridge float64) {
	e.check(u, ridge)
	e.compute(u, ridge, false)
	for _, g := range e.groups {
		g.collect()
	}
}

// check panics unless the arguments fit, and the workspaces are large enough for the samples of the groups.
func (e *Executor) check(u []*Basis, ridge float64) {
	if len(u) != len(e.groups) {
		panic(badBases)
	}
	grown := 0
	for i, g := range e.groups {
		g.checkArguments(u[i], ridge)
		grown += g.grown
	}
	if grown != e.grown {
		panic(badWorkspace)
	}
}

// compute does the chunks of all groups.
func (e *Executor) compute(u []*Basis, ridge float64, gradient bool) {
	e.u, e.ridge, e.gradient = u, ridge, gradient
	bytes := 0
	for _, g := range e.groups {
		bytes += g.fit.Bytes()
	}
	for _, ws := range e.ws {
		ws.cached = bytes <= resident*len(e.ws)
	}
	e.eachLong(e.run.multiply)
	e.pool.Run(e.run.step)
	e.eachLong(e.run.finish)
	for _, j := range e.long {
		if j.part == 0 {
			g := e.groups[j.group]
			g.finishLong(&g.chunks[j.chunk], gradient)
		}
	}
}

// eachLong runs f, which takes parts of long tasks, on all workers if there are any.
func (e *Executor) eachLong(f func(worker int)) {
	if len(e.long) > 0 {
		e.dealt.Store(0)
		e.pool.Run(f)
	}
}

// split cuts the jobs into runs of about equal cost, one for each worker.
func split(cost []int, total, workers int) []int {
	first := make([]int, workers+1)
	j, done := 0, 0
	for w := 1; w <= workers; w++ {
		// A job goes to the worker in whose share its middle falls.
		for j < len(cost) && (w == workers || (2*done+cost[j])*workers < 2*w*total) {
			done += cost[j]
			j++
		}
		first[w] = j
	}
	return first
}
