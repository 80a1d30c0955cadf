package difalt

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/kernel/lsq"
)

// Status says how far a run is, or why it ended. All nodes of a network end with the
// same status after the same iteration.
type Status uint8

const (
	// Running: there is more to do.
	Running Status = iota
	// IterationLimit: all iterations were done.
	IterationLimit
	// Converged: the stop rule of Options.Tolerance or Options.StopAtNoise was met.
	Converged
	// Diverged: the objective has left that of the start behind for good, or numbers
	// have ceased to be finite. The state is the best that is known.
	Diverged
	// Canceled: the context of one of the nodes ended, or its observer returned ErrStop. The
	// state is that of the last whole iteration.
	Canceled
	// Undetermined: the stop rule was met, but noise alone could make the direction of U
	// of which the tasks say least: data do not tell it from others. Result.Standing has
	// what stands out. A smaller rank, or more samples, would help.
	Undetermined
)

var statusNames = []string{"running", "iteration limit", "converged", "diverged", "canceled", "undetermined"}

// String returns a short description.
func (s Status) String() string {
	if int(s) < len(statusNames) {
		return statusNames[s]
	}
	return fmt.Sprintf("Status(%d)", uint8(s))
}

// ErrDiverged is what the error of a diverged run wraps.
var ErrDiverged = errors.New("difalt: the run diverged: the objective is above that of the start; take a shorter step or more rounds")

// ErrStop, or an error that wraps it, is what an Options.Observer returns to end the run at all
// nodes, without an error.
var ErrStop = errors.New("difalt: the observer ends the run")

// ErrNotStarted is returned by what needs an estimate before the first step has made one, and
// ErrClosed by a Solver after Close.
var (
	ErrNotStarted = errors.New("difalt: there is no estimate before the first step")
	ErrClosed     = errors.New("difalt: the solver is closed")
)

// Arrived reports whether the stop rule was met: Converged, or Undetermined.
func (s Status) Arrived() bool { return s == Converged || s == Undetermined }

// Err returns ErrDiverged for Diverged, context.Canceled for Canceled, and nil for
// the others.
func (s Status) Err() error {
	switch s {
	case Diverged:
		return ErrDiverged
	case Canceled:
		return context.Canceled
	}
	return nil
}

// divergence returns ErrDiverged for Diverged.
func (s Status) divergence() error {
	if s == Diverged {
		return ErrDiverged
	}
	return nil
}

// A Record describes the state after an iteration; iteration 0 is the initial
// estimate. Subspace distances are NaN when the truth is not known.
type Record struct {
	Iteration int
	// SD_2(U_g, U*) = |(I - U_g U_g') U*|_2 of the first hosted node (in one process
	// node 0, which is node 1 of the paper), the largest over the hosted nodes, and
	// their mean.
	SDFirst, SDMax, SDMean float64
	// Disagreement is the largest Frobenius distance between two hosted nodes' U_g. Of more
	// than 1,000 it is that between the farthest from the first and the farthest from that one:
	// at least half of the largest.
	Disagreement float64
	// Objective is sum_t |X_t U_g b_t - y_t|^2 with b_t fitted to U_g, over the hosted
	// nodes.
	Objective float64
	// Traffic of the iterations so far; that of the initialisation is not counted.
	Traffic wire.Traffic
	// Compute is the execution time of the iterations so far without communication when
	// every node has its own processor: the largest over the nodes in each, summed.
	Compute time.Duration
	// Singular counts the tasks whose least squares had no unique solution.
	Singular int
	// Anchors counts the hosted nodes that read their samples themselves in the iteration
	// that begins with this state, and not their copies in 16 bits; 0 without
	// Options.MixedPrecision.
	Anchors int
}

// A Result is the outcome of a run. It shares no memory with the solver.
type Result struct {
	Status     Status
	Iterations int // done
	// U[i] is the orthonormal estimate U_g of node Hosted()[i] (d x r).
	U []*kernel.Basis
	// B[i] holds its coefficients b_t fitted to U_g: b_t = B[i][t*r : (t+1)*r].
	B [][]float64
	// Tasks[i][t] says how the least squares of task t of node i went.
	Tasks [][]lsq.Status
	// Step is the eta that was used; 0 if Problem.U0 was set and the method needs none.
	Step float64
	// SigmaSquared is the initialisation's estimate of sigma_max(Theta)^2; 0 if
	// Problem.U0 was set, and Options.Step or a method that needs none.
	SigmaSquared float64
	// Residual estimates how far U is from a minimiser for the data of all nodes, as a
	// subspace distance: the length of a Newton-like step,
	//
	//	|(I - U U') (sum_g grad_g) P^-1|_F / (n m (1 - sqrt(q))^2 s),   P = sum_t b_t b_t',
	//
	// with U the mean of the nodes', q = dr over the samples, at most .6, and s the part of
	// P's smallest eigenvalue that is not noise; and at least the largest distance of a
	// node from that mean, where that decides. It does not depend on the
	// condition number, as the length of a gradient step does. Where the moments of the
	// features matter (Problem.Moments) it goes by these, and is a distance between features
	// of about the same size. NaN where nothing asked
	// for it: with Options.EveryIteration, with SampleSplit, and between steps.
	Residual float64
	// StatisticalError estimates the subspace distance that noise leaves in U anyway;
	// known when Residual is. 1 in a run that ends as Undetermined.
	StatisticalError float64
	// Standing is nil unless noise might be what a direction of U is made of.
	Standing *Standing
	// Last describes the final state.
	Last Record
	// InitTraffic is what the initialisation sent, and InitCompute its execution time, as
	// Record.Compute.
	InitTraffic wire.Traffic
	InitCompute time.Duration
}

// A Standing says how far the direction of U of which the tasks say least stands out of noise.
type Standing struct {
	SingularValues []float64 // of the coefficients b_t of all tasks, in ascending order
	// Weakest is by how much the objective would rise without that direction, and Next by how
	// much it would about fall with one more, both in units of what noise alone makes of
	// the best direction for it. It is not known below 1.2.
	Weakest, Next float64
	// Share is how many numbers it has for a sample that it is made of: few tasks may have nearly all
	// of it, and it is not known above 0.5.
	Share float64
}

// Theta returns theta_t = U_g b_t for task t of hosted node i.
func (r *Result) Theta(i, t int) []float64 {
	d, rank := r.U[i].Dims()
	theta := make([]float64, d)
	for j, b := range r.B[i][t*rank:][:rank] {
		for k, v := range r.U[i].Col(j) {
			theta[k] += b * v
		}
	}
	return theta
}

// U returns the current estimates of the hosted nodes, U_g of node Hosted()[i]. They are
// the solver's: read only, and valid until the next step. Nil before the first.
func (s *Solver) U() []*kernel.Basis {
	if s.initial == nil {
		return nil
	}
	return s.estimates()
}

// estimates returns the current U_g in the coordinates of the caller.
func (s *Solver) estimates() []*kernel.Basis {
	by := s.data.by
	if by == nil {
		return s.at.u
	}
	list := make([]*kernel.Basis, len(s.at.u))
	for i, u := range s.at.u {
		list[i], _ = by.leave(u)
	}
	return list
}

// Record describes the current state; it takes the time of a minimisation over the b_t.
// It returns ErrNotStarted before the first step, and ErrClosed after Close.
func (s *Solver) Record() (Record, error) {
	if err := s.usable(); err != nil {
		return Record{}, err
	}
	return s.record(s.minimized()), nil
}

// usable returns an error if there is nothing to compute on, or nothing to compute with.
func (s *Solver) usable() error {
	switch {
	case s.closed:
		return ErrClosed
	case !s.ready():
		return ErrNotStarted
	}
	return nil
}

// minimized returns the hosted groups with b_t fitted to the current U_g on all
// samples. The solver's own groups stay as they are.
func (s *Solver) minimized() []*kernel.Group {
	groups := make([]*kernel.Group, len(s.data.nodes))
	for i, tasks := range s.data.nodes {
		groups[i] = kernel.NewGroup(tasks, s.o.Rank)
	}
	kernel.NewExecutor(s.pool, groups).Minimize(s.at.u, s.data.ridge)
	return groups
}

// Result fits b_t to the current U_g and returns the state, at any time after the first
// step. It returns ErrNotStarted before, and ErrClosed after Close.
func (s *Solver) Result() (*Result, error) {
	if err := s.usable(); err != nil {
		return nil, err
	}
	groups := s.minimized()
	res := &Result{
		Status: s.status, Iterations: s.at.iteration, U: clone(s.estimates()),
		Step: s.initial.Step, SigmaSquared: s.initial.SigmaSquared, InitTraffic: s.initial.Traffic, InitCompute: s.initial.Compute, Last: s.record(groups),
		Residual: s.stop.gauge.residual, StatisticalError: s.stop.gauge.noise,
	}
	if w := s.stop.standing; w != nil {
		told := *w
		res.Standing = &told
		for _, v := range s.stop.gauge.p.values {
			res.Standing.SingularValues = append(res.Standing.SingularValues, math.Sqrt(max(v, 0))*s.data.unit.coefficient())
		}
	}
	for i, g := range groups {
		b := append([]float64(nil), g.B...)
		if by := s.data.by; by != nil {
			_, rr := by.leave(s.at.u[i])
			multiplyUpper(rr, b, s.o.Rank)
		}
		for k := range b {
			b[k] *= s.data.unit.coefficient()
			if s.data.rms != nil {
				b[k] *= s.data.rms[i][k/s.o.Rank]
			}
		}
		res.B = append(res.B, b)
		res.Tasks = append(res.Tasks, append([]lsq.Status(nil), g.Status...))
	}
	return res, nil
}

// multiplyUpper replaces the vectors b of r numbers by R b, R(i,j) = rr[j*r+i] above the diagonal.
func multiplyUpper(rr, b []float64, r int) {
	for ; len(b) > 0; b = b[r:] {
		for i := range r {
			sum := 0.0
			for j := i; j < r; j++ {
				sum += rr[j*r+i] * b[j]
			}
			b[i] = sum
		}
	}
}

// undetermined is the statistical error above which a direction is hardly better than
// any other.
const undetermined = 0.3

// tooFar is the cosine of a move and the gradient behind it above which the step is too long. It
// was .92 and more where steps oscillated, and below .5 where they were slow.
const tooFar = 0.7

// report says what a user should know about a finished run.
func (s *Solver) report(res *Result) {
	if res.Last.Singular > 0 && s.o.Ridge == 0 {
		s.o.Logger.Warn("tasks without a unique least-squares solution took the one of minimum norm; a ridge avoids that", "tasks", res.Last.Singular)
	}
	switch {
	case res.Status == Diverged:
		s.o.Logger.Warn("the run diverged", "iterations", res.Iterations, "step", res.Step)
	case res.Status == IterationLimit && res.Residual > s.stop.enough():
		if s.stop.gauge.overshoot > tooFar {
			s.o.Logger.Warn("the run has not converged, and its last step led beyond where the objective is lowest: take a shorter step",
				"iterations", res.Iterations, "step", res.Step, "distance", res.Residual, "tolerance", s.stop.enough())
			break
		}
		s.o.Logger.Warn("the run has not converged: take more iterations, more rounds, or a method that the condition number and the noise of the nodes do not stop (scaled, tracking)",
			"iterations", res.Iterations, "distance", res.Residual, "tolerance", s.stop.enough())
	}
	switch w := res.Standing; {
	case res.Status == Undetermined:
		s.o.Logger.Warn("noise leaves at least one direction of U undetermined: take a smaller rank, or more samples", "rank", s.o.Rank,
			"singular_values", w.SingularValues, "stands_out", w.Weakest, "share", w.Share)
	case res.StatisticalError > undetermined:
		s.o.Logger.Warn("noise leaves at least one direction of U undetermined: take a smaller rank", "rank", s.o.Rank, "statistical_error", res.StatisticalError)
	}
	s.o.Logger.Debug("finished", "status", res.Status, "iterations", s.at.iteration, "objective", res.Last.Objective)
}
