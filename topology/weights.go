package topology

import (
	"encoding/binary"
	"fmt"
	"hash/crc64"
	"iter"
	"math"
	"slices"
	"sync"

	"gonum.org/v1/gonum/mat"
)

// rowTolerance is how far a row of a given W may be from summing to 1.
const rowTolerance = 1e-9

// Weights are the mixing weights W of a network: an L x L matrix whose rows sum to
// 1, zero where two nodes are not linked. They are immutable, and valid: W^k
// converges, so that AGREE (Alg. 1) brings all nodes to the same value. They take memory
// in proportion to the edges; their spectrum is computed when it is first asked for.
type Weights struct {
	graph    *Graph
	name     string // of the rule
	diagonal []float64
	links    [][]float64 // links[i][k] is W_ij of the neighbour j = Neighbors(i)[k]

	// stationary is the unit vector q of S = diag(q) W diag(q)^-1 with S symmetric, of which q is
	// the eigenvector for 1; nil if none is known.
	stationary []float64
	spectrum   func() *Spectrum // computed once
	gamma      func() float64
}

func newWeights(g *Graph, name string) *Weights {
	w := &Weights{graph: g, name: name, diagonal: make([]float64, g.Len()), links: make([][]float64, g.Len())}
	for i := range w.links {
		w.links[i] = make([]float64, g.Degree(i))
	}
	w.spectrum, w.gamma = sync.OnceValue(w.measure), sync.OnceValue(w.largest)
	return w
}

// NewWeights returns the weights of a rule on a graph. It returns an error if the
// graph is not connected, naming a node that is cut off, or if averaging would not
// converge, as with EqualNeighbor on a bipartite graph.
func NewWeights(g *Graph, rule Rule) (*Weights, error) {
	if err := checkConnected(g); err != nil {
		return nil, err
	}
	w := newWeights(g, rule.String())
	if err := rule.fill(w); err != nil {
		return nil, err
	}
	// All rules give matrices similar to a symmetric one, and are symmetric but for the mean over
	// the neighbours.
	w.stationary = slices.Repeat([]float64{1}, g.Len())
	if g.Len() > 1 && (rule == EqualNeighbor || rule == LazyEqualNeighbor) {
		for i := range w.stationary {
			w.stationary[i] = math.Sqrt(float64(g.Degree(i)))
		}
	}
	unit(w.stationary)
	// Of a connected graph, that is all that can keep a rule from converging (Perron and Frobenius;
	// of BestConstant gamma is (l_1 - l_{L-1})/(l_1 + l_{L-1})).
	if w.oscillates() {
		return nil, w.diverges(1)
	}
	return w, nil
}

// WeightsOf returns a copy of given weights. w must be square and finite with rows
// that sum to 1 to 1e-9; negative entries are allowed, as BestConstant has them.
// Its nonzero entries must make a connected undirected graph, w_ij = 0 exactly
// where w_ji = 0. It returns an error that says where this fails, or if averaging
// would not converge.
func WeightsOf(m mat.Matrix) (*Weights, error) {
	if err := checkWeights(m); err != nil {
		return nil, err
	}
	g, err := fromSupport("matrix", m)
	if err != nil {
		return nil, err
	}
	if err := checkConnected(g); err != nil {
		return nil, err
	}
	w, symmetric := newWeights(g, "custom"), true
	for i, links := range w.links {
		w.diagonal[i] = m.At(i, i)
		for k, j := range g.Neighbors(i) {
			links[k] = m.At(i, j)
			symmetric = symmetric && links[k] == m.At(j, i)
		}
	}
	if symmetric {
		w.stationary = unit(slices.Repeat([]float64{1}, g.Len()))
	}
	// Written so that NaN is refused too.
	if gamma := w.Gamma(); !(gamma < gammaLimit) {
		return nil, w.diverges(gamma)
	}
	return w, nil
}

// oscillates reports whether averaging goes back and forth between two sets of nodes for ever.
func (w *Weights) oscillates() bool {
	return !slices.ContainsFunc(w.diagonal, func(v float64) bool { return v != 0 }) && w.graph.bipartite()
}

// diverges returns the error of weights with which averaging does not converge.
func (w *Weights) diverges(gamma float64) error {
	why := "averaging does not converge"
	if w.oscillates() {
		why = "the graph is bipartite and no node weighs its own value, so that averaging oscillates for ever"
	}
	return fmt.Errorf("topology: %s weights on %v have gamma(W) = %.6g: %s; use %v weights", w.name, w.graph, gamma, why, Metropolis)
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

// Graph returns the graph of the nonzero weights.
func (w *Weights) Graph() *Graph { return w.graph }

// Len returns the number of nodes L.
func (w *Weights) Len() int { return w.graph.Len() }

// At returns W_ij, the weight that node i gives to the value of node j.
func (w *Weights) At(i, j int) float64 {
	if i == j {
		return w.diagonal[i]
	}
	if k, linked := slices.BinarySearch(w.graph.Neighbors(i), j); linked {
		return w.links[i][k]
	}
	return 0
}

// Row yields the nonzero entries W_ij of row i, with j ascending.
func (w *Weights) Row(i int) iter.Seq2[int, float64] {
	return func(yield func(j int, v float64) bool) {
		own := w.diagonal[i] == 0
		for k, j := range w.graph.Neighbors(i) {
			if !own && j > i {
				if own = true; !yield(i, w.diagonal[i]) {
					return
				}
			}
			if !yield(j, w.links[i][k]) {
				return
			}
		}
		if !own {
			yield(i, w.diagonal[i])
		}
	}
}

// Dense returns W with all entries, in memory of the caller.
func (w *Weights) Dense() *mat.Dense {
	m := mat.NewDense(w.Len(), w.Len(), nil)
	m.Apply(func(i, j int, _ float64) float64 { return w.At(i, j) }, m)
	return m
}

// Fingerprint returns a checksum of the bits of W, by which processes find out whether they
// have the same.
func (w *Weights) Fingerprint() uint64 {
	table, sum := crc64.MakeTable(crc64.ECMA), uint64(0)
	var row []byte
	for i := range w.Len() {
		row = row[:0]
		for j, v := range w.Row(i) {
			row = binary.LittleEndian.AppendUint64(row, uint64(i))
			row = binary.LittleEndian.AppendUint64(row, uint64(j))
			row = binary.LittleEndian.AppendUint64(row, math.Float64bits(v))
		}
		sum = crc64.Update(sum, table, row)
	}
	return sum
}

// DoublyStochastic reports whether the columns too sum to 1, to 1e-9, so that
// averaging keeps the mean over the nodes. Single entries may be negative.
func (w *Weights) DoublyStochastic() bool {
	sums := make([]float64, w.Len())
	for i := range w.Len() {
		for j, v := range w.Row(i) {
			sums[j] += v
		}
	}
	return !slices.ContainsFunc(sums, func(v float64) bool { return !(math.Abs(v-1) <= rowTolerance) })
}

// String returns a short description for messages and plots, such as
// "metropolis weights on ring (5 nodes, 5 edges), gamma 0.539".
func (w *Weights) String() string {
	return fmt.Sprintf("%s weights on %v, gamma %.3g", w.name, w.graph, w.Gamma())
}
