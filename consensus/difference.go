package consensus

import (
	"fmt"
	"math"

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
	a       Agreement
	net     *Network
	bound   float64 // of recurrence
	stepLen float64
	pool    *kernel.Pool // nil: serial
	rows    [][]weight   // W_ij of the neighbours j of the hosted nodes
	dense   *mat.Dense   // W - I if products with it are cheaper, otherwise nil
	flows   [streams]*flow
	desks   []desk // of the workers

	// Of the round under way:
	flow   *flow
	z      []Message
	omega  float64
	codes  [][]byte // of the hosted nodes; empty if silent
	failed []error  // by the hosted nodes

	// Stored, so that running them does not allocate.
	gather, speak, step, scatter func(worker int)
}

// A desk is where a worker codes, decodes and adds.
type desk struct {
	difference []float64
	sums       []float64
}

// newDifferences returns the rounds of nodes with the given weights of neighbours.
// dense is W - I if all nodes live in this process and products with it are cheaper.
func newDifferences(n *Network, pool *kernel.Pool, a Agreement, step, bound float64, dense *mat.Dense) *differences {
	m := &differences{a: a, net: n, pool: pool, stepLen: step, dense: dense}
	if bound > 0 {
		m.bound = 1 - step*(1-bound) // of I + step (W - I)
	}
	for _, i := range n.hosted {
		var row []weight
		for _, j := range n.Graph().Neighbors(i) {
			row = append(row, weight{n.row[j], n.weights.At(i, j)})
		}
		m.rows = append(m.rows, row)
	}
	m.codes, m.failed = make([][]byte, len(n.hosted)), make([]error, len(n.hosted))
	workers := 1
	if pool != nil {
		workers = pool.Workers()
	}
	m.desks = make([]desk, workers)
	m.gather = m.perNode(func(_, i int) { m.flow.gather(i, m.z[i]) })
	m.speak = m.perNode(m.speakNode)
	m.step = m.stepShare
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

func (m *differences) run(f func(worker int)) {
	if m.pool == nil {
		f(0)
	} else {
		m.pool.Run(f)
	}
}

// mix overwrites z by what it is after the given number of rounds, at least one.
func (m *differences) mix(z []Message, rounds int, traffic *Traffic) error {
	if err := m.open(z[0]); err != nil {
		return err
	}
	m.z = z
	m.run(m.gather)
	c := recurrence{bound: m.bound}
	for range rounds {
		m.flow.work.Rounds++
		m.omega = c.next()
		m.run(m.speak)
		for i, err := range m.failed {
			if err != nil {
				return fmt.Errorf("%w: node %d, stream %v", err, m.net.hosted[i], m.flow.Stream)
			}
		}
		m.count(traffic)
		m.run(m.step)
	}
	m.run(m.scatter)
	m.z = nil
	return nil
}

// open makes the stream of message z the one under way. It returns an error if the
// stream has had messages of another shape.
func (m *differences) open(z Message) error {
	s := shapeOf(z)
	if m.flows[z.Stream] == nil {
		m.flows[z.Stream] = m.newFlow(s)
	}
	f := m.flows[z.Stream]
	if f.shape != s {
		return fmt.Errorf("consensus: a message of %v after messages of %v", s, f.shape)
	}
	f.begin()
	m.flow = f
	return nil
}

// speakNode codes the difference of hosted node i, if it is worth sending.
func (m *differences) speakNode(worker, i int) {
	f, desk := m.flow, &m.desks[worker]
	x, replica := f.row(f.x, i), f.row(f.work.Replica, i)
	m.codes[i], m.failed[i] = m.codes[i][:0], nil
	q := desk.difference[:f.n]
	for k, v := range x {
		q[k] = v - replica[k]
	}
	if m.a.Trigger > 0 && !f.speaks(i, norm(q), m.a.Trigger) {
		return
	}
	if m.a.Codec == nil {
		m.codes[i] = m.codes[i][:8*f.n]
		copy(replica, x)
		return
	}
	seed := mix(mix(m.a.Seed, uint64(f.Stream)), mix(uint64(m.net.hosted[i]), f.work.Rounds))
	code, err := f.transcode(m.a.Codec, m.codes[i], q, seed)
	if err != nil {
		m.failed[i] = err
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

// count adds what the hosted nodes send in a round.
func (m *differences) count(t *Traffic) {
	t.Rounds++
	for k, code := range m.codes {
		links := int64(m.net.Graph().Degree(m.net.hosted[k]))
		if len(code) == 0 {
			t.Silent += links
			continue
		}
		t.Messages += links
		t.Bytes += links * int64(len(code))
	}
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
		blas.Combine(sums, panelLen, m.dense.RawMatrix().Data, l, f.work.Replica[lo:], f.stride, l, l, hi-lo)
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

func (m *differences) commit() {
	for _, f := range m.flows {
		if f != nil {
			f.commit()
		}
	}
}

func (m *differences) rewind() {
	for _, f := range m.flows {
		if f != nil {
			f.stale = true
		}
	}
}
