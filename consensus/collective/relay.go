package collective

import (
	"fmt"
	"slices"

	"github.com/difalt/difalt/consensus/wire"
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
// its neighbours that are nearer to the root. It panics if g is nil.
func NewTree(g *topology.Graph, root int) *Tree {
	if g == nil {
		panic("consensus: tree of a graph that is nil")
	}
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

// ends returns the ends of the edge above a node, in the direction up or down.
func (t *Tree) ends(child int, up bool) (from, to int) {
	if up {
		return child, t.Parent[child]
	}
	return t.Parent[child], child
}

// A Content is what a relay adds up: how the numbers of a node become words, and how the sum
// becomes what all nodes get.
type Content interface {
	// Up returns the form of what goes up, and Down that of what comes down, in which whole words
	// are float64. Neither changes between the start and the end of a relay.
	Up() Form
	Down() Form
	// Fill adds the words of hosted node i to words. It returns false if a number of the node
	// cannot be sent.
	Fill(words []uint64, i int) bool
	// Finish makes of the total what goes down. It may overwrite the total, whose words are
	// signed integers.
	Finish(down, total []uint64)
}

// A relay carries words along a tree, one level a round: up to the root, where parents add what
// comes from their children, and the result down again unchanged. Words are integers modulo a
// power of two, so that all nodes end with the same bits, whatever the tree and wherever they
// live. Where nodes live in other processes, every node adds masks to its own words, which
// cancel in the total: nothing but that can be learnt from what is sent. A relay that goes only
// down broadcasts what the root has.
type relay struct {
	State
	rounds   *wire.Rounds
	keys     *Keys
	channel  wire.Channel
	tree     *Tree
	downOnly bool
	content  Content
	up, down Form
	decoded  []uint64 // the words of one link
}

// A State is what a relay keeps from one round to the next.
type State struct {
	Phase   Phase
	Masked  bool
	Numbers int      // of a header reduction
	Round   int      // done
	Up      []uint64 // one row of words a hosted node: of what is below it, with masks; see rows
	Silent  []bool   // the hosted nodes that cannot send what they have
	Down    []uint64 // the result, where it has arrived
}

func (s *State) copyFrom(t *State) {
	up, silent, down := s.Up, s.Silent, s.Down
	*s = *t
	s.Up, s.Silent, s.Down = append(up[:0], t.Up...), append(silent[:0], t.Silent...), append(down[:0], t.Down...)
}

// prepare makes room for the words of a content.
func (r *relay) prepare(c Content) {
	r.content, r.up, r.down = c, c.Up(), c.Down()
	if r.downOnly {
		r.up = nil
	}
	r.Round = 0
	r.Up = zeros(r.Up, r.rows()*r.up.words())
	r.Down = zeros(r.Down, r.down.words())
	r.Silent = slices.Grow(r.Silent[:0], len(r.rounds.Hosted))[:len(r.rounds.Hosted)]
	clear(r.Silent)
	r.decoded = zeros(r.decoded, max(r.up.words(), r.down.words()))
}

func zeros(v []uint64, n int) []uint64 {
	v = slices.Grow(v[:0], n)[:n]
	clear(v)
	return v
}

// fill makes words of what the hosted nodes have.
func (r *relay) fill(c Content) {
	r.prepare(c)
	for i, node := range r.rounds.Hosted {
		switch {
		case !r.downOnly:
			r.Silent[i] = !c.Fill(r.row(i), i)
		case node == r.tree.Root:
			r.Silent[i] = !c.Fill(r.Down, i)
		}
		if r.Silent[i] {
			r.rounds.Fail(r.channel, i)
		}
	}
	if r.tree.Height == 0 && !r.downOnly {
		r.finish(0)
	}
}

// mask masks the words of the hosted nodes. It must be called by all nodes between the same
// operations, since of every stream of pads the next words are used.
func (r *relay) mask() {
	for i := range r.rounds.Hosted {
		r.keys.mask(r.row(i), r.up, i)
	}
}

// finish makes of the total, which the root has as hosted node i, what goes down.
func (r *relay) finish(i int) {
	r.up.normalize(r.row(i))
	r.content.Finish(r.Down, r.row(i))
}

// rows returns how many rows of words there are: one where all nodes live here, since nobody
// sees how they are added up.
func (r *relay) rows() int {
	if r.rounds.AllHosted() {
		return 1
	}
	return len(r.rounds.Hosted)
}

// row returns the words of hosted node i.
func (r *relay) row(i int) []uint64 {
	n := r.up.words()
	i = min(i, r.rows()-1)
	return r.Up[i*n:][:n]
}

// Rounds returns how many rounds there are.
func (r *relay) Rounds() int {
	if r.downOnly {
		return r.tree.Height
	}
	return 2 * r.tree.Height
}

// level returns the depth of the nodes that send to their parents in the next round, or to which
// these send.
func (r *relay) level() (depth int, up bool) {
	switch {
	case r.downOnly:
		return r.Round + 1, false
	case r.Round < r.tree.Height:
		return r.tree.Height - r.Round, true
	}
	return r.Round - r.tree.Height + 1, false
}

// sends reports whether a node sends what is due to a neighbour in the next round.
func (r *relay) sends(from, to int) bool {
	depth, up := r.level()
	if !up {
		from, to = to, from
	}
	return r.Round < r.Rounds() && r.tree.Depth[from] == depth && r.tree.Parent[from] == to
}

// Channel implements wire.Operation.
func (r *relay) Channel() wire.Channel { return r.channel }

// Prepare implements wire.Operation: everything has been prepared.
func (r *relay) Prepare() {}

// Sends implements wire.Operation. What goes only down is
// answered by a header, so that a root cannot run away from nodes that are slow.
func (r *relay) Sends(from, to int) bool { return r.sends(from, to) || r.downOnly && r.sends(to, from) }

// AppendTo appends what goes along link k in the next round.
func (r *relay) AppendTo(dst []byte, k int) []byte {
	link := r.rounds.Links[k]
	i := r.rounds.Index[link.Node]
	switch _, up := r.level(); {
	case !r.sends(link.Node, link.Peer) || r.Silent[i]:
		return dst
	case up:
		return r.up.append(dst, r.row(i))
	}
	return r.down.append(dst, r.Down)
}

// Check returns an error if p, which has come along link k, is not what is due.
func (r *relay) Check(k int, p []byte) error {
	link, form := r.rounds.Links[k], r.up
	_, up := r.level()
	if !up {
		form = r.down
	}
	switch {
	case !r.sends(link.Peer, link.Node):
		return wire.NothingDue(p)
	case len(p) != form.Len():
		return fmt.Errorf("%d bytes of a collective operation where %d are due", len(p), form.Len())
	case up:
		return nil
	}
	form.read(r.decoded, p)
	return form.finite(r.decoded)
}

// step takes over what the nodes have sent in this round, and returns how many messages the hosted
// ones have sent, each of how many bytes, and how many answers. code returns what has come along
// a link.
func (r *relay) step(code func(k int) []byte) (messages, bytes, answers int64) {
	depth, up := r.level()
	form := r.up
	if !up {
		form = r.down
	}
	for _, child := range r.tree.Levels[depth] {
		from, to := r.tree.ends(child, up)
		sender, receiver := r.rounds.Index[from], r.rounds.Index[to]
		if sender >= 0 {
			messages++
		}
		if receiver >= 0 && r.downOnly {
			answers++
		}
		switch {
		case receiver < 0:
		case sender < 0:
			r.receive(receiver, code(r.rounds.Number(to, from)), up)
		default: // what it has is here
			r.Silent[receiver] = r.Silent[receiver] || r.Silent[sender]
			if up && r.rows() > 1 {
				r.up.add(r.row(receiver), r.row(sender))
			}
		}
	}
	r.Round++
	if root := r.rounds.Index[r.tree.Root]; r.Round == r.tree.Height && up && root >= 0 {
		r.finish(root)
	}
	return messages, int64(form.Len()), answers
}

// receive takes over what has come to hosted node i.
func (r *relay) receive(i int, p []byte, up bool) {
	switch {
	case len(p) == 0: // somebody there has a number that cannot be sent
		r.Silent[i] = true
	case up:
		words := r.decoded[:r.up.words()]
		r.up.read(words, p)
		r.up.add(r.row(i), words)
	default:
		r.down.read(r.Down, p)
	}
}
