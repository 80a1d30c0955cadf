package consensus

import (
	"slices"

	"github.com/difalt/difalt/topology"
)

// A tree is a breadth-first spanning tree of the graph: what all nodes send towards
// the root reaches it in height rounds, and comes back in as many.
type tree struct {
	root, height int
	parent       []int // -1 of the root
	depth        []int
	levels       [][]int // the nodes of each depth, ascending
}

// newTree returns the tree from root in which the parent of a node is the first of
// its neighbours that are nearer to the root.
func newTree(g *topology.Graph, root int) *tree {
	l := g.Len()
	t := &tree{root: root, parent: make([]int, l), depth: g.Distances(root)}
	t.height = slices.Max(t.depth)
	t.levels = make([][]int, t.height+1)
	for i, d := range t.depth {
		t.parent[i] = -1
		t.levels[d] = append(t.levels[d], i)
		for _, j := range g.Neighbors(i) {
			if t.depth[j] == d-1 {
				t.parent[i] = j
				break
			}
		}
	}
	return t
}

// centre returns the first of the nodes from which the farthest node is nearest.
func centre(g *topology.Graph) int {
	best, least := 0, g.Len()
	for i := range g.Len() {
		if far := slices.Max(g.Distances(i)); far < least {
			best, least = i, far
		}
	}
	return best
}
