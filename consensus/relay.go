package consensus

import "fmt"

// add and raise are what a parent makes of what it has and what a child sends.
func add(parent, child []float64) {
	for k, v := range child {
		parent[k] += v
	}
}

func raise(parent, child []float64) {
	for k, v := range child {
		parent[k] = max(parent[k], v)
	}
}

// A relay carries a word and some numbers along a tree, one level a round: up to the
// root, where parents combine what comes from their children in ascending order, and
// down again unchanged. So all nodes end with the same bits, wherever they live. A
// relay that only goes down broadcasts what the root has.
type relay struct {
	net   *Network
	tree  *tree
	down  bool // only
	how   func(parent, child []float64)
	round int // done
	// Of the hosted nodes: a word, combined by maximum, and a row of numbers.
	words []uint8
	rows  [][]float64
	heard []float64          // the numbers of one link, decoded
	come  func(k int) []byte // what has come along link k
}

// rounds returns how many rounds the relay takes.
func (r *relay) rounds() int {
	if r.down {
		return r.tree.height
	}
	return 2 * r.tree.height
}

// level returns the depth of the nodes that send in the next round, and whether they
// send to their parent.
func (r *relay) level() (depth int, up bool) {
	if up = !r.down && r.round < r.tree.height; up {
		return r.tree.height - r.round, true
	}
	depth = r.round
	if !r.down {
		depth -= r.tree.height
	}
	return depth, false
}

// sends reports whether a node sends to a neighbour in the next round.
func (r *relay) sends(from, to int) bool {
	if r.round == r.rounds() {
		return false
	}
	depth, up := r.level()
	if r.tree.depth[from] != depth {
		return false
	}
	if up {
		return r.tree.parent[from] == to
	}
	return r.tree.parent[to] == from
}

// part appends what goes along link k in the next round.
func (r *relay) part(dst []byte, k int) []byte {
	link := r.net.links[k]
	i := r.net.index[link.Node]
	if !r.sends(link.Node, link.Peer) || !finite(r.rows[i]) {
		return dst
	}
	return appendRaw(append(dst, r.words[i]), r.rows[i])
}

// hear returns an error if p, which has come along link k, is not what is due.
func (r *relay) hear(k int, p []byte) error {
	link := r.net.links[k]
	switch {
	case !r.sends(link.Peer, link.Node):
		return noneDue(p)
	case len(p) == 0 && r.net.got[k].failure.set:
		return nil // the peer has nothing that is finite, or knows of somebody who has not
	case len(p) != 1+8*len(r.rows[0]):
		return fmt.Errorf("%d bytes of a reduction of %d numbers", len(p), len(r.rows[0]))
	}
	return readRaw(r.room(), p[1:])
}

func noneDue(p []byte) error {
	if len(p) > 0 {
		return fmt.Errorf("%d bytes of a reduction where none is due", len(p))
	}
	return nil
}

func (r *relay) room() []float64 {
	if n := len(r.rows[0]); cap(r.heard) < n {
		r.heard = make([]float64, n)
	}
	return r.heard[:len(r.rows[0])]
}

// step takes over what the nodes have sent in this round, and returns how many links
// the hosted ones have used.
func (r *relay) step(channel uint8) (messages int64) {
	depth, up := r.level()
	level := depth
	if !up {
		level++
	}
	for _, child := range r.tree.levels[level] {
		from, to := child, r.tree.parent[child]
		if !up {
			from, to = to, from
		}
		if r.net.index[from] >= 0 {
			messages++
		}
		i := r.net.index[to]
		if i < 0 {
			continue
		}
		word, row, ok := r.sent(from, to)
		switch {
		case !ok:
		case up:
			r.words[i] = max(r.words[i], word)
			r.how(r.rows[i], row)
			if !finite(r.rows[i]) {
				r.net.fail(channel, i)
			}
		default:
			r.words[i] = word
			copy(r.rows[i], row)
		}
	}
	r.round++
	return messages
}

// sent returns what node from has sent to hosted node to, if it could.
func (r *relay) sent(from, to int) (word uint8, row []float64, ok bool) {
	if i := r.net.index[from]; i >= 0 {
		return r.words[i], r.rows[i], true
	}
	p := r.come(r.net.number[Link{to, from}])
	if len(p) == 0 {
		return 0, nil, false
	}
	row = r.room()
	return p[0], row, readRaw(row, p[1:]) == nil // hear has found it good
}
