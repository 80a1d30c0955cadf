package difalt

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/kernel"
)

// A process is what the initialisation and the iterations share: the nodes that live
// here with their data, their workers, and the way out to the others.
type process struct {
	problem *Problem
	o       Options // with defaults
	net     *consensus.Network
	hosted  []int
	pool    *kernel.Pool
	data    *data
	closed  bool

	agreement *exchange       // AGREE
	sums      *exchange       // of the initialisation of the accelerated methods, else nil
	took      []time.Duration // by the hosted nodes, in the present call of timed
	elapsed   time.Duration   // before the iterations, at the slowest node and on averaging
}

func newProcess(p *Problem, net *consensus.Network, o Options) (*process, error) {
	if p == nil || net == nil {
		return nil, errNoProblem
	}
	if err := kernel.Err(); err != nil {
		return nil, fmt.Errorf("difalt: %w", err)
	}
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	s := &process{problem: p, o: o, net: net, hosted: net.Hosted()}
	if err := p.validate(s.hosted, &o); err != nil {
		return nil, err
	}
	s.data = &data{features: p.Nodes[0].Features(), rank: o.Rank, parts: 1, unit: units{1, 1}}
	if o.SampleSplit {
		s.data.parts = 2*o.Iterations + 2
	}
	s.pool = kernel.NewPool(o.Workers)
	mixer, err := net.NewMixer(o.Agreement, s.pool)
	if err != nil {
		s.close()
		return nil, err
	}
	s.agreement = newExchange(net, mixer, o.Rounds)
	if o.traits().accelerated {
		along := consensus.Agreement{Polynomial: consensus.Tree}
		if o.sharesBasis(net.Len()) && o.Agreement.Codec != consensus.None { // then the iterations send codes along it too
			along.Codec = consensus.Int8
		}
		if mixer, err = net.NewMixer(along, s.pool); err != nil {
			s.close()
			return nil, err
		}
		s.sums = newExchange(net, mixer, 1)
	}
	s.took = make([]time.Duration, len(s.hosted))
	return s, nil
}

// close ends what newProcess has started.
func (s *process) close() {
	for _, x := range []*exchange{s.agreement, s.sums} {
		if x != nil {
			x.mixer.Close()
		}
	}
	s.pool.Close()
}

// compare lets the nodes find out whether they want the same, and about one another's data
// what all have to know.
func (s *process) compare(ctx context.Context) error {
	k, ask := s.data, s.problem.Moments == nil
	k.by, k.moments = nil, nil
	if err := k.build(s, units{1, 1}); err != nil {
		return err
	}
	largest, settings := zeros(len(s.hosted), 2), digits(s.settings())
	n := len(settings)
	sum, err := s.sum(ctx, n+4+kindsOfCounts, func(i int, row []float64) {
		x, y := s.problem.Nodes[i].MaxAbs()
		largest[i][0], largest[i][1] = x, y
		copy(row, slices.Concat(settings, sizes(x), sizes(y), k.counts(i, ask)))
	})
	if err != nil {
		return err
	}
	said, sizesX, sizesY, counts := sum[:n], sum[n:n+2], sum[n+2:n+4], sum[n+4:]
	if !alike(said, s.net.Len()) {
		return nameDifference(ctx, s.net, s.settings())
	}
	if farFrom(sizesX) || farFrom(sizesY) { // such data have to be added up once more
		err := s.net.Largest(ctx, largest)
		if err == nil {
			counts, err = s.countAgain(ctx, units{unitOf(largest[0][0]), unitOf(largest[0][1])}, ask)
		}
		if err != nil {
			return err
		}
	}
	if counts[countVotes] > 0 {
		var err error
		if counts, err = s.lookCloser(ctx, counts); err != nil {
			return err
		}
	}
	if err := k.count(counts); err != nil {
		return err
	}
	if s.o.Rank > k.tasks {
		return &ParameterError{"Rank", s.o.Rank, fmt.Sprintf("must not be more than the %d tasks", k.tasks)}
	}
	if k.ridge > MaxRidge {
		return &ParameterError{"Ridge", s.o.Ridge, "too large for features as small as these"}
	}
	return k.split(s)
}

// lookCloser finds the moments of features that matter, and coordinates with new counts. A
// ridge is a number in the coordinates of the caller, which then stay.
func (s *process) lookCloser(ctx context.Context, counts []float64) (_ []float64, err error) {
	k := s.data
	if k.moments, err = k.findMoments(ctx, s, counts[countSamples]); k.moments == nil || err != nil {
		return counts, err
	}
	s.o.Logger.Debug("offsets or sizes of features matter")
	if s.o.Ridge > 0 {
		return counts, nil
	}
	k.by = k.moments.coordinates()
	return s.countAgain(ctx, k.unit, false)
}

// countAgain brings the data into other units, and the coordinates, and returns their counts.
func (s *process) countAgain(ctx context.Context, unit units, ask bool) ([]float64, error) {
	if err := s.data.build(s, unit); err != nil {
		return nil, err
	}
	return s.sum(ctx, kindsOfCounts, func(i int, row []float64) { copy(row, s.data.counts(i, ask)) })
}

// sum returns the sum over all nodes of n numbers, which set sets for hosted node i.
func (s *process) sum(ctx context.Context, n int, set func(i int, row []float64)) ([]float64, error) {
	rows := zeros(len(s.hosted), n)
	s.timed(func(i, _ int) { set(i, rows[i]) })
	err := s.net.Sum(ctx, rows)
	return rows[0], err
}

// zeros returns rows of n zeros.
func zeros(rows, n int) [][]float64 {
	z := make([][]float64, rows)
	for i := range z {
		z[i] = make([]float64, n)
	}
	return z
}

// each returns a function for the pool that calls f for every hosted node.
func (s *process) each(f func(i int)) func(worker int) {
	return func(w int) {
		for i := w; i < len(s.hosted); i += s.pool.Workers() {
			f(i)
		}
	}
}

// timed calls f(i, worker) for every hosted node i in parallel, before the iterations, and
// adds the time of the slowest.
func (s *process) timed(f func(i, worker int)) {
	s.pool.Run(func(w int) {
		for i := w; i < len(s.hosted); i += s.pool.Workers() {
			start := time.Now()
			f(i, w)
			s.took[i] = time.Since(start)
		}
	})
	s.elapsed += slices.Max(s.took)
}

// warnExposed names the hosted nodes whose coefficients can be computed from what they
// are about to send, the sum of b_t b_t' over their own tasks: in gossip, with P in every iteration, by
// their neighbours, and of two nodes by the other one, which takes its own part from the total. From it
// the b_t of a node with fewer than r tasks can be computed up to a rotation, and that of a single
// task up to its sign.
func (s *process) warnExposed() {
	gossip := s.o.sumsCoefficients() && s.o.Agreement.Polynomial != consensus.Tree
	two := s.net.Len() == 2 && (s.o.sumsCoefficients() || s.o.judges())
	if s.net.Len() == 1 || !gossip && !two {
		return
	}
	var exposed []int
	for i, k := range s.problem.Nodes {
		if k.Len() < s.o.Rank {
			exposed = append(exposed, s.hosted[i])
		}
	}
	if exposed != nil {
		s.o.Logger.Warn("nodes with fewer tasks than the rank give their coefficients away, up to a rotation or a sign, by sums of b b' that others see (docs/privacy.md)",
			"nodes", exposed, "rank", s.o.Rank)
	}
}

// An exchange is the way from the hosted nodes to the others.
type exchange struct {
	net    *consensus.Network
	mixer  *consensus.Mixer
	rounds int           // of an iteration
	time   time.Duration // spent in agree since the iteration began
	msgs   []consensus.Message
}

func newExchange(net *consensus.Network, m *consensus.Mixer, rounds int) *exchange {
	return &exchange{net: net, mixer: m, rounds: rounds, msgs: make([]consensus.Message, len(net.Hosted()))}
}

// agree runs AGREE (Alg. 1) on the bases and scalars of the hosted nodes; scalars may be
// nil.
func (x *exchange) agree(ctx context.Context, stream consensus.Stream, z []*kernel.Basis, scalars [][]float64, rounds int) error {
	start := time.Now()
	for i := range x.msgs {
		x.msgs[i] = consensus.Message{Stream: stream, Basis: z[i]}
		if scalars != nil {
			x.msgs[i].Scalars = scalars[i]
		}
	}
	err := x.mixer.Mix(ctx, x.msgs, rounds)
	x.time += time.Since(start)
	return err
}

// nodes is L: a node's gradient times L stands for that of all.
func (x *exchange) nodes() float64 { return float64(x.net.Len()) }
