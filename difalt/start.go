package difalt

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/transport"
	"github.com/difalt/difalt/internal/rounded"
	"github.com/difalt/difalt/internal/sizes"
	"github.com/difalt/difalt/internal/tile"
	"github.com/difalt/difalt/internal/work"
	"github.com/difalt/difalt/kernel"
)

// Initial is the outcome of the spectral initialisation (Alg. 2).
type Initial struct {
	U            []*kernel.Basis   // the orthonormal start of every hosted node
	SigmaSquared float64           // an estimate of sigma_max(Theta*)^2; 0 if the run did not need it
	Step         float64           // eta, 0.4/(n m SigmaSquared); see Options.Step
	Traffic      transport.Traffic // sent by the hosted nodes, including the comparison of options
	Compute      time.Duration     // execution time of one node, without its exchanges
}

// clone returns a copy that shares no memory with i.
func (i *Initial) clone() *Initial {
	c := *i
	c.U = clone(i.U)
	return &c
}

// Initialize runs the initialisation alone, so that several methods can start from one estimate: put
// Initial.U into Problem.U0 and Initial.Step into Options.Step.
func Initialize(ctx context.Context, p *Problem, net *consensus.Network, o Options) (*Initial, error) {
	if ctx == nil {
		return nil, errNoContext
	}
	s, err := NewSolver(p, net, o)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	if err := s.begin(ctx); err != nil {
		return nil, s.located(starting, err)
	}
	if err := s.confirm(ctx); err != nil {
		return nil, s.located(confirming, err)
	}
	return s.initial, nil
}

// initialize returns the start of the iterations: Problem.U0, or the result of Alg. 2. before is the traffic
// before the nodes compared their options.
func (s *Solver) initialize(ctx context.Context, before transport.Traffic) (*Initial, error) {
	start, waited := time.Now(), time.Duration(0)
	initial := &Initial{U: clone(s.problem.U0), Step: s.o.Step, Traffic: s.net.Traffic().Minus(before)}
	if s.problem.U0 == nil || s.o.Step == 0 && s.o.Method != Accelerated {
		x, err := s.o.startExchange(s.net, s.pool)
		if err != nil {
			return nil, err
		}
		before = s.net.Traffic()
		u, sigma, err := s.spectral(ctx, timed{x, s.net, &waited})
		if err != nil {
			return nil, err
		}
		if s.problem.U0 == nil {
			initial.U = u
		}
		curvature := s.point.totals.Curvature() / float64(s.parts()) // a gradient has the samples of one set
		initial.SigmaSquared, initial.Step = sigma, 0.4/(curvature*sigma)
		initial.Traffic = initial.Traffic.Plus(s.net.Traffic().Minus(before))
	}
	if s.exchange.Exact() && (s.problem.U0 != nil || s.o.Method != Accelerated) {
		before = s.net.Traffic()
		x := timed{s.exchange, s.net, &waited}
		if err := x.Broadcast(ctx, 0, dataOf(initial.U)); err != nil {
			return nil, err
		}
		initial.Traffic = initial.Traffic.Plus(s.net.Traffic().Minus(before))
	}
	initial.Compute = (time.Since(start) - waited) / time.Duration(len(initial.U))
	return initial, nil
}

// timed is an exchange, and its network, that adds the time of its operations to waited.
type timed struct {
	consensus.Exchange
	net    *consensus.Network
	waited *time.Duration
}

func (x timed) Average(ctx context.Context, z []consensus.Message, c consensus.Codec) error {
	start := time.Now()
	err := x.Exchange.Average(ctx, z, c)
	*x.waited += time.Since(start)
	return err
}

func (x timed) Broadcast(ctx context.Context, root int, rows [][]float64) error {
	start := time.Now()
	err := x.net.Broadcast(ctx, root, rows)
	*x.waited += time.Since(start)
	return err
}

// spectral is Alg. 2. It returns U_g of the hosted nodes, and node 0's estimate of sigma_max^2: L times the
// largest diagonal entry of R. An Exact exchange gives all nodes equal factors, so that lines 4 and 15 are
// not needed.
func (s *Solver) spectral(ctx context.Context, x timed) (u []*kernel.Basis, sigma float64, err error) {
	alpha, err := s.thresholds(ctx, x) // lines 2 to 4
	if err != nil {
		return nil, 0, err
	}
	theta := s.backProjections(alpha) // lines 5 to 7
	u = s.powerStart()                // lines 8 and 9
	z, rr, sigmas := clone(u), make([]float64, s.o.Rank*s.o.Rank), make([]float64, s.o.Rank)
	for done := 1; ; done++ { // line 10
		work.For(s.pool, len(z), func(i int) { theta[i].GramProduct(z[i], u[i], nil) }) // line 11
		if err := x.Average(ctx, messagesOf(z, nil), s.o.startCodec()); err != nil {    // line 12
			return nil, 0, err
		}
		for i := range z { // line 13
			z[i].Orthonormalize(rr, nil)
			for j := range sigmas {
				if i == 0 {
					sigmas[j] = s.point.nodes * rr[j*s.o.Rank+j]
				}
			}
		}
		if !x.Exact() {
			if err := s.spread(ctx, x, z); err != nil { // lines 14 and 15
				return nil, 0, err
			}
		}
		copyBases(u, z)
		if s.enough(done, slices.Min(sigmas)) {
			break
		}
	}
	row := make([][]float64, len(u))
	for i := range row {
		row[i] = []float64{slices.Max(sigmas)}
	}
	if !x.Exact() { // the paper does not state how the nodes obtain sigma
		if err := x.Broadcast(ctx, 0, row); err != nil {
			return nil, 0, err
		}
	}
	if sigma = row[0][0]; !(sigma > 0) || !finite(sigma) {
		const format = "the initialisation estimates sigma_max^2 = %v: are all responses zero, constant within " +
			"tasks, or tiny next to a few of them?"
		why := fmt.Sprintf(format, sigma)
		return nil, 0, &DataError{-1, -1, -1, why}
	}
	return u, sigma / (s.point.totals.unit * s.point.totals.unit), nil
}

// enough reports whether the power iterations end. Without a given number they end when the least of the r
// singular values exceeds the sampling noise: after two iterations at the earliest, and after four at the
// latest.
func (s *Solver) enough(done int, least float64) bool {
	if s.problem.U0 != nil {
		return true
	}
	if s.o.PowerIterations > 0 {
		return done == s.o.PowerIterations
	}
	t := &s.point.totals
	noise := t.NoiseEdge(t.MeanResponse()/t.Curvature()) * t.unit * t.unit
	return done >= 2 && (done >= 4 || least > noise)
}

// thresholds returns alpha_g of the hosted nodes (Alg. 2, lines 2 to 4). An Exact exchange would give the
// mean that all nodes have already.
func (s *Solver) thresholds(ctx context.Context, x consensus.Exchange) ([][]float64, error) {
	alpha := make([][]float64, len(s.problem.Nodes))
	factor := 9 * s.o.Kappa * s.o.Kappa * s.o.Mu * s.o.Mu
	for i := range alpha {
		yy := sizes.Responses(s.samples(i, 0))
		alpha[i] = []float64{factor * s.point.nodes * float64(s.parts()) / s.point.totals.Samples * yy}
		if x.Exact() {
			alpha[i][0] = factor * s.point.totals.MeanResponse()
		}
	}
	if x.Exact() {
		return alpha, nil
	}
	return alpha, x.Average(ctx, messagesOf(make([]*kernel.Basis, len(alpha)), alpha), s.o.startCodec())
}

// spread gives all nodes the U of the paper's node 1, node 0 here (Alg. 2, lines 14 and 15). AGREE on that U
// and zeros leaves c_g U at node g, where c_g depends on the weights; a QR factorisation takes c_g away.
func (s *Solver) spread(ctx context.Context, x consensus.Exchange, z []*kernel.Basis) error {
	hosted := s.net.Hosted()
	var own *kernel.Basis
	for i, g := range hosted {
		if g == 0 {
			own = z[i].Clone()
		} else {
			clear(z[i].Data())
		}
	}
	if err := x.Average(ctx, messagesOf(z, nil), s.o.startCodec()); err != nil {
		return err
	}
	for i, g := range hosted {
		switch {
		case g == 0:
			z[i] = own
		case rounded.Norm(z[i].Data()) == 0:
			const why = "too few for node 0 to reach node %d, or even where odd is needed: mixing weights without a " +
				"part for the node itself can leave nothing"
			return &ParameterError{"StartRounds", s.o.StartRounds, fmt.Sprintf(why, g)}
		default:
			z[i].Orthonormalize(nil, nil)
		}
	}
	return nil
}

// backProjections returns Theta_g of every hosted node as samples, one row a task,
//
//	theta_t = X_t' y_trnc / (n_t m),
//
// where y_trnc has zeros for the responses whose squares exceed alpha_g (Alg. 2, lines 5 to 7; m = 1 there).
// It is in the unit of totals.
func (s *Solver) backProjections(alpha [][]float64) []*kernel.Tasks {
	list := make([]*kernel.Tasks, len(alpha))
	for i := range list {
		k := s.samples(i, 1)
		rows := make([][]float64, k.Len())
		work.For(s.pool, k.Len(), func(task int) {
			rows[task] = s.backProjection(k, task, alpha[i][0])
		})
		b := kernel.NewBuilder(k.Features(), []int{k.Len()}, kernel.Float64)
		for t, row := range rows {
			b.SetRow(0, t, row[:k.Features()], 0)
		}
		list[i] = b.Tasks()
	}
	return list
}

// backProjection returns theta of one task.
func (s *Solver) backProjection(k *kernel.Tasks, task int, alpha float64) []float64 {
	totals, n := &s.point.totals, k.Samples(task)
	row, kept := make([]float64, tile.Pad(k.Features())), make([]float64, n)
	for j, y := range k.Y(task) {
		if y*y <= alpha {
			kept[j] = y * totals.unit / (float64(n) * totals.MeanFeature())
		}
	}
	if n > 0 {
		k.MulTransposed(row, task, kept)
	}
	return row
}

// powerStart returns the start of the power iteration at every hosted node: U0, Start, or one Gaussian matrix
// for all nodes, orthonormalised (Alg. 2, lines 8 and 9).
func (s *Solver) powerStart() []*kernel.Basis {
	if s.problem.U0 != nil {
		return clone(s.problem.U0)
	}
	u := s.problem.Start
	if u == nil {
		u = kernel.NewBasis(s.problem.Nodes[0].Features(), s.o.Rank)
		rng := rand.New(rand.NewPCG(s.o.Seed, 0x5eed0f0a1ce0da7a))
		for j := range s.o.Rank {
			for i := range u.Col(j) {
				u.Col(j)[i] = rounded.Normal(rng)
			}
		}
	}
	list := make([]*kernel.Basis, len(s.problem.Nodes))
	for i := range list {
		list[i] = u.Clone()
		list[i].Orthonormalize(nil, nil)
	}
	return list
}

// messagesOf returns a message for every hosted node; scalars may be nil.
func messagesOf(z []*kernel.Basis, scalars [][]float64) []consensus.Message {
	list := make([]consensus.Message, len(z))
	for i := range z {
		list[i].Basis = z[i]
		if scalars != nil {
			list[i].Scalars = scalars[i]
		}
	}
	return list
}

// dataOf returns the entries of every basis, without copying them.
func dataOf(u []*kernel.Basis) (rows [][]float64) {
	for _, v := range u {
		rows = append(rows, v.Data())
	}
	return rows
}
