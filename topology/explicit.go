package topology

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/mat"
)

// An edgeSet collects edges of n nodes, and refuses what a simple graph cannot
// hold.
type edgeSet struct {
	n    int
	seen map[[2]int]bool
}

func (s *edgeSet) add(i, j int) error {
	for _, v := range [2]int{i, j} {
		if v < 0 || v >= s.n {
			return fmt.Errorf("edge %d %d: no node %d among %s numbered from 0", i, j, v, count(s.n, "node"))
		}
	}
	if i == j {
		return fmt.Errorf("edge %d %d is a self loop", i, j)
	}
	e := [2]int{min(i, j), max(i, j)}
	if s.seen[e] {
		return fmt.Errorf("edge %d %d is repeated: list an edge once, in either direction", i, j)
	}
	if s.seen == nil {
		s.seen = make(map[[2]int]bool)
	}
	s.seen[e] = true
	return nil
}

func (s *edgeSet) graph(name string) (*Graph, error) {
	return build(name, s.n, func(add func(i, j int)) {
		for e := range s.seen {
			add(e[0], e[1])
		}
	})
}

// FromEdges returns the graph of n nodes with the given edges. An edge is listed
// once, in either direction: self loops, repeated edges and nodes outside [0, n)
// are refused.
func FromEdges(n int, edges [][2]int) (*Graph, error) {
	s := &edgeSet{n: n}
	for _, e := range edges {
		if err := s.add(e[0], e[1]); err != nil {
			return nil, fmt.Errorf("topology: %w", err)
		}
	}
	return s.graph("edges")
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

// ReadEdges reads the edges of a graph with the given number of nodes: one pair
// "i j" of node numbers, from 0, in a line. Blank lines, and whatever follows a #,
// are skipped. As in FromEdges an edge is listed once, in either direction. Errors
// give the line.
func ReadEdges(r io.Reader, nodes int) (*Graph, error) {
	s := &edgeSet{n: nodes}
	lines := bufio.NewScanner(r)
	line := 0
	for lines.Scan() {
		line++
		text, _, _ := strings.Cut(lines.Text(), "#")
		fields := strings.Fields(text)
		if len(fields) == 0 {
			continue
		}
		if err := s.addFields(fields); err != nil {
			return nil, fmt.Errorf("topology: line %d: %w", line, err)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("topology: line %d: %w", line+1, err)
	}
	return s.graph("edges")
}

func (s *edgeSet) addFields(fields []string) error {
	if len(fields) != 2 {
		return fmt.Errorf("want two node numbers, have %d fields", len(fields))
	}
	var e [2]int
	for k, f := range fields {
		v, err := strconv.Atoi(f)
		if err != nil {
			return fmt.Errorf("%q is not a node number", f)
		}
		e[k] = v
	}
	return s.add(e[0], e[1])
}
