package consensus

import (
	"fmt"

	"github.com/difalt/difalt/kernel/blas"
)

// A shape tells the messages of a stream apart from those of others.
type shape struct {
	Stream        Stream
	D, R, Scalars int
}

func shapeOf(z Message) shape {
	s := shape{Stream: z.Stream, Scalars: len(z.Scalars)}
	if z.Basis != nil {
		s.D, s.R = z.Basis.Dims()
	}
	return s
}

func (s shape) String() string {
	return fmt.Sprintf("%d x %d and %d scalars on stream %v", s.D, s.R, s.Scalars, s.Stream)
}

// A layout is how vectors are kept: the d*r entries of a basis without padding and
// the scalars, one row a hosted node and then one a neighbour that lives elsewhere.
type layout struct {
	shape
	n, stride int
}

func layoutOf(s shape) layout {
	n := s.D*s.R + s.Scalars
	return layout{s, n, blas.Stride(n)}
}

// row returns row i of a matrix.
func (f layout) row(of []float64, i int) []float64 { return of[i*f.stride:][:f.n] }

// gather writes message z to vector x.
func (f layout) gather(x []float64, z Message) {
	for j := range f.R {
		copy(x[j*f.D:], z.Basis.Col(j))
	}
	copy(x[f.D*f.R:], z.Scalars)
}

// scatter writes vector x to message z.
func (f layout) scatter(x []float64, z Message) {
	for j := range f.R {
		copy(z.Basis.Col(j), x[j*f.D:])
	}
	copy(z.Scalars, x[f.D*f.R:])
}

// A flow is the state of a stream of differences, and the vectors of the Mix under way.
type flow struct {
	layout
	work      flowState
	committed flowState
	stale     bool      // work does not follow from committed
	x, before []float64 // x_k and x_k-1 of recurrence, of the hosted nodes
	heard     []float64 // what has come from the neighbours elsewhere, decoded
}

// A flowState is what is kept of a stream from one call to the next.
type flowState struct {
	Rounds    uint64
	Replica   []float64 // H: one row a hosted node and one a neighbour elsewhere
	Threshold []float64 // of the hosted nodes; see Agreement.Trigger
}

// A store keeps the flows of a mixer.
type store struct {
	a                 Agreement
	hosted, elsewhere int  // rows of a flow
	further           int  // and of its replica
	twoBack           bool // x_k-1 is needed
	flows             [streams]*flow
	finer             Codec // of Mixer.Refine, or nil
}

// codec returns by what messages are coded; nil is float64.
func (m *store) codec() Codec {
	if m.finer != nil {
		return m.finer
	}
	return m.a.Codec
}

func (m *store) refined() string {
	if m.finer == nil {
		return ""
	}
	return m.finer.String()
}

// newFlow returns the state of a stream on which nothing has been sent yet.
func (m *store) newFlow(s shape) *flow {
	f := &flow{layout: layoutOf(s)}
	for _, state := range []*flowState{&f.work, &f.committed} {
		state.Replica = make([]float64, (m.hosted+m.elsewhere+m.further)*f.stride)
		if m.a.Trigger > 0 {
			state.Threshold = make([]float64, m.hosted)
		}
	}
	f.x = make([]float64, m.hosted*f.stride)
	f.heard = make([]float64, m.elsewhere*f.stride)
	if m.twoBack {
		f.before = make([]float64, m.hosted*f.stride)
	}
	return f
}

// of returns the flow of messages of shape s, ready for a Mix. It returns an error if the
// stream has had messages of another shape.
func (m *store) of(s shape) (*flow, error) {
	if m.flows[s.Stream] == nil {
		m.flows[s.Stream] = m.newFlow(s)
	}
	f := m.flows[s.Stream]
	if f.shape != s {
		return nil, fmt.Errorf("consensus: a message of %v after messages of %v", s, f.shape)
	}
	f.begin()
	return f, nil
}

func (m *store) commit() {
	for _, f := range m.flows {
		if f != nil {
			f.commit()
		}
	}
}

func (m *store) rewind() {
	for _, f := range m.flows {
		if f != nil {
			f.stale = true
		}
	}
}

// begin makes work follow from what was committed.
func (f *flow) begin() {
	if f.stale {
		f.work.Rounds = f.committed.Rounds
		copy(f.work.Replica, f.committed.Replica)
		copy(f.work.Threshold, f.committed.Threshold)
		f.stale = false
	}
}

func (f *flow) commit() {
	if !f.stale && f.work.Rounds != f.committed.Rounds {
		f.work, f.committed = f.committed, f.work
		f.stale = true
	}
}

// gather makes x_0 of the message of hosted node i.
func (f *flow) gather(i int, z Message) { f.layout.gather(f.row(f.x, i), z) }

// scatter writes x to the message of hosted node i.
func (f *flow) scatter(i int, z Message) { f.layout.scatter(f.row(f.x, i), z) }

// speaks reports whether hosted node i has enough news to speak, and sets its threshold
// for the next round.
func (f *flow) speaks(i int, news, trigger float64) bool {
	threshold := f.work.Threshold
	if news <= threshold[i] {
		threshold[i] *= silentDecay
		return false
	}
	threshold[i] = trigger * news
	return true
}

// maxCode returns the length that no code of a message of shape s exceeds.
func maxCode(c Codec, s shape) int {
	if c == nil {
		return 8 * (s.D*s.R + s.Scalars)
	}
	return c.MaxLen(s.D*s.R) + Float32.MaxLen(s.Scalars)
}

// parts are the two parts of a vector, each with its codec. Scalars are few, and as the
// entries of a small matrix they matter by its smallest eigenvalue, which coarse levels
// would drown.
func (f layout) parts(c Codec, q []float64) [2]struct {
	codec  Codec
	values []float64
} {
	basis := f.D * f.R
	return [2]struct {
		codec  Codec
		values []float64
	}{{c, q[:basis]}, {Float32, q[basis:]}}
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

// decode overwrites q by the vector that code stands for; a nil codec is float64. It
// returns an error if there is anything else in code.
func (f layout) decode(c Codec, q []float64, code []byte) (err error) {
	if c == nil {
		return readRaw(q, code)
	}
	for _, part := range f.parts(c, q) {
		if len(part.values) == 0 {
			continue
		}
		if code, err = part.codec.Decode(part.values, code); err != nil {
			return err
		}
	}
	if len(code) > 0 {
		return fmt.Errorf("consensus: %d bytes after the code of %v", len(code), f.shape)
	}
	return nil
}
