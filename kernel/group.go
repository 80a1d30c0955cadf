package kernel

import (
	"time"

	"github.com/difalt/difalt/internal/tile"
	"github.com/difalt/difalt/kernel/lsq"
)

// A Group is a set of tasks that share one basis, and the results of a step for them. In the decentralised
// algorithm a group is a node. The workers of an Executor share the tasks of a group, and also the rows of a
// task of at least 4 MiB and 128 samples.
//
// The group owns its result fields; callers may read them between steps.
type Group struct {
	// B holds the coefficients, b_t = B[t*r : (t+1)*r].
	B []float64
	// Status holds the outcome of the least squares of every task.
	Status []lsq.Status
	// Grad is the gradient sum_t X_t' (X_t U b_t - y_t) b_t' (d x r).
	Grad *Basis
	// Objective is sum_t |X_t U b_t - y_t|^2 over the samples of the gradient.
	Objective float64
	// Elapsed is the wall-clock time of the last step for this group, added over its chunks: the time that
	// one worker would take. Other programs on the same cores make it longer.
	Elapsed time.Duration

	r      int
	fit    *Tasks // samples of the least squares (Alg. 3, line 8)
	grad   *Tasks // samples of the gradient (Alg. 3, line 11)
	chunks []chunk
	grown  int // how often SetSamples gave some chunk more rows than it had before
}

// A chunk is a run of tasks whose gradients one worker sums in order. Chunks are cut by the data alone, and
// their partial sums are added in order, so that results do not depend on the number of workers. A long task
// is a chunk of its own.
type chunk struct {
	lo, hi    int
	maxRows   int       // the most rows of its tasks that are multiplied at a time
	long      *longTask // nil unless the chunk is a long task
	lanes     *lanes    // nil unless its tasks are computed in the lanes of vectors
	grad      *Basis    // partial gradient
	objective float64
	elapsed   time.Duration
}

// NewGroup returns a group of tasks for a basis of rank r. It copies float64 samples of tiny tasks (at most
// 512 entries of X each, 1,024 in a group of at most 1 MiB) for steps of rank up to eight, which then compute
// several tasks in one call. If tasks have many more samples than features, those of Tasks.Compressed take a
// fraction of the time of many steps.
func NewGroup(tasks *Tasks, r int) *Group {
	if tasks == nil || r <= 0 {
		panic(noTasks)
	}
	if r > maxNumbers/max(tasks.Len(), tasks.stride) {
		panic(tooLarge)
	}
	g := &Group{
		B:      make([]float64, tasks.Len()*r),
		Status: make([]lsq.Status, tasks.Len()),
		r:      r,
		fit:    tasks,
		grad:   tasks,
	}
	g.cut()
	return g
}

// SetSamples lets the following steps use other samples of the same tasks: fit for the least squares and grad
// for the gradient (sample splitting; Alg. 3, lines 7 and 10), or other responses (Tasks.WithResponses). Both
// must be parts of one Tasks, with the tasks and features of the one that the group was made of.
func (g *Group) SetSamples(fit, grad *Tasks) {
	g.mustBeNew()
	if fit == nil || grad == nil || !fit.sharesMemory(grad) {
		panic(badParts)
	}
	if fit.Len() != len(g.Status) || grad.Len() != len(g.Status) || fit.d != g.Grad.d || grad.d != g.Grad.d {
		panic(badSamples)
	}
	g.fit, g.grad = fit, grad
	for i := range g.chunks {
		if g.measure(&g.chunks[i]) {
			g.grown++
		}
	}
}

// Step solves the least squares of every task on the basis u and accumulates the gradient on the calling
// goroutine (Alg. 3, lines 7 to 11):
//
//	b_t  = (X_t U)^+ y_t        with ridge > 0: argmin |X_t U b - y_t|^2 + ridge |b|^2
//	grad = sum_t X_t' (X_t U b_t - y_t) b_t'
//
// u must not be g.Grad. Step allocates a workspace if ws is nil, and nothing otherwise. An Executor does the
// same for many groups in parallel, with the same bits.
func (g *Group) Step(u *Basis, ridge float64, ws *Workspace) {
	ws = g.check(u, ridge, ws)
	ws.begin()
	for i := range g.chunks {
		g.whole(&g.chunks[i], u, ridge, ws, true)
	}
	for j := range g.r {
		g.reduce(j)
	}
	g.collect()
}

// Minimize solves the least squares of every task on the basis u, and leaves Grad as it was. Objective is
// then over the samples of the least squares. ws is as for Step.
func (g *Group) Minimize(u *Basis, ridge float64, ws *Workspace) {
	ws = g.check(u, ridge, ws)
	ws.begin()
	for i := range g.chunks {
		g.whole(&g.chunks[i], u, ridge, ws, false)
	}
	g.collect()
}

// mustBeNew panics unless NewGroup made the group and nobody replaced its results.
func (g *Group) mustBeNew() {
	if g.fit == nil || len(g.Status) != len(g.fit.rows) || len(g.B) != len(g.Status)*g.r || g.Grad != g.chunks[0].grad {
		panic(notNew)
	}
}

// check does checkArguments, and returns the workspace to use. It panics if ws is too small.
func (g *Group) check(u *Basis, ridge float64, ws *Workspace) *Workspace {
	g.checkArguments(u, ridge)
	rows := 0
	for i := range g.chunks {
		rows = max(rows, g.chunks[i].maxRows)
	}
	if ws == nil {
		ws = NewWorkspace(rows, u.d, u.r)
	}
	if !ws.fits(rows, u.d, u.r) {
		panic(badWorkspace)
	}
	return ws
}

// checkArguments panics unless the arguments of a step fit, and clears the padding of u.
func (g *Group) checkArguments(u *Basis, ridge float64) {
	g.mustBeNew()
	if u == g.Grad {
		panic(aliased)
	}
	if u == nil || u.d != g.Grad.d || u.r != g.r {
		panic(badGroup)
	}
	if !(ridge >= 0) || ridge > 1e300 {
		panic(badRidge)
	}
	u.clearPadding()
}

const (
	maxChunks = 64
	// The samples of a chunk are at least chunkRatio times as large as its partial gradient, so that adding
	// the partial sums takes less than one per cent of the time.
	chunkRatio = 128
	// A group of at least chunkMultiple batches of tasks has a multiple of chunkMultiple chunks, which two,
	// four or eight workers can share evenly.
	chunkMultiple = 8
)

// chunkCount returns into how many chunks to divide the tasks.
func (g *Group) chunkCount() int {
	tasks := g.fit.Len()
	n := min(max(g.fit.total*g.fit.stride/(chunkRatio*tile.Stride(g.fit.d)*g.r), 1), maxChunks, max(tasks, 1))
	if tasks >= chunkMultiple*batch {
		n = max(n/chunkMultiple*chunkMultiple, chunkMultiple)
	}
	return n
}

// cut divides the tasks into chunks of about equal numbers of samples, and long tasks.
func (g *Group) cut() {
	n := g.chunkCount()
	g.chunks = make([]chunk, 0, n)
	lo, done, tiny := 0, 0, g.fit.tiny(g.r)
	for c := 1; c <= n || lo < g.fit.Len(); c++ {
		hi := lo
		for hi < g.fit.Len() && (c >= n || done*n < c*g.fit.total || tiny && (hi-lo)%batch != 0) && !g.isLong(hi) {
			done += g.fit.rows[hi]
			hi++
		}
		if hi > lo || c >= n && len(g.chunks) == 0 && g.fit.Len() == 0 {
			g.add(chunk{lo: lo, hi: hi})
		}
		if lo = hi; lo < g.fit.Len() && g.isLong(lo) {
			done += g.fit.rows[lo]
			g.add(chunk{lo: lo, hi: lo + 1, long: newLongTask(g, lo)})
			lo++
		}
	}
	g.Grad = g.chunks[0].grad
}

func (g *Group) add(c chunk) {
	c.grad = NewBasis(g.fit.d, g.r)
	if c.long == nil {
		c.lanes = newLanes(g.fit, c.lo, c.hi, g.r)
	}
	g.measure(&c)
	g.chunks = append(g.chunks, c)
}

// measure sets the most rows that the chunk multiplies at a time, now and before, and reports whether they
// are more than before.
func (g *Group) measure(c *chunk) (more bool) {
	before := c.maxRows
	for t := c.lo; t < c.hi; t++ {
		c.maxRows = max(c.maxRows, g.fit.rows[t], g.grad.rows[t])
	}
	if c.long == nil {
		return c.maxRows > before
	}
	if c.maxRows = c.long.slice; c.long.slices(g.fit.rows[c.lo])*g.r > len(c.long.c) {
		c.long = newLongTask(g, c.lo)
		return true
	}
	return c.maxRows > before
}

// whole computes a chunk on one worker: with gradient Alg. 3, lines 7 to 11, else lines 7 and 8.
func (g *Group) whole(c *chunk, u *Basis, ridge float64, ws *Workspace, gradient bool) {
	if c.long == nil {
		g.step(c, u, ridge, ws, gradient)
		return
	}
	for p := range c.long.parts {
		g.multiplyPart(c, p, u, ws)
	}
	g.step(c, u, ridge, ws, gradient)
	for p := range c.long.parts {
		g.gradientPart(c, p, u, ws, gradient)
	}
	g.finishLong(c, gradient)
}

// epoch is a time before all steps: time.Since takes half as long as time.Now.
var epoch = time.Now()

// step computes a chunk. Of a long task it solves only the least squares: multiplyPart was called for its
// parts before, and gradientPart and finishLong follow.
func (g *Group) step(c *chunk, u *Basis, ridge float64, ws *Workspace, gradient bool) {
	start := time.Since(epoch)
	c.objective = 0
	if gradient {
		clear(c.grad.data)
	}
	if c.long != nil {
		g.solveLong(c, ridge)
	} else {
		chosen.step(g, c, u, ridge, ws, gradient)
	}
	c.elapsed = time.Since(epoch) - start
}

// reduce adds column j of the partial gradients in chunk order.
func (g *Group) reduce(j int) {
	sum := g.Grad.data[j*g.Grad.stride:][:g.Grad.stride]
	for i := 1; i < len(g.chunks); i++ {
		part := g.chunks[i].grad.data[j*g.Grad.stride:][:len(sum)]
		for k := 0; k < len(part); k += 8 { // eight at a time
			s, p := (*[8]float64)(sum[k:]), (*[8]float64)(part[k:])
			s[0], s[1], s[2], s[3] = s[0]+p[0], s[1]+p[1], s[2]+p[2], s[3]+p[3]
			s[4], s[5], s[6], s[7] = s[4]+p[4], s[5]+p[5], s[6]+p[6], s[7]+p[7]
		}
	}
}

// collect adds the objectives and times of the chunks, in chunk order.
func (g *Group) collect() {
	g.Objective, g.Elapsed = 0, 0
	for i := range g.chunks {
		g.Objective += g.chunks[i].objective
		g.Elapsed += g.chunks[i].elapsed
	}
}
