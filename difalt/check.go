package difalt

import (
	"context"
	"math"
	"math/rand/v2"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/internal/gram"
	"github.com/difalt/difalt/internal/rounded"
	"github.com/difalt/difalt/internal/sums"
	"github.com/difalt/difalt/kernel"
	"gonum.org/v1/gonum/floats"
)

// A checker makes the checks of a run. Every CheckEvery iterations, and as soon as steps become short, the
// nodes sum a few numbers, and all of them reach one decision from the totals. It reads the point, and
// writes only its moments.
type checker struct {
	rule  stopRule
	point *point
	seed  uint64
	best  []*kernel.Basis // U_g of the check with the lowest objective

	most        float64     // the largest size of a number in a row
	own         []tally     // of the hosted nodes
	total       tally       // of all nodes
	rows, views [][]float64 // of a sum: room for the longest, and the numbers in use

	steps          []*kernel.Basis // Newton-like steps
	gradient, mean *kernel.Basis   // of all nodes
	inner, random  []float64
	source         *rand.PCG
	rng            *rand.Rand
}

const (
	mostNumberInSum    = 0x1p50   // over the number of nodes
	mostNumberInGossip = 0x1p1019 // AGREE takes no number of twice this size
	// sketchLen is the number of random directions along which the nodes sum the components of their steps.
	sketchLen = 64
)

func newChecker(o *Options, p *point, knowsStep bool) checker {
	d, r := p.u[0].Dims()
	size, triangle := len(p.u[0].Data()), len(p.moments.P)
	c := checker{
		rule: newStopRule(o, &p.totals, p.moments, knowsStep), point: p, seed: o.Seed, best: clone(p.u),
		most: mostNumberInSum / p.nodes, own: make([]tally, len(p.u)), views: make([][]float64, len(p.u)),
		total:    tally{moments: make([]float64, triangle), sketch: make([]float64, sketchLen)},
		gradient: kernel.NewBasis(d, r), mean: kernel.NewBasis(d, r),
		inner: make([]float64, r*r), random: make([]float64, size),
		source: rand.NewPCG(0, 0),
	}
	c.rng = rand.New(c.source)
	fields := 4 // besides the moments and the sketch
	for i := range p.u {
		c.own[i] = tally{moments: make([]float64, triangle), sketch: make([]float64, sketchLen)}
		c.rows = append(c.rows, make([]float64, max(fields+triangle+sketchLen, 2*size+1)))
		c.steps = append(c.steps, kernel.NewBasis(d, r))
	}
	return c
}

// check makes a check over all nodes, and returns the status that follows. leave is true if this process
// requests the end of the run.
func (c *checker) check(ctx context.Context, net *consensus.Network, lastStep float64, leave bool) (Status, error) {
	p, sketch := c.point, 0
	if c.rule.sketches(p.iteration, lastStep) {
		sketch = sketchLen
		c.sketch()
	}
	for i := range c.own {
		own := &c.own[i]
		own.sketch = own.sketch[:sketch]
		c.tally(i, own, leave)
		c.views[i] = sums.Write(c.rows[i][:0], own)
		if !inRange(c.views[i], c.most) {
			c.clear(own)
			c.views[i] = sums.Write(c.rows[i][:0], own)
		}
	}
	if err := net.Sum(ctx, c.views); err != nil {
		return Running, err
	}
	c.total.sketch, c.total.energy = c.total.sketch[:sketch], p.totals.energy
	sums.Read(c.views[0], &c.total)
	if !c.total.broken && c.total.objective < c.rule.Lowest {
		copyBases(c.best, p.u)
	}
	status, needs := c.rule.judge(p.iteration, p.nodes, &c.total)
	if needs == theGradients {
		return c.gather(ctx, net)
	}
	return status, nil
}

// tally sets the tally of hosted node i, but for the sketch.
func (c *checker) tally(i int, own *tally, leave bool) {
	p, unit := c.point, c.point.totals.unit
	own.leaving, own.broken = leave, c.rule.started() && !p.finite[i]
	own.energy, own.objective, own.moved = p.totals.energy, p.penalized(i), 0
	if c.rule.started() {
		moved := rounded.Distance(p.u[i].Data(), p.previous[i].Data())
		own.moved = moved * moved
	}
	gram.Outer(own.moments, p.at[i].b, len(p.moments.Values), p.weights[i], unit*unit)
	if own.broken {
		c.clear(own)
	}
}

// clear leaves of a tally that the node leaves, and that its numbers cannot be used.
func (c *checker) clear(own *tally) {
	own.broken, own.objective, own.moved = true, 0, 0
	clear(own.moments)
	clear(own.sketch)
}

// newtonStep sets step to the Newton-like step (I - U U') grad P^-1/(n m) for a gradient.
func (c *checker) newtonStep(step, u, grad *kernel.Basis) {
	t := &c.point.totals
	clear(step.Data())
	gram.AddProduct(step, grad, c.point.moments.Inverse)
	floats.Scale(t.unit*t.unit/t.Curvature(), step.Data())
	project(step, u, c.inner)
}

// sketch sets the sketches to the products of the nodes' steps with random vectors, which all nodes have
// alike, as they have one U. The sum of the sketches is as long as the sum of the steps to 10 per cent
// (Johnson and Lindenstrauss 1984), with 64 numbers in place of d r.
func (c *checker) sketch() {
	p := c.point
	for i, u := range p.u {
		c.newtonStep(c.steps[i], u, p.at[i].grad)
	}
	c.source.Seed(c.seed, uint64(p.iteration))
	for k := range sketchLen {
		for j := range c.random {
			c.random[j] = rounded.Normal(c.rng) / math.Sqrt(sketchLen)
		}
		for i, step := range c.steps {
			c.own[i].sketch = c.own[i].sketch[:sketchLen]
			c.own[i].sketch[k] = rounded.Dot(c.random, step.Data())
		}
	}
}

// gather sums the gradients and the U_g of all nodes, and returns the status that follows from the
// Newton-like step at the mean of all U_g.
func (c *checker) gather(ctx context.Context, net *consensus.Network) (Status, error) {
	p, size := c.point, len(c.point.u[0].Data())
	for i, row := range c.rows {
		floats.ScaleTo(row[:size], 1/p.totals.energy, p.at[i].grad.Data())
		copy(row[size:], p.u[i].Data())
		broken := 0.0
		if !inRange(row[:2*size], c.most) {
			clear(row)
			broken = 1
		}
		row[2*size] = broken
		c.views[i] = row[:2*size+1]
	}
	if err := net.Sum(ctx, c.views); err != nil {
		return Running, err
	}
	if c.views[0][2*size] > 0 {
		return Diverged, nil
	}
	floats.ScaleTo(c.gradient.Data(), p.totals.energy, c.views[0][:size])
	floats.ScaleTo(c.mean.Data(), 1/p.nodes, c.views[0][size:2*size])
	c.newtonStep(c.steps[0], c.mean, c.gradient)
	status := c.rule.judgeStep(p.iteration, norm(c.steps[0].Data()))
	if status != Converged {
		return status, nil
	}
	// No node is farther from the mean than the root of the sum of all squared distances.
	for i := range c.rows {
		distance := rounded.Distance(p.u[i].Data(), c.mean.Data())
		c.views[i] = append(c.rows[i][:0], distance*distance)
	}
	if err := net.Sum(ctx, c.views); err != nil {
		return Running, err
	}
	return c.rule.judgeSpread(p.iteration, math.Sqrt(c.views[0][0])), nil
}

func norm(v []float64) float64 { return rounded.Norm(v) }
