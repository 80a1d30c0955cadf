package consensus

import (
	"fmt"

	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/kernel"
)

// A coder is what protocols that send coded differences have in common: the streams, and
// the codes of the Mix under way. The zero value keeps nothing.
type coder struct {
	net     *wire.Rounds
	hosted  int // nodes
	agreed  Agreement
	refined Codec // of Mixer.Refine, or nil
	rows    int   // of a replica
	all     [streams]*codedStream
	pool    *kernel.Pool
	rooms   [][]float64 // of every worker: room for a difference

	stream *codedStream // of the Mix under way
	codes  [][]byte     // what the hosted nodes send; empty if they are silent
	failed []bool       // hosted nodes with numbers that are not finite
}

// newCoder returns the coder of streams whose replicas have so many rows.
func (n *Network) newCoder(a Agreement, pool *kernel.Pool, rows int) coder {
	hosted := len(n.Hosted())
	return coder{
		net: n.rounds, hosted: hosted, agreed: a, rows: rows,
		pool: pool, rooms: make([][]float64, pool.Workers()), codes: make([][]byte, hosted), failed: make([]bool, hosted),
	}
}

// openStream makes stream that of the messages, and sees to it that coding them does not
// allocate.
func (m *coder) openStream(s dimensions) {
	m.stream = m.of(s)
	for k := range m.rooms {
		if len(m.rooms[k]) < m.stream.n {
			m.rooms[k] = make([]float64, m.stream.n)
		}
	}
	longest := maxCode(m.codec(), s)
	for k, code := range m.codes {
		if cap(code) < longest {
			m.codes[k] = make([]byte, 0, longest)
		}
	}
}

// perNode returns a pool function that calls f for every hosted node.
func (m *coder) perNode(f func(worker, i int)) func(worker int) {
	return func(worker int) {
		for i := worker; i < m.hosted; i += len(m.rooms) {
			f(worker, i)
		}
	}
}

func (m *coder) Channel() wire.Channel { return wire.Channel(m.stream.Stream) }

// encode lets the pool function f code what the hosted nodes send.
func (m *coder) encode(f func(worker int)) {
	m.pool.Run(f)
	for i, failed := range m.failed {
		if failed {
			m.net.Fail(m.Channel(), i)
		}
	}
}

// decoded returns the room for what comes from a neighbour elsewhere.
func (m *coder) decoded(node int) []float64 {
	return m.stream.row(m.stream.decoded, m.net.Row[node]-m.hosted)
}

// decodeLink decodes the code that has come along link k.
func (m *coder) decodeLink(k int, code []byte) error {
	if len(code) > maxCode(m.codec(), m.stream.dimensions) {
		return fmt.Errorf("a code of %d bytes for %v", len(code), m.stream.dimensions)
	}
	return m.stream.decode(m.codec(), m.decoded(m.net.Links[k].Peer), code)
}
