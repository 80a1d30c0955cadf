package difalt

import (
	"time"

	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/kernel/lsq"
	"github.com/difalt/difalt/topology"
)

// Status says why a run ended.
type Status uint8

const (
	// IterationLimit: all iterations were done.
	IterationLimit Status = iota
	// Converged: the stop rule of Options.Tolerance was met.
	Converged
	// Diverged: an estimate became NaN or Inf. The result holds the last finite one.
	Diverged
	// Canceled: the context ended. The result holds what was computed until then.
	Canceled
)

// String returns a short description.
func (s Status) String() string {
	return [...]string{"iteration limit", "converged", "diverged", "canceled"}[s]
}

// A Record describes the state after an iteration; iteration 0 is the initial
// estimate. Subspace distances are NaN when the truth is not known.
type Record struct {
	Iteration int
	// SD_2(U_g, U*) = |(I - U_g U_g') U*|_2 of the first hosted node (node 1 of the
	// paper), the largest over the hosted nodes, and their mean.
	SDNode1, SDMax, SDMean float64
	// Disagreement is the largest Frobenius distance between two nodes' U_g.
	Disagreement float64
	// Objective is sum_t |X_t U_g b_t - y_t|^2 with b_t fitted to U_g.
	Objective float64
	// Traffic of the iterations so far; that of the initialisation is not counted.
	Traffic topology.Traffic
	// Compute is the execution time so far without communication when every node has
	// its own processor: the largest over the nodes in each iteration, summed.
	Compute time.Duration
	// Singular counts the tasks whose least squares had no unique solution.
	Singular int
	// Regularized counts the nodes whose scaling matrix P was too close to singular in
	// the last iteration, and Damped those that have shortened their step since their
	// own objective did not fall. Both are for ScaledDiffusion and GradientTracking.
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
	// Options.Step was set.
	SigmaSquared float64
	// Last describes the final state.
	Last Record
	// InitTraffic is what the initialisation sent.
	InitTraffic topology.Traffic
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
