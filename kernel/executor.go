package kernel

// An Executor steps several groups in parallel on a pool. Every worker meets the
// same chunks of the same groups in every step, so that what its caches and its
// memory node hold stays useful.
//
// An Executor is used by one goroutine at a time. It does not own the pool.
type Executor struct {
	pool   *Pool
	groups []*Group
	jobs   []job
	first  []int // first job of worker w
	ws     []*Workspace

	u     []*Basis // arguments of the running step
	ridge float64

	step, minimize, reduce func(worker int)
	reduces                bool // some group has more than one chunk
}

type job struct{ group, chunk int }

// NewExecutor returns an executor for the groups.
func NewExecutor(pool *Pool, groups []*Group) *Executor {
	e := &Executor{pool: pool, groups: groups}
	var cost []int
	total, maxSamples, d, r := 0, 0, 1, 1
	for i, g := range groups {
		maxSamples = max(maxSamples, g.fit.maxRows, g.grad.maxRows)
		d, r = max(d, g.fit.d), max(r, g.r)
		e.reduces = e.reduces || len(g.chunks) > 1
		for c := range g.chunks {
			n := 0
			for t := g.chunks[c].lo; t < g.chunks[c].hi; t++ {
				n += g.fit.rows[t]
			}
			e.jobs = append(e.jobs, job{i, c})
			cost = append(cost, n*g.fit.stride)
			total += n * g.fit.stride
		}
	}
	e.first = split(cost, total, pool.Workers())
	for range pool.Workers() {
		e.ws = append(e.ws, NewWorkspace(maxSamples, d, r))
	}
	e.step = func(w int) { e.each(w, (*Group).step) }
	e.minimize = func(w int) { e.each(w, (*Group).minimize) }
	e.reduce = func(w int) {
		// Columns of all groups are dealt out in turn.
		for i, g := range e.groups {
			for j := range g.r {
				if (i*g.r+j)%e.pool.Workers() == w {
					g.reduce(j)
				}
			}
		}
	}
	return e
}

// each calls f for the chunks of a worker.
func (e *Executor) each(worker int, f func(*Group, *chunk, *Basis, float64, *Workspace)) {
	ws := e.ws[worker]
	ws.begin()
	for _, k := range e.jobs[e.first[worker]:e.first[worker+1]] {
		g := e.groups[k.group]
		f(g, &g.chunks[k.chunk], e.u[k.group], e.ridge, ws)
	}
}

// Step does Group.Step with u[i] for every group i, bit for bit.
func (e *Executor) Step(u []*Basis, ridge float64) {
	e.run(e.step, u, ridge)
	if e.reduces {
		e.pool.Run(e.reduce)
	}
	for _, g := range e.groups {
		g.collect()
	}
}

// Minimize does Group.Minimize with u[i] for every group i, bit for bit.
func (e *Executor) Minimize(u []*Basis, ridge float64) {
	e.run(e.minimize, u, ridge)
	for _, g := range e.groups {
		g.collect()
	}
}

func (e *Executor) run(f func(int), u []*Basis, ridge float64) {
	if len(u) != len(e.groups) {
		panic(badGroup)
	}
	for i, g := range e.groups {
		g.check(u[i], ridge, e.ws[0])
	}
	e.u, e.ridge = u, ridge
	e.pool.Run(f)
	e.u = nil
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
