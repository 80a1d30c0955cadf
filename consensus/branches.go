package consensus

import (
	"errors"
	"fmt"

	"github.com/difalt/difalt/kernel"
)

// branches are Tree with a codec. Every node but the root keeps a replica H of what its
// parent has of the sum of the messages below it. On the way up node i sends a code of
//
//	S_i - H_i,  S_i = Z_i + sum over its children c of H_c,
//
// and both ends add what it stands for to H_i. The root then sends a code of S/L - D down,
// what it stands for is added to D everywhere, and D is the new message of all nodes. As
// Z settles the differences shrink, and with them the errors of their codes; what a code
// leaves out is part of the next difference.
type branches struct {
	store // a replica is H of the hosted nodes, H of the neighbours elsewhere, and D
	relay // of which only the way of the messages is used
	pool  *kernel.Pool
	desks []desk // of the workers

	// Of the Mix under way:
	flow   *flow
	codes  [][]byte // what the hosted nodes send up
	fell   []byte   // what comes down; empty: not yet
	failed []bool   // hosted nodes with numbers that are not finite

	encode func(worker int) // stored, so that running it does not allocate
}

func (n *Network) newBranches(a Agreement, pool *kernel.Pool) *branches {
	m := &branches{pool: pool, desks: make([]desk, workers(pool))}
	m.store = store{a: a, hosted: len(n.hosted), elsewhere: n.rows - len(n.hosted), further: 1}
	m.relay = relay{net: n, tree: n.tree}
	m.codes, m.failed = make([][]byte, len(n.hosted)), make([]bool, len(n.hosted))
	m.encode = func(worker int) {
		depth, _ := m.level()
		for i := worker; i < len(n.hosted); i += len(m.desks) {
			if m.tree.depth[n.hosted[i]] == depth {
				m.encodeNode(m.desks[worker].difference, i)
			}
		}
	}
	return m
}

func (m *branches) open(_ *Network, z []Message) (err error) {
	if m.flow, err = m.of(shapeOf(z[0])); err != nil {
		return err
	}
	makeRoom(m.desks, m.codes, m.codec(), m.flow)
	m.round, m.fell = 0, m.fell[:0]
	clear(m.failed)
	m.flow.work.Rounds++
	for i := range z {
		m.flow.gather(i, z[i])
	}
	return nil
}

// close overwrites z by D.
func (m *branches) close(z []Message) {
	if m.tree.height == 0 {
		return // a node alone
	}
	for i := range z {
		m.flow.layout.scatter(m.common(), z[i])
	}
}

// common returns D.
func (m *branches) common() []float64 {
	return m.flow.row(m.flow.work.Replica, m.hosted+m.elsewhere)
}

func (m *branches) replica(node int) []float64 {
	return m.flow.row(m.flow.work.Replica, m.net.row[node])
}

func (m *branches) channel() uint8 { return uint8(m.flow.Stream) }

func (m *branches) speak() {
	depth, up := m.level()
	if !up && depth > 0 {
		return // codes that have come go on down
	}
	runOn(m.pool, m.encode)
	for i, failed := range m.failed {
		if failed {
			m.net.fail(m.channel(), i)
		}
	}
}

// encodeNode codes what hosted node i sends up or, if it is the root, down.
func (m *branches) encodeNode(q []float64, i int) {
	f, node := m.flow, m.net.hosted[i]
	sum := f.row(f.x, i)
	if depth := m.tree.depth[node]; depth < m.tree.height {
		for _, child := range m.tree.levels[depth+1] {
			if m.tree.parent[child] == node {
				add(sum, m.replica(child))
			}
		}
	}
	replica, code := m.replica(node), m.codes[i][:0]
	if node == m.tree.root {
		replica = m.common()
		divide(sum, m.net.Len())
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
	if node == m.tree.root {
		m.fell = append(m.fell, code...)
	}
}

func (m *branches) part(dst []byte, k int) []byte {
	link := m.net.links[k]
	switch _, up := m.level(); {
	case !m.sends(link.Node, link.Peer):
		return dst
	case up:
		return append(dst, m.codes[m.net.index[link.Node]]...)
	}
	return append(dst, m.fell...)
}

// hear decodes what has come along link k, for step.
func (m *branches) hear(k int) error {
	f, link, got := m.flow, m.net.links[k], &m.net.got[k]
	switch {
	case !m.sends(link.Peer, link.Node):
		return noneDue(got.code)
	case len(got.code) == 0 && got.failure.set:
		return nil
	case len(got.code) == 0:
		return errors.New("no code where one is due")
	case len(got.code) > maxCode(m.codec(), f.shape):
		return fmt.Errorf("a code of %d bytes for %v", len(got.code), f.shape)
	}
	return f.decode(m.codec(), f.row(f.heard, m.net.row[link.Peer]-m.hosted), got.code)
}

// step takes over what has come, and counts what was sent.
func (m *branches) step() Traffic {
	_, up := m.level()
	t := Traffic{Rounds: 1}
	for i, node := range m.net.hosted {
		for _, peer := range m.net.Graph().Neighbors(node) {
			if code := m.codes[i]; m.sends(node, peer) {
				if !up {
					code = m.fell
				}
				t.Messages++
				t.Bytes += int64(len(code))
			}
		}
	}
	for k, link := range m.net.links {
		if !m.sends(link.Peer, link.Node) || len(m.net.got[k].code) == 0 {
			continue
		}
		heard := m.flow.row(m.flow.heard, m.net.row[link.Peer]-m.hosted)
		switch {
		case up:
			add(m.replica(link.Peer), heard)
		case len(m.fell) == 0:
			m.fell = append(m.fell, m.net.got[k].code...)
			add(m.common(), heard)
		}
	}
	m.round++
	return t
}
