package topology

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc64"
	"math"
	"slices"
	"strings"
	"sync"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// rowTolerance bounds the distance of the sum of a row of a given W from 1.
const rowTolerance = 1e-9

// Weights are the mixing weights W of a network: an L x L matrix whose rows sum to 1, zero for two nodes
// without an edge. W^k converges, so that AGREE (Alg. 1) brings all nodes to one value. The memory is
// proportional to the edges.
type Weights struct {
	graph    *Graph
	name     string // of the rule
	diagonal []float64
	links    [][]float64 // links[i][k] is W_ij of the neighbour j = Neighbors(i)[k]

	// stationary is the unit vector q for which S = diag(q) W diag(q)^-1 is symmetric with S q = q; nil if
	// unknown.
	stationary []float64
	gamma      func() float64 // computed once
}

func newWeights(g *Graph, name string) *Weights {
	w := &Weights{graph: g, name: name, diagonal: make([]float64, g.Len()), links: make([][]float64, g.Len())}
	for i := range w.links {
		w.links[i] = make([]float64, g.Degree(i))
	}
	w.gamma = sync.OnceValue(w.measure)
	return w
}

// NewWeights returns the weights of a rule on a graph. It returns an error if the graph is not connected,
// which names a node that cannot be reached. So it does if averaging would not converge, as with
// EqualNeighbor on a bipartite graph.
func NewWeights(g *Graph, rule Rule) (*Weights, error) {
	if err := checkConnected(g); err != nil {
		return nil, err
	}
	w := newWeights(g, rule.String())
	if err := rule.fill(w); err != nil {
		return nil, err
	}
	// EqualNeighbor gives a matrix that is similar to a symmetric one; all other rules give symmetric
	// matrices.
	w.stationary = slices.Repeat([]float64{1}, g.Len())
	if rule == EqualNeighbor && g.Len() > 1 {
		for i := range w.stationary {
			w.stationary[i] = math.Sqrt(float64(g.Degree(i)))
		}
	}
	unit(w.stationary)
	if gamma, ok := w.converges(); !ok {
		return nil, w.diverges(gamma)
	}
	return w, nil
}

// WeightsOf returns a copy of given weights. m must be square and finite, with rows that sum to 1 to 1e-9.
// Its nonzero entries must make a connected undirected graph, with m_ij = 0 exactly where m_ji = 0. It
// returns an error that names the row and column of a failure, or if averaging would not converge. Negative
// entries are allowed; they take the time of Gamma, to find out whether averaging converges.
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
	if gamma, ok := w.converges(); !ok {
		return nil, w.diverges(gamma)
	}
	return w, nil
}

// converges reports whether the powers of W converge. If they do not, gamma is gamma(W).
func (w *Weights) converges() (gamma float64, ok bool) {
	if w.oscillates() {
		return 1, false
	}
	if !w.hasNegative() {
		// The graph is connected, and W has no period (Perron and Frobenius).
		return 0, true
	}
	gamma = w.Gamma()
	return gamma, gamma < gammaLimit // false for NaN
}

// hasNegative reports whether an entry of W is negative.
func (w *Weights) hasNegative() bool {
	negative := func(v float64) bool { return v < 0 }
	if slices.ContainsFunc(w.diagonal, negative) {
		return true
	}
	return slices.ContainsFunc(w.links, func(row []float64) bool { return slices.ContainsFunc(row, negative) })
}

// oscillates reports whether averaging exchanges the values of two sets of nodes for ever, if no entry is
// negative.
func (w *Weights) oscillates() bool {
	return !slices.ContainsFunc(w.diagonal, func(v float64) bool { return v != 0 }) && w.graph.bipartite()
}

// diverges returns the error of weights whose powers do not converge.
func (w *Weights) diverges(gamma float64) error {
	why := "averaging does not converge"
	if w.oscillates() {
		why = "the graph is bipartite and no node weighs its own value, so that averaging oscillates for ever"
	}
	return fmt.Errorf("topology: %v have gamma(W) = %.6g: %s; use %v weights", w, gamma, why, Metropolis)
}

func checkConnected(g *Graph) error {
	if g == nil {
		return errors.New("topology: weights need a graph")
	}
	if g.Len() == 0 {
		return errors.New("topology: weights on a graph of 0 nodes")
	}
	if i := g.unreachable(); i >= 0 {
		return fmt.Errorf("topology: %v is not connected: node %d cannot be reached from node 0", g, i)
	}
	return nil
}

// checkWeights returns an error unless w is square and finite with symmetric support and rows that sum to 1.
func checkWeights(w mat.Matrix) error {
	if isNil(w) {
		return errors.New("topology: the matrix of the weights is nil")
	}
	n, cols := w.Dims()
	if n != cols {
		return fmt.Errorf("topology: weights are %d x %d: must be square", n, cols)
	}
	for i := range n {
		sum := 0.0
		for j := range n {
			v := w.At(i, j)
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return fmt.Errorf("topology: weights have %v in %s", v, place(i, j))
			}
			if (v == 0) != (w.At(j, i) == 0) {
				return fmt.Errorf("topology: weights link two nodes in one direction only: %v in %s, but %v in %s",
					v, place(i, j), w.At(j, i), place(j, i))
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

// At returns W_ij, the weight of the value of node j at node i, and 0 if there is no such node.
func (w *Weights) At(i, j int) float64 {
	if i == j && w.graph.has(i) {
		return w.diagonal[i]
	}
	if k, linked := slices.BinarySearch(w.graph.Neighbors(i), j); linked {
		return w.links[i][k]
	}
	return 0
}

// Dense returns a copy of W.
func (w *Weights) Dense() *mat.Dense {
	m := mat.NewDense(w.Len(), w.Len(), nil)
	m.Apply(func(i, j int, _ float64) float64 { return w.At(i, j) }, m)
	return m
}

// Fingerprint returns a checksum of the positions and bits of the entries of W. Processes compare it before
// they start.
func (w *Weights) Fingerprint() uint64 {
	table, sum := crc64.MakeTable(crc64.ECMA), uint64(0)
	for i, links := range w.links {
		row := binary.LittleEndian.AppendUint64(nil, math.Float64bits(w.diagonal[i]))
		for k, j := range w.graph.Neighbors(i) {
			row = binary.LittleEndian.AppendUint64(row, uint64(j))
			row = binary.LittleEndian.AppendUint64(row, math.Float64bits(links[k]))
		}
		sum = crc64.Update(sum, table, row)
	}
	return sum
}

// String returns a short description such as "metropolis weights on ring (5 nodes, 5 edges)".
func (w *Weights) String() string { return fmt.Sprintf("%s weights on %v", w.name, w.graph) }

// A Rule derives mixing weights W from a graph.
type Rule uint8

const (
	// Metropolis, the default, has W_ij = 1/(1 + max(deg_i, deg_j)) for neighbours; the diagonal completes
	// the sum of a row to 1. It is doubly stochastic and converges on every connected graph.
	Metropolis Rule = iota
	// EqualNeighbor is the paper's W_ij = 1/deg_i for neighbours (Alg. 1), with zeros on the diagonal. It
	// is doubly stochastic on regular graphs only, and does not converge on bipartite ones.
	EqualNeighbor
	// LazyMetropolis is (I + W)/2 with the W of Metropolis.
	LazyMetropolis
)

var ruleNames = []string{"metropolis", "equal", "lazy-metropolis"}

// String returns metropolis, equal or lazy-metropolis.
func (r Rule) String() string {
	if int(r) < len(ruleNames) {
		return ruleNames[r]
	}
	return fmt.Sprintf("Rule(%d)", uint8(r))
}

// ParseRule returns the rule with the given name.
func ParseRule(name string) (Rule, error) {
	if i := slices.Index(ruleNames, name); i >= 0 {
		return Rule(i), nil
	}
	return 0, fmt.Errorf("topology: unknown mixing weights %q; valid are %s", name, strings.Join(ruleNames, ", "))
}

// fill sets the entries of W for a connected graph.
func (r Rule) fill(w *Weights) error {
	g := w.graph
	switch r {
	case Metropolis, LazyMetropolis:
		for i, links := range w.links {
			w.diagonal[i] = 1
			for k, j := range g.Neighbors(i) {
				links[k] = 1 / float64(1+max(g.Degree(i), g.Degree(j)))
				w.diagonal[i] -= links[k]
			}
		}
	case EqualNeighbor:
		w.setNeighborMean()
	default:
		return fmt.Errorf("topology: %v is not a mixing rule", r)
	}
	if r == LazyMetropolis { // (I + W)/2
		for i, links := range w.links {
			floats.Scale(0.5, links)
			w.diagonal[i] = float64(0.5*w.diagonal[i]) + 0.5
		}
	}
	return nil
}

// setNeighborMean sets W_ij = 1/deg_i for neighbours; a node without neighbours keeps its own value.
func (w *Weights) setNeighborMean() {
	for i, links := range w.links {
		for k := range links {
			links[k] = 1 / float64(len(links))
		}
		if len(links) == 0 {
			w.diagonal[i] = 1
		}
	}
}
