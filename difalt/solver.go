package difalt

import (
	"context"
	"errors"
	"time"

	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/kernel/lsq"
	"github.com/difalt/difalt/kernel/qr"
	"github.com/difalt/difalt/topology"
)

// A Solver runs one method on one problem, an iteration at a time if the caller
// wishes. Steady-state iterations do not allocate. A Solver is used by one
// goroutine at a time; Close releases its workers.
type Solver struct {
	*system
	scheme  scheme
	groups  []*kernel.Group
	engine  *kernel.Executor
	metrics *metrics
	u, z    []*kernel.Basis // U_g, and what becomes the next U_g
	base    []*kernel.Basis // from which the adaptation steps: u or z
	grads   []*kernel.Basis // of the groups
	rr      [][]float64     // R of the last projection
	qrWork  [][]float64
	flags   [][]float64 // what the nodes tell one another for the stop rule
	raised  []bool
	// For StopAtNoise:
	noise    *scaling
	moments  [][]float64 // L B_g B_g' and L times the objective
	lastMove []float64

	last Record

	initial   *Initial // nil until the first step
	step      float64  // eta
	iteration int
	begun     topology.Traffic // of the mixer when the iterations began
	compute   time.Duration
	qrTime    []time.Duration

	scalings []*scaling  // of ScaledDiffusion and GradientTracking, else nil
	scales   [][]float64 // the P of the scalings
	shared   bool        // the nodes have agreed on P before
	tracker  *tracker    // of GradientTracking, else nil

	precisions []*precision // of MixedPrecision, else nil
	restored   bool         // and nothing has run since

	adapt, adaptScaled, project, compensate func(worker int) // stored, so that calling them does not allocate
}

// NewSolver returns a solver for the problem. It validates everything and
// computes nothing yet.
func NewSolver(p *Problem, net *Network, o Options) (*Solver, error) {
	sys, err := newSystem(p, net, o)
	if err != nil {
		return nil, err
	}
	s := &Solver{system: sys}
	if s.scheme, err = s.newScheme(); err != nil {
		sys.pool.Close()
		return nil, err
	}
	d, r := s.p.Nodes[0].Features(), s.o.Rank
	for _, tasks := range s.p.Nodes {
		g := kernel.NewGroup(tasks, r)
		s.groups = append(s.groups, g)
		s.grads = append(s.grads, g.Grad)
		s.u = append(s.u, kernel.NewBasis(d, r))
		s.z = append(s.z, kernel.NewBasis(d, r))
		s.rr = append(s.rr, make([]float64, r*r))
		s.qrWork = append(s.qrWork, make([]float64, qr.WorkLen(r)))
		s.flags = append(s.flags, make([]float64, 1))
	}
	if o.MixedPrecision {
		s.reduce()
		s.compensate = s.perNode(s.compensateNode)
	}
	s.qrTime = make([]time.Duration, len(s.groups))
	s.raised = make([]bool, len(s.groups))
	if o.StopAtNoise {
		s.noise = newScaling(r)
		s.lastMove = make([]float64, len(s.groups))
		for range s.groups {
			s.moments = append(s.moments, make([]float64, len(s.noise.p)+1))
		}
	}
	s.engine = kernel.NewExecutor(s.pool, s.groups)
	s.metrics = newMetrics(s.pool, s.p.Truth, len(s.groups), d, r)
	s.adapt = s.perNode(s.adaptNode)
	s.adaptScaled = s.perNode(s.adaptScaledNode)
	if o.Method == ScaledDiffusion || o.Method == GradientTracking {
		for range s.groups {
			c := newScaling(r)
			c.damping = newDamping(len(s.z[0].Data()))
			s.scalings = append(s.scalings, c)
			s.scales = append(s.scales, c.p)
		}
	}
	if o.Method == GradientTracking {
		s.tracker = newTracker(len(s.groups), d, r)
	}
	s.project = s.perNode(s.projectNode)
	return s, nil
}

// Run runs a whole problem: NewSolver, Solver.Run and Close.
func Run(ctx context.Context, p *Problem, net *Network, o Options) (*Result, error) {
	s, err := NewSolver(p, net, o)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	return s.Run(ctx)
}

// Close ends the solver's workers. The solver must not be used afterwards.
func (s *Solver) Close() { s.pool.Close() }

// Run iterates until Options.Iterations or the stop rule is reached and returns
// the result. When the context ends, it returns the state of the last whole
// iteration with Status Canceled and no error, unless there is no estimate yet.
func (s *Solver) Run(ctx context.Context) (*Result, error) {
	status := IterationLimit
	for s.iteration < s.o.Iterations {
		err := s.Step(ctx)
		if errors.Is(err, errDiverged) {
			status = Diverged
			break
		}
		if s.initial != nil && ctx.Err() != nil {
			status = Canceled
			break
		}
		if err != nil {
			return nil, err
		}
		done, err := s.settled(ctx)
		if err != nil {
			return nil, err
		}
		if done {
			status = Converged
			break
		}
	}
	if err := s.begin(ctx); err != nil { // Iterations may be done without a step after Restore
		return nil, err
	}
	return s.finish(status), nil
}

var errDiverged = errors.New("difalt: the estimate is not finite any more; the step is too large")

// Step runs one iteration of Alg. 3 (lines 7 to 14), after the initialisation if it
// is the first. The observer gets the record of the state before the iteration.
//
// It returns the context's error, an error of the mixer, or, when an estimate is
// not finite, an error that says so; the solver then still holds the last state.
func (s *Solver) Step(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := s.begin(ctx); err != nil {
		return err
	}
	s.selectSamples()
	switch {
	case s.precisions == nil:
	case s.restored:
		s.resume()
	default:
		s.pool.Run(s.compensate)
	}
	s.engine.Step(s.u, s.o.Ridge) // lines 7 to 11: b_t and the gradient, at every node
	s.observe()
	mixing, err := s.combine(ctx) // lines 12 and 13: adapt, and agree with the neighbours
	if errors.Is(err, topology.ErrNotFinite) {
		return errDiverged
	}
	if err != nil {
		return err
	}
	if err := s.projectAll(); err != nil { // line 14
		return err
	}
	s.iteration++
	s.compute += s.slowestNode() + mixing/time.Duration(len(s.hosted))
	return nil
}

// begin runs the initialisation once (Alg. 3, line 5).
func (s *Solver) begin(ctx context.Context) error {
	if s.initial != nil {
		return nil
	}
	initial := &Initial{U: s.p.U0, Step: s.o.Step}
	if s.p.U0 == nil || s.o.Step == 0 {
		var err error
		if initial, err = s.initialize(ctx); err != nil {
			return err
		}
	}
	s.step = or(s.o.Step, initial.Step)
	for i, u := range initial.U {
		s.u[i].CopyFrom(u)
		if s.o.Method == AltGDmin { // one U for all, node 1's estimate
			s.u[i].CopyFrom(initial.U[0])
		}
	}
	s.initial = initial
	s.begun = s.scheme.mixer.Traffic()
	if s.scheme.mixer == s.mixer {
		initial.Traffic = s.begun.Minus(s.before) // with what the mixer's set-up took
	}
	return nil
}

// selectSamples points the groups at the sample sets tau and tau + T_GD (Alg. 3,
// lines 7 and 10).
func (s *Solver) selectSamples() {
	if !s.o.SampleSplit {
		return
	}
	tau := s.iteration + 1
	for i, g := range s.groups {
		g.SetSamples(s.set(i, 1+tau), s.set(i, 1+tau+s.o.Iterations))
	}
}

// projectNode is line 14 at one node: Z = Q R with positive diagonal, U <- Q.
func (s *Solver) projectNode(i int) {
	start := time.Now()
	if s.o.Method == AltGDmin && i > 0 {
		s.qrTime[i] = 0 // the server has factored Z once for all
		return
	}
	s.z[i].Orthonormalize(s.rr[i], s.qrWork[i])
	if s.scalings != nil {
		s.scalings[i].observe(s.u[i], s.z[i])
	}
	s.qrTime[i] = time.Since(start)
}

// projectAll projects at every node. It leaves U as it was when a Z is not finite.
func (s *Solver) projectAll() error {
	s.pool.Run(s.project)
	r := s.o.Rank
	for i, rr := range s.rr {
		if s.o.Method == AltGDmin && i > 0 {
			s.z[i].CopyFrom(s.z[0])
			continue
		}
		for k := range r {
			if !finite(rr[k*r+k]) { // NaN or Inf anywhere in a column shows in its norm
				return errDiverged
			}
		}
	}
	s.u, s.z = s.z, s.u
	return nil
}

// slowestNode returns the largest time that a node took for its own work.
func (s *Solver) slowestNode() time.Duration {
	var slowest time.Duration
	for i, g := range s.groups {
		slowest = max(slowest, g.Elapsed+s.qrTime[i])
	}
	return slowest
}

// finish fits b_t to the final U_g and returns the result.
func (s *Solver) finish(status Status) *Result {
	if s.o.SampleSplit || s.o.MixedPrecision {
		for i, g := range s.groups {
			g.SetSamples(s.p.Nodes[i], s.p.Nodes[i])
		}
	}
	s.engine.Minimize(s.u, s.o.Ridge)
	last := s.record()
	if s.o.Observer != nil {
		s.last = last
		s.o.Observer(&s.last)
	}
	res := &Result{
		Status: status, Iterations: s.iteration, U: clone(s.u),
		Step: s.step, SigmaSquared: s.initial.SigmaSquared, InitTraffic: s.initial.Traffic, Last: last,
	}
	for _, g := range s.groups {
		res.B = append(res.B, append([]float64(nil), g.B...))
		res.Tasks = append(res.Tasks, append([]lsq.Status(nil), g.Status...))
	}
	if last.Singular > 0 && s.o.Ridge == 0 {
		s.o.Logger.Warn("tasks without a unique least-squares solution took the one of minimum norm; a ridge avoids that", "tasks", last.Singular)
	}
	s.o.Logger.Debug("finished", "status", status, "iterations", s.iteration, "objective", last.Objective)
	return res
}

// perNode returns a pool function that calls f for every hosted node.
func (s *Solver) perNode(f func(i int)) func(worker int) {
	return func(w int) {
		for i := w; i < len(s.hosted); i += s.pool.Workers() {
			f(i)
		}
	}
}
