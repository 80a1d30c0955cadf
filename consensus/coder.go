package consensus

import (
	"fmt"

	"github.com/difalt/difalt/consensus/wire"
)

// A coder is what protocols with replicas have in common: the streams. The zero value has none.
type coder struct {
	net     *wire.Rounds
	hosted  int // nodes
	agreed  Agreement
	refined Codec // of Mixer.Refine, or None
	rows    int   // of a replica
	all     [streams]*codedStream
	stream  *codedStream // of the Mix under way
}

// newCoder returns the coder of streams whose replicas have so many rows.
func (n *Network) newCoder(a Agreement, rows int) coder {
	return coder{net: n.rounds, hosted: len(n.Hosted()), agreed: a, rows: rows}
}

func (m *coder) Channel() wire.Channel { return m.stream.Stream }

// A codedStream is what is kept of a stream whose messages are sent as differences, and
// the vectors of the Mix under way.
type codedStream struct {
	layout
	work      streamState
	committed streamState
	stale     bool      // work does not follow from committed
	x, before []float64 // x_k and, for Chebyshev, x_k-1 of recurrence, of the hosted nodes
	decoded   []float64 // what has come from the neighbours elsewhere
}

// A streamState is what is kept of a stream from one call to the next.
type streamState struct {
	Rounds    uint64
	Replica   []float64  // H: one row a hosted node, and others of the protocol
	Threshold []float64  // of the hosted nodes; see Agreement.Trigger
	Exponent  [parts]int // of the power of two that the differences of a part are below; see codedTree
}

// keeps reports whether replicas are kept from one call to the next. In float64 all of a vector is
// sent in every round, and its replica is what was sent.
func (m *coder) keeps() bool { return m.agreed.Codec != None || m.agreed.Trigger > 0 }

// codec returns by what messages are coded.
func (m *coder) codec() Codec {
	if m.refined != None {
		return m.refined
	}
	return m.agreed.Codec
}

// newStream returns the state of a stream on which nothing has been sent yet.
func (m *coder) newStream(s dimensions) *codedStream {
	f := &codedStream{layout: layoutOf(s)}
	states := []*streamState{&f.work, &f.committed}
	if !m.keeps() {
		states = states[:1]
	}
	for _, state := range states {
		state.Replica = make([]float64, m.rows*f.stride)
		state.Exponent = [parts]int{unknown, unknown}
		if m.agreed.Trigger > 0 {
			state.Threshold = make([]float64, m.hosted)
		}
	}
	f.x = make([]float64, m.rows*f.stride)
	f.decoded = make([]float64, (m.net.Rows-m.hosted)*f.stride)
	return f
}

// check returns an error if the stream has had messages of other dimensions.
func (m *coder) check(s dimensions) error {
	if f := m.all[s.Stream]; m.keeps() && f != nil && f.dimensions != s {
		return fmt.Errorf("consensus: a message of %v after messages of %v", s, f.dimensions)
	}
	return nil
}

// of returns the stream of messages of the given dimensions, ready for a Mix.
func (m *coder) of(s dimensions) *codedStream {
	f := m.all[s.Stream]
	if f == nil || f.dimensions != s {
		f = m.newStream(s)
		m.all[s.Stream] = f
	}
	if f.stale && m.keeps() {
		f.work.Rounds, f.work.Exponent = f.committed.Rounds, f.committed.Exponent
		copy(f.work.Replica, f.committed.Replica)
		copy(f.work.Threshold, f.committed.Threshold)
		f.stale = false
	}
	return f
}

func (m *coder) commit() {
	if !m.keeps() {
		return
	}
	for _, f := range m.all {
		if f != nil && !f.stale && f.work.Rounds != f.committed.Rounds {
			f.work, f.committed = f.committed, f.work
			f.stale = true
		}
	}
}

func (m *coder) rewind() {
	for _, f := range m.all {
		if f != nil {
			f.stale = true
		}
	}
}

// hasNews reports whether hosted node i, whose vector is so far from its replica, has
// enough news to send, and sets its threshold for the next round.
func (f *codedStream) hasNews(i int, distance, trigger float64) bool {
	threshold := f.work.Threshold
	if distance <= threshold[i] {
		threshold[i] *= silentDecay
		return false
	}
	threshold[i] = trigger * distance
	return true
}

// maxCode returns the length that no code of a message exceeds.
func maxCode(c Codec, s dimensions) int {
	return c.MaxLen(s.D*s.R) + c.ofScalars().MaxLen(s.Scalars)
}

// ofScalars returns by what the scalars of a message are coded. They are few, and as the
// entries of a small matrix they matter by its smallest eigenvalue, which coarse levels
// would drown.
func (c Codec) ofScalars() Codec {
	if c == None {
		return None
	}
	return Float32
}

// parts are the two parts of a vector, each with its codec.
func (f layout) parts(c Codec, q []float64) [2]part {
	basis := f.D * f.R
	return [2]part{{c, q[:basis]}, {c.ofScalars(), q[basis:]}}
}

type part struct {
	codec  Codec
	values []float64
}

// transcode appends the codes of the parts of q to code, and overwrites q by what they
// stand for.
func (f layout) transcode(c Codec, code []byte, q []float64) ([]byte, error) {
	start := len(code)
	for _, part := range f.parts(c, q) {
		if len(part.values) == 0 {
			continue
		}
		var err error
		if code, err = part.codec.AppendEncode(code, part.values); err != nil {
			return code, err
		}
	}
	return code, f.decode(c, q, code[start:])
}

// decode overwrites q by the vector that code stands for. It returns an error if there is
// anything else in code.
func (f layout) decode(c Codec, q []float64, code []byte) (err error) {
	for _, part := range f.parts(c, q) {
		if len(part.values) == 0 {
			continue
		}
		if code, err = part.codec.Decode(part.values, code); err != nil {
			return err
		}
	}
	if len(code) > 0 {
		return fmt.Errorf("consensus: %d bytes after the code of %v", len(code), f.dimensions)
	}
	return nil
}
