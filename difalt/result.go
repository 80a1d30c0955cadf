package difalt

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"time"

	"github.com/difalt/difalt/consensus/transport"
	"github.com/difalt/difalt/internal/rounded"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/kernel/lsq"
)

// Status is the state of a run. All nodes end with one status after one number of iterations.
type Status uint8

const (
	Running        Status = iota // the run continues
	IterationLimit               // all iterations are done
	Converged                    // Tolerance or StopAtNoise is satisfied, at a minimum; see Options.Inner
	Diverged                     // the objective exceeds that of the start, or a number is not finite
	Canceled                     // the context of a node ended, or its observer returned ErrStop
	Undetermined                 // as Converged, but noise alone could explain a direction of U
)

var statusNames = []string{"running", "iteration limit", "converged", "diverged", "canceled", "undetermined"}

// String returns a short description.
func (s Status) String() string {
	if int(s) < len(statusNames) {
		return statusNames[s]
	}
	return fmt.Sprintf("Status(%d)", uint8(s))
}

// Errors of a Solver.
var (
	// ErrDiverged is wrapped by the error of a diverged run, whose text has advice.
	ErrDiverged = errors.New("difalt: the run diverged")
	// ErrStop, returned by Options.Observer, ends the run at all nodes without an error.
	ErrStop = errors.New("difalt: the observer ends the run")
	// ErrNotStarted is returned by methods that need an estimate, before the first step.
	ErrNotStarted = errors.New("difalt: there is no estimate before the first step")

	errNoContext = errors.New("difalt: need a context")
)

// A Record describes the state before an iteration, at the hosted nodes.
type Record struct {
	Iteration int
	// SDFirst, SDMax and SDMean are SD_2(U_g, U*) of the first hosted node (in one process node 0, the
	// paper's node 1), the largest, and the mean; NaN without Problem.Truth.
	SDFirst, SDMax, SDMean float64
	Disagreement           float64           // the largest |U_g - U|_F; U is that of the first hosted node
	Objective              float64           // sum_t |X_t U_g b_t - y_t|^2, with b_t fitted to U_g
	Traffic                transport.Traffic // of the iterations so far
	Compute                time.Duration     // time without exchanges, at the slowest hosted node
	Singular               int               // tasks whose least squares have no unique solution
}

// A Result is the outcome of a run. It shares no memory with the solver.
type Result struct {
	Status     Status
	Iterations int
	U          []*kernel.Basis // U[i] is the orthonormal estimate U_g of node Hosted()[i] (d x r)
	B          [][]float64     // its coefficients: b_t = B[i][t*r : (t+1)*r]
	Tasks      [][]lsq.Status  // how the least squares of every task were solved
	Initial    *Initial        // the start
	// Residual estimates the subspace distance of U from a minimiser for the data of all nodes. It is the
	// length of a Newton-like step,
	//
	//	|(I - U U') (sum_g grad_g) P^-1|_F / (n m (1 - sqrt(q))^2 s),   P = sum_t b_t b_t'.
	//
	// Here U is the mean of the nodes' U_g, and q is dr over the number of samples (at most .6). s is the
	// part of P's smallest eigenvalue that is not noise. It is at least the largest distance of a node from
	// that mean when the run has converged. NaN if it was not measured, as with Options.EveryIteration.
	Residual float64
	// StatisticalError estimates the subspace distance of U from the truth that is due to noise. It is
	// infinite if there are no more samples than unknowns. Values near 1 and above, which no distance has,
	// mean that noise hides a direction.
	StatisticalError float64
	Ridge            float64 // Options.Ridge
	Last             Record  // of the final state
}

// Theta returns theta_t = U_g b_t for task t of hosted node i. It panics if one of them is out of range.
func (r *Result) Theta(i, t int) []float64 {
	r.mustHost(i)
	d, rank := r.U[i].Dims()
	if uint(t) >= uint(len(r.B[i])/rank) {
		panic("difalt: the node has no such task")
	}
	theta := make([]float64, d)
	for j, b := range r.B[i][t*rank:][:rank] {
		rounded.AddScaled(theta, b, r.U[i].Col(j))
	}
	return theta
}

// mustHost panics if the result has no node i.
func (r *Result) mustHost(i int) {
	if uint(i) >= uint(len(r.U)) {
		panic("difalt: the result has no such node")
	}
}

// Result fits b_t to the current U_g on all samples and returns the state, at any time after the first step.
// It returns ErrNotStarted before.
func (s *Solver) Result() (*Result, error) {
	if !s.started {
		return nil, ErrNotStarted
	}
	if s.closed {
		return nil, errClosed
	}
	nodes := s.refit()
	res := &Result{
		Status: s.status, Iterations: s.point.iteration, U: clone(s.point.u), Initial: s.initial.clone(),
		Residual: s.checker.rule.Residual, StatisticalError: s.checker.rule.Noise, Ridge: s.o.Ridge,
		Last: s.record(nodes),
	}
	for _, at := range nodes {
		res.B, res.Tasks = append(res.B, slices.Clone(at.b)), append(res.Tasks, slices.Clone(at.status))
	}
	return res, nil
}

// refit fits b_t to the current U_g on all samples. The evaluation of the iteration stays as it is: an
// observer may call Result before the iteration ends.
func (s *Solver) refit() []evaluation {
	s.executor.Minimize(s.point.u, s.o.Ridge)
	nodes := make([]evaluation, len(s.groups))
	read(nodes, s.groups)
	return nodes
}

// U returns the current estimates of the hosted nodes. They belong to the solver: read only, and valid until
// the next step.
func (s *Solver) U() []*kernel.Basis { return s.point.u }

// Iterations takes the steps of Run and returns the records as a sequence, one for every state, up to the
// last. Each is valid until the next. If the loop breaks, the run ends at all nodes as Canceled. The error of
// the last step, if there is one, ends the sequence with a nil record.
func (s *Solver) Iterations(ctx context.Context) iter.Seq2[*Record, error] {
	return func(yield func(*Record, error) bool) {
		broken := false
		visit := func(rec *Record) error {
			if !broken {
				broken = !yield(rec, nil)
			}
			if broken {
				return ErrStop
			}
			return nil
		}
		status, err := Running, error(nil)
		for status == Running && err == nil {
			status, err = s.step(ctx, visit)
		}
		if err != nil && !broken {
			yield(nil, err)
		}
	}
}

// A recorder makes records.
type recorder struct {
	truth    *kernel.Basis
	distance *distance
	before   transport.Traffic // before the iterations
	compute  time.Duration     // of the iterations
	last     Record
}

func newRecorder(p *Problem, r int) recorder {
	rec := recorder{truth: p.Truth}
	if p.Truth != nil {
		d, rank := p.Truth.Dims()
		rec.distance = newDistance(d, r, rank)
	}
	return rec
}

// count adds the execution time of an iteration: the time of the slowest group, and a node's share of the
// work on messages.
func (r *recorder) count(nodes []evaluation, rest time.Duration) {
	slowest := time.Duration(0)
	for _, at := range nodes {
		slowest = max(slowest, at.elapsed)
	}
	r.compute += slowest + rest/time.Duration(len(nodes))
}

// observe calls the observer, and then yield, with the record of the current state.
func (s *Solver) observe(yield func(*Record) error) error {
	if s.o.Observer == nil && yield == nil {
		return nil
	}
	s.records.last = s.record(s.point.at)
	if s.o.Observer != nil {
		if err := s.o.Observer(&s.records.last); err != nil {
			return err
		}
	}
	if yield != nil {
		return yield(&s.records.last)
	}
	return nil
}

// record describes the current U, and the evaluations of the hosted nodes there.
func (s *Solver) record(nodes []evaluation) Record {
	u, nan := s.point.u, math.NaN()
	rec := Record{
		Iteration: s.point.iteration, Traffic: s.net.Traffic().Minus(s.records.before), Compute: s.records.compute,
		SDFirst: nan, SDMax: nan, SDMean: nan,
	}
	for i, at := range nodes {
		rec.Objective += at.objective
		for _, status := range at.status {
			if status != lsq.OK {
				rec.Singular++
			}
		}
		rec.Disagreement = max(rec.Disagreement, rounded.Distance(u[i].Data(), u[0].Data()))
		if s.records.truth == nil {
			continue
		}
		sd := s.records.distance.between(u[i], s.records.truth)
		if i == 0 {
			rec.SDFirst, rec.SDMax, rec.SDMean = sd, 0, 0
		}
		rec.SDMax, rec.SDMean = max(rec.SDMax, sd), rec.SDMean+sd/float64(len(u))
	}
	return rec
}
