package difalt

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/kernel/qr"
)

// A Solver runs one method on one problem, an iteration at a time if the caller
// wishes. It hosts the nodes of its network that live in this process: all of them,
// some, or one; each computes the same bits whoever hosts it.
//
// An iteration is a transaction: it succeeds, or leaves the state as it was and may be
// tried again with the same bits. Steady-state iterations do not allocate. A Solver is
// used by one goroutine at a time, and so is its network; Close releases its workers.
type Solver struct {
	*system
	method   method
	meeting  *consensus.Mixer // where the method's nodes meet
	rounds   int
	groups   []*kernel.Group
	executor *kernel.Executor
	metrics  *metrics
	u, z     []*kernel.Basis // U_g, and what becomes the next U_g
	grads    []*kernel.Basis // of the groups
	rr       [][]float64     // R of the last projection
	qrWork   [][]float64
	qrTime   []time.Duration
	moved    []float64 // |U_g - previous U_g|_F, if anybody asks for it

	project, measureMove func(worker int) // stored, so that calling them does not allocate

	initial   *Initial // nil until the first step
	eta       float64  // in the user's units
	iteration int
	observed  int // iterations of which the observer knows
	status    Status
	joined    wire.Traffic // of the network before the run
	begun     wire.Traffic // and when the iterations began
	counted   wire.Traffic // of the run before it was restored
	compute   time.Duration
	mixing    time.Duration // of this iteration
	last      Record

	watch watch
	left  *preconditioner

	anchors       []*kernel.Basis  // of a snapshot, until an iteration has taken them over
	chooseAnchors func(worker int) // stored, so that calling it does not allocate
}

// NewSolver returns a solver for the hosted nodes of a problem. It validates what this
// process can see, and neither computes nor sends anything yet. Options that concern
// all nodes are compared when the run begins.
func NewSolver(p *Problem, net *consensus.Network, o Options) (*Solver, error) {
	sys, err := newSystem(p, net, o)
	if err != nil {
		return nil, err
	}
	s := &Solver{system: sys, observed: -1, joined: net.Traffic()}
	d, r := p.Nodes[0].Features(), s.o.Rank
	for range p.Nodes {
		s.u = append(s.u, kernel.NewBasis(d, r))
		s.z = append(s.z, kernel.NewBasis(d, r))
		s.rr = append(s.rr, make([]float64, r*r))
		s.qrWork = append(s.qrWork, make([]float64, qr.WorkLen(r)))
	}
	s.qrTime = make([]time.Duration, len(p.Nodes))
	s.moved = make([]float64, len(p.Nodes))
	s.project = s.perNode(s.projectNode)
	s.measureMove = s.perNode(func(i int) { s.moved[i] = move(s.u[i], s.z[i]) })
	s.method, s.meeting, s.rounds = s.newMethod()
	s.metrics = newMetrics(s.pool, p.Truth, len(p.Nodes), d, r)
	s.watch = newWatch(s)
	s.warnExposed()
	return s, nil
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

// Close ends the solver's workers. The solver must not be used afterwards; its network
// may.
func (s *Solver) Close() {
	s.meeting.Close()
	s.system.close()
}

// Run iterates until a stop rule or Options.Iterations ends the run and returns the
// result. A diverged run returns its result and an error that wraps ErrDiverged. When
// the context ends, the result is that of the last whole iteration with Status
// Canceled and no error, or the context's error if there is no estimate yet.
func (s *Solver) Run(ctx context.Context) (*Result, error) {
	for s.status == Running {
		status, err := s.Step(ctx)
		if status == Canceled {
			break
		}
		if err != nil && !(s.leaving(ctx, err) && s.initial != nil) {
			if status == Diverged {
				break
			}
			return nil, err
		}
	}
	if s.initial == nil {
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
	if s.o.Observer != nil && s.observed < s.iteration {
		s.observed, s.last = s.iteration, res.Last
		if err := s.o.Observer(&s.last); err != nil {
			return nil, err
		}
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
			status, err := s.Step(ctx)
			if s.initial != nil && (err == nil || status != Running) {
				if rec := s.Record(); !yield(&rec, nil) {
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
	if s.status != Running {
		return s.status, s.divergence()
	}
	ctx, done, err := s.patience(ctx)
	if err != nil {
		return Canceled, err
	}
	defer done()
	s.net.Rewind()
	if err := s.begin(ctx); err != nil {
		return Running, err
	}
	status := Running
	if s.iteration < s.o.Iterations {
		status, err = s.iterate(ctx)
	}
	if s.iteration == s.o.Iterations && status == Running && err == nil {
		status, err = s.finish(ctx)
	}
	if err != nil && s.net.AllHosted() && errors.Is(err, ctx.Err()) {
		return Canceled, err
	}
	return status, err
}

// iterate is one iteration of Alg. 3.
func (s *Solver) iterate(ctx context.Context) (Status, error) {
	s.selectSamples()
	s.refer()
	s.executor.Step(s.u, s.ridge()) // lines 7 to 11: b_t and the gradient, at every node
	if s.left != nil && s.o.Ridge > 0 {
		s.pool.Run(s.left.add)
	}
	if err := s.observe(); err != nil {
		return Running, err
	}
	if status, err := s.settled(ctx); err != nil || status != Running {
		return status, err
	}
	s.watch.tell(s)
	s.mixing = 0
	err := s.method.combine(ctx, s) // lines 12 and 13: adapt, and agree with the neighbours
	if err == nil {
		err = s.projectAll() // line 14
	}
	if errors.Is(err, errNotFinite) || errors.Is(err, consensus.ErrNotFinite) {
		return s.end(Diverged), ErrDiverged
	}
	if err != nil {
		return Running, err
	}
	word, sums, told := s.meeting.Reduced()
	s.u, s.z = s.z, s.u
	s.method.commit(s)
	s.net.Commit()
	s.iteration++
	if s.o.MixedPrecision || (told || s.watch.telling < 0) && s.iteration >= s.watch.tellAt {
		s.pool.Run(s.measureMove)
	}
	s.compute += s.slowestNode() + s.mixing/time.Duration(len(s.hosted))
	if told {
		if status := s.watch.listen(s, Status(word), sums); status != Running {
			return s.end(status), s.divergence()
		}
	}
	return Running, nil
}

// begin runs the initialisation once (Alg. 3, line 5).
func (s *Solver) begin(ctx context.Context) error {
	if s.groups != nil && s.initial != nil {
		return nil
	}
	s.met = false // the nodes meet again if what follows has failed
	if err := s.meet(ctx); err != nil {
		return err
	}
	initial := s.initial // of a snapshot
	if initial == nil {
		initial = &Initial{U: clone(s.p.U0), Step: s.o.Step}
		if s.p.U0 == nil || s.o.Step == 0 && s.o.usesStep() {
			var err error
			if initial, err = s.initialize(ctx); err != nil {
				return err
			}
		}
		if (s.o.Method == AltGDmin || s.o.alike()) && s.p.U0 != nil { // one U for all, node 0's estimate
			if err := s.shareFirst(ctx, initial.U); err != nil {
				return err
			}
		}
		initial.Traffic = s.net.Traffic().Minus(s.joined)
		s.eta = or(s.o.Step, initial.Step)
		for i, u := range initial.U {
			s.u[i].CopyFrom(u)
		}
	}
	s.net.Commit()
	s.begun = s.net.Traffic()
	restored := s.initial != nil
	s.initial = initial
	if s.groups == nil {
		if err := s.build(); err != nil {
			return err
		}
	}
	if !restored {
		initial.Compute = s.spent
	}
	return nil
}

// shareFirst overwrites the bases of all nodes by that of node 0.
func (s *Solver) shareFirst(ctx context.Context, u []*kernel.Basis) error {
	z := make([][]float64, len(u))
	for i := range u {
		z[i] = u[i].Data()
	}
	return s.net.Broadcast(ctx, 0, z)
}

// build makes what computes on the data, once their units are known.
func (s *Solver) build() (err error) {
	if s.left, err = newPreconditioner(s); err != nil {
		return err
	}
	for _, tasks := range s.nodes {
		g := kernel.NewGroup(tasks, s.o.Rank)
		s.groups = append(s.groups, g)
		s.grads = append(s.grads, g.Grad)
	}
	if s.o.MixedPrecision {
		s.reduce()
	}
	s.executor = kernel.NewExecutor(s.pool, s.groups)
	return nil
}

// exchange lets the nodes of the method meet, and takes the time.
func (s *Solver) exchange(ctx context.Context, stream consensus.Stream, z []*kernel.Basis, scalars [][]float64, rounds int) error {
	start := time.Now()
	err := s.agree(ctx, s.meeting, stream, z, scalars, rounds)
	s.mixing += time.Since(start)
	return err
}

// step is eta in our units, and ridge the strength of the ridge.
func (s *Solver) step() float64  { return s.eta / (s.unit.y * s.unit.y) }
func (s *Solver) ridge() float64 { return s.o.Ridge * s.unit.x * s.unit.x }

// nodeCount is L: a node's gradient times L stands for that of all.
func (s *Solver) nodeCount() float64 { return float64(s.net.Len()) }

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

// projectNode is line 14 at one node: Z = Q R with positive diagonal.
func (s *Solver) projectNode(i int) {
	start := time.Now()
	s.z[i].Orthonormalize(s.rr[i], s.qrWork[i])
	s.qrTime[i] = time.Since(start)
}

var errNotFinite = errors.New("difalt: an estimate is not finite")

// projectAll projects at every node, and returns errNotFinite if a Z is not finite.
func (s *Solver) projectAll() error {
	s.pool.Run(s.project)
	r := s.o.Rank
	for i, rr := range s.rr {
		for k := range r {
			if finite(rr[k*r+k]) { // NaN or Inf anywhere in a column shows in its norm
				continue
			}
			if s.net.AllHosted() {
				return errNotFinite
			}
			s.watch.raise(i, Diverged) // and until the others know, stay where we are
			s.z[i].CopyFrom(s.u[i])
			break
		}
	}
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

// selectLast points the groups at all samples, for the final state.
func (s *Solver) selectLast() {
	if s.o.SampleSplit {
		for i, g := range s.groups {
			g.SetSamples(s.nodes[i], s.nodes[i])
		}
	}
}

// perNode returns a pool function that calls f for every hosted node.
func (s *Solver) perNode(f func(i int)) func(worker int) {
	return func(w int) {
		for i := w; i < len(s.hosted); i += s.pool.Workers() {
			f(i)
		}
	}
}
