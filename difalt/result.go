package difalt

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/difalt/difalt/consensus"
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
	// Canceled: the context of one of the nodes ended. The state is that of the last
	// whole iteration.
	Canceled
)

var statusNames = []string{"running", "iteration limit", "converged", "diverged", "canceled"}

// String returns a short description.
func (s Status) String() string {
	if int(s) < len(statusNames) {
		return statusNames[s]
	}
	return fmt.Sprintf("Status(%d)", uint8(s))
}

// ErrDiverged is what the error of a diverged run wraps.
var ErrDiverged = errors.New("difalt: the run diverged: the objective is above that of the start; take a shorter step or more rounds")

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

// A Record describes the state after an iteration; iteration 0 is the initial
// estimate. Subspace distances are NaN when the truth is not known.
type Record struct {
	Iteration int
	// SD_2(U_g, U*) = |(I - U_g U_g') U*|_2 of the first hosted node (in one process
	// node 0, which is node 1 of the paper), the largest over the hosted nodes, and
	// their mean.
	SDFirst, SDMax, SDMean float64
	// Disagreement is the largest Frobenius distance between two hosted nodes' U_g.
	Disagreement float64
	// Objective is sum_t |X_t U_g b_t - y_t|^2 with b_t fitted to U_g, over the hosted
	// nodes.
	Objective float64
	// Traffic of the iterations so far; that of the initialisation is not counted.
	Traffic consensus.Traffic
	// Compute is the execution time so far without communication when every node has
	// its own processor: the largest over the nodes in each iteration, summed.
	Compute time.Duration
	// Singular counts the tasks whose least squares had no unique solution.
	Singular int
	// Regularized counts the nodes whose scaling matrix P was too close to singular in
	// the last iteration, and Damped those that have shortened their step since their
	// moves turned to and fro. Both are for ScaledDiffusion and GradientTracking.
	Regularized, Damped int
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
	// Step is the eta that was used.
	Step float64
	// SigmaSquared is the initialisation's estimate of sigma_max(Theta)^2; 0 if
	// Options.Step and Problem.U0 were set.
	SigmaSquared float64
	// Residual estimates how far U is from a minimiser for the data of all nodes, as a
	// subspace distance: the length of a Newton-like step,
	//
	//	|(I - U U') (sum_g grad_g) P^-1|_F / (n m (1 - sqrt(q))^2 s),   P = sum_t b_t b_t',
	//
	// with U the mean of the nodes', q = dr over the samples, at most .6, and s the part of
	// P's smallest eigenvalue that is not noise; and at least the largest distance of a
	// node from that mean, where that decides. It does not depend on the
	// condition number, as the length of a gradient step does. NaN where nothing asked
	// for it: with a negative Options.Tolerance, with SampleSplit, and between steps.
	Residual float64
	// StatisticalError estimates the subspace distance that noise leaves in U anyway;
	// known when Residual is.
	StatisticalError float64
	// Last describes the final state.
	Last Record
	// InitTraffic is what the initialisation sent.
	InitTraffic consensus.Traffic
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
