package topology

import (
	"fmt"

	"gonum.org/v1/gonum/mat"
)

// FromEdges returns the graph of n nodes with the given edges. An edge is listed
// once, in either direction: self loops, repeated edges and nodes outside [0, n)
// are refused.
func FromEdges(n int, edges [][2]int) (*Graph, error) {
	seen := make(map[[2]int]bool)
	for _, e := range edges {
		i, j := min(e[0], e[1]), max(e[0], e[1])
		switch {
		case i < 0 || j >= n:
			return nil, fmt.Errorf("topology: edge %d %d: the %s are numbered from 0", e[0], e[1], count(n, "node"))
		case i == j:
			return nil, fmt.Errorf("topology: edge %d %d is a self loop", e[0], e[1])
		case seen[[2]int{i, j}]:
			return nil, fmt.Errorf("topology: edge %d %d is repeated: list an edge once, in either direction", e[0], e[1])
		}
		seen[[2]int{i, j}] = true
	}
	return build("edges", n, func(add func(i, j int)) {
		for _, e := range edges {
			add(e[0], e[1])
		}
	})
}

// FromAdjacency returns the graph with the adjacency matrix a, which must be
// square and symmetric with entries 0 and 1 and a zero diagonal.
func FromAdjacency(a mat.Matrix) (*Graph, error) {
	n, cols := a.Dims()
	if n != cols {
		return nil, fmt.Errorf("topology: adjacency matrix is %d x %d: must be square", n, cols)
	}
	for i := range n {
		for j := range n {
			switch v := a.At(i, j); {
			case v != 0 && v != 1:
				return nil, fmt.Errorf("topology: adjacency matrix has %v in row %d, column %d: must be 0 or 1", v, i, j)
			case i == j && v != 0:
				return nil, fmt.Errorf("topology: adjacency matrix has a self loop at node %d", i)
			case v != a.At(j, i):
				return nil, fmt.Errorf("topology: adjacency matrix is not symmetric: %v in row %d, column %d, but %v in row %d, column %d", v, i, j, a.At(j, i), j, i)
			}
		}
	}
	return fromSupport("adjacency", a)
}

// fromSupport returns the graph of the nonzero off-diagonal entries of a square
// matrix.
func fromSupport(name string, a mat.Matrix) (*Graph, error) {
	n, _ := a.Dims()
	return build(name, n, func(add func(i, j int)) {
		for i := range n {
			for j := range i {
				if a.At(i, j) != 0 {
					add(i, j)
				}
			}
		}
	})
}
