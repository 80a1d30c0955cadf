// Package topology has graphs and mixing weights. Package consensus has the messages along their edges.
//
//	g, err := topology.Parse("er:0.5", 20, seed)          // the edges
//	w, err := topology.NewWeights(g, topology.Metropolis) // the weights of neighbours
//
// Nodes are numbered from 0. Graphs and weights are immutable, and safe for concurrent use.
package topology

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"

	"gonum.org/v1/gonum/mat"
)

// A Graph is an undirected graph without self loops or parallel edges over the nodes 0, ..., Len()-1. It
// need not be connected, but NewWeights refuses a graph that is not.
type Graph struct {
	name   string
	adj    [][]int // ascending
	edges  int
	center func() int // computed once
}

// Limits of a graph, about 2 GB of memory.
const (
	maxNodes = 10_000_000
	maxEdges = 100_000_000
)

// checkSize returns an error unless a graph of n nodes and about that many edges is allowed; what describes
// it.
func checkSize(what string, n int, edges float64) error {
	switch {
	case n < 1:
		return fmt.Errorf("topology: %s of %d nodes: need at least 1", what, n)
	case n > maxNodes:
		return fmt.Errorf("topology: %s of %d nodes: at most %d", what, n, maxNodes)
	case edges > maxEdges:
		return fmt.Errorf("topology: %s of %d nodes has about %.2g edges: at most %d", what, n, edges, maxEdges)
	}
	return nil
}

// build returns the graph of n nodes with the edges that link passes to add, about as many as edges. Self
// loops are dropped and repeated edges merged, so that a ring of two nodes is one edge. name is its short
// name in messages.
func build(name string, n int, edges float64, link func(add func(i, j int))) (*Graph, error) {
	if err := checkSize(name, n, edges); err != nil {
		return nil, err
	}
	g := &Graph{name: name, adj: make([][]int, n)}
	link(func(i, j int) {
		if i != j {
			g.adj[i] = append(g.adj[i], j)
			g.adj[j] = append(g.adj[j], i)
		}
	})
	for i, a := range g.adj {
		slices.Sort(a)
		g.adj[i] = slices.Clip(slices.Compact(a))
		g.edges += len(g.adj[i])
	}
	g.edges /= 2
	g.center = sync.OnceValue(g.findCenter)
	return g, nil
}

// Len returns the number of nodes L.
func (g *Graph) Len() int { return len(g.adj) }

// Edges returns the number of undirected edges.
func (g *Graph) Edges() int { return g.edges }

// has reports whether there is a node i.
func (g *Graph) has(i int) bool { return i >= 0 && i < len(g.adj) }

// Neighbors returns the neighbours N_i of node i, without i, in ascending order; a node that the graph lacks
// has no neighbours. The slice is read only.
func (g *Graph) Neighbors(i int) []int {
	if !g.has(i) {
		return nil
	}
	return g.adj[i]
}

// Degree returns the number of neighbours of node i.
func (g *Graph) Degree(i int) int { return len(g.Neighbors(i)) }

// String returns a short description such as "er:0.5 (20 nodes, 94 edges)".
func (g *Graph) String() string {
	return fmt.Sprintf("%s (%s, %s)", g.name, count(g.Len(), "node"), count(g.edges, "edge"))
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Connected reports whether every node can be reached from every other.
func (g *Graph) Connected() bool { return g.Len() > 0 && g.unreachable() < 0 }

// unreachable returns the first node that cannot be reached from node 0, or -1.
func (g *Graph) unreachable() int {
	return slices.Index(g.Distances(0), -1)
}

// bipartite reports whether a connected graph has two sides without edges inside: nodes at even and at odd
// distances from node 0, as in even rings, paths and stars.
func (g *Graph) bipartite() bool {
	dist := g.Distances(0)
	for i, a := range g.adj {
		for _, j := range a {
			if dist[i]%2 == dist[j]%2 {
				return false
			}
		}
	}
	return true
}

// FromEdges returns the graph of n nodes with the given edges. An edge is listed once, in either direction.
// It returns an error that names a self loop, a repeated edge or an edge to a node outside [0, n).
func FromEdges(n int, edges [][2]int) (*Graph, error) {
	if err := checkSize("edges", n, float64(len(edges))); err != nil {
		return nil, err
	}
	seen := make(map[[2]int]bool)
	for _, e := range edges {
		i, j := min(e[0], e[1]), max(e[0], e[1])
		switch {
		case i < 0 || j >= n:
			return nil, fmt.Errorf("topology: edge %d %d: the %s are numbered from 0", e[0], e[1], count(n, "node"))
		case i == j:
			return nil, fmt.Errorf("topology: edge %d %d is a self loop", e[0], e[1])
		case seen[[2]int{i, j}]:
			const once = "list an edge once, in either direction"
			return nil, fmt.Errorf("topology: edge %d %d is repeated: %s", e[0], e[1], once)
		}
		seen[[2]int{i, j}] = true
	}
	return build("edges", n, float64(len(edges)), func(add func(i, j int)) {
		for _, e := range edges {
			add(e[0], e[1])
		}
	})
}

// isNil reports whether m is nil or a nil pointer to a matrix.
func isNil(m mat.Matrix) bool {
	v := reflect.ValueOf(m)
	return m == nil || v.Kind() == reflect.Pointer && v.IsNil()
}

// FromAdjacency returns the graph with the adjacency matrix a, which must be square and symmetric with
// entries 0 and 1 and a zero diagonal.
func FromAdjacency(a mat.Matrix) (*Graph, error) {
	if isNil(a) {
		return nil, errors.New("topology: the adjacency matrix is nil")
	}
	n, cols := a.Dims()
	if n != cols {
		return nil, fmt.Errorf("topology: adjacency matrix is %d x %d: must be square", n, cols)
	}
	for i := range n {
		for j := range n {
			switch v := a.At(i, j); {
			case v != 0 && v != 1:
				return nil, fmt.Errorf("topology: adjacency matrix has %v in %s: must be 0 or 1", v, place(i, j))
			case i == j && v != 0:
				return nil, fmt.Errorf("topology: adjacency matrix has a self loop at node %d", i)
			case v != a.At(j, i):
				return nil, fmt.Errorf("topology: adjacency matrix is not symmetric: %v in %s, but %v in %s",
					v, place(i, j), a.At(j, i), place(j, i))
			}
		}
	}
	return fromSupport("adjacency", a)
}

// place names an entry of a matrix.
func place(i, j int) string { return fmt.Sprintf("row %d, column %d", i, j) }

// fromSupport returns the graph of the nonzero entries of a square matrix off its diagonal.
func fromSupport(name string, a mat.Matrix) (*Graph, error) {
	n, _ := a.Dims()
	return build(name, n, 0, func(add func(i, j int)) {
		for i := range n {
			for j := range i {
				if a.At(i, j) != 0 {
					add(i, j)
				}
			}
		}
	})
}
