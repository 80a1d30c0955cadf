package topology

import (
	"fmt"
	"math"
	"math/cmplx"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// rowTolerance is how far a row of a given W may be from summing to 1.
const rowTolerance = 1e-9

// gammaLimit is where W^k counts as not converging at all.
const gammaLimit = 1 - 1e-12

// Weights are the mixing weights W of a network: an L x L matrix whose rows sum to
// 1, zero where two nodes are not linked. They are immutable, and valid: W^k
// converges, so that AGREE (Alg. 1) brings all nodes to the same value.
type Weights struct {
	graph  *Graph
	name   string // of the rule
	w      *mat.Dense
	gamma  float64
	values []complex128 // its eigenvalues but the one that is 1
	real   bool         // all eigenvalues are
}

// NewWeights returns the weights of a rule on a graph. It returns an error if the
// graph is not connected, naming a node that is cut off, or if averaging would not
// converge, as with EqualNeighbor on a bipartite graph.
func NewWeights(g *Graph, rule Rule) (*Weights, error) {
	if err := checkConnected(g); err != nil {
		return nil, err
	}
	w, err := rule.matrix(g)
	if err != nil {
		return nil, err
	}
	// All rules give matrices similar to a symmetric one, diag(pi)^1/2 W diag(pi)^-1/2.
	return newWeights(g, rule.String(), w, symmetrised(w))
}

// WeightsOf returns a copy of given weights. w must be square and finite with rows
// that sum to 1 to 1e-9; negative entries are allowed, as BestConstant has them.
// Its nonzero entries must make a connected undirected graph, w_ij = 0 exactly
// where w_ji = 0. It returns an error that says where this fails, or if averaging
// would not converge.
func WeightsOf(w mat.Matrix) (*Weights, error) {
	if err := checkWeights(w); err != nil {
		return nil, err
	}
	g, err := fromSupport("matrix", w)
	if err != nil {
		return nil, err
	}
	if err := checkConnected(g); err != nil {
		return nil, err
	}
	c := mat.DenseCopyOf(w)
	var sym *mat.SymDense
	if mat.Equal(c, c.T()) {
		sym = symmetrised(c)
	}
	return newWeights(g, "custom", c, sym)
}

// newWeights completes weights w; sym is a symmetric matrix with the same
// eigenvalues, or nil if none is known.
func newWeights(g *Graph, name string, w *mat.Dense, sym *mat.SymDense) (*Weights, error) {
	values, err := eigenvalues(w, sym)
	if err != nil {
		return nil, fmt.Errorf("topology: %s weights on %v: %w", name, g, err)
	}
	values = withoutOne(values)
	gamma := 0.0
	for _, v := range values {
		gamma = max(gamma, cmplx.Abs(v))
	}
	// Written so that NaN is refused too.
	if !(gamma < gammaLimit) {
		why := "averaging does not converge"
		if zeroDiagonal(w) && g.bipartite() {
			why = "the graph is bipartite and no node weighs its own value, so that averaging oscillates for ever"
		}
		return nil, fmt.Errorf("topology: %s weights on %v have gamma(W) = %.6g: %s; use %v weights", name, g, gamma, why, Metropolis)
	}
	return &Weights{graph: g, name: name, w: w, gamma: gamma, values: values, real: !slices.ContainsFunc(values, isComplex)}, nil
}

func zeroDiagonal(w *mat.Dense) bool {
	for i := range w.RawMatrix().Rows {
		if w.At(i, i) != 0 {
			return false
		}
	}
	return true
}

func checkConnected(g *Graph) error {
	if i := g.unreachable(); i >= 0 {
		return fmt.Errorf("topology: %v is not connected: node %d cannot be reached from node 0", g, i)
	}
	return nil
}

// checkWeights checks all that WeightsOf asks of w except for the graph.
func checkWeights(w mat.Matrix) error {
	n, cols := w.Dims()
	if n != cols {
		return fmt.Errorf("topology: weights are %d x %d: must be square", n, cols)
	}
	for i := range n {
		sum := 0.0
		for j := range n {
			v := w.At(i, j)
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return fmt.Errorf("topology: weights have %v in row %d, column %d", v, i, j)
			}
			if (v == 0) != (w.At(j, i) == 0) {
				return fmt.Errorf("topology: weights link two nodes in one direction only: %v in row %d, column %d, but %v in row %d, column %d", v, i, j, w.At(j, i), j, i)
			}
			sum += v
		}
		if !(math.Abs(sum-1) <= rowTolerance) {
			return fmt.Errorf("topology: row %d of the weights sums to %v: must be 1", i, sum)
		}
	}
	return nil
}

// symmetrised returns S_ij = sqrt(w_ij w_ji) off the diagonal and w_ii on it: a
// matrix similar to w if some diagonal scaling makes w symmetric and the
// off-diagonal entries are not negative, and w itself if w is symmetric.
func symmetrised(w *mat.Dense) *mat.SymDense {
	n, _ := w.Dims()
	s := mat.NewSymDense(n, nil)
	for i := range n {
		for j := i; j < n; j++ {
			v := w.At(i, j)
			if v != w.At(j, i) {
				v = math.Sqrt(v * w.At(j, i))
			}
			s.SetSym(i, j, v)
		}
	}
	return s
}

// eigenvalues returns the eigenvalues of w. sym is as in newWeights.
func eigenvalues(w *mat.Dense, sym *mat.SymDense) ([]complex128, error) {
	n, _ := w.Dims()
	values := make([]complex128, n)
	if sym != nil {
		var eig mat.EigenSym
		if !eig.Factorize(sym, false) {
			return nil, fmt.Errorf("eigenvalues did not converge")
		}
		for i, v := range eig.Values(nil) {
			values[i] = complex(v, 0)
		}
		return values, nil
	}
	var eig mat.Eigen
	if !eig.Factorize(w, mat.EigenNone) {
		return nil, fmt.Errorf("eigenvalues did not converge")
	}
	return eig.Values(values), nil
}

// isComplex reports whether an eigenvalue is not real. Its computed imaginary part
// may be as large as the root of the rounding unit if it is a multiple one.
func isComplex(v complex128) bool { return math.Abs(imag(v)) > 1e-7 }

// withoutOne removes the value that is nearest to 1.
func withoutOne(values []complex128) []complex128 {
	one := 0
	for i, v := range values {
		if cmplx.Abs(v-1) < cmplx.Abs(values[one]-1) {
			one = i
		}
	}
	return slices.Delete(values, one, one+1)
}

// Graph returns the graph of the nonzero weights.
func (w *Weights) Graph() *Graph { return w.graph }

// Len returns the number of nodes L.
func (w *Weights) Len() int { return w.graph.Len() }

// At returns W_ij, the weight that node i gives to the value of node j.
func (w *Weights) At(i, j int) float64 { return w.w.At(i, j) }

// Gamma returns gamma(W) = max(|lambda_2|, |lambda_L|), the factor by which a
// round of AGREE shrinks the distance from agreement in the long run; 0 for a
// single node.
func (w *Weights) Gamma() float64 { return w.gamma }

// Eigenvalues returns the L - 1 eigenvalues of W but the one that is 1. The slice is
// read only.
func (w *Weights) Eigenvalues() []complex128 { return w.values }

// RealEigenvalues reports whether all eigenvalues of W are real, as Chebyshev
// polynomials of W need; those of all rules are.
func (w *Weights) RealEigenvalues() bool { return w.real }

// DoublyStochastic reports whether the columns too sum to 1, to 1e-9, so that
// averaging keeps the mean over the nodes. Single entries may be negative.
func (w *Weights) DoublyStochastic() bool {
	for j := range w.Len() {
		if !(math.Abs(mat.Sum(w.w.ColView(j))-1) <= rowTolerance) {
			return false
		}
	}
	return true
}

// String returns a short description for messages and plots, such as
// "metropolis weights on ring (5 nodes, 5 edges), gamma 0.539".
func (w *Weights) String() string {
	return fmt.Sprintf("%s weights on %v, gamma %.3g", w.name, w.graph, w.gamma)
}
