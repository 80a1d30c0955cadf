package kernel

import (
	"time"

	"github.com/difalt/difalt/kernel/lsq"
)

// A Group is a set of tasks that share one basis, and the results of a step for them. In the decentralised
// algorithm a group is a node. The workers of an Executor share the tasks of a group, and the rows of a task
// of at least 4 MiB and 128 samples. The tasks and the rank of a group never change.
//
// The group owns the memory of its results; callers may read it between steps, and write B before Gradient.
// A caller that assigns another value to B, Status or Grad changes nothing: steps write to the memory that
// NewGroup allocated.
type Group struct {
	// B holds the coefficients, b_t = B[t*r : (t+1)*r].
	B []float64
	// Status holds the outcome of the least squares of every task.
	Status []lsq.Status
	// Grad is the gradient sum_t X_t' (X_t U b_t - y_t) b_t' (d x r).
	Grad *Basis
	// Objective is sum_t |X_t U b_t - y_t|^2.
	Objective float64
	// Elapsed is the wall-clock time of the last step for this group, added over its chunks: the time that
	// one worker would take. Other programs that use its cores make it longer.
	Elapsed time.Duration

	r      int
	tasks  *Tasks
	chunks []chunk
	b      []float64
	status []lsq.Status
	grad   *Basis    // of the first chunk; the gradients of the other chunks are added to it
	alone  *Executor // of this group, with one worker
}

// NewGroup returns a group of tasks for a basis of rank r. It copies float64 samples of tiny tasks for steps
// of rank up to eight, which then compute several tasks in one call. A tiny task has at most 512 entries of
// X, or 1,024 in a group of at most 1 MiB. If tasks have many more samples than features, steps of
// Tasks.Compressed take a fraction of the time.
func NewGroup(tasks *Tasks, r int) *Group {
	if tasks == nil || tasks.d == 0 || r <= 0 {
		panic(noTasks)
	}
	if r > maxNumbers/max(tasks.Len(), tasks.stride) || !(size{rows: tasks.maxRows, d: tasks.d, r: r}).possible() {
		panic(tooLarge)
	}
	g := &Group{r: r, tasks: tasks, chunks: cut(tasks, r)}
	g.b, g.status = make([]float64, tasks.Len()*r), make([]lsq.Status, tasks.Len())
	g.grad = g.chunks[0].sums().grad
	g.B, g.Status, g.Grad = g.b, g.status, g.grad
	g.alone = newExecutor(NewPool(1), []*Group{g})
	return g
}

// Step solves the least squares of every task on the basis u and accumulates the gradient on the calling
// goroutine (Alg. 3, lines 7 to 11):
//
//	b_t  = (X_t U)^+ y_t        with ridge > 0: argmin |X_t U b - y_t|^2 + ridge |b|^2
//	grad = sum_t X_t' (X_t U b_t - y_t) b_t'
//
// u must not be g.Grad. Step allocates a workspace if ws is nil, and nothing otherwise. It is Executor.Step
// with one worker: an Executor with more workers computes equal bits.
func (g *Group) Step(u *Basis, ridge float64, ws *Workspace) { g.call(u, ridge, ws, step) }

// Minimize is Step without the gradient: Grad stays as it was.
func (g *Group) Minimize(u *Basis, ridge float64, ws *Workspace) { g.call(u, ridge, ws, minimize) }

// Gradient is Step without the least squares: it computes the gradient and the objective at the coefficients
// that B holds. With coefficients from another Tasks.Part that is a step with sample splitting (Alg. 3,
// line 10). Step describes u and ws.
func (g *Group) Gradient(u *Basis, ws *Workspace) { g.call(u, 0, ws, descend) }

// call runs the group's own executor with a workspace.
func (g *Group) call(u *Basis, ridge float64, ws *Workspace, w work) {
	g.check(u, ridge)
	if ws == nil {
		ws = newWorkspace(g.needs())
	}
	if !ws.fits(g.needs()) {
		panic(badWorkspace)
	}
	e := g.alone
	e.jobs[0].ws, e.u[0] = ws, u
	e.run(ridge, w)
	e.jobs[0].ws = nil
}

// mustBeMade panics unless NewGroup made the group.
func (g *Group) mustBeMade() {
	if g == nil || g.alone == nil {
		panic(notNew)
	}
}

// check panics unless the arguments of a call fit.
func (g *Group) check(u *Basis, ridge float64) {
	g.mustBeMade()
	if u == nil || u.d != g.tasks.d || u.r != g.r {
		panic(badGroup)
	}
	if u == g.grad {
		panic(aliased)
	}
	if !(ridge >= 0) || ridge > 1e300 {
		panic(badRidge)
	}
}

// needs returns the scratch memory for all chunks.
func (g *Group) needs() (s size) {
	for _, c := range g.chunks {
		s = s.union(c.needs())
	}
	return s
}

// reduce adds column j of the partial gradients in the order of the chunks.
func (g *Group) reduce(j int) {
	sum := g.grad.data[j*g.grad.stride:][:g.grad.stride]
	for _, c := range g.chunks[1:] {
		part := c.sums().grad.data[j*g.grad.stride:][:len(sum)]
		for k := 0; k < len(part); k += 8 { // eight at a time
			s, p := (*[8]float64)(sum[k:]), (*[8]float64)(part[k:])
			s[0], s[1], s[2], s[3] = s[0]+p[0], s[1]+p[1], s[2]+p[2], s[3]+p[3]
			s[4], s[5], s[6], s[7] = s[4]+p[4], s[5]+p[5], s[6]+p[6], s[7]+p[7]
		}
	}
}

// collect adds the objectives and times of the chunks, in their order.
func (g *Group) collect() {
	g.Objective, g.Elapsed = 0, 0
	for _, c := range g.chunks {
		g.Objective += c.sums().objective
		g.Elapsed += c.sums().elapsed
	}
}
