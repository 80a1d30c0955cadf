package difalt

import (
	"context"
	"math"
	"math/rand/v2"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/difalt/minimum"
	"github.com/difalt/difalt/internal/gram"
	"github.com/difalt/difalt/kernel"
	"gonum.org/v1/gonum/floats"
)

// A monitor decides when a run ends. The nodes look every CheckEvery iterations, and where steps are short:
// they add up a few numbers, and all decide the same from the totals. A run is
//
//	Canceled   if a node leaves;
//	Diverged   if a node has a number that is not finite, or the objective stays above that of the start;
//	Converged  if the residual, a Newton-like step for the data of all nodes, is below Options.Tolerance.
//
// Short steps do not prove convergence, since they depend on the condition number. They are a reason to add
// up the gradients and measure the residual. The monitor reads the state, and writes only state.p.
type monitor struct {
	estimates
	bestState
	table
	o        *Options
	state    *state
	exchange consensus.Exchange
	facts    facts
	start    float64        // the objective of the first look
	worse    int            // looks in a row with an objective far above start
	length   func() float64 // of the last step, if all nodes know it; nil otherwise
	escapes  int            // from saddle points
}

// estimates are those of the last look and the last measurement.
type estimates struct {
	signal, noise float64 // see facts.signal
	residual      float64 // see Result.Residual
	measured      int     // the iteration of the last measurement
}

// A bestState has the lowest objective of all looks, and U there.
type bestState struct {
	lowest float64
	best   []*kernel.Basis
}

// A table has the hosted nodes' numbers of a sum: rows, the first numbers of rows, and the largest size.
type table struct {
	rows, views [][]float64
	most        float64
}

const (
	// CheckEvery is the number of iterations between two looks.
	CheckEvery     = 10
	divergedAfter  = 2    // looks in a row
	divergedMargin = 1.05 // times the objective of the start
	negligible     = 1e-6 // times the sum of y^2: smaller objectives do not count as divergence
	measureAfter   = 2    // iterations between two measurements
	shortestMove   = 1e-14
	lastDigits     = 4 * 0x1p-52
	noiseShare     = 0.1 // of the statistical error: StopAtNoise
	headLen        = 4   // numbers of a look before P
	sketchLen      = 64  // random directions; the nodes add up the components of their steps
)

func newMonitor(o *Options, s *state, x consensus.Exchange) monitor {
	m := monitor{
		o: o, state: s, exchange: x, start: math.NaN(), bestState: bestState{math.Inf(1), clone(s.u)},
		estimates: estimates{residual: math.NaN(), noise: math.NaN(), measured: -measureAfter}, table: table{most: 0x1p50 / s.nodes},
	}
	for range s.u {
		m.rows = append(m.rows, make([]float64, headLen+len(s.p.P)+max(sketchLen, 2*len(s.u[0].Data()))))
	}
	m.views = make([][]float64, len(m.rows))
	return m
}

// objective returns the objective of hosted node i that a step lowers.
func (s *state) objective(i int) float64 {
	g := s.groups[i]
	return g.Objective + s.ridge*floats.Dot(g.B, g.B)
}

// due reports whether the nodes look in this iteration; all nodes decide the same.
func (m *monitor) due() bool {
	k := m.state.iteration
	return !m.started() || k%CheckEvery == 0 || k == m.o.Iterations || m.near()
}

// started reports whether the nodes have looked before.
func (m *monitor) started() bool { return !math.IsNaN(m.start) }

// near reports whether the length of the last step, where all nodes know it, is a reason to measure the
// residual.
func (m *monitor) near() bool {
	if m.length == nil || m.o.EveryIteration || m.state.iteration < m.measured+measureAfter {
		return false
	}
	return m.length()/(m.facts.slowest()*m.signal) <= m.enough()
}

// worthMeasuring reports whether this look measures the residual. moved is the root mean square of the last
// moves of U.
func (m *monitor) worthMeasuring(moved float64) bool {
	switch {
	case m.o.EveryIteration:
		return false
	case m.state.iteration == m.o.Iterations:
		return true
	case m.length != nil:
		return m.near()
	}
	return m.o.StopAtNoise || moved <= max(m.o.Tolerance, shortestMove)
}

// enough is the residual at which the run has converged. It is never below the part of it that is rounding.
func (m *monitor) enough() float64 {
	floor := lastDigits * math.Sqrt(m.facts.squares()/(m.facts.curvature()*m.least()))
	enough := max(m.o.Tolerance, min(floor, 1))
	if m.o.StopAtNoise && m.noise < 1 {
		enough = max(enough, noiseShare*m.noise)
	}
	return enough
}

// least is the smallest eigenvalue of sum_t b_t b_t' that counts.
func (m *monitor) least() float64 { return m.state.p.Least() / (m.facts.unit * m.facts.unit) }

// look adds up the numbers of a look over all nodes, and returns the status that follows from the totals.
// leave is true if this process requests the end of the run.
func (m *monitor) look(ctx context.Context, leave bool) (Status, error) {
	s, started, n := m.state, m.started(), headLen+len(m.state.p.P)
	measures := started && m.length != nil && m.worthMeasuring(0) // known before the look
	for i, row := range m.rows {
		row = row[:n]
		clear(row)
		row[2] = sumScale * s.objective(i)
		if started {
			moved := floats.Distance(s.u[i].Data(), s.z[i].Data(), 2)
			row[3] = moved * moved
		}
		gram.Outer(row[headLen:], s.groups[i].B, m.o.Rank, m.facts.unit*m.facts.unit, m.most)
		if !m.fits(row) || started && !s.finite[i] {
			clear(row)
			row[1] = 1
		}
		if leave {
			row[0] = 1
		}
	}
	if measures {
		m.sketch(n)
		n += sketchLen
	}
	total, err := m.sum(ctx, n)
	if err != nil {
		return Running, err
	}
	leaving, broken, moved := total[0] > 0, total[1] > 0, math.Sqrt(total[3]/s.nodes)
	m.take(total[2]/sumScale, total[headLen:][:len(s.p.P)])
	last := s.iteration == m.o.Iterations
	switch {
	case broken || !m.o.EveryIteration && (m.worse >= divergedAfter || last && m.worse > 0):
		return Diverged, nil
	case leaving:
		return Canceled, nil
	case measures:
		m.measure(floats.Norm(total[n-sketchLen:], 2))
	case started && m.length == nil && m.worthMeasuring(moved):
		if err := m.gather(ctx); err != nil {
			return Running, err
		}
	}
	switch {
	case m.measured == s.iteration && m.residual <= m.enough():
		return Converged, nil
	case last:
		return IterationLimit, nil
	}
	return Running, nil
}

// take stores the objective and the P of a look.
func (m *monitor) take(objective float64, p []float64) {
	if !m.started() {
		m.start = objective
	}
	if objective < m.lowest {
		m.lowest = objective
		copyBases(m.best, m.state.u)
	}
	if objective > divergedMargin*m.start && objective > negligible*m.facts.squares() {
		m.worse++
	} else {
		m.worse = 0
	}
	m.state.p.Invert(p)
	m.signal, m.noise = m.facts.signal(m.least(), objective)
}

// sum adds the first n numbers of the rows over all nodes; the result is valid until the next sum.
func (m *monitor) sum(ctx context.Context, n int) ([]float64, error) {
	for i, row := range m.rows {
		m.views[i] = row[:n]
	}
	return m.views[0], m.exchange.Sum(ctx, m.views)
}

// fits reports whether all numbers are finite and small enough for a sum.
func (m *monitor) fits(row []float64) bool {
	for _, v := range row {
		if !(math.Abs(v) <= m.most) {
			return false
		}
	}
	return true
}

// measure sets residual from the length of the sum of all steps; see Result.Residual.
func (m *monitor) measure(length float64) {
	m.residual, m.measured = length/(m.facts.slowest()*m.signal), m.state.iteration
}

// step returns the Newton-like step (I - U U') grad P^-1/(n m) for a gradient.
func (m *monitor) step(u, grad *kernel.Basis) *kernel.Basis {
	d, r := u.Dims()
	step := kernel.NewBasis(d, r)
	gram.AddProduct(step, grad, m.state.p.Inverse)
	floats.Scale(m.facts.unit*m.facts.unit/m.facts.curvature(), step.Data())
	project(step, u, make([]float64, r*r))
	return step
}

// sketch appends to the first n numbers of every row the products of the node's step with random vectors, the
// same at all nodes, which have one U. The length of their sum is that of the sum of the steps to 10 per cent
// (Johnson and Lindenstrauss 1984): 64 numbers in place of d r.
func (m *monitor) sketch(n int) {
	s := m.state
	var steps []*kernel.Basis
	for i, u := range s.u {
		steps = append(steps, m.step(u, s.groups[i].Grad))
	}
	rng := rand.New(rand.NewPCG(m.o.Seed, uint64(s.iteration)))
	phi := make([]float64, len(steps[0].Data()))
	for k := range sketchLen {
		for j := range phi {
			phi[j] = rng.NormFloat64() / math.Sqrt(sketchLen)
		}
		for i, row := range m.rows {
			if row[n+k] = floats.Dot(phi, steps[i].Data()); !(math.Abs(row[n+k]) <= m.most) {
				row[n+k] = m.most
			}
		}
	}
}

// gather adds up the gradients and the U_g of all nodes, and sets residual.
func (m *monitor) gather(ctx context.Context) error {
	s, size := m.state, len(m.state.u[0].Data())
	for i, row := range m.rows {
		floats.ScaleTo(row[:size], sumScale, s.groups[i].Grad.Data())
		if copy(row[size:], s.u[i].Data()); !m.fits(row[:size]) {
			floats.AddConst(m.most, row[:size])
		}
	}
	total, err := m.sum(ctx, 2*size)
	if err != nil {
		return err
	}
	gradient, mean := s.u[0].Clone(), s.u[0].Clone()
	floats.ScaleTo(gradient.Data(), 1/sumScale, total[:size])
	floats.ScaleTo(mean.Data(), 1/s.nodes, total[size:2*size])
	if m.measure(floats.Norm(m.step(mean, gradient).Data(), 2)); !(m.residual <= m.enough()) {
		return nil
	}
	// No node is farther from the mean than the root of the sum of all squared distances.
	for i, row := range m.rows {
		distance := floats.Distance(s.u[i].Data(), mean.Data(), 2)
		row[0] = distance * distance
	}
	if total, err = m.sum(ctx, 1); err == nil {
		m.residual = max(m.residual, math.Sqrt(total[0]))
	}
	return err
}

// maxEscapes is the number of times that a run leaves a saddle point.
const maxEscapes = 12

// settle checks whether a run that satisfies the stop rule is at a minimum, where noise is not negligible. It
// returns Converged or Undetermined, or Running, with the solver at a better U, at a saddle point.
func (s *Solver) settle(ctx context.Context) (Status, error) {
	o := minimum.Options{Ridge: s.o.Ridge, Seed: s.o.Seed, Pool: s.pool}
	standing, err := minimum.Look(ctx, s.exchange, s.problem.Nodes, s.state.u, o)
	if err != nil {
		return Running, err
	}
	s.monitor.noise = max(s.monitor.noise, standing.StatisticalError)
	switch {
	case standing.Verdict == minimum.Minimum:
		return Converged, nil
	case standing.Verdict == minimum.Saddle && s.monitor.escapes < maxEscapes && s.state.iteration < s.o.Iterations:
		s.monitor.escapes++
		copyBases(s.state.u, standing.U)
		s.monitor.measured = s.state.iteration
		s.startMethod()
		return Running, nil
	}
	return Undetermined, nil
}
