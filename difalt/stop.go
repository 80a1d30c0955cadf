package difalt

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/kernel/blas"
	"gonum.org/v1/gonum/floats"
)

// A watch decides when a run ends. It decides from numbers that all nodes share, so
// that all of them end with the same status after the same iteration.
//
// Words and sums ride with the messages of the iterations and cost no rounds: whether a
// node wants to leave, the objective, and how far U moved. A run diverges when the
// objective stays above that of the start. A short move is not convergence, since
// steps are short where the condition number is large; it is only a reason to let
// the nodes sum their gradients once, in rounds of their own, and to look how long a
// Newton-like step would be: Result.Residual.
type watch struct {
	words   []uint8     // what the hosted nodes want
	riding  [][]float64 // their objective, |U - previous U|_F^2
	telling int         // the iteration that these are about; -1: none is under way
	tellAt  int         // the first iteration in which to tell again

	start, best float64 // objectives, of all nodes
	objective   float64 // the latest known
	move        float64 // the latest known root mean square of |U - previous U|_F
	above       int     // the objective is above the start's since this iteration; -1: it is not
	next        int     // the first iteration in which to look again
	measured    int     // the last iteration in which was looked

	candidate, kept []*kernel.Basis // the state that is told, and the best known; for Diverged
	keptOf          int             // iteration of kept; -1: none
	candidateOf     int

	began    []float64   // objective of every hosted node at the start
	sums     [][]float64 // of measure
	p        *scaling
	residual float64
	noise    float64
	asked    bool // a context has ended, and the others have been told
}

const (
	// A run has diverged when its objective is above the start's by more than margin for
	// so many iterations, and worth mentioning: beyond rounding of an exact start.
	divergedAfter  = 20
	divergedMargin = 1.05
	worthMention   = 1e-6 // of the sum of y^2

	leastSignal = 0.01 // that can be told from none

	lookAgain = 10 // iterations between two candidates and, without a guard, between what is told; at most between two measurements
	soonest   = 2  // at least between two measurements

	// A distance to the minimiser explains its square in the objective. Noise explains
	// most of the objective where the distance is less than this times the one that
	// would explain all of it.
	mostlyNoise = 0.3
	// leaveWithin is how long a node whose context has ended waits for the others.
	leaveWithin = 10 * time.Second
)

func newWatch(s *Solver) watch {
	w := watch{
		words: make([]uint8, len(s.u)), p: newScaling(s.o.Rank),
		candidate: newBases(s), kept: newBases(s), began: make([]float64, len(s.u)),
	}
	size := len(w.p.p) + 2 + len(s.u[0].Data())
	if !s.o.alike() { // their bases as well
		size += len(s.u[0].Data())
	}
	for range s.u {
		w.riding = append(w.riding, make([]float64, 2))
		w.sums = append(w.sums, make([]float64, size))
	}
	w.reset()
	return w
}

func (w *watch) reset() {
	clear(w.words)
	w.telling, w.tellAt, w.above, w.next, w.measured, w.keptOf, w.candidateOf = -1, 0, -1, 1, -1, -1, -1
	w.start, w.best, w.move, w.objective = math.NaN(), math.Inf(1), math.Inf(1), math.Inf(1)
	w.residual, w.noise, w.asked = math.NaN(), math.NaN(), false
}

// raise lets hosted node i ask all nodes to leave with a status.
func (w *watch) raise(i int, status Status) { w.words[i] = max(w.words[i], uint8(status)) }

// tells reports whether tell begins something in an iteration.
func (w *watch) tells(iteration int) bool { return w.telling < 0 && iteration >= w.tellAt }

// tell begins to tell the others of the current state, if it is time and nothing is
// under way. An iteration that is tried again tells the same.
func (w *watch) tell(s *Solver) {
	if s.iteration == 0 {
		for i, g := range s.groups {
			w.began[i] = s.penalized(g)
		}
	}
	switch {
	case w.tells(s.iteration):
		w.telling, w.tellAt = s.iteration, s.iteration+lookAgain
		if _, ok := s.method.(guarded); ok {
			w.tellAt = s.iteration + 1
		}
		if w.candidateOf < 0 || s.iteration >= w.candidateOf+lookAgain {
			w.candidateOf = s.iteration
			for i, u := range s.u {
				w.candidate[i].CopyFrom(u)
			}
		}
	case w.telling != s.iteration:
		return
	}
	for i, g := range s.groups {
		w.riding[i][0], w.riding[i][1] = s.penalized(g), s.moved[i]*s.moved[i]
	}
	s.meeting.Reduce(w.words, w.riding)
}

// penalized returns the objective that a step lowers: with the ridge, without which it
// may rise.
func (s *Solver) penalized(g *kernel.Group) float64 {
	return g.Objective + s.ridge()*floats.Dot(g.B, g.B)
}

// listen takes over what has become known in this iteration, and returns the status
// that follows from it.
func (w *watch) listen(s *Solver, word Status, sums []float64) Status {
	of := w.telling
	w.telling = -1
	if word != Running && word != Canceled { // a snapshot of a canceled run goes on with the same bits
		return word
	}
	objective := sums[0]
	w.objective = objective
	if of == 0 {
		w.start = objective
	} else {
		w.move = math.Sqrt(sums[1] / s.nodeCount())
	}
	if objective < w.best {
		w.best = objective
		if of == w.candidateOf {
			w.candidate, w.kept, w.keptOf = w.kept, w.candidate, of
			w.candidateOf = -1
		}
	}
	if m, ok := s.method.(guarded); ok {
		m.hear(s, objective)
	}
	switch {
	case !w.worse(s, objective):
		w.above = -1
	case w.above < 0:
		w.above = of
	case of-w.above >= divergedAfter && !s.o.EveryIteration:
		return Diverged
	}
	return word
}

// worse reports whether an objective is worse than that of the start.
func (w *watch) worse(s *Solver, objective float64) bool {
	return !(objective <= divergedMargin*w.start) && !(objective <= worthMention*s.yy*float64(s.samples))
}

// due reports whether it is time to measure how far the minimiser is.
func (w *watch) due(s *Solver) bool {
	if s.iteration == w.measured {
		return true // again, in an iteration that is tried again
	}
	if !s.o.judges() || s.iteration < w.next {
		return false
	}
	if m, ok := s.method.(guarded); ok {
		if length, p, ok := m.step(s); ok {
			signal, noise := w.signal(s, p, w.objective)
			return length/(w.slowest(s)*signal) <= max(s.tolerance(), w.share(s)*noise)
		}
	}
	return w.move <= s.tolerance() || s.o.StopAtNoise && s.iteration >= lookAgain
}

// share is the part of the statistical error that is near enough.
func (w *watch) share(s *Solver) float64 {
	if s.o.StopAtNoise {
		return 0.1
	}
	return 0
}

// slowest is by how much a Newton-like step may fall short in the direction in which the
// samples say least.
func (w *watch) slowest(s *Solver) float64 {
	d, r := s.u[0].Dims()
	v := 1 - math.Sqrt(min(0.6, float64(d*r)/float64(s.samples)))
	return v * v
}

// enough is the distance at which a run has converged.
func (w *watch) enough(s *Solver) float64 {
	return max(s.tolerance(), w.share(s)*w.noise)
}

// tolerance is Options.Tolerance, or less than any distance if every iteration is asked for.
func (s *Solver) tolerance() float64 {
	if s.o.EveryIteration {
		return -1
	}
	return s.o.Tolerance
}

// measure estimates how far the current state is from a minimiser for the data of all
// nodes; see Result.Residual. The groups have made their step.
func (w *watch) measure(ctx context.Context, s *Solver) (objective float64, err error) {
	w.measured = s.iteration
	r, packed := s.o.Rank, len(w.p.p)
	size := len(s.u[0].Data())
	for i, g := range s.groups {
		z := w.sums[i]
		gather(z[:packed], g.B, r, 1)
		z[packed], z[packed+1] = g.Objective, w.began[i]
		copy(z[packed+2:], g.Grad.Data())
		if !s.o.alike() {
			copy(z[packed+2+size:], s.u[i].Data())
		}
	}
	if err := s.net.Sum(ctx, w.sums); err != nil {
		return 0, err
	}
	z := w.sums[0]
	copy(w.p.p, z[:packed])
	w.p.invert()
	objective, w.start = z[packed], z[packed+1]
	grad, mean := z[packed+2:][:size], s.u[0].Data()
	if !s.o.alike() {
		mean = z[packed+2+size:]
		floats.Scale(1/s.nodeCount(), mean)
	}
	stride := size / r
	column := func(m []float64, j int) []float64 { return m[j*stride:][:stride] }
	for j := range r { // G <- (I - U U') G
		g := column(grad, j)
		for k := range r {
			u := column(mean, k)
			floats.AddScaled(g, -floats.Dot(u, g), u)
		}
	}
	curvature := s.curvature()
	if s.left != nil { // G <- K^-1 G
		d, _ := s.u[0].Dims()
		product := s.left.product[0]
		blas.MulTN(product.Matrix(), s.left.inverse.Matrix(), blas.ColumnMajor{Rows: d, Cols: r, Stride: stride, Data: grad})
		grad, curvature = product.Data(), 1
	}
	squared := 0.0 // of |G P^-1|_F
	for i := range stride {
		for j := range r {
			sum := 0.0
			for k := range r {
				sum += grad[k*stride+i] * w.p.inverse[k*r+j]
			}
			squared += sum * sum
		}
	}
	d, _ := s.u[0].Dims()
	signal, noise := w.signal(s, w.p, objective)
	w.noise = noise
	w.residual = math.Sqrt(squared) / (curvature * w.slowest(s) * signal)
	noisy := w.residual < mostlyNoise*noise*math.Sqrt(s.free()/float64(d))
	if m, ok := s.method.(guarded); ok && noisy && s.iteration > 0 {
		m.foundNoise(objective)
	}
	w.next = s.iteration + w.wait(s, noisy)
	if !(w.residual <= w.enough(s)) || s.o.alike() {
		return objective, nil
	}
	return objective, w.measureSpread(ctx, s, mean)
}

// wait returns after how many iterations to measure again: when the run arrives if it goes
// on as it has gone so far, but not much later.
func (w *watch) wait(s *Solver, noisy bool) int {
	goal := s.tolerance()
	if noisy {
		goal = w.enough(s)
	}
	rate := -math.Log(w.residual) / float64(s.iteration)
	if left := math.Log(w.residual/goal) / rate; rate > 0 && left < lookAgain {
		return max(int(math.Ceil(left)), soonest)
	}
	return lookAgain
}

// measureSpread raises the residual to the largest distance of a node from the mean.
func (w *watch) measureSpread(ctx context.Context, s *Solver, mean []float64) error {
	z := make([][]float64, len(s.u))
	for i, u := range s.u {
		z[i] = []float64{floats.Distance(u.Data(), mean, 2)}
	}
	if err := s.net.Max(ctx, z); err != nil {
		return err
	}
	w.residual = max(w.residual, z[0][0])
	return nil
}

// signal returns how much of the smallest eigenvalue lambda of P = sum_t b_t b_t' is
// not noise, and the subspace distance that noise leaves in the best U. With noise of
// variance v in the responses, b_t has noise of variance v/(n m) in every direction, so
//
//	signal = 1 - T v/(n m lambda),   v = |residual|^2 / (samples - Tr - dr),
//
// by which a Newton-like step falls short in that direction. Each of the d entries of a
// column of U is known to v/(n m lambda signal):
//
//	SD ~ sqrt(v d / (n m lambda signal)).
func (w *watch) signal(s *Solver, p *scaling, objective float64) (signal, noise float64) {
	d, _ := s.u[0].Dims()
	least, free := p.values[0], s.free()
	if !(least > 0) || free <= 0 {
		return 1, 0
	}
	v := objective / free / s.curvature()
	signal = max(leastSignal, 1-float64(s.tasks)*v/least)
	return signal, math.Sqrt(v * float64(d) / (least * signal))
}

// free is how many more samples than unknowns there are.
func (s *Solver) free() float64 {
	d, r := s.u[0].Dims()
	return float64(s.samples - s.tasks*r - d*r)
}

// settled measures, if it is time, and returns Converged if that is near enough.
func (s *Solver) settled(ctx context.Context) (Status, error) {
	if !s.watch.due(s) {
		return Running, nil
	}
	if _, err := s.watch.measure(ctx, s); err != nil {
		return Running, err
	}
	if s.watch.residual <= s.watch.enough(s) && !s.o.EveryIteration {
		s.net.Commit()
		return s.end(Converged), nil
	}
	return Running, nil
}

// finish ends a run whose iterations are done.
func (s *Solver) finish(ctx context.Context) (Status, error) {
	s.selectLast()
	s.refer()
	s.executor.Step(s.u, s.ridge())
	if err := s.observe(); err != nil {
		return Running, err
	}
	status := IterationLimit
	w := &s.watch
	switch {
	case !s.o.judges():
		if w.above >= 0 {
			status = Diverged
		}
	default:
		objective, err := w.measure(ctx, s)
		if err != nil {
			return Running, err
		}
		switch {
		case w.residual <= w.enough(s):
			status = Converged
		case s.iteration > 0 && w.worse(s, objective):
			status = Diverged
		}
	}
	s.net.Commit()
	return s.end(status), s.divergence()
}

// end ends the run. A diverged one goes back to the best state that is known.
func (s *Solver) end(status Status) Status {
	s.status = status
	if status == Diverged && s.watch.keptOf >= 0 {
		for i, u := range s.watch.kept {
			s.u[i].CopyFrom(u)
		}
	}
	return status
}

// divergence returns ErrDiverged if the run has diverged.
func (s *Solver) divergence() error {
	if s.status == Diverged {
		return ErrDiverged
	}
	return nil
}

// patience returns the context for a step. A node whose own context has ended does
// not leave its neighbours waiting: it tells them, and stays until they know.
func (s *Solver) patience(ctx context.Context) (_ context.Context, done func(), err error) {
	err = ctx.Err()
	if err == nil {
		return ctx, func() {}, nil
	}
	if s.net.AllHosted() || s.initial == nil {
		return nil, nil, err
	}
	s.watch.asked = true
	for i := range s.u {
		s.watch.raise(i, Canceled)
	}
	ctx, done = context.WithTimeout(context.WithoutCancel(ctx), leaveWithin)
	return ctx, done, nil
}

// leaving reports whether an error of a step is the end of the context, of which the
// others have not been told yet.
func (s *Solver) leaving(ctx context.Context, err error) bool {
	return ctx.Err() != nil && errors.Is(err, ctx.Err()) && !s.net.AllHosted() && !s.watch.asked
}
