package topology

import (
	"fmt"
	"slices"
	"strings"

	"gonum.org/v1/gonum/mat"
)

// A Rule derives mixing weights W from a graph. W is zero outside of the graph and
// its diagonal, and its rows sum to 1.
type Rule uint8

const (
	// Metropolis, the default, has W_ij = 1/(1 + max(deg_i, deg_j)) for neighbours and
	// the rest of the row on the diagonal. It is doubly stochastic and converges on
	// every connected graph.
	Metropolis Rule = iota
	// EqualNeighbor is the paper's W_ij = 1/deg_i for neighbours (Alg. 1), with zeros
	// on the diagonal. It is doubly stochastic on regular graphs only, and does not
	// converge on bipartite ones.
	EqualNeighbor
	// LazyMetropolis is (I + W)/2 with W of Metropolis.
	LazyMetropolis
	// LazyEqualNeighbor is (I + W)/2 with W of EqualNeighbor; it converges on every
	// connected graph.
	LazyEqualNeighbor
	// BestConstant is I - 2/(l_1 + l_{L-1}) times the Laplacian of the graph, with l_1
	// its largest and l_{L-1} its smallest nonzero eigenvalue: the smallest gamma(W)
	// that one weight for all edges can give (Xiao and Boyd, Fast linear iterations
	// for distributed averaging, 2004, eq. 22). It is symmetric, its columns sum to 1,
	// and entries on the diagonal may be negative.
	BestConstant
)

var ruleNames = []string{"metropolis", "equal", "lazy-metropolis", "lazy-equal", "best-constant"}

// String returns the short name that ParseRule reads.
func (r Rule) String() string {
	if int(r) < len(ruleNames) {
		return ruleNames[r]
	}
	return fmt.Sprintf("Rule(%d)", uint8(r))
}

// Rules returns all rules.
func Rules() []Rule {
	return []Rule{Metropolis, EqualNeighbor, LazyMetropolis, LazyEqualNeighbor, BestConstant}
}

// ParseRule returns the rule with the given short name: metropolis, equal,
// lazy-metropolis, lazy-equal or best-constant.
func ParseRule(name string) (Rule, error) {
	if i := slices.Index(ruleNames, name); i >= 0 {
		return Rule(i), nil
	}
	return 0, fmt.Errorf("topology: unknown mixing weights %q; valid are %s", name, strings.Join(ruleNames, ", "))
}

// matrix returns W of the rule for a connected graph.
func (r Rule) matrix(g *Graph) (*mat.Dense, error) {
	switch r {
	case Metropolis, LazyMetropolis:
		w := fromOffDiagonal(g, func(i, j int) float64 {
			return 1 / float64(1+max(g.Degree(i), g.Degree(j)))
		})
		return lazyIf(r == LazyMetropolis, w), nil
	case EqualNeighbor, LazyEqualNeighbor:
		return lazyIf(r == LazyEqualNeighbor, neighborMean(g)), nil
	case BestConstant:
		alpha, err := bestConstant(g)
		if err != nil {
			return nil, err
		}
		return fromOffDiagonal(g, func(int, int) float64 { return alpha }), nil
	}
	return nil, fmt.Errorf("topology: %v is not a mixing rule", r)
}

// fromOffDiagonal returns the matrix with the given weights on the edges and what
// its rows lack to 1 on the diagonal.
func fromOffDiagonal(g *Graph, weight func(i, j int) float64) *mat.Dense {
	w := mat.NewDense(g.Len(), g.Len(), nil)
	for i := range g.Len() {
		rest := 1.0
		for _, j := range g.Neighbors(i) {
			v := weight(i, j)
			w.Set(i, j, v)
			rest -= v
		}
		w.Set(i, i, rest)
	}
	return w
}

// neighborMean returns W_ij = 1/deg_i for neighbours; a node without neighbours
// keeps its own value.
func neighborMean(g *Graph) *mat.Dense {
	w := mat.NewDense(g.Len(), g.Len(), nil)
	for i := range g.Len() {
		for _, j := range g.Neighbors(i) {
			w.Set(i, j, 1/float64(g.Degree(i)))
		}
		if g.Degree(i) == 0 {
			w.Set(i, i, 1)
		}
	}
	return w
}

// lazyIf returns (I + W)/2 in the memory of w if lazy, otherwise w.
func lazyIf(lazy bool, w *mat.Dense) *mat.Dense {
	if lazy {
		w.Scale(0.5, w)
		for i := range w.RawMatrix().Rows {
			w.Set(i, i, w.At(i, i)+0.5)
		}
	}
	return w
}

// bestConstant returns the edge weight of BestConstant.
func bestConstant(g *Graph) (float64, error) {
	n := g.Len()
	if n == 1 {
		return 0, nil
	}
	laplacian := mat.NewSymDense(n, nil)
	for i := range n {
		laplacian.SetSym(i, i, float64(g.Degree(i)))
		for _, j := range g.Neighbors(i) {
			laplacian.SetSym(i, j, -1)
		}
	}
	var eig mat.EigenSym
	if !eig.Factorize(laplacian, false) {
		return 0, fmt.Errorf("topology: eigenvalues of the Laplacian of %v did not converge", g)
	}
	l := eig.Values(nil) // ascending, l[0] = 0
	return 2 / (l[n-1] + l[1]), nil
}
