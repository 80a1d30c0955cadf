package difalt

import (
	"context"
	"math"

	"github.com/difalt/difalt/kernel"
	"gonum.org/v1/gonum/floats"
)

// A gauge measures how far the current state is from a minimiser for the data of all
// nodes; see Result.Residual.
type gauge struct {
	sums            [][]float64   // of every hosted node
	parts           []nodeSums    // of them
	p               *scaling      // of the sum of P
	inner           []float64     // r x r
	mean            *kernel.Basis // of the nodes' U
	gradient, step  *kernel.Basis // of all nodes, and the Newton-like step that it makes at the mean
	measuring       bool          // the present iteration measures; so it does when it is tried again
	next            int           // the first iteration in which to measure again
	residual, noise float64       // Result.Residual and StatisticalError as last measured, NaN before
	floor           float64       // no residual is below it, because of rounding
	overshoot       float64       // cosine of the last move of U and the gradient where it ended, NaN without one
}

// nodeSums are what a node adds to the sums by which all measure.
type nodeSums struct {
	p         []float64 // sum_t b_t b_t', its upper triangle by rows
	objective *float64
	start     *float64 // the objective at the start, with the ridge
	gradient  []float64
	basis     []float64 // U_g, unless all nodes have the same
}

func newGauge(at *iterate, sameBasis bool) gauge {
	d, r := at.u[0].Dims()
	g := gauge{
		p: newScaling(r), inner: make([]float64, r*r), mean: kernel.NewBasis(d, r), gradient: kernel.NewBasis(d, r), step: kernel.NewBasis(d, r),
		next: 1, residual: math.NaN(), noise: math.NaN(),
	}
	triangle, basis := len(g.p.p), len(at.u[0].Data())
	for range at.u {
		all := make([]float64, triangle+2+2*basis)
		if sameBasis {
			all = all[:triangle+2+basis]
		}
		gradient := all[triangle+2:]
		g.sums = append(g.sums, all)
		g.parts = append(g.parts, nodeSums{all[:triangle], &all[triangle], &all[triangle+1], gradient[:basis], gradient[basis:]})
	}
	return g
}

const (
	// Iterations between two measurements.
	longestWait, shortestWait = 10, 2
	// A distance to the minimiser explains its square in the objective. Noise explains
	// most of the objective where the distance is less than this times the one that
	// would explain all of it.
	mostlyNoise = 0.3
	// A residual that is nothing but rounding is up to lastDigits times the ratio of the largest
	// singular value of the b_t to the smallest. A move of U that is below shortest is rounding;
	// where features are mostly offset, larger moves are.
	lastDigits = 4 * 0x1p-52
	shortest   = 1e-14
)

// due reports whether it is time to measure how far the minimiser is.
func (m *monitor) due(method method) bool {
	g, k := &m.gauge, m.at.iteration
	switch {
	case g.measuring:
		return true
	case !m.o.judges() || k < g.next:
		return false
	}
	if length, p, ok := method.newtonStep(); ok {
		copy(g.p.p, p)
		g.p.invert()
		signal, noise := m.at.data.signal(g.p.values[0], m.course.latest)
		return length/(m.at.data.slowest()*signal) <= max(m.tolerance(), m.share()*noise, m.floor())
	}
	return !m.o.EveryIteration && m.course.move <= max(m.o.Tolerance, shortest*math.Sqrt(m.at.data.xx/m.at.data.variance())) || m.o.StopAtNoise && k >= longestWait
}

// tolerance is the distance at which a run has converged whatever the noise. One that does
// all iterations is not asked before the last.
func (m *monitor) tolerance() float64 {
	if m.o.EveryIteration && m.at.iteration < m.o.Iterations {
		return 0
	}
	return m.o.Tolerance
}

// share is the part of the statistical error that is near enough.
func (m *monitor) share() float64 {
	if m.o.StopAtNoise {
		return 0.1
	}
	return 0
}

// enough is the distance at which a run has converged.
func (m *monitor) enough() float64 {
	return max(m.tolerance(), m.share()*min(m.gauge.noise, 1), m.gauge.floor)
}

// floor is what rounding leaves of a residual, by the P of the gauge. A tracked gradient keeps
// the rounding of all since the first.
func (m *monitor) floor() float64 {
	values := m.gauge.p.values
	largest, tracked := values[len(values)-1], 0.0
	least := max(values[0], largest/condition)
	if !(least > 0) {
		return 0
	}
	if m.o.tracks() {
		tracked = largest / least
	}
	return lastDigits * max(math.Sqrt(m.at.data.squares()/(m.at.data.information()*least)), tracked)
}

// measure lets the nodes add up their gradients, and estimates the distance.
func (m *monitor) measure(ctx context.Context) (v verdict, err error) {
	g, d := &m.gauge, m.at.data
	g.measuring = true
	for i, own := range g.parts {
		group := m.at.groups[i]
		gather(own.p, group.B, d.rank, 1)
		*own.objective, *own.start = group.Objective, m.course.began[i]
		copy(own.gradient, group.Grad.Data())
		copy(own.basis, m.at.u[i].Data())
	}
	if err := m.exchange.net.Sum(ctx, g.sums); err != nil {
		return v, err
	}
	sum := g.parts[0]
	copy(g.p.p, sum.p)
	g.p.invert()
	v.objective, m.course.start = *sum.objective, *sum.start
	g.mean.CopyFrom(m.at.u[0])
	if !m.o.sharesBasis(m.exchange.net.Len()) {
		floats.ScaleTo(g.mean.Data(), 1/m.exchange.nodes(), sum.basis)
	}
	moved := g.step.Data()
	floats.SubTo(moved, m.at.u[0].Data(), m.at.z[0].Data())
	g.overshoot = floats.Dot(moved, sum.gradient) / (floats.Norm(moved, 2) * floats.Norm(sum.gradient, 2))
	signal, noise := d.signal(g.p.values[0], v.objective)
	g.noise, g.floor = noise, m.floor()
	copy(g.gradient.Data(), sum.gradient)
	m.at.newtonStep(g.step, g.gradient, g.mean, g.p, g.inner)
	g.residual = floats.Norm(g.step.Data(), 2) / (d.slowest() * signal)
	v.mostlyNoise = m.at.iteration > 0 && g.residual < mostlyNoise*noise*math.Sqrt(d.free()/float64(d.features))
	g.next = m.at.iteration + m.wait(v.mostlyNoise)
	if !(g.residual <= m.enough()) || m.o.sharesBasis(m.exchange.net.Len()) {
		return v, nil
	}
	// No node is farther from the mean than the root of the sum of the squares of all.
	z := make([][]float64, len(m.at.u))
	for i, u := range m.at.u {
		distance := floats.Distance(u.Data(), g.mean.Data(), 2)
		z[i] = []float64{distance * distance}
	}
	if err := m.exchange.net.Sum(ctx, z); err != nil {
		return v, err
	}
	g.residual = max(g.residual, math.Sqrt(z[0][0]))
	return v, nil
}

// wait returns after how many iterations to measure again: when the run arrives if it goes
// on as it has gone so far, but not much later.
func (m *monitor) wait(noisy bool) int {
	goal, residual := m.tolerance(), m.gauge.residual
	if noisy {
		goal = m.enough()
	}
	rate := -math.Log(residual) / float64(m.at.iteration)
	if n := math.Log(residual/goal) / rate; rate > 0 && n < longestWait {
		return max(int(math.Ceil(n)), shortestWait)
	}
	return longestWait
}
