package topology

import "slices"

// Distances returns the number of hops from a node to every node; -1 for a node that cannot be reached.
// Nothing can be reached from a node that the graph lacks.
func (g *Graph) Distances(from int) []int {
	dist := slices.Repeat([]int{-1}, g.Len())
	if !g.has(from) {
		return dist
	}
	queue := make([]int, 1, g.Len())
	dist[from], queue[0] = 0, from
	for k := 0; k < len(queue) && len(queue) < len(dist); k++ {
		i := queue[k]
		for _, j := range g.adj[i] {
			if dist[j] < 0 {
				dist[j] = dist[i] + 1
				queue = append(queue, j)
			}
		}
	}
	return dist
}

// Center returns the first node whose distance to the farthest node is the smallest, for graphs with up to
// 512 nodes. For a larger graph it is the middle of a long path, whose distance to the farthest node is at
// most twice the smallest. It depends on the graph alone, and is -1 for a graph that is not connected.
func (g *Graph) Center() int {
	if g.Len() == 0 {
		return -1
	}
	return g.center()
}

// allSweeps is the largest number of nodes for which findCenter searches from every node.
const allSweeps = 512

func (g *Graph) findCenter() int {
	dist := g.Distances(0)
	if slices.Contains(dist, -1) {
		return -1
	}
	candidates := make([]int, min(g.Len(), allSweeps))
	for i := range candidates {
		candidates[i] = i
	}
	if g.Len() > allSweeps {
		// Two searches find the ends of a path that is often the longest; in a tree it always is.
		dist = g.Distances(farthest(dist))
		middle := farthest(dist)
		for from := dist[middle]; 2*dist[middle] > from; {
			nearer := func(j int) bool { return dist[j] == dist[middle]-1 }
			middle = g.adj[middle][slices.IndexFunc(g.adj[middle], nearer)]
		}
		candidates = []int{0, middle}
	}
	center, least := 0, g.Len()
	for _, i := range candidates {
		if hops := slices.Max(g.Distances(i)); hops < least {
			center, least = i, hops
		}
	}
	return center
}

// farthest returns the first of the nodes with the largest distance.
func farthest(dist []int) int { return slices.Index(dist, slices.Max(dist)) }
