package kernel

import (
	"time"

	"github.com/difalt/difalt/internal/dense"
	"github.com/difalt/difalt/kernel/lsq"
)

// A Group is a set of tasks that share one basis, and everything that a step
// computes for them. In the decentralised algorithm a group is a node.
//
// The group owns its result fields; callers may read them between steps.
type Group struct {
	// B holds the coefficients, b_t = B[t*r : (t+1)*r].
	B []float64
	// Status says for every task how its least squares went.
	Status []lsq.Status
	// Grad is the gradient sum_t X_t' (X_t U b_t - y_t) b_t' (d x r).
	Grad *Basis
	// Objective is sum_t |X_t U b_t - y_t|^2 over the samples of the gradient.
	Objective float64
	// Anchored says that the last step was an anchor (Anchor).
	Anchored bool
	// Elapsed is the time by the clock that the chunks of this group took in the last step, added
	// over the chunks: other programs on the same cores make it longer.
	Elapsed time.Duration

	r      int
	fit    *Tasks // samples of the least squares (Alg. 3, line 8)
	grad   *Tasks // samples of the gradient (Alg. 3, line 11)
	chunks []chunk

	reduced *reduced // nil unless Reduce was called
}

// A chunk is a run of tasks whose gradients are summed in order by one worker.
// Chunks are cut by the data alone and their partial sums are added in order, so
// that results do not depend on the number of workers.
type chunk struct {
	lo, hi    int
	grad      *Basis // partial gradient
	objective float64
	elapsed   time.Duration
	misfits   bool // entries were out of the range of the scales (copy)
}

// NewGroup returns a group of tasks for a basis of rank r.
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

// SetSamples lets the following steps use other samples of the same tasks: fit
// for the least squares and grad for the gradient (sample splitting; Alg. 3,
// lines 7 and 10), or other responses (Tasks.WithResponses). Both must be parts of one
// Tasks, with the tasks and features of the one that the group was made of.
func (g *Group) SetSamples(fit, grad *Tasks) {
	g.mustBeNew()
	if fit == nil || grad == nil || !fit.sharesMemory(grad) {
		panic(badParts)
	}
	if fit.Len() != len(g.Status) || grad.Len() != len(g.Status) || fit.d != g.Grad.d || grad.d != g.Grad.d {
		panic(badSamples)
	}
	g.fit, g.grad, g.reduced, g.Anchored = fit, grad, nil, false
}

// Tasks returns the tasks whose least squares the group solves.
func (g *Group) Tasks() *Tasks { return g.fit }

// Step solves the least squares of every task on the basis u and accumulates the
// gradient on the calling goroutine (Alg. 3, lines 7 to 11):
//
//	b_t  = (X_t U)^+ y_t        with ridge > 0: argmin |X_t U b - y_t|^2 + ridge |b|^2
//	grad = sum_t X_t' (X_t U b_t - y_t) b_t'
//
// u must not be g.Grad. Step allocates a workspace if ws is nil, and nothing otherwise. An
// Executor does the same for many groups in parallel, with the same bits.
func (g *Group) Step(u *Basis, ridge float64, ws *Workspace) {
	ws = g.check(u, ridge, ws)
	g.renew(u)
	if g.uncopied() {
		for i := range g.chunks {
			g.copy(&g.chunks[i])
		}
		g.copied()
	}
	ws.begin()
	for i := range g.chunks {
		g.step(&g.chunks[i], u, ridge, ws, true)
	}
	for j := range g.r {
		g.reduce(j)
	}
	g.arrive(u)
	g.collect()
}

// arrive ends a step: its basis becomes the anchor if the step was one.
func (g *Group) arrive(u *Basis) {
	if g.reduced == nil {
		return
	}
	g.reduced.age++
	if g.Anchored = g.anchoring(); g.Anchored {
		g.reduced.u0.CopyFrom(u)
		g.reduced.anchoring, g.reduced.age = false, 0
	}
}

// Minimize solves the least squares of every task on the basis u, and leaves Grad
// as it was; Objective is over the samples of the least squares. ws is as for Step.
func (g *Group) Minimize(u *Basis, ridge float64, ws *Workspace) {
	ws = g.check(u, ridge, ws)
	ws.begin()
	for i := range g.chunks {
		g.step(&g.chunks[i], u, ridge, ws, false)
	}
	g.collect()
}

// mustBeNew panics unless NewGroup made the group and nobody replaced its results.
func (g *Group) mustBeNew() {
	if g.fit == nil || len(g.Status) != len(g.fit.rows) || len(g.B) != len(g.Status)*g.r || g.Grad != g.chunks[0].grad {
		panic(notNew)
	}
}

// check panics unless the arguments of a step fit, and clears the padding of u. It returns the
// workspace to use.
func (g *Group) check(u *Basis, ridge float64, ws *Workspace) *Workspace {
	g.mustBeNew()
	if u == g.Grad {
		panic(aliased)
	}
	if u == nil || u.d != g.Grad.d || u.r != g.r {
		panic(badGroup)
	}
	rows := max(g.fit.maxRows, g.grad.maxRows)
	if ws == nil {
		ws = NewWorkspace(rows, u.d, u.r)
	}
	if !ws.fits(rows, u.d, u.r) {
		panic(badWorkspace)
	}
	if !(ridge >= 0) || ridge > 1e300 {
		panic(badRidge)
	}
	u.clearPadding()
	return ws
}

const (
	maxChunks = 64
	// A chunk's samples are at least so many times the size of its partial
	// gradient, so that adding the partial sums costs under one per cent.
	chunkRatio = 128
	// A group of so many batches of tasks is cut into a multiple of so many chunks,
	// which two, four or eight workers can share evenly.
	share = 8
)

// chunkCount returns into how many chunks to divide the tasks.
func (g *Group) chunkCount() int {
	tasks := g.fit.Len()
	n := min(max(g.fit.total*g.fit.stride/(chunkRatio*dense.Stride(g.fit.d)*g.r), 1), maxChunks, max(tasks, 1))
	if tasks >= share*batch {
		n = max(n/share*share, share)
	}
	return n
}

// cut divides the tasks into chunks of about equal numbers of samples.
func (g *Group) cut() {
	n := g.chunkCount()
	g.chunks = make([]chunk, 0, n)
	lo, done := 0, 0
	for c := 1; c <= n; c++ {
		hi := lo
		for hi < g.fit.Len() && (c == n || done*n < c*g.fit.total) {
			done += g.fit.rows[hi]
			hi++
		}
		if hi == lo && (c < n || len(g.chunks) > 0) {
			continue
		}
		g.chunks = append(g.chunks, chunk{lo: lo, hi: hi, grad: NewBasis(g.fit.d, g.r)})
		lo = hi
	}
	g.Grad = g.chunks[0].grad
}

// step computes a chunk: with gradient Alg. 3, lines 7 to 11, else lines 7 and 8.
func (g *Group) step(c *chunk, u *Basis, ridge float64, ws *Workspace, gradient bool) {
	start := time.Now()
	c.objective = 0
	if gradient {
		clear(c.grad.data)
	}
	switch {
	case gradient && g.reads16():
		g.stepReduced(c, u, ridge, ws)
	case g.reduced != nil:
		tiles{}.step(g, c, u, ridge, ws, gradient)
	default:
		chosen.step(g, c, u, ridge, ws, gradient)
	}
	c.elapsed = time.Since(start)
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

// collect adds what the chunks measured, in chunk order.
func (g *Group) collect() {
	g.Objective, g.Elapsed = 0, 0
	for i := range g.chunks {
		g.Objective += g.chunks[i].objective
		g.Elapsed += g.chunks[i].elapsed
	}
}
