package kernel

import "slices"

// An Executor steps several groups in parallel on a pool. Every worker computes the
// same chunks of the same groups in every step, so that its caches stay useful.
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

	step, minimize, reduce, copy func(worker int)

	reduces bool       // some group has more than one chunk
	tunings [2]*tuning // of steps on the samples and on copies of 16 bits
	tuning  *tuning    // that of the present step
}

type job struct{ group, chunk int }

// NewExecutor returns an executor for the groups, each of them once.
func NewExecutor(pool *Pool, groups []*Group) *Executor {
	if pool == nil || slices.Contains(groups, nil) {
		panic(noPool)
	}
	e := &Executor{pool: pool, groups: groups}
	var cost []int
	total, maxSamples, d, r := 0, 0, 1, 1
	known := make(map[*Group]bool, len(groups))
	for i, g := range groups {
		if known[g] {
			panic(groupTwice)
		}
		known[g] = true
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
	e.tune()
	e.step = func(w int) { e.each(w, true) }
	e.minimize = func(w int) { e.each(w, false) }
	e.copy = func(w int) {
		for _, j := range e.jobs[e.first[w]:e.first[w+1]] {
			if g := e.groups[j.group]; g.uncopied() {
				g.copy(&g.chunks[j.chunk])
			}
		}
	}
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

// each computes the chunks of a worker, with or without gradient.
func (e *Executor) each(worker int, gradient bool) {
	ws := e.ws[worker]
	ws.begin()
	for i := e.first[worker]; i < e.first[worker+1]; i++ {
		at := e.jobs[i].group
		c := &e.groups[at].chunks[e.jobs[i].chunk]
		ws.schedule = e.tuning.schedule(i)
		e.groups[at].step(c, e.u[at], e.ridge, ws, gradient)
		e.tuning.record(i, c.elapsed)
	}
}

// Schedule returns the name of the schedule by which the steps prefetch samples, and
// whether that is decided. Steps on samples and on their copies in 16 bits (Group.Reduce)
// have one each; it is that of the last step. If the environment variable DIFALT_SCHEDULE
// does not force one, the first steps of the first executor of a process for a shape, some
// twenty, measure a few and keep the fastest; until then it is the one that is usual on
// most processors. Schedules change the time of a step, and no bit of what it computes.
func (e *Executor) Schedule() (name string, final bool) {
	final = e.tuning.stage == decided
	if e.tuning.best == nil {
		return usual, final
	}
	return e.tuning.best.Name, final
}

// tune finds the tuning of the kind of step that comes next.
func (e *Executor) tune() {
	kind, reduced := 0, slices.ContainsFunc(e.groups, (*Group).reads16)
	if reduced {
		kind = 1
	}
	if e.tunings[kind] == nil {
		e.tunings[kind] = newTuning(e.groups, len(e.jobs), e.pool.Workers(), reduced)
	}
	e.tuning = e.tunings[kind]
}

// usual is the name of the schedule that goes by the size of each task.
const usual = "usual"

// Step does Group.Step with u[i] for every group i, bit for bit.
func (e *Executor) Step(u []*Basis, ridge float64) {
	for i, g := range e.groups[:min(len(u), len(e.groups))] {
		g.renew(u[i])
	}
	if slices.ContainsFunc(e.groups, (*Group).uncopied) {
		e.makeCopies()
	}
	e.run(e.step, u, ridge)
	e.tuning.next()
	if e.reduces {
		e.pool.Run(e.reduce)
	}
	for i, g := range e.groups {
		g.arrive(u[i])
		g.collect()
	}
}

// makeCopies makes the copies of the groups that were reduced since the last step.
func (e *Executor) makeCopies() {
	e.pool.Run(e.copy)
	for _, g := range e.groups {
		if g.uncopied() {
			g.copied()
		}
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
		panic(badBases)
	}
	for i, g := range e.groups {
		g.check(u[i], ridge, e.ws[0])
	}
	e.u, e.ridge = u, ridge
	e.tune()
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
