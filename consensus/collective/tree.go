package collective

import (
	"slices"

	"github.com/difalt/difalt/topology"
)

// A Tree is a breadth-first spanning tree of the graph: what all nodes send towards
// the root reaches it in Height rounds, and comes back in as many.
type Tree struct {
	Root, Height int
	Parent       []int // -1 of the root
	Depth        []int
	Levels       [][]int // the nodes of each depth, ascending

	order        []int // all nodes, each before those that are below it
	place, below []int // of every node: its place in order, and how many are below it, with itself
}

// NewTree returns the tree from root in which the parent of a node is the first of
// its neighbours that are nearer to the root.
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

// setOrder sets the order of the nodes.
func (t *Tree) setOrder() {
	l := len(t.Parent)
	t.order, t.place, t.below = make([]int, l), make([]int, l), slices.Repeat([]int{1}, l)
	for d := t.Height; d > 0; d-- {
		for _, i := range t.Levels[d] {
			t.below[t.Parent[i]] += t.below[i]
		}
	}
	next := make([]int, l) // of every node: where its next child goes
	for d, level := range t.Levels {
		for _, i := range level {
			if d > 0 {
				p := t.Parent[i]
				t.place[i] = next[p]
				next[p] += t.below[i]
			}
			next[i], t.order[t.place[i]] = t.place[i]+1, i
		}
	}
}

// subtree returns a node and all that are below it.
func (t *Tree) subtree(top int) []int { return t.order[t.place[top]:][:t.below[top]] }

// A Way says how far messages have come along a tree: up to the root, one level a round,
// and down again, or only down.
type Way struct {
	Tree     *Tree
	DownOnly bool
	Done     int // rounds
}

// Rounds returns how many rounds the whole way takes.
func (w Way) Rounds() int {
	if w.DownOnly {
		return w.Tree.Height
	}
	return 2 * w.Tree.Height
}

// Level returns the depth of the nodes that send in the next round, and whether they
// send to their parent.
func (w Way) Level() (depth int, up bool) {
	if up = !w.DownOnly && w.Done < w.Tree.Height; up {
		return w.Tree.Height - w.Done, true
	}
	depth = w.Done
	if !w.DownOnly {
		depth -= w.Tree.Height
	}
	return depth, false
}

// Sends reports whether a node sends to a neighbour in the next round.
func (w Way) Sends(from, to int) bool {
	if w.Done == w.Rounds() {
		return false
	}
	depth, up := w.Level()
	if w.Tree.Depth[from] != depth {
		return false
	}
	if up {
		return w.Tree.Parent[from] == to
	}
	return w.Tree.Parent[to] == from
}
