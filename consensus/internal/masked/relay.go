package masked

import (
	"fmt"
	"slices"

	"github.com/difalt/difalt/consensus/internal/frame"
	"github.com/difalt/difalt/consensus/internal/rounds"
	"github.com/difalt/difalt/consensus/transport"
)

// A Summand converts the numbers of nodes to integers for a relay, and their total to a result.
type Summand interface {
	// Up returns the layout of the words that go up the tree, and Down the layout of the words that come
	// down. A word of 64 bits is a float64. Neither layout changes during an operation.
	Up() Layout
	Down() Layout
	// Fill adds the words of hosted node i to words. If they cannot be represented, it returns an error and
	// leaves words as they are.
	Fill(words []uint64, i int) error
	// Finish writes the result to down. It may overwrite total, which holds signed integers. A result that is
	// not finite makes the operation invalid.
	Finish(down, total []uint64)
}

// An outcome is the status of an operation at its end. The root sends it down with the result.
type outcome uint64

const (
	success      outcome = iota
	invalid              // a node has numbers that cannot be represented
	inconsistent         // the masks have not cancelled
	outcomes
)

// Two words end every message towards the root: the number of nodes whose numbers were invalid, and a zero.
// The total of the zeros is zero exactly if all masks cancel.
const statusWords = 2

// A relay adds up words along a tree, one level in a round: up to the root, where parents add the words of
// their children, and the result down again. Words are integers modulo a power of two, so that all nodes
// get equal bits whatever the tree and wherever they live. Where nodes live in other processes, every
// node adds masks to its own words. A relay with downOnly set broadcasts the words of the root.
type relay struct {
	engine   *rounds.Engine
	keys     *keys // nil: no masks
	downOnly bool

	channel    frame.Channel
	tree       *Tree
	summand    Summand
	layoutUp   Layout
	layoutDown Layout
	round      int      // the number of rounds that are done
	sums       []uint64 // one row for every hosted node: the words of its subtree so far; see rows
	result     []uint64 // valid once it has arrived
	decoded    []uint64 // the words of one link
	ownInvalid error    // of a hosted node
}

// Start implements rounds.Operation: it prepares the words of the hosted nodes, and masks them.
func (r *relay) Start() {
	s := r.summand
	r.round, r.ownInvalid = 0, nil
	r.layoutUp, r.layoutDown = r.layoutUp[:0], append(append(r.layoutDown[:0], s.Down()...), Segment{1, outcomeBits})
	if !r.downOnly {
		r.layoutUp = append(append(r.layoutUp, s.Up()...), countOf(1, r.engine.Graph.Len()), Segment{1, wordBits})
	}
	r.sums = zeros(r.sums, r.rows()*r.layoutUp.words())
	r.result = zeros(r.result, r.layoutDown.words())
	r.decoded = zeros(r.decoded, max(r.layoutUp.words(), r.layoutDown.words()))
	r.fill()
	if !r.downOnly {
		r.keys.mask(r)
	}
	if r.tree.Height == 0 && !r.downOnly {
		r.finish(0)
	}
}

const outcomeBits = 8

func zeros(v []uint64, n int) []uint64 {
	v = slices.Grow(v[:0], n)[:n]
	clear(v)
	return v
}

// fill converts the numbers of the hosted nodes.
func (r *relay) fill() {
	for i, node := range r.engine.Hosted {
		words := r.result
		switch {
		case !r.downOnly:
			words = r.row(i)
		case node != r.tree.Root:
			continue
		}
		if err := r.summand.Fill(words, i); err != nil {
			r.ownInvalid = fmt.Errorf("%w: node %d, %v: %w", rounds.ErrNotFinite, node, r.channel, err)
			if r.downOnly {
				words[len(words)-1] = uint64(invalid)
			} else {
				words[len(words)-statusWords]++
			}
		}
	}
}

// finish computes the result from the total, which the root has as hosted node i.
func (r *relay) finish(i int) {
	total, last := r.row(i), len(r.result)-1
	r.layoutUp.normalize(total)
	count, check := int64(total[len(total)-statusWords]), total[len(total)-1]
	switch {
	case check != 0 || count < 0 || count > int64(r.engine.Graph.Len()):
		r.result[last] = uint64(inconsistent)
	case count > 0:
		r.result[last] = uint64(invalid)
	default:
		r.summand.Finish(r.result[:last], total[:len(total)-statusWords])
		if r.layoutDown.finite(r.result) != nil {
			clear(r.result)
			r.result[last] = uint64(invalid)
		}
	}
}

// err returns the error of a completed operation.
func (r *relay) err() error {
	switch outcome(r.result[len(r.result)-1]) {
	case success:
		if r.ownInvalid == nil {
			return nil
		}
		return fmt.Errorf("%w: %w", r.ownInvalid, rounds.ErrContradiction)
	case invalid:
		if r.ownInvalid != nil {
			return r.ownInvalid
		}
		return fmt.Errorf("%w: %v: %w", rounds.ErrNotFinite, r.channel, rounds.ErrContradiction)
	}
	return rounds.ErrInconsistent
}

// rows returns the number of rows of sums: one if the process hosts all nodes, since their order is
// invisible.
func (r *relay) rows() int {
	if r.engine.AllHosted() {
		return 1
	}
	return len(r.engine.Hosted)
}

// row returns the words of hosted node i.
func (r *relay) row(i int) []uint64 {
	if r.engine.AllHosted() {
		i = 0
	}
	n := r.layoutUp.words()
	return r.sums[i*n:][:n]
}

// length returns the number of rounds.
func (r *relay) length() int {
	if r.downOnly {
		return r.tree.Height
	}
	return 2 * r.tree.Height
}

// level returns the depth of the children whose edge to the parent is in use in the next round, and its
// direction.
func (r *relay) level() (depth int, up bool) {
	switch {
	case r.downOnly:
		return r.round + 1, false
	case r.round < r.tree.Height:
		return r.tree.Height - r.round, true
	}
	return r.round - r.tree.Height + 1, false
}

// sends reports whether a node sends words to a neighbour in the next round.
func (r *relay) sends(from, to int) bool {
	depth, up := r.level()
	if !up {
		from, to = to, from
	}
	return r.tree.Depth[from] == depth && r.tree.Parent[from] == to
}

// Channel implements rounds.Operation.
func (r *relay) Channel() frame.Channel { return r.channel }

// Sends implements rounds.Operation. A broadcast is answered by an empty frame, so that a fast root waits for
// slow nodes.
func (r *relay) Sends(from, to int) bool { return r.sends(from, to) || r.downOnly && r.sends(to, from) }

// Append implements rounds.Operation.
func (r *relay) Append(dst []byte, k int) []byte {
	link := r.engine.Links[k]
	switch _, up := r.level(); {
	case !r.sends(link.Node, link.Peer):
		return dst
	case up:
		return r.layoutUp.append(dst, r.row(r.engine.Index[link.Node]))
	}
	return r.layoutDown.append(dst, r.result)
}

// Receive implements rounds.Operation: it adds words that go up, and stores words that come down.
func (r *relay) Receive(k int, p []byte) error {
	link := r.engine.Links[k]
	_, up := r.level()
	if !r.sends(link.Peer, link.Node) {
		return wantBytes(p, 0)
	}
	layout := r.layoutDown
	if up {
		layout = r.layoutUp
	}
	if err := wantBytes(p, layout.Len()); err != nil {
		return err
	}
	words := r.decoded[:layout.words()]
	layout.read(words, p)
	if up {
		r.layoutUp.add(r.row(r.engine.Index[link.Node]), words)
		return nil
	}
	copy(r.result, words)
	if how := words[len(words)-1]; how >= uint64(outcomes) {
		return fmt.Errorf("outcome %d of an operation", how)
	}
	return layout.finite(words)
}

func wantBytes(p []byte, n int) error {
	if len(p) != n {
		return fmt.Errorf("%d bytes of an operation: must be %d", len(p), n)
	}
	return nil
}

// Step implements rounds.Operation: it adds the words that go up between hosted nodes.
func (r *relay) Step() transport.Traffic {
	depth, up := r.level()
	layout, messages, answers := r.layoutDown, int64(0), int64(0)
	if up {
		layout = r.layoutUp
	}
	for _, child := range r.tree.Levels[depth] {
		from, to := r.tree.ends(child, up)
		sender, receiver := r.engine.Index[from], r.engine.Index[to]
		if sender >= 0 {
			messages++
		}
		if receiver >= 0 && r.downOnly {
			answers++
		}
		if up && sender >= 0 && receiver >= 0 && r.rows() > 1 {
			r.layoutUp.add(r.row(receiver), r.row(sender))
		}
	}
	r.round++
	if root := r.engine.Index[r.tree.Root]; up && r.round == r.tree.Height && root >= 0 {
		r.finish(root)
	}
	return transport.Traffic{Rounds: 1, Messages: messages + answers, Bytes: messages * int64(layout.Len())}
}
