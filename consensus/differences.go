package consensus

import (
	"fmt"
	"math"
	"slices"

	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/kernel/blas"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// panelLen is the number of entries of a vector that a step averages at a time.
const panelLen = 64

// differences are rounds in which nodes send one another what has changed. For every
// stream there is a replica H_g of what the neighbours have of the vector Z_g of node
// g. In a round node g sends a code q of Z_g - H_g, or nothing if it is silent; all add
// what q stands for to H_g; and then
//
//	Z_g <- Z_g + s sum_j W_gj (H_j - H_g)
//
// with the consensus step s. (Koloskova, Stich and Jaggi, Decentralized stochastic
// optimization and gossip algorithms with compressed communication, 2019.) As Z converges
// the differences shrink, and with them the errors of their codes. Without a codec H_g
// becomes Z_g and this is plain AGREE. For Chebyshev the right-hand side takes the
// place of W x_k in the recurrence.
type differences struct {
	coder
	bound   float64 // of recurrence
	stepLen float64
	rows    []sparseRow // of the hosted nodes, without their own entries
	dense   *mat.Dense  // W - I if products with it are cheaper, otherwise nil
	pool    *kernel.Pool
	scratch []scratch // of every worker

	// Of the Mix under way:
	z       []Message
	factors recurrence
	sent    []sentCode // by the hosted nodes

	// Stored, so that running them does not allocate.
	gather, encode, average, scatter func(worker int)
}

type scratch struct {
	sums       []float64 // panels of the hosted nodes
	difference []float64
}

// A sentCode is what a node sends: nothing if it is silent, or has numbers that are not finite.
type sentCode struct {
	code   []byte
	failed bool
}

// newDifferences returns the rounds of the hosted nodes. p is what applies several rounds of
// exact messages at once, or nil.
func (n *Network) newDifferences(p *power, pool *kernel.Pool, a Agreement, step, bound float64) *differences {
	m := &differences{
		coder: n.newCoder(a, n.rounds.Rows), stepLen: step, rows: n.sparseRows(false),
		pool: pool, scratch: make([]scratch, pool.Workers()), sent: make([]sentCode, len(n.Hosted())),
	}
	if bound > 0 {
		m.bound = 1 - step*(1-bound) // of I + step (W - I)
	}
	if p != nil && p.from <= 1 {
		m.dense = mat.DenseCopyOf(p.w)
		for i := range n.Len() {
			m.dense.Set(i, i, p.w.At(i, i)-1)
		}
	}
	for k := range m.scratch {
		m.scratch[k].sums = make([]float64, m.hosted*panelLen)
	}
	m.gather = m.perNode(func(_, i int) { m.stream.gather(m.stream.row(m.stream.x, i), m.z[i]) })
	m.encode = m.perNode(m.encodeNode)
	m.average = m.stepShare
	m.scatter = m.perNode(func(_, i int) { m.stream.scatter(m.stream.row(m.stream.x, i), m.z[i]) })
	return m
}

// perNode returns a pool function that calls f for every hosted node.
func (m *differences) perNode(f func(worker, i int)) func(worker int) {
	return func(worker int) {
		for i := worker; i < m.hosted; i += len(m.scratch) {
			f(worker, i)
		}
	}
}

// open makes room, so that the rounds do not allocate.
func (m *differences) open(z []Message) {
	m.stream = m.of(dimensionsOf(z[0]))
	f := m.stream
	for k := range m.scratch {
		if len(m.scratch[k].difference) < f.n {
			m.scratch[k].difference = make([]float64, f.n)
		}
	}
	longest := maxCode(m.codec(), f.dimensions)
	for k := range m.sent {
		m.sent[k].code = slices.Grow(m.sent[k].code[:0], longest)
	}
	if m.bound > 0 && f.before == nil {
		f.before = make([]float64, len(f.x))
	}
	m.factors = recurrence{bound: m.bound}
	m.runOnMessages(m.gather, z)
}

// close overwrites z by what it is after the rounds.
func (m *differences) close(z []Message) { m.runOnMessages(m.scatter, z) }

func (m *differences) runOnMessages(f func(worker int), z []Message) {
	m.z = z
	m.pool.Run(f)
	m.z = nil
}

func (m *differences) length(rounds int) (int, bool) { return rounds, false }

func (m *differences) Prepare() {
	m.stream.work.Rounds++
	m.factors.advance()
	m.pool.Run(m.encode)
	for i, s := range m.sent {
		if s.failed {
			m.net.Fail(m.Channel(), i)
		}
	}
}

// Sends implements wire.Operation: all send to all neighbours, those that are silent a header.
func (m *differences) Sends(int, int) bool { return true }

func (m *differences) AppendTo(dst []byte, k int) []byte {
	return append(dst, m.sent[m.net.Index[m.net.Links[k].Node]].code...)
}

// Check decodes what has come along link k, for Step. What a node sends along several
// links is the same.
func (m *differences) Check(k int, code []byte) error {
	switch {
	case len(code) == 0:
		return nil
	case len(code) > maxCode(m.codec(), m.stream.dimensions):
		return fmt.Errorf("a code of %d bytes for %v", len(code), m.stream.dimensions)
	}
	return m.stream.decode(m.codec(), m.decoded(m.net.Links[k].Peer), code)
}

// decoded returns the room for what comes from a neighbour elsewhere.
func (m *differences) decoded(node int) []float64 {
	return m.stream.row(m.stream.decoded, m.net.Row[node]-m.hosted)
}

// Step takes over what has come, averages, and counts what was sent.
func (m *differences) Step() wire.Traffic {
	f := m.stream
	for k, link := range m.net.Links {
		if len(m.net.Code(k)) == 0 || !m.net.First[k] {
			continue
		}
		replica, decoded := f.row(f.work.Replica, m.net.Row[link.Peer]), m.decoded(link.Peer)
		if m.codec() == None {
			copy(replica, decoded)
			continue
		}
		floats.Add(replica, decoded)
	}
	m.pool.Run(m.average)
	return m.count()
}

// encodeNode codes the difference of hosted node i, if it is worth sending.
func (m *differences) encodeNode(worker, i int) {
	f, sent := m.stream, &m.sent[i]
	x, replica := f.row(f.x, i), f.row(f.work.Replica, i)
	sent.code, sent.failed = sent.code[:0], false
	q := m.scratch[worker].difference[:f.n]
	floats.SubTo(q, x, replica)
	if trigger := m.agreed.Trigger; trigger > 0 && !f.hasNews(i, norm(q), trigger) {
		return
	}
	if m.codec() == None {
		if sent.failed = !wire.Finite(x); !sent.failed {
			sent.code = wire.AppendFloats(sent.code, x)
			copy(replica, x)
		}
		return
	}
	code, err := f.transcode(m.codec(), sent.code, q)
	if err != nil { // only of numbers that are not finite
		sent.failed = true
		return
	}
	sent.code = code
	floats.Add(replica, q)
}

func norm(v []float64) float64 {
	squares := 0.0
	for _, x := range v {
		squares += x * x
	}
	return math.Sqrt(squares)
}

// count returns what the hosted nodes have sent in a round.
func (m *differences) count() wire.Traffic {
	t := wire.Traffic{Rounds: 1}
	for k, s := range m.sent {
		links := int64(m.net.Graph.Degree(m.net.Hosted[k]))
		if len(s.code) == 0 {
			t.Silent += links
			continue
		}
		t.Messages += links
		t.Bytes += links * int64(len(s.code))
	}
	return t
}

// stepShare steps the panels of entries that belong to a worker.
func (m *differences) stepShare(worker int) {
	panels, workers := (m.stream.n+panelLen-1)/panelLen, len(m.scratch)
	for p := panels * worker / workers; p < panels*(worker+1)/workers; p++ {
		m.stepPanel(m.scratch[worker].sums, p*panelLen, min((p+1)*panelLen, m.stream.n))
	}
}

// stepPanel averages the entries [lo, hi) of the vectors of the hosted nodes.
func (m *differences) stepPanel(sums []float64, lo, hi int) {
	f := m.stream
	if m.dense != nil {
		l := len(m.rows)
		z := blas.ColumnMajor{Rows: hi - lo, Cols: l, Stride: f.stride, Data: f.work.Replica[lo:]}
		w := blas.ColumnMajor{Rows: l, Cols: l, Stride: l, Data: m.dense.RawMatrix().Data}
		blas.MulNN(blas.ColumnMajor{Rows: hi - lo, Cols: l, Stride: panelLen, Data: sums}, z, w)
	}
	for i := range m.rows {
		if m.dense == nil {
			// What one end of a link adds, the other end takes away, to the last bit if their
			// weights are equal.
			z := blas.ColumnMajor{Rows: hi - lo, Cols: m.net.Rows, Stride: f.stride, Data: f.work.Replica[lo:]}
			blas.SumDifferences(sums[i*panelLen:][:panelLen], z, i, m.rows[i].rows, m.rows[i].weights)
		}
		sum := sums[i*panelLen:][:hi-lo]
		x := f.row(f.x, i)[lo:hi]
		if m.bound == 0 {
			floats.AddScaled(x, m.stepLen, sum)
			continue
		}
		before := f.row(f.before, i)[lo:hi]
		for k, s := range sum {
			next := x[k] + m.stepLen*s
			if m.factors.omega != 1 {
				next = m.factors.omega*next + (1-m.factors.omega)*before[k]
			}
			before[k], x[k] = x[k], next
		}
	}
}
