package topology

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/kernel/blas"
	"gonum.org/v1/gonum/mat"
)

// panelLen is the number of entries of a vector that a step averages at a time.
const panelLen = 64

// exchange is the Mixer of nodes that tell one another differences. For every
// stream there is a copy H_g of what the neighbours know of the vector Z_g of node
// g. In a round node g publishes a code q of Z_g - H_g, or nothing if it is silent;
// all add what q stands for to H_g; and then
//
//	Z_g <- Z_g + damping sum_j W_gj (H_j - H_g)
//
// over the links that have not failed. (Koloskova, Stich and Jaggi, Decentralized
// stochastic optimization and gossip algorithms with compressed communication,
// 2019.) As Z settles the differences shrink, and with them the errors of their
// codes. Without a compressor H_g becomes Z_g and this is plain AGREE. For Chebyshev
// the right-hand side takes the place of W x_k in the recurrence.
//
// In this process one copy of H_g does for all neighbours, since those that have
// missed a message leave g out until they have caught up; see Links.
type exchange struct {
	a       Agreement
	bound   float64 // of recurrence
	damping float64
	exact   *Local // for stream Exact
	graph   *Graph
	pool    *kernel.Pool // nil: serial
	edges   edges
	weight  []float64  // of the directed links
	dense   *mat.Dense // W - I if products with it are cheaper, otherwise nil
	flows   [streams]*flow
	desks   []desk // of the workers

	// Of the round under way:
	flow   *flow
	z      []Message
	omega  float64
	sent   []int64 // by the nodes, in bytes; 0 if silent
	failed []error // by the nodes
	open   []bool  // directed links over which both ends know each other's latest

	dice    rand.PCG // of the links
	rng     *rand.Rand
	again   uint64 // calls with stream Exact
	traffic Traffic

	// Stored, so that running them does not allocate.
	gather, speak, step, scatter func(worker int)
}

// A flow is the state of a stream: what MarshalBinary saves, and the vectors of the
// Mix under way. Vectors are the d*r entries of a basis without padding and the
// scalars; those of all nodes are the rows of a matrix with a given stride.
type flow struct {
	Stream        Stream
	D, R, Scalars int
	Rounds        uint64
	Known         []float64 // H
	Threshold     []float64 // of the nodes; see Agreement.Sporadic
	Published     []publication
	Wires         wires
	n, stride     int
	x, before     []float64 // x_k and x_k-1 of recurrence
}

// A desk is where a worker codes, decodes and adds.
type desk struct {
	difference []float64
	code       []byte
	sums       []float64
}

func newExchange(exact *Local, w *Weights, pool *kernel.Pool, a Agreement, damping, bound float64) *exchange {
	l := w.Len()
	m := &exchange{a: a, exact: exact, graph: w.graph, pool: pool, edges: newEdges(w.graph), damping: damping}
	if bound > 0 {
		m.bound = 1 - m.damping*(1-bound) // of I + damping (W - I)
	}
	for i := range l {
		for _, j := range w.graph.Neighbors(i) {
			m.weight = append(m.weight, w.At(i, j))
		}
	}
	if a.Links == (Links{}) && exact.denseFrom <= 1 {
		m.dense = mat.DenseCopyOf(w.w)
		for i := range l {
			m.dense.Set(i, i, m.dense.At(i, i)-1)
		}
	}
	m.sent, m.failed, m.open = make([]int64, l), make([]error, l), make([]bool, len(m.weight))
	m.rng = rand.New(&m.dice)
	m.desks = make([]desk, exact.workers())
	m.gather = m.perNode(func(_, i int) { m.flow.gather(i, m.z[i]) })
	m.speak = m.perNode(m.speakNode)
	m.step = m.stepShare
	m.scatter = m.perNode(func(_, i int) { m.flow.scatter(i, m.z[i]) })
	return m
}

// perNode returns a pool function that calls f for every node.
func (m *exchange) perNode(f func(worker, i int)) func(worker int) {
	return func(worker int) {
		for i := worker; i < m.graph.Len(); i += m.exact.workers() {
			f(worker, i)
		}
	}
}

func (m *exchange) run(f func(worker int)) {
	if m.pool == nil {
		f(0)
	} else {
		m.pool.Run(f)
	}
}

func (m *exchange) Hosted() []int { return m.exact.Hosted() }

func (m *exchange) Traffic() Traffic { return m.exact.Traffic().Plus(m.traffic) }

func (m *exchange) Mix(ctx context.Context, z []Message, rounds int) error {
	if len(z) > 0 && z[0].Stream == Exact {
		return m.mixExact(ctx, z, rounds)
	}
	if err := m.exact.checkCall(ctx, z, rounds); err != nil {
		return err
	}
	if rounds == 0 || z[0].Entries() == 0 {
		return nil
	}
	var err error
	if m.flow, err = m.flowOf(z[0]); err != nil {
		return err
	}
	m.z = z
	m.run(m.gather)
	c := recurrence{bound: m.bound}
	for range rounds {
		m.flow.Rounds++
		m.omega = c.next()
		m.run(m.speak)
		for i, err := range m.failed {
			if err != nil {
				return fmt.Errorf("%w: node %d, stream %v", err, i, m.flow.Stream)
			}
		}
		m.deliver()
		m.run(m.step)
	}
	m.run(m.scatter)
	m.z = nil
	return nil
}

// mixExact mixes messages of stream Exact, sending again what the links lose.
func (m *exchange) mixExact(ctx context.Context, z []Message, rounds int) error {
	before := m.exact.Traffic()
	if err := m.exact.Mix(ctx, z, rounds); err != nil {
		return err
	}
	if m.a.Links != (Links{}) {
		m.again++
		m.roll(Exact, m.again)
		sent := m.exact.Traffic().Minus(before)
		m.traffic = m.traffic.Plus(m.a.Links.resent(m.rng, sent.Messages, 8*int64(z[0].Entries())))
	}
	return nil
}

// roll seeds the failures of the links in a round.
func (m *exchange) roll(s Stream, round uint64) {
	m.dice.Seed(mix(mix(m.a.Seed, linksStream), uint64(s)), round)
}

// speakNode lets node i publish its difference, if it is worth it.
func (m *exchange) speakNode(worker, i int) {
	f, desk := m.flow, &m.desks[worker]
	x, known := f.row(f.x, i), f.row(f.Known, i)
	m.sent[i], m.failed[i] = 0, nil
	q := desk.difference[:f.n]
	for k, v := range x {
		q[k] = v - known[k]
	}
	if m.a.Sporadic > 0 && !f.speaks(i, norm(q), m.a.Sporadic) {
		return
	}
	if m.a.Compressor == nil {
		copy(known, x)
		m.sent[i] = 8 * int64(f.n)
		return
	}
	seed := mix(mix(m.a.Seed, uint64(f.Stream)), mix(uint64(i), f.Rounds))
	code, err := f.transcode(m.a.Compressor, desk.code[:0], q, seed)
	if err != nil {
		m.failed[i] = err
		return
	}
	desk.code = code
	m.sent[i] = int64(len(code))
	for k, v := range q {
		known[k] += v
	}
}

func norm(v []float64) float64 {
	squares := 0.0
	for _, x := range v {
		squares += x * x
	}
	return math.Sqrt(squares)
}

// deliver carries what the nodes have sent to their neighbours.
func (m *exchange) deliver() {
	f := m.flow
	m.traffic.Rounds++
	if m.a.Links == (Links{}) {
		for i, bytes := range m.sent {
			links := int64(m.graph.Degree(i))
			if bytes == 0 {
				m.traffic.Silent += links
				continue
			}
			m.traffic.Messages += links
			m.traffic.Bytes += links * bytes
		}
		return
	}
	m.roll(f.Stream, f.Rounds)
	for i, bytes := range m.sent {
		if bytes > 0 {
			f.Published[i].Number++
			f.Published[i].Bytes += bytes
		}
		links := [2]int{m.edges.first[i], m.edges.first[i+1]}
		t := f.Wires.transmit(m.a.Links, m.rng, links, f.Rounds, f.Published[i], 8*int64(f.n))
		m.traffic = m.traffic.Plus(t)
		for e := links[0]; e < links[1]; e++ {
			m.open[e] = f.Wires.Arrived[e].Number == f.Published[i].Number
		}
	}
	for e, reverse := range m.edges.reverse {
		if e < reverse {
			both := m.open[e] && m.open[reverse]
			m.open[e], m.open[reverse] = both, both
		}
	}
}

// stepShare steps the panels of entries that belong to a worker.
func (m *exchange) stepShare(worker int) {
	panels, workers := (m.flow.n+panelLen-1)/panelLen, m.exact.workers()
	for p := panels * worker / workers; p < panels*(worker+1)/workers; p++ {
		m.stepPanel(m.desks[worker].sums, p*panelLen, min((p+1)*panelLen, m.flow.n))
	}
}

// stepPanel averages the entries [lo, hi) of all vectors.
func (m *exchange) stepPanel(sums []float64, lo, hi int) {
	f, l := m.flow, m.graph.Len()
	if m.dense != nil {
		// A vector is a column of z, and the rows of W are the columns of W'.
		z := blas.Matrix{Rows: hi - lo, Cols: l, Stride: f.stride, Data: f.Known[lo:]}
		w := blas.Matrix{Rows: l, Cols: l, Stride: l, Data: m.dense.RawMatrix().Data}
		blas.GemmNN(z, w, blas.Matrix{Rows: hi - lo, Cols: l, Stride: panelLen, Data: sums})
	}
	for i := range l {
		sum := sums[i*panelLen:][:hi-lo]
		if m.dense == nil {
			m.sparseSum(sum, i, lo)
		}
		x := f.row(f.x, i)[lo:hi]
		if m.bound == 0 {
			for k, s := range sum {
				x[k] += m.damping * s
			}
			continue
		}
		before := f.row(f.before, i)[lo:hi]
		for k, s := range sum {
			next := x[k] + m.damping*s
			if m.omega != 1 {
				next = m.omega*next + (1-m.omega)*before[k]
			}
			before[k], x[k] = x[k], next
		}
	}
}

// sparseSum computes sum_j W_ij (H_j - H_i) for len(sum) entries from lo, over the
// links that have not failed. What one end of a link adds, the other end takes away,
// to the last bit if their weights are equal.
func (m *exchange) sparseSum(sum []float64, i, lo int) {
	f := m.flow
	clear(sum)
	own := f.Known[i*f.stride+lo:][:len(sum)]
	for k, j := range m.graph.Neighbors(i) {
		e := m.edges.first[i] + k
		if f.Wires.Arrived != nil && !m.open[e] {
			continue
		}
		w := m.weight[e]
		for k, h := range f.Known[j*f.stride+lo:][:len(sum)] {
			sum[k] += w * (h - own[k])
		}
	}
}
