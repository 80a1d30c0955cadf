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

// fill sets the entries of W of the rule for a connected graph.
func (r Rule) fill(w *Weights) error {
	g := w.graph
	switch r {
	case Metropolis, LazyMetropolis:
		w.setOffDiagonal(func(i, j int) float64 { return 1 / float64(1+max(g.Degree(i), g.Degree(j))) })
	case EqualNeighbor, LazyEqualNeighbor:
		w.setNeighborMean()
	case BestConstant:
		alpha, err := bestConstant(g)
		if err != nil {
			return err
		}
		w.setOffDiagonal(func(int, int) float64 { return alpha })
	default:
		return fmt.Errorf("topology: %v is not a mixing rule", r)
	}
	if r == LazyMetropolis || r == LazyEqualNeighbor {
		w.makeLazy()
	}
	return nil
}

// setOffDiagonal sets the weights on the edges to the given ones, and the diagonal to what
// the rows lack to 1.
func (w *Weights) setOffDiagonal(weight func(i, j int) float64) {
	for i, links := range w.links {
		rest := 1.0
		for k, j := range w.graph.Neighbors(i) {
			links[k] = weight(i, j)
			rest -= links[k]
		}
		w.diagonal[i] = rest
	}
}

// setNeighborMean sets W_ij = 1/deg_i for neighbours; a node without neighbours
// keeps its own value.
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

// makeLazy turns W into (I + W)/2.
func (w *Weights) makeLazy() {
	for i, links := range w.links {
		for k := range links {
			links[k] *= 0.5
		}
		w.diagonal[i] = 0.5*w.diagonal[i] + 0.5
	}
}

// bestConstant returns the edge weight of BestConstant.
func bestConstant(g *Graph) (float64, error) {
	n := g.Len()
	if n == 1 {
		return 0, nil
	}
	if n > denseNodes {
		low, high := laplacianExtremes(g)
		return 2 / (high + low), nil
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

// laplacianExtremes returns the smallest eigenvalue of the Laplacian of a connected graph but
// 0, and the largest.
func laplacianExtremes(g *Graph) (low, high float64) {
	degree := 0
	for i := range g.Len() {
		degree = max(degree, g.Degree(i))
	}
	return extremes(2*float64(degree), unit(slices.Repeat([]float64{1}, g.Len())), func(y, x []float64) {
		for i, a := range g.adj {
			y[i] = float64(len(a)) * x[i]
			for _, j := range a {
				y[i] -= x[j]
			}
		}
	})
}
