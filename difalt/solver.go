package difalt

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"math"
	"time"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/internal/work"
	"github.com/difalt/difalt/kernel"
)

// A Solver runs one method on one problem, one iteration at a time. It hosts the nodes of its network that
// live in this process: all, some or one of them. The bits that a node computes depend neither on where
// it lives nor on the number of workers. A Solver and its network serve one goroutine at a time.
//
// Iterations do not allocate, checks of the stop rule included, where all nodes live in this process; masks
// of sums between processes do. The first Gauss-Newton step of Accelerated, the check for a minimum at the
// end, and iterations with SampleSplit allocate.
type Solver struct {
	problem  *Problem
	net      *consensus.Network
	o        Options // with defaults
	pool     *kernel.Pool
	method   method
	exchange consensus.Exchange // of the iterations
	groups   []*kernel.Group    // of the hosted nodes, with all samples
	executor *kernel.Executor   // of the groups
	point    point
	checker  checker
	records  recorder
	initial  *Initial // nil before the first step, unless restored
	started  bool
	stepping bool // a step calls the observer
	closed   bool
	status   Status
	fault    error // ends the run for good

	send, receive func(worker int) // lines 12, and 13 to 14, for all hosted nodes
}

// NewSolver returns a solver for the hosted nodes of p. It checks everything that this process can see and
// sends nothing: the nodes compare their options in the first step. It returns a *ParameterError or a
// *DataError that names the field, or node, task, row and feature.
func NewSolver(p *Problem, net *consensus.Network, o Options) (*Solver, error) {
	if p == nil || net == nil {
		return nil, errors.New("difalt: need a problem and a network")
	}
	if err := kernel.CheckEnvironment(); err != nil {
		return nil, err
	}
	if err := o.Validate(0, 0); err != nil {
		return nil, err
	}
	if err := p.Validate(net.Hosted(), o.Rank); err != nil {
		return nil, err
	}
	s := &Solver{problem: p, net: net, o: o.withDefaults(), pool: kernel.NewPool(o.Workers)}
	s.point = newPoint(p, &s.o, net.Len())
	s.method = methods[o.Method].make(&s.o)
	var err error
	if s.exchange, err = s.method.exchange(net, s.pool); err == nil {
		err = s.checkSplit()
	}
	if err != nil {
		s.pool.Close()
		return nil, err
	}
	for _, tasks := range p.Nodes {
		if !o.SampleSplit {
			tasks = compressed(tasks, o.Rank)
		}
		s.point.tasks = append(s.point.tasks, tasks)
		s.groups = append(s.groups, kernel.NewGroup(tasks, o.Rank))
	}
	s.executor = kernel.NewExecutor(s.pool, s.groups)
	if s.exchange.Exact() {
		s.point.most = mostNumberInSum / s.point.nodes
	}
	_, knowsStep := s.method.(stepper)
	s.checker = newChecker(&s.o, &s.point, knowsStep)
	s.records = newRecorder(p, o.Rank)
	s.send = work.Loop(s.pool.Workers(), len(s.groups), s.sendOne)
	s.receive = work.Loop(s.pool.Workers(), len(s.groups), s.receiveOne)
	return s, nil
}

// Step runs one iteration of Alg. 3, lines 7 to 14, and the initialisation before the first one. It returns
// the status after it; once that is not Running, Step does nothing, and returns its last results again.
//
// A step that ends the run, for any reason, returns only after all nodes have confirmed that they received
// equal totals. Where noise may have made the end of a run, the step checks it with package minimum: at a
// saddle point it moves U to a lower objective, which does not count as an iteration, and returns Running.
// The error is ErrDiverged for Diverged, and ctx.Err() for Canceled, which is nil where the observer or
// another node ended the run; Solver.Result has the result in both cases.
//
// When ctx ends, the run ends as Canceled. With all nodes in this process it ends immediately. Otherwise all
// nodes end in one iteration, at most CheckEvery iterations later, and no message is cut off. Every
// other error is final: the run can only continue from a Snapshot, in a new network.
func (s *Solver) Step(ctx context.Context) (Status, error) { return s.step(ctx, nil) }

// step is Step. Besides the observer it calls yield with the record, unless yield is nil.
func (s *Solver) step(ctx context.Context, yield func(*Record) error) (Status, error) {
	switch {
	case s.net == nil:
		return s.status, errNotMade
	case s.closed:
		return s.status, errClosed
	case s.stepping:
		return s.status, errStepping
	case s.status != Running || s.fault != nil:
		return s.status, s.fault
	case ctx == nil:
		return s.status, errNoContext
	}
	s.stepping = true
	defer func() { s.stepping = false }()
	caller := ctx
	leave := ctx.Err() != nil
	if !s.net.AllHosted() {
		ctx = context.WithoutCancel(ctx)
	} else if leave {
		return s.end(caller, Canceled)
	}
	if err := s.begin(ctx); err != nil { // lines 4 and 5
		return s.fail(ctx, starting, err)
	}
	s.evaluate()
	if err := s.observe(yield); errors.Is(err, ErrStop) {
		leave = true
		if s.net.AllHosted() {
			return s.end(caller, Canceled)
		}
	} else if err != nil {
		return s.fail(ctx, observing, err)
	}
	if s.closed { // by the observer
		return s.status, errClosed
	}
	if last := s.lastStep(); s.checker.rule.mustCheck(s.point.iteration, last) {
		status, err := s.checker.check(ctx, s.net, last, leave)
		if err != nil {
			return s.fail(ctx, checking, err)
		}
		if status != Running {
			return s.finish(ctx, caller, status)
		}
	}
	if err := s.iterate(ctx); err != nil {
		return s.fail(ctx, averaging, err)
	}
	return Running, nil
}

// begin runs lines 4 and 5, the comparison of options and the initialisation, before the first iteration.
func (s *Solver) begin(ctx context.Context) (err error) {
	if s.started {
		return nil
	}
	p, before := &s.point, s.net.Traffic()
	if p.totals, err = s.agree(ctx); err != nil {
		return err
	}
	if err = s.weigh(ctx); err != nil {
		return err
	}
	switch {
	case s.initial == nil:
		if s.initial, err = s.initialize(ctx, before); err != nil {
			return err
		}
		copyBases(p.u, s.initial.U)
	case s.exchange.Exact(): // restored: all nodes continue from one U
		state, _ := binary.Append(nil, binary.LittleEndian, p.u[0].Data())
		if err := s.net.Bind(ctx, state); err != nil {
			return err
		}
	}
	s.records.before = s.net.Traffic()
	p.eta = s.stepSize()
	if !s.checker.rule.started() { // not restored
		copyBases(s.checker.best, p.u)
	}
	s.method.start(p)
	s.started = true
	return nil
}

// stepSize returns eta of the paper's methods.
func (s *Solver) stepSize() float64 { return cmp.Or(s.o.Step, s.initial.Step) }

// evaluate is lines 7 to 11.
func (s *Solver) evaluate() {
	if s.o.SampleSplit && s.point.iteration < s.o.Iterations {
		s.evaluateSplit()
		return
	}
	s.executor.Step(s.point.u, s.o.Ridge)
	read(s.point.at, s.groups)
}

// lastStep returns the length of the last Newton-like step if all nodes know it, and otherwise NaN.
func (s *Solver) lastStep() float64 {
	if m, ok := s.method.(stepper); ok {
		return m.lastStep()
	}
	return math.NaN()
}

// iterate computes lines 12 to 14 of Algorithm 3 at all hosted nodes.
func (s *Solver) iterate(ctx context.Context) error {
	p, start := &s.point, time.Now()
	s.method.prepare(p, s.pool)
	s.pool.Run(s.send)
	arithmetic := time.Since(start)
	if err := s.exchange.Average(ctx, p.messages, s.method.codec(p)); err != nil {
		return err
	}
	start = time.Now()
	if s.exchange.Exact() { // all nodes have one average: one computation serves all
		s.receiveOne(0)
		p.shareFirst()
	} else {
		s.pool.Run(s.receive)
	}
	p.advance()
	s.records.count(p.at, arithmetic+time.Since(start))
	return nil
}

// sendOne is line 12 for hosted node i.
func (s *Solver) sendOne(i int) {
	s.method.message(&s.point, i, &s.point.messages[i])
	s.point.hold(i)
}

// receiveOne finishes line 13 for hosted node i and runs line 14.
func (s *Solver) receiveOne(i int) {
	s.method.update(&s.point, i, &s.point.messages[i])
	s.point.orthonormalize(i)
}

// Run takes steps until a stop rule, the context, the observer or Options.Iterations ends the run. It returns
// the result with the error of the last step. A diverged and a canceled run have both, but the result is nil
// if the context ends before the first iteration.
func (s *Solver) Run(ctx context.Context) (*Result, error) {
	status, err := Running, error(nil)
	for status == Running && err == nil {
		status, err = s.Step(ctx)
	}
	if status == Running || !s.started {
		return nil, err
	}
	res, failed := s.Result()
	return res, cmp.Or(err, failed)
}

// Run solves a whole problem: NewSolver, Solver.Run and Close.
func Run(ctx context.Context, p *Problem, net *consensus.Network, o Options) (*Result, error) {
	s, err := NewSolver(p, net, o)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	return s.Run(ctx)
}

// Close ends the solver's workers. The network can be used by the next solver. Step, Run, Iterations and
// Result return an error afterwards, whether or not the run has ended.
func (s *Solver) Close() {
	s.closed = true
	if s.pool != nil {
		s.pool.Close()
	}
}

var (
	errNotMade  = errors.New("difalt: the solver was not made by NewSolver")
	errClosed   = errors.New("difalt: the solver is closed")
	errStepping = errors.New("difalt: the solver is in the middle of a step, whose observer cannot take another")
)
