package topology

// Distances returns the number of hops from a node to every node; -1 for a node that cannot be reached.
func (g *Graph) Distances(from int) []int {
	s := newSweep(g.Len())
	s.run(g, from)
	return s.dist
}

// A sweep is a breadth-first search.
type sweep struct{ dist, queue []int }

func newSweep(n int) *sweep { return &sweep{make([]int, n), make([]int, 0, n)} }

// run sets the distances from a node. It returns the last node of the search, which is one of the farthest,
// and whether all nodes can be reached.
func (s *sweep) run(g *Graph, from int) (farthest int, all bool) {
	for i := range s.dist {
		s.dist[i] = -1
	}
	s.dist[from], s.queue = 0, append(s.queue[:0], from)
	for k := 0; k < len(s.queue) && len(s.queue) < len(s.dist); k++ {
		i := s.queue[k]
		for _, j := range g.adj[i] {
			if s.dist[j] < 0 {
				s.dist[j] = s.dist[i] + 1
				s.queue = append(s.queue, j)
			}
		}
	}
	return s.queue[len(s.queue)-1], len(s.queue) == len(s.dist)
}

// Center returns the first node whose distance to the farthest node is the smallest, for graphs with up to
// 512 nodes. For a larger graph it is the middle of a long path, whose distance to the farthest node is at
// most twice the smallest. It depends on the graph alone, and is -1 for a graph that is not connected.
func (g *Graph) Center() int { return g.extent().center }

// Diameter returns the largest number of hops between two nodes, and whether it is exact, which it is up to
// 512 nodes. For a larger graph it may be an upper bound, at most twice the diameter. It is -1 for a graph
// that is not connected.
func (g *Graph) Diameter() (hops int, exact bool) {
	e := g.extent()
	return e.most, e.least == e.most
}

// An extent has the center of a graph and bounds on its diameter.
type extent struct{ center, least, most int }

// allSweeps is the largest number of nodes for which measure searches from every node.
const allSweeps = 512

func (g *Graph) measure() extent {
	s := newSweep(g.Len())
	end, connected := s.run(g, 0)
	if !connected {
		return extent{-1, -1, -1}
	}
	e := extent{0, s.dist[end], 2 * s.dist[end]}
	radius := s.dist[end] // distance of center to the farthest node
	take := func(from int) (farthest int) {
		farthest, _ = s.run(g, from)
		hops := s.dist[farthest]
		if hops < radius {
			e.center, radius = from, hops
		}
		e.least, e.most = max(e.least, hops), min(e.most, 2*hops)
		return farthest
	}
	if g.Len() <= allSweeps {
		for i := range g.Len() {
			take(i)
		}
		e.most = e.least
		return e
	}
	// Two sweeps find the ends of a path that is often the longest; in a tree it always is.
	end = take(take(end))
	middle := end
	for from := s.dist[end]; 2*s.dist[middle] > from; {
		for _, j := range g.adj[middle] {
			if s.dist[j] == s.dist[middle]-1 {
				middle = j
				break
			}
		}
	}
	take(middle)
	e.most = max(e.most, e.least)
	return e
}
