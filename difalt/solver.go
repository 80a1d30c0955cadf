package difalt

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/difalt/features"
	"github.com/difalt/difalt/internal/gram"
	"github.com/difalt/difalt/kernel"
)

// A Solver runs one method on one problem, one iteration at a time. It hosts the nodes of its network that
// live in this process: all, some or one of them. Every node computes the same bits wherever it lives, for
// any number of workers. Iterations do not allocate. A Solver and its network serve one goroutine at a time.
type Solver struct {
	problem  *Problem
	net      *consensus.Network
	o        Options            // with defaults
	exchange consensus.Exchange // of the iterations
	pool     *kernel.Pool
	facts    facts // about the data of all nodes
	executor *kernel.Executor
	method   method // nil before the first step
	state    state
	monitor  monitor
	records  recorder
	initial  *Initial // nil before the first step, unless restored
	status   Status
	fault    error // ends the run for good
}

// A state is the memory of Alg. 3. Slices have an entry for every hosted node.
type state struct {
	iteration int     // the number of finished iterations
	nodes     float64 // L
	ridge     float64
	u, z      []*kernel.Basis // U_g, and Z_g, whose factor Q is the next U_g
	groups    []*kernel.Group // b_t fitted to U_g, with the gradient and the objective
	p         *gram.Matrix    // the P that all nodes have added up last; see monitor and accelerated
	scalars   [][]float64     // averaged together with Z; nil if a method has none
	totals    [][]float64     // summed together with Z; nil if a method has none
	finite    []bool          // the node's own Z_g was finite
	qr        []qrWork
	messages  []consensus.Message

	adapt, correct func(worker int) // lines 12, and 13 to 14; stored, so that calls do not allocate
}

// A method is the work of one node before and after the nodes agree (Alg. 3, lines 12 to 13).
type method interface {
	// adapt sets z[i], the message of hosted node i, from u[i] and the gradient of groups[i].
	adapt(s *state, i int)
	// correct turns the average in z[i] into the matrix whose factor Q is the next u[i].
	correct(s *state, i int)
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
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if err := p.Validate(net.Hosted(), o.Rank); err != nil {
		return nil, err
	}
	s := &Solver{problem: p, net: net, o: o.withDefaults(), pool: kernel.NewPool(o.Workers)}
	var err error
	if s.exchange, err = s.o.exchange(net, s.pool); err == nil {
		err = s.checkSplit()
	}
	if err != nil {
		s.pool.Close()
		return nil, err
	}
	s.state = newState(p, &s.o, s.exchange.Len())
	s.state.adapt, s.state.correct = s.each(s.adaptNode), s.each(s.correctNode)
	s.executor = kernel.NewExecutor(s.pool, s.state.groups)
	s.records = newRecorder(p, o.Rank)
	s.monitor = newMonitor(&s.o, &s.state, s.exchange)
	return s, nil
}

func newState(p *Problem, o *Options, nodes int) state {
	l, d, r := len(p.Nodes), p.Nodes[0].Features(), o.Rank
	s := state{
		nodes: float64(nodes), ridge: o.Ridge, p: gram.New(r), finite: make([]bool, l), messages: make([]consensus.Message, l),
		scalars: make([][]float64, l), totals: make([][]float64, l),
	}
	for _, tasks := range p.Nodes {
		if !o.SampleSplit {
			tasks = compressed(tasks, r)
		}
		s.u, s.z = append(s.u, kernel.NewBasis(d, r)), append(s.z, kernel.NewBasis(d, r))
		s.groups, s.qr = append(s.groups, kernel.NewGroup(tasks, r)), append(s.qr, newQRWork(r))
	}
	return s
}

// Step runs one iteration of Alg. 3, lines 7 to 14, and the initialisation before the first one. It returns
// the status after it; once that is not Running, Step does nothing, and returns the same again.
//
// A step that ends the run, for any reason, returns only after all nodes have confirmed that they received
// the same totals. Where noise may have made the end of a run, the step checks it with package minimum: at a
// saddle point it moves U to a lower objective, which does not count as an iteration, and returns Running.
// The error is ErrDiverged for Diverged, and ctx.Err() for Canceled, which is nil where the observer or
// another node ended the run; Solver.Result has the result in both cases.
//
// When ctx ends, the run ends as Canceled. With all nodes in this process it ends immediately. Otherwise all
// nodes end in the same iteration, at most CheckEvery iterations later, and no message is cut off. Every
// other error is final: the run can only continue from a Snapshot, in a new network.
func (s *Solver) Step(ctx context.Context) (Status, error) { return s.step(ctx, nil) }

// step is Step. Besides the observer it calls yield with the record, unless yield is nil.
func (s *Solver) step(ctx context.Context, yield func(*Record) error) (Status, error) {
	if s.status != Running || s.fault != nil {
		return s.status, s.fault
	}
	caller := ctx
	leave := ctx.Err() != nil
	if !s.exchange.AllHosted() {
		ctx = context.WithoutCancel(ctx)
	} else if leave {
		return s.end(caller, Canceled)
	}
	if err := s.begin(ctx); err != nil { // lines 4 and 5
		return s.fail(ctx, starting, err)
	}
	st := &s.state
	s.selectSamples()                // lines 7 and 10
	s.executor.Step(st.u, s.o.Ridge) // lines 8, 9 and 11
	if err := s.observe(yield); errors.Is(err, ErrStop) {
		leave = true
		if s.exchange.AllHosted() {
			return s.end(caller, Canceled)
		}
	} else if err != nil {
		return s.fail(ctx, observing, err)
	}
	if s.monitor.due() {
		status, err := s.monitor.look(ctx, leave)
		if err != nil {
			return s.fail(ctx, checking, err)
		}
		if status != Running {
			return s.finish(ctx, caller, status)
		}
	}
	start := time.Now()
	s.pool.Run(st.adapt) // line 12
	for i, z := range st.z {
		st.messages[i] = consensus.Message{Basis: z, Scalars: st.scalars[i], Totals: st.totals[i]}
	}
	arithmetic := time.Since(start)
	if err := s.exchange.Average(ctx, st.messages); err != nil { // line 13
		return s.fail(ctx, averaging, err)
	}
	start = time.Now()
	if s.exchange.Exact() { // all nodes have the same average: one computation serves all
		s.correctNode(0)
		copyToAll(st.z)
	} else {
		s.pool.Run(st.correct) // line 14
	}
	st.u, st.z = st.z, st.u
	st.iteration++
	s.records.count(st.groups, arithmetic+time.Since(start))
	return Running, nil
}

// finish ends a run that a check of all nodes ends with the given status: it is the only way out of Running
// in a network of several processes. It settles, lets all nodes confirm that they received the same totals,
// and then ends the run, or returns Running at a saddle point. caller is the context of the caller, whose end
// does not cut off a message.
func (s *Solver) finish(ctx, caller context.Context, status Status) (Status, error) {
	if status == Converged && !s.o.Inner {
		settled, err := s.settle(ctx)
		if err != nil {
			return s.fail(ctx, settling, err)
		}
		if settled == Running {
			return Running, nil
		}
		status = settled
	}
	if err := s.confirm(ctx); err != nil {
		return s.fail(ctx, confirming, err)
	}
	return s.end(caller, status)
}

// confirm returns an error unless all nodes have received the same totals.
func (s *Solver) confirm(ctx context.Context) error {
	if s.o.Inner {
		return nil
	}
	return s.net.Confirm(ctx)
}

// adaptNode is line 12 for hosted node i. If Z_g is not finite, the node sends U_g in its place, and the next
// look ends the run as Diverged.
func (s *Solver) adaptNode(i int) {
	st := &s.state
	s.method.adapt(st, i)
	if st.finite[i] = wire.Finite(st.z[i].Data()); !st.finite[i] {
		st.z[i].CopyFrom(st.u[i])
	}
}

// correctNode finishes line 13 for hosted node i and runs line 14: Z = Q R, U = Q.
func (s *Solver) correctNode(i int) {
	s.method.correct(&s.state, i)
	s.state.z[i].Orthonormalize(s.state.qr[i].r, s.state.qr[i].work)
}

// begin runs line 5, the initialisation, before the first iteration.
func (s *Solver) begin(ctx context.Context) (err error) {
	if s.method != nil {
		return nil
	}
	restored, before := s.initial, s.exchange.Traffic()
	if s.facts, err = s.compare(ctx); err != nil {
		return err
	}
	if restored == nil {
		if s.initial, err = s.initialize(ctx, before); err != nil {
			return err
		}
		copyBases(s.state.u, s.initial.U)
	}
	if restored != nil && s.exchange.Exact() {
		state, _ := binary.Append(nil, binary.LittleEndian, s.state.u[0].Data())
		if err := s.net.Bind(ctx, state); err != nil { // all nodes continue from one U
			return err
		}
	}
	s.records.before, s.monitor.facts = s.exchange.Traffic(), s.facts
	s.startMethod()
	return nil
}

// startMethod starts the method from the current U, without a memory.
func (s *Solver) startMethod() { s.method = methods[s.o.Method].start(s, s.stepSize()) }

// stepSize returns eta of the paper's methods.
func (s *Solver) stepSize() float64 { return cmp.Or(s.o.Step, s.initial.Step) }

// The stages of a run, for errors.
const (
	starting   = "start"
	observing  = "observer"
	checking   = "stop check"
	averaging  = "average"
	settling   = "check of the minimum"
	confirming = "confirmation"
)

// located returns an error with the place where the algorithm was. Errors about arguments and data have
// their place already.
func (s *Solver) located(stage string, err error) error {
	var parameter *ParameterError
	var data *DataError
	if errors.As(err, &parameter) || errors.As(err, &data) || errors.Is(err, features.ErrNotStandard) {
		return err
	}
	return fmt.Errorf("difalt: iteration %d, %s: %w", s.state.iteration, stage, err)
}

// fail ends the run for good, or as Canceled if the context ended in a process with all nodes.
func (s *Solver) fail(ctx context.Context, stage string, err error) (Status, error) {
	if s.exchange.AllHosted() && ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return s.end(ctx, Canceled)
	}
	s.fault = s.located(stage, err)
	return s.status, s.fault
}

// end sets the status with which the run ends, and the error that Step returns with it from now on. If the
// run diverged, U becomes the best known state.
func (s *Solver) end(caller context.Context, status Status) (Status, error) {
	s.status = status
	switch status {
	case Diverged:
		copyBases(s.state.u, s.monitor.best)
		s.fault = ErrDiverged
	case Canceled:
		s.fault = caller.Err()
	}
	if s.method != nil {
		s.report()
	}
	return status, s.fault
}

// Run takes steps until a stop rule, the context, the observer or Options.Iterations ends the run, and
// returns the result with the error of the last step. A diverged and a canceled run have both, but there is
// no result if the context ends before the first iteration.
func (s *Solver) Run(ctx context.Context) (*Result, error) {
	status, err := Running, error(nil)
	for status == Running && err == nil {
		status, err = s.Step(ctx)
	}
	if status == Running || s.method == nil {
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

// Close ends the solver's workers. The network can be used by the next solver.
func (s *Solver) Close() { s.pool.Close() }

// each returns a pool function that calls f for every hosted node.
func (s *Solver) each(f func(i int)) func(worker int) {
	return func(w int) {
		for i := w; i < len(s.state.u); i += s.pool.Workers() {
			f(i)
		}
	}
}
