package topology

import (
	"fmt"

	"github.com/difalt/difalt/kernel/blas"
)

// flowOf returns the state of the stream of message z, which it makes at the first
// one. It returns an error if the stream has had messages of another shape.
func (m *exchange) flowOf(z Message) (*flow, error) {
	if int(z.Stream) >= len(m.flows) {
		return nil, fmt.Errorf("topology: %v is unknown", z.Stream)
	}
	d, r := 0, 0
	if z.Basis != nil {
		d, r = z.Basis.Dims()
	}
	f := m.flows[z.Stream]
	if f == nil {
		f = m.newFlow(z.Stream, d, r, len(z.Scalars))
		m.flows[z.Stream] = f
	}
	if f.D != d || f.R != r || f.Scalars != len(z.Scalars) {
		return nil, fmt.Errorf("topology: a message of %d x %d and %s on stream %v, which has carried %d x %d and %d",
			d, r, count(len(z.Scalars), "scalar"), z.Stream, f.D, f.R, f.Scalars)
	}
	return f, nil
}

// newFlow returns the state of a stream of which nobody knows anything yet.
func (m *exchange) newFlow(s Stream, d, r, scalars int) *flow {
	l := m.graph.Len()
	f := &flow{Stream: s, D: d, R: r, Scalars: scalars}
	f.n = d*r + scalars
	f.stride = blas.Stride(f.n)
	f.Known = make([]float64, l*f.stride)
	f.x = make([]float64, l*f.stride)
	if m.bound > 0 {
		f.before = make([]float64, l*f.stride)
	}
	if m.a.Sporadic > 0 {
		f.Threshold = make([]float64, l)
	}
	if m.a.Links != (Links{}) {
		f.Published = make([]publication, l)
		f.Wires.Arrived = make([]publication, len(m.weight))
		f.Wires.Late = make([][maxDelay + 1]publication, len(m.weight))
	}
	for k := range m.desks {
		desk := &m.desks[k]
		if len(desk.difference) < f.n {
			desk.difference = make([]float64, f.n)
			// More than any code of this package takes, so that none allocates later.
			desk.code = make([]byte, 0, 64+10*f.n)
		}
		if desk.sums == nil {
			desk.sums = make([]float64, l*panelLen)
		}
	}
	return f
}

// row returns the vector of node i in one of the matrices of f.
func (f *flow) row(of []float64, i int) []float64 { return of[i*f.stride:][:f.n] }

// gather makes x_0 of the message of node i.
func (f *flow) gather(i int, z Message) {
	x := f.row(f.x, i)
	for j := range f.R {
		copy(x[j*f.D:], z.Basis.Col(j))
	}
	copy(x[f.D*f.R:], z.Scalars)
}

// scatter writes x to the message of node i.
func (f *flow) scatter(i int, z Message) {
	x := f.row(f.x, i)
	for j := range f.R {
		copy(z.Basis.Col(j), x[j*f.D:])
	}
	copy(z.Scalars, x[f.D*f.R:])
}

// speaks reports whether node i has enough news to speak, and sets its threshold for
// the next round.
func (f *flow) speaks(i int, news, sporadic float64) bool {
	if news <= f.Threshold[i] {
		f.Threshold[i] *= silentDecay
		return false
	}
	f.Threshold[i] = sporadic * news
	return true
}

// scalarCoder codes scalars.
var scalarCoder Compressor = quantizer{bits: 16}

// transcode appends the codes of the two parts of q, basis and scalars, to code,
// and overwrites q by what they stand for. Scalars take 16 bits if c is coarser: they
// are few, and as the entries of a small matrix they matter by its smallest
// eigenvalue, which coarse levels drown.
func (f *flow) transcode(c Compressor, code []byte, q []float64, seed uint64) ([]byte, error) {
	for k, part := range [2][]float64{q[:f.D*f.R], q[f.D*f.R:]} {
		if len(part) == 0 {
			continue
		}
		if k == 1 && c != Float32() {
			c = scalarCoder
		}
		start := len(code)
		var err error
		if code, err = c.AppendEncode(code, part, seed); err != nil {
			return code, err
		}
		if _, err = c.Decode(part, code[start:]); err != nil {
			return code, err
		}
		seed++
	}
	return code, nil
}
