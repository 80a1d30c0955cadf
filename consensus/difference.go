package consensus

import (
	"fmt"
	"math"
	"slices"

	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/kernel/blas"
	"gonum.org/v1/gonum/mat"
)

// panelLen is the number of entries of a vector that a step averages at a time.
const panelLen = 64

// differences are rounds in which nodes tell one another what has changed. For every
// stream there is a replica H_g of what the neighbours have of the vector Z_g of node
// g. In a round node g sends a code q of Z_g - H_g, or nothing if it is silent; all add
// what q stands for to H_g; and then
//
//	Z_g <- Z_g + s sum_j W_gj (H_j - H_g)
//
// with the consensus step s. (Koloskova, Stich and Jaggi, Decentralized stochastic
// optimization and gossip algorithms with compressed communication, 2019.) As Z settles
// the differences shrink, and with them the errors of their codes. Without a codec H_g
// becomes Z_g and this is plain AGREE. For Chebyshev the right-hand side takes the
// place of W x_k in the recurrence.
type differences struct {
	store
	net     *Network
	bound   float64 // of recurrence
	stepLen float64
	pool    *kernel.Pool // nil: serial
	rows    [][]weight   // W_ij of the neighbours j of the hosted nodes
	dense   *mat.Dense   // W - I if products with it are cheaper, otherwise nil
	desks   []desk       // of the workers

	// Of the round under way:
	flow    *flow
	z       []Message
	factors recurrence
	omega   float64
	codes   [][]byte // of the hosted nodes; empty if silent
	failed  []bool   // hosted nodes with numbers that are not finite
	first   []int    // of the neighbours elsewhere, the first link from them

	// Stored, so that running them does not allocate.
	gather, encode, average, scatter func(worker int)
}

// A desk is where a worker codes, decodes and adds.
type desk struct {
	difference []float64
	sums       []float64
}

// newDifferences returns the rounds of nodes with the given weights of neighbours.
func (n *Network) newDifferences(rows [][]weight, pool *kernel.Pool, a Agreement, step, bound float64) *differences {
	m := &differences{net: n, pool: pool, stepLen: step, rows: rows}
	m.store = store{a: a, hosted: len(n.hosted), elsewhere: n.rows - len(n.hosted), twoBack: bound > 0}
	if bound > 0 {
		m.bound = 1 - step*(1-bound) // of I + step (W - I)
	}
	m.codes, m.failed = make([][]byte, len(n.hosted)), make([]bool, len(n.hosted))
	m.first = slices.Repeat([]int{-1}, n.rows-len(rows))
	for k, link := range n.links {
		if e := n.row[link.Peer] - len(rows); m.first[e] < 0 {
			m.first[e] = k
		}
	}
	m.desks = make([]desk, workers(pool))
	m.gather = m.perNode(func(_, i int) { m.flow.gather(i, m.z[i]) })
	m.encode = m.perNode(m.encodeNode)
	m.average = m.stepShare
	m.scatter = m.perNode(func(_, i int) { m.flow.scatter(i, m.z[i]) })
	return m
}

// perNode returns a pool function that calls f for every hosted node.
func (m *differences) perNode(f func(worker, i int)) func(worker int) {
	return func(worker int) {
		for i := worker; i < len(m.net.hosted); i += len(m.desks) {
			f(worker, i)
		}
	}
}

func (m *differences) run(f func(worker int)) { runOn(m.pool, f) }

// open begins a Mix of z.
func (m *differences) open(_ *Network, z []Message) (err error) {
	if m.flow, err = m.of(shapeOf(z[0])); err != nil {
		return err
	}
	makeRoom(m.desks, m.codes, m.codec(), m.flow)
	for k := range m.desks {
		if m.desks[k].sums == nil {
			m.desks[k].sums = make([]float64, len(m.rows)*panelLen)
		}
	}
	m.z, m.factors = z, recurrence{bound: m.bound}
	m.run(m.gather)
	m.z = nil
	return nil
}

// makeRoom sees to it that coding the vectors of a flow does not allocate.
func makeRoom(desks []desk, codes [][]byte, c Codec, f *flow) {
	for k := range desks {
		if len(desks[k].difference) < f.n {
			desks[k].difference = make([]float64, f.n)
		}
	}
	room := maxCode(c, f.shape)
	for k, code := range codes {
		if cap(code) < room {
			codes[k] = make([]byte, 0, room)
		}
	}
}

// close overwrites z by what it is after the rounds.
func (m *differences) close(z []Message) {
	m.z = z
	m.run(m.scatter)
	m.z = nil
}

func (m *differences) channel() uint8 { return uint8(m.flow.Stream) }

func (m *differences) speak() {
	m.flow.work.Rounds++
	m.omega = m.factors.next()
	m.run(m.encode)
	for i, failed := range m.failed {
		if failed {
			m.net.fail(m.channel(), i)
		}
	}
}

func (m *differences) part(dst []byte, k int) []byte {
	return append(dst, m.codes[m.net.index[m.net.links[k].Node]]...)
}

// hear decodes what has come along link k, for step. What a node sends along several
// links is the same.
func (m *differences) hear(k int) error {
	f, code := m.flow, m.net.got[k].code
	if len(code) == 0 {
		return nil
	}
	if len(code) > maxCode(m.codec(), f.shape) {
		return fmt.Errorf("a code of %d bytes for %v", len(code), f.shape)
	}
	return f.decode(m.codec(), f.row(f.heard, m.net.row[m.net.links[k].Peer]-len(m.rows)), code)
}

// step takes over what has come, averages, and counts what was sent.
func (m *differences) step() Traffic {
	f := m.flow
	for k, link := range m.net.links {
		row := m.net.row[link.Peer]
		if len(m.net.got[k].code) == 0 || k != m.first[row-len(m.rows)] {
			continue
		}
		replica := f.row(f.work.Replica, row)
		heard := f.row(f.heard, row-len(m.rows))
		if m.codec() == nil {
			copy(replica, heard)
			continue
		}
		for k, v := range heard {
			replica[k] += v
		}
	}
	m.run(m.average)
	return m.count()
}

// encodeNode codes the difference of hosted node i, if it is worth sending.
func (m *differences) encodeNode(worker, i int) {
	f, desk := m.flow, &m.desks[worker]
	x, replica := f.row(f.x, i), f.row(f.work.Replica, i)
	m.codes[i], m.failed[i] = m.codes[i][:0], false
	q := desk.difference[:f.n]
	for k, v := range x {
		q[k] = v - replica[k]
	}
	if m.a.Trigger > 0 && !f.speaks(i, norm(q), m.a.Trigger) {
		return
	}
	if m.codec() == nil {
		if m.failed[i] = !finite(x); !m.failed[i] {
			m.codes[i] = appendRaw(m.codes[i], x)
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
	for k, v := range q {
		replica[k] += v
	}
}

func norm(v []float64) float64 {
	squares := 0.0
	for _, x := range v {
		squares += x * x
	}
	return math.Sqrt(squares)
}

// count returns what the hosted nodes have sent in a round.
func (m *differences) count() Traffic {
	t := Traffic{Rounds: 1}
	for k, code := range m.codes {
		links := int64(m.net.Graph().Degree(m.net.hosted[k]))
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
	panels, workers := (m.flow.n+panelLen-1)/panelLen, len(m.desks)
	for p := panels * worker / workers; p < panels*(worker+1)/workers; p++ {
		m.stepPanel(m.desks[worker].sums, p*panelLen, min((p+1)*panelLen, m.flow.n))
	}
}

// stepPanel averages the entries [lo, hi) of the vectors of the hosted nodes.
func (m *differences) stepPanel(sums []float64, lo, hi int) {
	f := m.flow
	if m.dense != nil {
		l := len(m.rows)
		z := blas.ColumnMajor{Rows: hi - lo, Cols: l, Stride: f.stride, Data: f.work.Replica[lo:]}
		w := blas.ColumnMajor{Rows: l, Cols: l, Stride: l, Data: m.dense.RawMatrix().Data}
		blas.MulNN(blas.ColumnMajor{Rows: hi - lo, Cols: l, Stride: panelLen, Data: sums}, z, w)
	}
	for i := range m.rows {
		sum := sums[i*panelLen:][:hi-lo]
		if m.dense == nil {
			m.sparseSum(sum, i, lo)
		}
		x := f.row(f.x, i)[lo:hi]
		if m.bound == 0 {
			for k, s := range sum {
				x[k] += m.stepLen * s
			}
			continue
		}
		before := f.row(f.before, i)[lo:hi]
		for k, s := range sum {
			next := x[k] + m.stepLen*s
			if m.omega != 1 {
				next = m.omega*next + (1-m.omega)*before[k]
			}
			before[k], x[k] = x[k], next
		}
	}
}

// sparseSum computes sum_j W_ij (H_j - H_i) for len(sum) entries from lo. What one end
// of a link adds, the other end takes away, to the last bit if their weights are equal.
func (m *differences) sparseSum(sum []float64, i, lo int) {
	f := m.flow
	clear(sum)
	own := f.work.Replica[i*f.stride+lo:][:len(sum)]
	for _, w := range m.rows[i] {
		for k, h := range f.work.Replica[w.row*f.stride+lo:][:len(sum)] {
			sum[k] += w.value * (h - own[k])
		}
	}
}
