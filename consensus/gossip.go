package consensus

import (
	"fmt"
	"math"
	"slices"

	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/kernel/blas"
	"gonum.org/v1/gonum/floats"
)

// panelLen is the largest number of entries of a vector that are averaged at a time.
const panelLen = 512

// A gossip is rounds in which nodes tell their neighbours what they have: AGREE of Alg. 1. For
// every stream there is a replica H_g of what the neighbours have of the vector Z_g of node g. In
// a round all come to know what is new of H_g, and then
//
//	Z_g <- Z_g + s sum_j W_gj (H_j - H_g)
//
// with the consensus step s. In float64 a node sends Z_g, which is H_g then. With a codec it sends
// a code q of Z_g - H_g, or nothing if it is silent, and all add what q stands for to H_g
// (Koloskova, Stich and Jaggi, Decentralized stochastic optimization and gossip algorithms with
// compressed communication, 2019): as Z converges the differences shrink, and with them the errors
// of their codes. For Chebyshev the right-hand side takes the place of W x_k in the recurrence.
//
// Every entry is computed in the same way wherever nodes live and whatever the workers.
type gossip struct {
	coder
	bound   float64 // of recurrence
	stepLen float64
	rows    []sparseRow // of the hosted nodes
	pool    *kernel.Pool
	scratch []scratch // of every worker

	// Of the Mix under way:
	z       []Message
	factors recurrence
	sent    []sentCode // by the hosted nodes

	// Stored, so that running them does not allocate.
	gather, encode, average, scatter func(worker int)
}

// A sparseRow has the nonzero entries of a row of W but the node's own: where the vectors of the
// neighbours are, by wire.Placement.Row, and their weights.
type sparseRow struct {
	rows    []int
	weights []float64
}

type scratch struct {
	sums       []float64 // of a panel
	difference []float64
}

// A sentCode is what a node sends. A node whose numbers are not finite sends nothing, either.
type sentCode struct {
	code           []byte // of a codec
	silent, failed bool
}

// newGossip returns the rounds of the hosted nodes, with the weights that each gives its neighbours.
func (n *Network) newGossip(weight func(i, j int) float64, pool *kernel.Pool, a Agreement, step, bound float64) *gossip {
	m := &gossip{
		coder: n.newCoder(a, n.rounds.Rows), stepLen: step, rows: make([]sparseRow, len(n.Hosted())),
		pool: pool, scratch: make([]scratch, pool.Workers()), sent: make([]sentCode, len(n.Hosted())),
	}
	if bound > 0 {
		m.bound = 1 - step*(1-bound) // of I + step (W - I)
	}
	for k, i := range n.Hosted() {
		for _, j := range n.Graph().Neighbors(i) {
			m.rows[k].rows = append(m.rows[k].rows, n.rounds.Row[j])
			m.rows[k].weights = append(m.rows[k].weights, weight(i, j))
		}
	}
	for k := range m.scratch {
		m.scratch[k].sums = make([]float64, panelLen)
	}
	m.gather = m.perNode(func(_, i int) { m.stream.gather(m.stream.row(m.stream.x, i), m.z[i]) })
	m.encode = m.perNode(m.encodeNode)
	m.average = m.stepShare
	m.scatter = m.perNode(func(_, i int) { m.stream.scatter(m.stream.row(m.stream.x, i), m.z[i]) })
	return m
}

// perNode returns a pool function that calls f for every hosted node.
func (m *gossip) perNode(f func(worker, i int)) func(worker int) {
	return func(worker int) {
		for i := worker; i < m.hosted; i += len(m.scratch) {
			f(worker, i)
		}
	}
}

// open makes room, so that the rounds do not allocate.
func (m *gossip) open(z []Message) {
	m.stream = m.of(dimensionsOf(z[0]))
	f := m.stream
	for k := range m.scratch {
		if m.keeps() && len(m.scratch[k].difference) < f.n {
			m.scratch[k].difference = make([]float64, f.n)
		}
	}
	if c := m.codec(); c != None {
		for k := range m.sent {
			m.sent[k].code = slices.Grow(m.sent[k].code[:0], maxCode(c, f.dimensions))
		}
	}
	if m.bound > 0 && f.before == nil {
		f.before = make([]float64, len(f.x))
	}
	m.factors = recurrence{bound: m.bound}
	m.runOnMessages(m.gather, z)
}

// close overwrites z by what it is after the rounds.
func (m *gossip) close(z []Message) { m.runOnMessages(m.scatter, z) }

func (m *gossip) runOnMessages(f func(worker int), z []Message) {
	m.z = z
	m.pool.Run(f)
	m.z = nil
}

func (m *gossip) length(rounds int) (int, bool) { return rounds, false }

func (m *gossip) Prepare() {
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
func (m *gossip) Sends(int, int) bool { return true }

func (m *gossip) AppendTo(dst []byte, k int) []byte {
	i := m.net.Index[m.net.Links[k].Node]
	switch s := &m.sent[i]; {
	case s.silent || s.failed:
		return dst
	case m.codec() == None:
		return wire.AppendFloats(dst, m.stream.row(m.stream.x, i))
	default:
		return append(dst, s.code...)
	}
}

// Check decodes what has come along link k, for Step. What a node sends along several
// links is the same.
func (m *gossip) Check(k int, code []byte) error {
	switch {
	case len(code) == 0 && m.agreed.Trigger > 0: // silent
		return nil
	case len(code) > maxCode(m.codec(), m.stream.dimensions):
		return fmt.Errorf("a code of %d bytes for %v", len(code), m.stream.dimensions)
	}
	return m.stream.decode(m.codec(), m.decoded(m.net.Links[k].Peer), code)
}

// decoded returns the room for what comes from a neighbour elsewhere.
func (m *gossip) decoded(node int) []float64 {
	return m.stream.row(m.stream.decoded, m.net.Row[node]-m.hosted)
}

// Step takes over what has come, averages, and counts what was sent.
func (m *gossip) Step() wire.Traffic {
	f := m.stream
	if !m.keeps() {
		f.x, f.work.Replica = f.work.Replica, f.x
	}
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

// encodeNode makes what hosted node i sends, if it is worth sending.
func (m *gossip) encodeNode(worker, i int) {
	f, sent, c := m.stream, &m.sent[i], m.codec()
	x, replica, q := f.row(f.x, i), f.row(f.work.Replica, i), []float64(nil)
	sent.code, sent.silent, sent.failed = sent.code[:0], false, false
	if m.keeps() {
		q = m.scratch[worker].difference[:f.n]
		floats.SubTo(q, x, replica)
		if trigger := m.agreed.Trigger; trigger > 0 && !f.hasNews(i, norm(q), trigger) {
			sent.silent = true
			return
		}
	}
	if c == None {
		if sent.failed = !wire.Finite(x); m.keeps() && !sent.failed {
			copy(replica, x)
		}
		return
	}
	var err error
	if sent.code, err = f.transcode(c, sent.code, q); err != nil { // only of numbers that are not finite
		sent.failed = true
		return
	}
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
func (m *gossip) count() wire.Traffic {
	t := wire.Traffic{Rounds: 1}
	for k, s := range m.sent {
		links, bytes := int64(m.net.Graph.Degree(m.net.Hosted[k])), len(s.code)
		if s.silent || s.failed {
			t.Silent += links
			continue
		}
		if m.codec() == None {
			bytes = None.MaxLen(m.stream.n)
		}
		t.Messages += links
		t.Bytes += links * int64(bytes)
	}
	return t
}

// stepShare averages the panels of entries that belong to a worker: of all workers, if there are so many
// entries.
func (m *gossip) stepShare(worker int) {
	n, workers := m.stream.n, len(m.scratch)
	size := min(panelLen, blas.Pad((n+workers-1)/workers))
	for lo := worker * size; lo < n; lo += workers * size {
		m.stepPanel(m.scratch[worker].sums, lo, min(lo+size, n))
	}
}

// stepPanel averages the entries [lo, hi) of the vectors of the hosted nodes.
func (m *gossip) stepPanel(sums []float64, lo, hi int) {
	f := m.stream
	z, h := f.x, blas.ColumnMajor{Rows: hi - lo, Cols: m.net.Rows, Stride: f.stride, Data: f.work.Replica[lo:]}
	if !m.keeps() {
		z = f.work.Replica
	}
	for i, row := range m.rows {
		// What one end of a link adds, the other end takes away, to the last bit if their
		// weights are equal.
		blas.SumDifferences(sums, h, i, row.rows, row.weights)
		x, from, sum := f.row(f.x, i)[lo:hi], f.row(z, i)[lo:hi], sums[:hi-lo]
		if m.bound == 0 {
			floats.AddScaledTo(x, from, m.stepLen, sum)
			continue
		}
		before := f.row(f.before, i)[lo:hi]
		for k, s := range sum {
			next := from[k] + m.stepLen*s
			if m.factors.omega != 1 {
				next = m.factors.omega*next + (1-m.factors.omega)*before[k]
			}
			before[k], x[k] = from[k], next
		}
	}
}

// A recurrence yields the factors of the Chebyshev semi-iteration. With x_0 = z and
//
//	x_k+1 = omega_k+1 W x_k + (1 - omega_k+1) x_k-1
//
// x_k is p_k(W) z, where p_k(t) = T_k(t/g) / T_k(1/g) for the Chebyshev polynomial
// T_k and g = bound: of all polynomials of degree k with p(1) = 1 the one with the
// smallest modulus on [-g, g] (Golub and Varga, Chebyshev semi-iterative methods,
// 1961). Since p(1) = 1 it keeps what W keeps.
//
// Where |t| > g, p_k is larger, but never larger than t^k: T_k(y)/y^k increases with
// y >= 1. So if g does not exceed gamma(W), k steps never average less than W^k.
//
// For a bound of zero all factors are 1, and x_k = W^k z.
type recurrence struct {
	bound float64 // g
	omega float64 // of the round under way
	last  float64 // the same, but 2 for k = 1
}

// advance makes omega the next of omega_1 = 1, omega_2, omega_3 and so on.
func (c *recurrence) advance() {
	if c.last == 0 {
		c.omega, c.last = 1, 2
		return
	}
	c.last = 1 / (1 - c.bound*c.bound*c.last/4)
	c.omega = c.last
}
