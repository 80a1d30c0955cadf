package kernel

import "slices"

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
	run      struct{ multiply, step, finish, reduce, copy func(worker int) }
	reduces  bool       // some group has more than one chunk
	tunings  [2]*tuning // of steps on the samples and on copies of 16 bits
	tuning   *tuning    // that of the present step
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
	e.tune()
	e.run.multiply = func(w int) {
		e.eachPart(w, func(g *Group, c *chunk, p int, u *Basis, ws *Workspace) { g.multiplyPart(c, p, u, ws) })
	}
	e.run.step = e.each
	e.run.finish = func(w int) {
		e.eachPart(w, func(g *Group, c *chunk, p int, u *Basis, ws *Workspace) { g.gradientPart(c, p, u, ws, e.gradient) })
	}
	e.run.copy = e.copyChunks
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
		ws.schedule = e.tuning.schedule(i)
		e.groups[at].step(c, e.u[at], e.ridge, ws, e.gradient)
		e.tuning.record(i, c.elapsed)
	}
}

// eachPart calls f for the parts of long tasks of a worker.
func (e *Executor) eachPart(worker int, f func(g *Group, c *chunk, part int, u *Basis, ws *Workspace)) {
	ws, n := e.ws[worker], e.pool.Workers()
	ws.begin()
	ws.schedule = nil
	for _, j := range e.long[worker*len(e.long)/n : (worker+1)*len(e.long)/n] {
		g := e.groups[j.group]
		f(g, &g.chunks[j.chunk], j.part, e.u[j.group], ws)
	}
}

func (e *Executor) copyChunks(worker int) {
	for _, j := range e.jobs[e.first[worker]:e.first[worker+1]] {
		if g := e.groups[j.group]; g.needsCopy() {
			g.copyChunk(&g.chunks[j.chunk])
		}
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

// Schedule returns the name of the schedule of the last step, and whether it is final. The schedule
// determines how the tiles prefetch samples; it changes the time of a step, and no bit of its results. Steps
// on samples and on their copies in 16 bits (Group.EnableMixedPrecision) have one each. If the environment
// variable DIFALT_SCHEDULE does not force one, the first steps of the first executor of a process for a shape
// measure the candidates and keep the fastest; until then it is the one that is usual on most processors.
func (e *Executor) Schedule() (name string, final bool) {
	final = e.tuning.stage == decided
	if e.tuning.best == nil {
		return usual, final
	}
	return e.tuning.best.Name, final
}

// tune finds the tuning of the kind of step that comes next.
func (e *Executor) tune() {
	kind, copies := 0, slices.ContainsFunc(e.groups, (*Group).readsCopy)
	if copies {
		kind = 1
	}
	if e.tunings[kind] == nil {
		e.tunings[kind] = newTuning(e.groups, len(e.jobs), e.pool.Workers(), copies)
	}
	e.tuning = e.tunings[kind]
}

// usual is the name of the schedule that goes by the size of each task.
const usual = "usual"

// Step does Group.Step with u[i] for every group i, bit for bit.
func (e *Executor) Step(u []*Basis, ridge float64) {
	e.check(u, ridge)
	for i, g := range e.groups {
		g.plan(u[i])
	}
	if slices.ContainsFunc(e.groups, (*Group).needsCopy) {
		e.pool.Run(e.run.copy)
		for _, g := range e.groups {
			if g.needsCopy() {
				g.finishCopy()
			}
		}
	}
	e.compute(u, ridge, true)
	e.tuning.next()
	if e.reduces {
		e.pool.Run(e.run.reduce)
	}
	for i, g := range e.groups {
		g.refreshed(u[i])
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
	e.tune()
	if len(e.long) > 0 {
		e.pool.Run(e.run.multiply)
	}
	e.pool.Run(e.run.step)
	if len(e.long) > 0 {
		e.pool.Run(e.run.finish)
	}
	for _, j := range e.long {
		if j.part == 0 {
			g := e.groups[j.group]
			g.finishLong(&g.chunks[j.chunk], gradient)
		}
	}
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
