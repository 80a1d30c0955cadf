package masked

import (
	"slices"

	"github.com/difalt/difalt/topology"
)

// A Tree is a breadth-first spanning tree of a graph. Messages of all nodes reach the root in Height
// rounds, and a result reaches all nodes in as many. It is read only.
type Tree struct {
	Root, Height int
	Parent       []int // -1 for the root
	Depth        []int
	Levels       [][]int // the nodes of each depth, ascending

	order []int // all nodes, each followed by its descendants
	place []int // the position of every node in order
	size  []int // of every node: the number of its descendants and itself
}

// NewTree returns the tree of g with the given root. The parent of a node is the first of its neighbours
// that are nearer to the root.
func NewTree(g *topology.Graph, root int) *Tree {
	l := g.Len()
	t := &Tree{Root: root, Parent: make([]int, l), Depth: g.Distances(root)}
	t.Height = slices.Max(t.Depth)
	t.Levels = make([][]int, t.Height+1)
	for i, d := range t.Depth {
		t.Parent[i] = -1
		t.Levels[d] = append(t.Levels[d], i)
		for _, j := range g.Neighbors(i) {
			if t.Depth[j] == d-1 {
				t.Parent[i] = j
				break
			}
		}
	}
	t.setOrder()
	return t
}

// setOrder sets order, place and size.
func (t *Tree) setOrder() {
	l := len(t.Parent)
	t.order, t.place, t.size = make([]int, l), make([]int, l), slices.Repeat([]int{1}, l)
	for d := t.Height; d > 0; d-- {
		for _, i := range t.Levels[d] {
			t.size[t.Parent[i]] += t.size[i]
		}
	}
	next := make([]int, l) // of every node: the position of its next child
	for d, level := range t.Levels {
		for _, i := range level {
			if d > 0 {
				p := t.Parent[i]
				t.place[i] = next[p]
				next[p] += t.size[i]
			}
			next[i], t.order[t.place[i]] = t.place[i]+1, i
		}
	}
}

// subtree returns a node and its descendants.
func (t *Tree) subtree(top int) []int { return t.order[t.place[top]:][:t.size[top]] }

// ends returns the ends of the edge above a node, in the direction up or down.
func (t *Tree) ends(child int, up bool) (from, to int) {
	if up {
		return child, t.Parent[child]
	}
	return t.Parent[child], child
}
