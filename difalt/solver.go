package difalt

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"math"
	"time"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/kernel"
)

// A Solver runs one method on one problem, an iteration at a time if the caller
// wishes. It hosts the nodes of its network that live in this process: all of them,
// some, or one; each computes the same bits whoever hosts it, in gossip with
// consensus.Agreement.RoundByRound.
//
// An iteration is a transaction: it succeeds, or leaves the state as it was and may be
// tried again with the same bits. Steady-state iterations do not allocate. A Solver is
// used by one goroutine at a time, and so is its network; Close releases its workers.
type Solver struct {
	*process
	at          *iterate
	method      method
	exchange    *exchange // of the method's nodes
	projection  projection
	stop        *monitor
	anchors     *anchors // nil without MixedPrecision; see iterate.reduced
	records     recorder
	measureMove func(worker int) // stored, so that calling it does not allocate

	initial *Initial // nil until the first step
	status  Status
	cost
}

// NewSolver returns a solver for the hosted nodes of a problem. It validates what this
// process can see, and neither computes nor sends anything yet. Options that concern
// all nodes are compared when the run begins.
func NewSolver(p *Problem, net *consensus.Network, o Options) (*Solver, error) {
	proc, err := newProcess(p, net, o)
	if err != nil {
		return nil, err
	}
	d, r := p.Nodes[0].Features(), proc.o.Rank
	at := &iterate{data: proc.data, moved: make([]float64, len(p.Nodes))}
	s := &Solver{process: proc, at: at, cost: cost{atStart: net.Traffic()}}
	for range p.Nodes {
		at.u, at.z = append(at.u, kernel.NewBasis(d, r)), append(at.z, kernel.NewBasis(d, r))
	}
	s.projection = s.newProjection(r)
	s.measureMove = s.each(func(i int) { at.moved[i] = move(at.u[i], at.z[i]) })
	s.exchange = s.newExchange()
	s.startMethod()
	s.stop = newMonitor(&proc.o, at, s.exchange)
	if proc.o.MixedPrecision {
		s.anchors = newAnchors(s)
	}
	s.records = recorder{metrics: newMetrics(s.pool, p.Truth, len(p.Nodes), d, r), observed: -1}
	s.warnExposed()
	return s, nil
}

// startMethod makes a method that knows of no iteration, at the beginning, at a snapshot and when the run leaves a saddle point.
func (s *Solver) startMethod() {
	s.at.rests, s.at.fitted = false, false
	s.method = s.o.traits().new(&setup{o: s.o, at: s.at, exchange: s.exchange, each: s.each, pool: s.pool, oneBasis: s.o.sharesBasis(s.net.Len())})
}

// newExchange returns the exchange of the method of the options.
func (p *process) newExchange() *exchange {
	if mixer := p.o.traits().mixer; mixer != nil {
		return newExchange(p.net, mixer(p.net, p.pool), 1)
	}
	return p.agreement
}

// A setup is what a method is made of: its options, the estimates on which it works, and
// the way to the other nodes. each returns a function for the pool that calls f for every
// hosted node.
type setup struct {
	o        Options
	at       *iterate
	exchange *exchange
	each     func(f func(i int)) func(worker int)
	pool     *kernel.Pool
	oneBasis bool // see Options.sharesBasis
}

// Run runs a whole problem: NewSolver, Solver.Run and Close.
func Run(ctx context.Context, p *Problem, net *consensus.Network, o Options) (*Result, error) {
	s, err := NewSolver(p, net, o)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	return s.Run(ctx)
}

// Close ends the solver's workers. Afterwards what computes returns ErrClosed; its network may
// be used.
func (s *Solver) Close() {
	if s.closed {
		return
	}
	s.closed = true
	s.exchange.mixer.Close()
	s.process.close()
}

// Run iterates until a stop rule or Options.Iterations ends the run and returns the
// result. A diverged run returns its result and an error that wraps ErrDiverged. When
// the context ends, the result is that of the last whole iteration with Status
// Canceled and no error, or the context's error if there is no estimate yet.
func (s *Solver) Run(ctx context.Context) (*Result, error) {
	for s.status == Running || !s.ready() {
		status, err := s.Step(ctx)
		if status == Canceled {
			break
		}
		if err != nil && !(s.mustAnnounce(ctx, err) && s.initial != nil) {
			if status == Diverged {
				break
			}
			return nil, err
		}
	}
	if !s.ready() {
		return nil, ctx.Err()
	}
	res, err := s.Result()
	if err != nil {
		return nil, err
	}
	if ctx.Err() != nil && s.status == Running {
		res.Status = Canceled
	}
	s.report(res)
	if err := s.observe(&res.Last); err != nil {
		return nil, err
	}
	if res.Status == Diverged {
		return res, ErrDiverged
	}
	return res, nil
}

// Iterations returns an iterator that runs the solver and yields the record of every
// state, beginning with that of the initial estimate. It ends with the run, and after
// an error, which it yields with a nil record; ErrDiverged is one.
func (s *Solver) Iterations(ctx context.Context) iter.Seq2[*Record, error] {
	return func(yield func(*Record, error) bool) {
		for {
			status, err := Canceled, ctx.Err()
			if s.ready() {
				status, err = s.Step(ctx)
			} else if err == nil { // the first state is that before the iterations
				s.net.Rewind()
				err = s.begin(ctx)
				status = s.status
			}
			if s.ready() && (err == nil || status != Running) {
				rec := s.record(s.minimized())
				if !yield(&rec, nil) {
					return
				}
			}
			if err == nil {
				err = status.Err()
			}
			if err != nil {
				yield(nil, err)
			}
			if err != nil || status != Running {
				return
			}
		}
	}
}

// Step runs one iteration of Alg. 3 (lines 7 to 14), after the initialisation if it
// is the first, and returns whether the run goes on. Once it has ended, Step does
// nothing and returns the same status, with ErrDiverged for Diverged. The observer
// gets the record of the state before the iteration.
//
// On any other error the state is as before, and Step may be called again. If nodes
// live in other processes, all of them then have to. When the context has ended, Step
// returns Canceled and the context's error if all nodes live here; otherwise it takes
// part in iterations until all nodes know, and returns Canceled when they leave.
func (s *Solver) Step(ctx context.Context) (Status, error) {
	if s.closed {
		return s.status, ErrClosed
	}
	if s.status != Running && s.ready() {
		return s.status, s.status.divergence()
	}
	ctx, done, err := s.announce(ctx)
	if err != nil {
		return Canceled, err
	}
	defer done()
	s.net.Rewind()
	if err := s.begin(ctx); err != nil {
		return Running, err
	}
	status := s.status // of a snapshot that was restored
	if status != Running {
		return status, status.divergence()
	}
	if s.at.iteration < s.o.Iterations {
		status, err = s.iterate(ctx)
	}
	if s.at.iteration == s.o.Iterations && status == Running && err == nil {
		status, err = s.finish(ctx)
	}
	if err != nil && s.net.AllHosted() && errors.Is(err, ctx.Err()) {
		return Canceled, err
	}
	return status, err
}

// ready reports whether there is an estimate, and data on which to compute with it.
func (s *Solver) ready() bool { return s.at.executor != nil && s.initial != nil }

// begin runs the initialisation once (Alg. 3, line 5). If that fails the nodes compare
// their data and options again.
func (s *Solver) begin(ctx context.Context) error {
	if s.closed {
		return ErrClosed
	}
	if s.ready() {
		return nil
	}
	if err := s.compare(ctx); err != nil {
		return err
	}
	initial := s.initial // of a snapshot
	if initial == nil {
		var err error
		if initial, err = s.newInitial(ctx); err != nil {
			return err
		}
		initial.Traffic = s.net.Traffic().Minus(s.atStart)
		initial.Step = cmp.Or(s.o.Step, initial.Step)
		copyBases(s.at.u, initial.U)
	}
	s.net.Commit()
	s.atFirstIteration = s.net.Traffic()
	restored := s.initial != nil
	s.initial = initial
	if err := s.build(); err != nil {
		return err
	}
	if !restored {
		initial.Compute = s.elapsed
	}
	return nil
}

// newInitial returns where the iterations start: from Problem.U0, or by the spectral
// initialisation.
func (s *Solver) newInitial(ctx context.Context) (initial *Initial, err error) {
	u0 := s.start0()
	initial = &Initial{U: u0, Step: s.o.Step}
	if u0 == nil || s.o.Step == 0 && !s.o.sumsCoefficients() {
		if initial, err = s.initialize(ctx); err != nil {
			return nil, err
		}
	}
	if (s.o.traits().central || s.o.sharesBasis(s.net.Len())) && u0 != nil { // one U for all, node 0's estimate
		z := make([][]float64, len(initial.U))
		for i, u := range initial.U {
			z[i] = u.Data()
		}
		err = s.net.Broadcast(ctx, 0, z)
	}
	return initial, err
}

// setEta brings the step into the units of the data.
func (s *Solver) setEta() { s.at.eta = s.initial.Step / (s.data.unit.y * s.data.unit.y) }

// build makes what computes on the data, now that their units are known.
func (s *Solver) build() (err error) {
	at := s.at
	s.setEta()
	if at.moments, err = s.newMomentPreconditioner(); err != nil {
		return err
	}
	for _, tasks := range s.data.nodes {
		g := kernel.NewGroup(tasks, s.o.Rank)
		at.groups, at.grads = append(at.groups, g), append(at.grads, g.Grad)
	}
	if at.reduced = s.anchors != nil && s.data.bytes() >= reduceFrom; at.reduced {
		if k := kernel.Info().Kernel; k == "generic" {
			s.o.Logger.Warn("MixedPrecision is slower than float64 on this kernel, which converts samples of 16 bits one by one", "kernel", k)
		}
		s.timed(func(i, _ int) { at.groups[i].Reduce() })
	}
	at.executor, at.fitted = kernel.NewExecutor(s.pool, at.groups), false
	return nil
}

// finish ends a run whose iterations are done.
func (s *Solver) finish(ctx context.Context) (Status, error) {
	s.minimize()
	if err := s.observe(nil); err != nil {
		return Running, err
	}
	status, objective, err := s.stop.last(ctx)
	if err == nil && status == Converged {
		if status, err = s.settle(ctx, objective); status == Running { // and no iteration is left
			status = IterationLimit
		}
	}
	if err != nil {
		return Running, err
	}
	s.net.Commit()
	return s.end(status), status.divergence()
}

// end ends the run. A diverged one goes back to the best state that is known.
func (s *Solver) end(status Status) Status {
	switch s.status = status; status {
	case Diverged:
		if s.stop.course.lowest < math.Inf(1) {
			copyBases(s.at.u, s.stop.best)
		}
	case Undetermined: // what was estimated takes noise for a direction
		s.stop.gauge.noise = 1
	}
	return status
}

// leaveWithin is how long a node whose context has ended waits for the others.
const leaveWithin = 10 * time.Second

// announce returns the context for a step. A node whose own context has ended does not
// leave its neighbours waiting: it raises Canceled, and stays until they know.
func (s *Solver) announce(ctx context.Context) (_ context.Context, done func(), err error) {
	err = ctx.Err()
	if err == nil {
		return ctx, func() {}, nil
	}
	if s.net.AllHosted() || s.initial == nil {
		return nil, nil, err
	}
	s.raise(Canceled)
	ctx, done = context.WithTimeout(context.WithoutCancel(ctx), leaveWithin)
	return ctx, done, nil
}

// mustAnnounce reports whether an error of a step is the end of the context, of which the
// other nodes do not know yet.
func (s *Solver) mustAnnounce(ctx context.Context, err error) bool {
	return ctx.Err() != nil && errors.Is(err, ctx.Err()) && !s.net.AllHosted() && !s.stop.announced
}

// A cost is what a run has sent, by the counts of its network at two moments, and how long
// it has computed.
type cost struct {
	atStart          wire.Traffic  // of the network, when the run began
	atFirstIteration wire.Traffic  // and when its iterations began, or were restored
	restored         wire.Traffic  // by the iterations before a snapshot
	compute          time.Duration // of the iterations
}

// traffic returns what the iterations have sent.
func (s *Solver) traffic() wire.Traffic {
	return s.net.Traffic().Minus(s.atFirstIteration).Plus(s.restored)
}
