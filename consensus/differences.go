package consensus

import (
	"math"

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
	sums    [][]float64 // of every worker: panels of the hosted nodes

	// Of the Mix under way:
	z       []Message
	factors recurrence

	// Stored, so that running them does not allocate.
	gather, encodeAll, average, scatter func(worker int)
}

// newDifferences returns the rounds of the hosted nodes. p is what applies several rounds of
// exact messages at once, or nil.
func (n *Network) newDifferences(p *power, pool *kernel.Pool, a Agreement, step, bound float64) *differences {
	m := &differences{coder: n.newCoder(a, pool, n.rounds.Rows), stepLen: step, rows: n.sparseRows(false)}
	if bound > 0 {
		m.bound = 1 - step*(1-bound) // of I + step (W - I)
	}
	if p != nil && p.from <= 1 {
		m.dense = mat.DenseCopyOf(p.w)
		for i := range n.Len() {
			m.dense.Set(i, i, p.w.At(i, i)-1)
		}
	}
	m.sums = make([][]float64, pool.Workers())
	for k := range m.sums {
		m.sums[k] = make([]float64, m.hosted*panelLen)
	}
	m.gather = m.perNode(func(_, i int) { m.stream.gather(m.stream.row(m.stream.x, i), m.z[i]) })
	m.encodeAll = m.perNode(m.encodeNode)
	m.average = m.stepShare
	m.scatter = m.perNode(func(_, i int) { m.stream.scatter(m.stream.row(m.stream.x, i), m.z[i]) })
	return m
}

func (m *differences) open(z []Message) {
	m.openStream(dimensionsOf(z[0]))
	if f := m.stream; m.bound > 0 && f.before == nil {
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
	m.encode(m.encodeAll)
}

// Sends implements wire.Operation: all send to all neighbours, those that are silent a header.
func (m *differences) Sends(int, int) bool { return true }

func (m *differences) AppendTo(dst []byte, k int) []byte {
	return append(dst, m.codes[m.net.Index[m.net.Links[k].Node]]...)
}

// Check decodes what has come along link k, for Step. What a node sends along several
// links is the same.
func (m *differences) Check(k int, code []byte) error {
	if len(code) == 0 {
		return nil
	}
	return m.decodeLink(k, code)
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
	f := m.stream
	x, replica := f.row(f.x, i), f.row(f.work.Replica, i)
	m.codes[i], m.failed[i] = m.codes[i][:0], false
	q := m.rooms[worker][:f.n]
	floats.SubTo(q, x, replica)
	if trigger := m.agreed.Trigger; trigger > 0 && !f.hasNews(i, norm(q), trigger) {
		return
	}
	if m.codec() == None {
		if m.failed[i] = !wire.Finite(x); !m.failed[i] {
			m.codes[i] = wire.AppendFloats(m.codes[i], x)
			copy(replica, x)
		}
		return
	}
	code, err := f.transcode(m.codec(), m.codes[i], q)
	if err != nil { // only of numbers that are not finite
		m.failed[i] = true
		return
	}
	m.codes[i] = code
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
	for k, code := range m.codes {
		links := int64(m.net.Graph.Degree(m.net.Hosted[k]))
		if len(code) == 0 {
			t.Silent += links
			continue
		}
		t.Messages += links
		t.Bytes += links * int64(len(code))
	}
	return t
}

// stepShare steps the panels of entries that belong to a worker.
func (m *differences) stepShare(worker int) {
	panels, workers := (m.stream.n+panelLen-1)/panelLen, len(m.sums)
	for p := panels * worker / workers; p < panels*(worker+1)/workers; p++ {
		m.stepPanel(m.sums[worker], p*panelLen, min((p+1)*panelLen, m.stream.n))
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
