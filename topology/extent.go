package topology

import "slices"

// Distances returns the number of hops from a node to every node; -1 where there is no
// way.
func (g *Graph) Distances(from int) []int {
	s := newSweep(g.Len())
	s.run(g, from)
	return s.dist
}

// A sweep finds the distances from a node, breadth first.
type sweep struct{ dist, queue []int }

func newSweep(n int) *sweep { return &sweep{make([]int, n), make([]int, 0, n)} }

// run returns the number of hops to the farthest node that can be reached, and whether all
// can be.
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
	return s.dist[s.queue[len(s.queue)-1]], len(s.queue) == len(s.dist)
}

// Center returns the first node with the smallest eccentricity (the distance to the farthest
// node), for graphs with up to 512 nodes and for larger ones where few sweeps determine it.
// Otherwise it returns the best node that was tried, whose eccentricity is at most twice the
// smallest. It depends on the graph alone, and is -1 for a graph that is not connected.
func (g *Graph) Center() int { return g.extent().center }

// Diameter returns the largest number of hops between two nodes, the fewest rounds
// after which every node can have heard of every other, and whether it is exact, which it
// always is up to 512 nodes. Of a larger graph it may be a bound, at most twice the diameter,
// since time would grow with the square of the nodes. It is 0 for one node and
// -1 for a graph that is not connected.
func (g *Graph) Diameter() (hops int, exact bool) {
	e := g.extent()
	return e.most, e.least == e.most
}

// An extent says how far the nodes of a graph are from one another.
type extent struct {
	center      int
	least, most int // bounds on the diameter
}

const (
	exactNodes = 512 // for which there are as many sweeps as it takes
	sweeps     = 64  // for larger graphs
)

// eccentricities are bounds on the number of hops from each node to the farthest one. A sweep
// from a node settles its own, and by the triangle inequality narrows those of all others
// (Takes and Kosters, Computing the eccentricity distribution of large graphs, 2013).
type eccentricities struct {
	least, most    []int
	center, radius int // the best so far
	diameter       int // the largest so far
}

func (g *Graph) measure() extent {
	n := g.Len()
	e := &eccentricities{least: make([]int, n), most: make([]int, n), radius: n}
	for i, a := range g.adj { // those that are not neighbours are two hops away, at most in a chain
		e.least[i], e.most[i] = min(2, n-len(a)), n-len(a)
	}
	s := newSweep(n)
	for k, from := 0, 0; from >= 0 && (n <= exactNodes || k < sweeps); k++ {
		farthest, connected := s.run(g, from)
		if !connected {
			return extent{-1, -1, -1}
		}
		e.learn(from, farthest, s.dist)
		center, end := e.next()
		if from = center; center < 0 || end >= 0 && k%2 == 0 {
			from = end
		}
	}
	return extent{e.center, e.diameter, max(e.diameter, slices.Max(e.most))}
}

// learn takes over what a sweep has found.
func (e *eccentricities) learn(from, farthest int, dist []int) {
	e.least[from], e.most[from] = farthest, farthest
	for i, d := range dist {
		e.least[i], e.most[i] = max(e.least[i], farthest-d, d), min(e.most[i], farthest+d)
		if e.least[i] < e.most[i] {
			continue
		}
		e.diameter = max(e.diameter, e.most[i])
		if e.most[i] < e.radius || e.most[i] == e.radius && i < e.center {
			e.center, e.radius = i, e.most[i]
		}
	}
}

// next returns the node that is the likeliest to be the center, and the one that is the likeliest to be
// an end of the longest way; -1 for what is known.
func (e *eccentricities) next() (center, end int) {
	center, end = -1, -1
	for i, least := range e.least {
		most := e.most[i]
		if least == most {
			continue
		}
		if nearer := least < e.radius || least == e.radius && i < e.center; nearer && (center < 0 || least < e.least[center]) {
			center = i
		}
		if most > e.diameter && (end < 0 || most > e.most[end]) {
			end = i
		}
	}
	return center, end
}
