package consensus

import (
	"errors"

	"github.com/difalt/difalt/consensus/collective"
	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/kernel"
)

// A codedTree is the mean over all nodes along the tree, with a codec. Every node but the
// root keeps a replica H of what its parent has of the sum of the messages below it. On the
// way up node i sends a code of
//
//	S_i - H_i,  S_i = Z_i + sum over its children c of H_c,
//
// and both ends add what it stands for to H_i. The root then sends a code of S/L - D down,
// what it stands for is added to D everywhere, and D is the new message of all nodes. As
// Z converges the differences shrink, and with them the errors of their codes; what a code
// leaves out is part of the next difference.
type codedTree struct {
	coder // a replica is H of the hosted nodes, H of the neighbours elsewhere, and D

	tree *collective.Tree

	// Of the Mix under way:
	done int    // rounds
	down []byte // the code that comes down; empty: not yet

	encodeLevel func(worker int) // stored, so that running it does not allocate
}

func (n *Network) newCodedTree(a Agreement, pool *kernel.Pool) *codedTree {
	m := &codedTree{tree: n.tree, coder: n.newCoder(a, pool, 1)}
	m.encodeLevel = m.perNode(func(worker, i int) {
		if depth, _ := m.way().Level(); m.tree.Depth[m.net.Hosted[i]] == depth {
			m.encodeNode(m.rooms[worker], i)
		}
	})
	return m
}

func (m *codedTree) alongTree() bool { return true }

func (m *codedTree) way() collective.Way { return collective.Way{Tree: m.tree, Done: m.done} }

func (m *codedTree) open(z []Message) {
	m.openStream(dimensionsOf(z[0]))
	m.done, m.down = 0, m.down[:0]
	clear(m.failed)
	m.stream.work.Rounds++
	for i := range z {
		m.stream.gather(m.stream.row(m.stream.x, i), z[i])
	}
}

// close overwrites z by D.
func (m *codedTree) close(z []Message) {
	if m.tree.Height == 0 {
		return // a node alone
	}
	for i := range z {
		m.stream.scatter(m.common(), z[i])
	}
}

// common returns D.
func (m *codedTree) common() []float64 {
	return m.stream.row(m.stream.work.Replica, m.net.Rows)
}

// replica returns H of a node.
func (m *codedTree) replica(node int) []float64 {
	return m.stream.row(m.stream.work.Replica, m.net.Row[node])
}

func (m *codedTree) Prepare() {
	if depth, up := m.way().Level(); up || depth == 0 {
		m.encode(m.encodeLevel)
	} // otherwise the code that has come goes on down
}

// encodeNode codes what hosted node i sends up or, if it is the root, down. q is room.
func (m *codedTree) encodeNode(q []float64, i int) {
	f, node := m.stream, m.net.Hosted[i]
	sum := f.row(f.x, i)
	if depth := m.tree.Depth[node]; depth < m.tree.Height {
		for _, child := range m.tree.Levels[depth+1] {
			if m.tree.Parent[child] == node {
				add(sum, m.replica(child))
			}
		}
	}
	replica, code := m.replica(node), m.codes[i][:0]
	if node == m.tree.Root {
		replica = m.common()
		divide(sum, m.net.Graph.Len())
	}
	q = q[:f.n]
	for k, v := range sum {
		q[k] = v - replica[k]
	}
	code, err := f.transcode(m.codec(), code, q)
	if m.failed[i] = err != nil; err != nil { // only of numbers that are not finite
		m.codes[i] = code[:0]
		return
	}
	m.codes[i] = code
	add(replica, q)
	if node == m.tree.Root {
		m.down = append(m.down, code...)
	}
}

func add(sum, v []float64) {
	for k, x := range v {
		sum[k] += x
	}
}

func (m *codedTree) AppendTo(dst []byte, k int) []byte {
	link := m.net.Links[k]
	switch _, up := m.way().Level(); {
	case !m.way().Sends(link.Node, link.Peer):
		return dst
	case up:
		return append(dst, m.codes[m.net.Index[link.Node]]...)
	}
	return append(dst, m.down...)
}

// Check decodes what has come along link k, for Step.
func (m *codedTree) Check(k int, code []byte) error {
	link := m.net.Links[k]
	switch {
	case !m.way().Sends(link.Peer, link.Node):
		return wire.NothingDue(code)
	case len(code) == 0:
		return errors.New("no code where one is due")
	}
	return m.decodeLink(k, code)
}

// Step takes over what has come, and counts what was sent.
func (m *codedTree) Step() wire.Traffic {
	way := m.way()
	_, up := way.Level()
	t := wire.Traffic{Rounds: 1}
	for i, node := range m.net.Hosted {
		for _, peer := range m.net.Graph.Neighbors(node) {
			if code := m.codes[i]; way.Sends(node, peer) {
				if !up {
					code = m.down
				}
				t.Messages++
				t.Bytes += int64(len(code))
			}
		}
	}
	for k, link := range m.net.Links {
		if !way.Sends(link.Peer, link.Node) || len(m.net.Code(k)) == 0 {
			continue
		}
		switch {
		case up:
			add(m.replica(link.Peer), m.decoded(link.Peer))
		case len(m.down) == 0:
			m.down = append(m.down, m.net.Code(k)...)
			add(m.common(), m.decoded(link.Peer))
		}
	}
	m.done++
	return t
}
