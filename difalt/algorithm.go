package difalt

import (
	"context"
	"errors"
	"time"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/kernel/qr"
	"gonum.org/v1/gonum/floats"
)

// An iterate is what Alg. 3 works on. Slices have an entry for every hosted node.
type iterate struct {
	iteration int             // how many were done
	u, z      []*kernel.Basis // U_g, and Z_g of which the next U_g is made
	groups    []*kernel.Group // b_t fitted to U_g, and the objective
	grads     []*kernel.Basis // of the objective at U_g
	moved     []float64       // |U_g - previous U_g|_F, for reports and mixed precision
	eta       float64         // the paper's step, in the units of the data
	data      *data
	moments   *momentPreconditioner // nil: K^-1 is 1/(n m)
	executor  *kernel.Executor      // nil until the data have been built
	fitted    bool                  // the groups have fitted b_t to a U_g
	rests     bool                  // that is U_g still: the last iteration did not move it (Newton)
	reduced   bool                  // the groups have copies in 16 bits
}

// iterate is lines 7 to 14 of Alg. 3. Between the minimisation and the rest the state that the
// iteration begins with is shown to the observer and judged.
func (s *Solver) iterate(ctx context.Context) (Status, error) {
	s.minimize() // lines 7 to 11
	if done, status, err := s.review(ctx); done || err != nil {
		return status, err
	}
	s.exchange.time = 0
	err := s.method.combine(ctx) // lines 12 and 13
	if err == nil && !s.at.rests {
		err = s.project() // line 14
	}
	if errors.Is(err, errNotFinite) || errors.Is(err, consensus.ErrNotFinite) {
		return s.end(Diverged), ErrDiverged
	}
	if err != nil {
		return Running, err
	}
	return s.commit()
}

// minimize is lines 7 to 11: the coefficients b_t that fit U_g best, and the gradient
// there, at every node.
func (s *Solver) minimize() {
	measured := s.at.reduced && s.stop.due(s.method) // on the samples themselves
	rests := s.at.rests && !measured
	if rests && s.at.fitted { // b_t and gradients are those of U_g
		return
	}
	s.selectSamples()
	if s.at.reduced {
		s.anchors.choose(measured, rests)
	}
	s.at.executor.Step(s.at.u, s.data.ridge)
	s.at.fitted = true
	if s.at.moments != nil && s.o.Ridge > 0 && s.at.iteration < s.o.Iterations {
		s.pool.Run(s.at.moments.addRidge)
	}
}

// selectSamples points the groups at the sample sets tau and tau + T_GD (lines 7 and 10),
// and after the last iteration at all samples.
func (s *Solver) selectSamples() {
	if !s.o.SampleSplit {
		return
	}
	tau, last := s.at.iteration+1, s.at.iteration == s.o.Iterations
	for i, g := range s.at.groups {
		if last {
			g.SetSamples(s.data.nodes[i], s.data.nodes[i])
			continue
		}
		g.SetSamples(s.data.set(i, 1+tau), s.data.set(i, 1+tau+s.o.Iterations))
	}
}

// A method is lines 12 and 13: what the nodes average, and when a node adapts. What it
// keeps from one iteration to the next changes in commit, objective and noiseShows only, so
// that an iteration that fails can be tried again.
type method interface {
	// combine computes Z_g of every node from U_g and the gradients, which it may overwrite: the
	// next U_g is the factor Q of it. Or it sets rests, at all nodes, and U_g stays.
	combine(ctx context.Context) error
	// commit takes over what combine has prepared: U_g is the new one, and Z_g that before.
	commit()
	// state lets an archive write or read all that the method keeps. What it reads into is new.
	state(a *archive)
	// reported is called after an iteration in which the nodes have begun to add up the objective
	// of its state; objective some iterations later, in the same one at all nodes, with the sum.
	// The method may then change U_g.
	reported()
	objective(objective float64)
	// newtonStep returns how long the last Newton-like step for the data of all nodes was, and
	// the P by which it was scaled, if the nodes know that without another message.
	newtonStep() (length float64, p []float64, ok bool)
	// noiseShows is called when most of an objective turns out to be noise.
	noiseShows(objective float64)
}

// unguarded is a method that neither looks at the objective nor has steps to measure.
type unguarded struct{}

func (unguarded) objective(float64)                      {}
func (unguarded) reported()                              {}
func (unguarded) newtonStep() (float64, []float64, bool) { return 0, nil, false }
func (unguarded) noiseShows(float64)                     {}

// stateless is such a method that keeps nothing.
type stateless struct{ unguarded }

func (stateless) commit()        {}
func (stateless) state(*archive) {}

// A descent is a method of the paper: what each node does, the bases on which the nodes agree, and
// what each does with what comes of it.
type descent struct {
	stateless
	*setup
	gradients bool // are what they agree on, else Z
	// Stored, so that calling them does not allocate; nil is nothing.
	before, after func(worker int)
}

// newDiffusion is DifAltGDmin, adapt, then combine: Z = Agree(U - eta L grad).
func newDiffusion(s *setup) method {
	at, nodes := s.at, s.exchange.nodes()
	return &descent{setup: s,
		before: s.each(func(i int) { descend(at.z[i], at.u[i], at.grads[i], at.eta*nodes) })} // line 12
}

// newAdjustment is DecAltGDmin over a network, and AltGDmin through a server, combine, then adjust:
// Z = U - eta L Agree(grad).
func newAdjustment(s *setup) method {
	at, nodes := s.at, s.exchange.nodes()
	return &descent{setup: s, gradients: true,
		after: s.each(func(i int) { descend(at.z[i], at.u[i], at.grads[i], at.eta*nodes) })}
}

// newNeighborDescent is the DGD variant: Z = (mean of the neighbours' U) - eta grad.
func newNeighborDescent(s *setup) method {
	at := s.at
	return &descent{setup: s,
		before: s.each(func(i int) { at.z[i].CopyFrom(at.u[i]) }),
		after:  s.each(func(i int) { descend(at.z[i], at.z[i], at.grads[i], at.eta) })}
}

func (m *descent) combine(ctx context.Context) error {
	if m.before != nil {
		m.pool.Run(m.before)
	}
	stream, shared := consensus.StreamBasis, m.at.z
	if m.gradients {
		stream, shared = consensus.StreamGradient, m.at.grads
	}
	if err := m.exchange.agree(ctx, stream, shared, nil, m.exchange.rounds); err != nil { // line 13
		return err
	}
	if m.after != nil {
		m.pool.Run(m.after)
	}
	return nil
}

// descend computes z = u - step grad (Alg. 3, line 12); z may be u.
func descend(z, u, grad *kernel.Basis, step float64) {
	floats.AddScaledTo(z.Data(), u.Data(), -step, grad.Data())
}

// A projection is the memory of line 14.
type projection struct {
	r, work [][]float64
	elapsed []time.Duration
	run     func(worker int) // stored, so that calling it does not allocate
}

func (s *Solver) newProjection(rank int) projection {
	p := projection{elapsed: make([]time.Duration, len(s.hosted))}
	for range s.hosted {
		p.r, p.work = append(p.r, make([]float64, rank*rank)), append(p.work, make([]float64, qr.WorkLen(rank)))
	}
	p.run = s.each(func(i int) {
		start := time.Now()
		s.at.z[i].Orthonormalize(p.r[i], p.work[i])
		p.elapsed[i] = time.Since(start)
	})
	return p
}

var errNotFinite = errors.New("difalt: an estimate is not finite")

// project is line 14 at every node: Z = Q R with positive diagonal. It returns errNotFinite
// if a Z is not finite.
func (s *Solver) project() error {
	s.pool.Run(s.projection.run)
	r := s.o.Rank
	for i, rr := range s.projection.r {
		for k := range r {
			if finite(rr[k*r+k]) { // NaN or Inf anywhere in a column shows in its norm
				continue
			}
			if s.net.AllHosted() {
				return errNotFinite
			}
			s.stop.raise(i, Diverged) // until the others know, stay where we are
			s.at.z[i].CopyFrom(s.at.u[i])
			break
		}
	}
	return nil
}

// commit takes over what an iteration has computed at all nodes.
func (s *Solver) commit() (Status, error) {
	word, sums, complete := s.exchange.mixer.Reduced()
	if !s.at.rests {
		s.at.u, s.at.z = s.at.z, s.at.u
	}
	s.method.commit()
	if s.stop.report.about(s.at.iteration) {
		s.method.reported()
	}
	s.net.Commit()
	s.at.iteration++
	status, objective, isNew := s.stop.take(Status(word), sums, complete)
	if !s.at.rests && (s.at.reduced || s.stop.report.mayStart(s.at.iteration)) {
		s.pool.Run(s.measureMove)
	}
	slowest := time.Duration(0) // of the nodes' own work
	for i, g := range s.at.groups {
		slowest = max(slowest, g.Elapsed+s.projection.elapsed[i])
	}
	s.compute += slowest + s.exchange.time/time.Duration(len(s.hosted))
	if isNew {
		s.method.objective(objective)
	}
	if status != Running {
		return s.end(status), status.divergence()
	}
	return Running, nil
}

// review shows the current state to the observer and to the monitor, and reports whether the
// iteration is done with that: since the run ends, or leaves a saddle point.
func (s *Solver) review(ctx context.Context) (done bool, status Status, err error) {
	if err := s.observe(nil); err != nil {
		return false, Running, err
	}
	if s.records.enough && s.net.AllHosted() {
		return true, s.end(Canceled), nil
	}
	verdict, err := s.stop.judge(ctx, s.method)
	if err != nil {
		return false, Running, err
	}
	if verdict.status != Converged {
		if verdict.mostlyNoise {
			s.method.noiseShows(verdict.objective)
		}
		return false, Running, nil
	}
	status, err = s.settle(ctx, verdict.objective)
	switch {
	case err != nil:
		return false, Running, err
	case status == Running:
		s.escape()
		return true, Running, nil
	}
	s.net.Commit()
	return true, s.end(status), nil
}
