package difalt

import (
	"context"
	"math"
	"slices"

	"github.com/difalt/difalt/kernel"
)

// A monitor decides when a run ends. It decides from numbers that all nodes share, so
// that all of them end with the same status after the same iteration. The loop of the
// iterations asks it twice: judge says, before the nodes agree, whether the state that they
// have is near enough to a minimiser; take says, after an iteration, what has become known
// of an earlier state. It reads the method and never changes it.
//
// What take hears of are reports. They ride in the headers of the iterations' messages and
// cost no rounds: whether a node wants to leave, the objective, and how far U moved. A run
// diverges when the objective stays above that of the start. A short move is not
// convergence, since steps are short where the condition number is large; it is only a
// reason to let the nodes sum their gradients once, in rounds of their own, and to look how
// long a Newton-like step would be: Result.Residual.
type monitor struct {
	o         *Options
	at        *iterate
	exchange  *exchange
	report    report
	course    course
	best      []*kernel.Basis // of the lowest objective that is known, to which a diverged run goes back
	gauge     gauge
	words     []uint8   // the status with which each hosted node wants to end, or Running
	announced bool      // a context has ended, and words say so
	escapes   int       // from saddle points
	standing  *Standing // what the nodes saw in their last look, nil before; see settle
}

func newMonitor(o *Options, at *iterate, x *exchange) *monitor {
	m := &monitor{o: o, at: at, exchange: x, words: make([]uint8, len(at.u)), best: newBases(at.u)}
	m.report.u = newBases(at.u)
	m.course = course{start: math.NaN(), lowest: math.Inf(1), latest: math.Inf(1), move: math.Inf(1), began: make([]float64, len(at.u))}
	m.report.sums = zeros(len(at.u), 2)
	m.gauge = newGauge(at, o.sharesBasis(x.net.Len()))
	return m
}

// raise lets hosted node i ask all nodes to end with a status.
func (m *monitor) raise(i int, status Status) {
	m.words[i] = max(m.words[i], uint8(status))
	m.announced = m.announced || status == Canceled
}

// A verdict is what a measurement says of the run.
type verdict struct {
	status      Status
	mostlyNoise bool    // noise explains most of the objective
	objective   float64 // of all nodes
}

// judge measures the current state, if it is time, and lets the run end if that is near
// enough. Otherwise the state is reported, unless a report is under way. The groups have
// made their step.
func (m *monitor) judge(ctx context.Context, method method) (v verdict, err error) {
	if m.due(method) {
		if v, err = m.measure(ctx); err != nil {
			return v, err
		}
		if m.gauge.residual <= m.enough() && !m.o.EveryIteration {
			v.status = Converged
			return v, nil
		}
	}
	m.tell(m.o.traits().accelerated)
	return v, nil
}

// last judges the state after the last iteration.
func (m *monitor) last(ctx context.Context) (status Status, objective float64, err error) {
	if !m.o.judges() {
		if m.course.worse {
			return Diverged, 0, nil
		}
		return IterationLimit, 0, nil
	}
	v, err := m.measure(ctx)
	switch {
	case err != nil:
		return Running, 0, err
	case m.gauge.residual <= m.enough():
		return Converged, v.objective, nil
	case m.at.iteration > 0 && m.course.isWorse(v.objective, m.at.data.squares()):
		return Diverged, 0, nil
	}
	return IterationLimit, 0, nil
}

// take takes over a report that is complete, with the largest word and the sums of all
// nodes, and returns the status that follows from it, and the objective if all go on.
func (m *monitor) take(word Status, sums []float64, complete bool) (status Status, objective float64, isNew bool) {
	m.gauge.measuring = false
	if !complete {
		return Running, 0, false
	}
	m.report.inFlight = false
	if word != Running && word != Canceled { // a snapshot of a canceled run goes on with the same bits
		return word, 0, false
	}
	objective, about := sums[0], m.report.of
	if about > 0 {
		m.course.move = math.Sqrt(sums[1] / m.exchange.nodes())
	}
	if m.course.add(objective, about, m.at.data.squares()) {
		m.best, m.report.u = m.report.u, m.best
	}
	if m.course.worse && about-m.course.since >= divergedAfter && !m.o.EveryIteration {
		word = Diverged
	}
	return word, objective, true
}

// A report is what the nodes add up in the headers of their messages: the objective of a
// state, and the square of the last move of U.
type report struct {
	inFlight bool            // from the iteration that starts it until all nodes have the sum
	of       int             // in flight: the iteration of whose state it is
	next     int             // the first iteration in which the next may start
	sums     [][]float64     // of every hosted node
	u        []*kernel.Basis // in flight: that state
}

// mayStart reports whether a report may start in an iteration.
func (r *report) mayStart(iteration int) bool {
	return !r.inFlight && iteration >= r.next
}

// about reports whether the report under way is of the state of an iteration.
func (r *report) about(iteration int) bool {
	return r.inFlight && r.of == iteration
}

// between is how many iterations lie between two reports, unless every state is reported.
const between = 10

// tell starts a report of the current state, if it is time and none is under way. An
// iteration that is tried again starts the same.
func (m *monitor) tell(every bool) {
	at, k := m.at, m.at.iteration
	if k == 0 {
		for i, g := range at.groups {
			m.course.began[i] = at.data.penalized(g)
		}
	}
	switch r := &m.report; {
	case r.mayStart(k):
		r.inFlight, r.of, r.next = true, k, k+between
		if every {
			r.next = k + 1
		}
		copyBases(r.u, at.u)
	case !r.about(k):
		return
	}
	for i, g := range at.groups {
		m.report.sums[i][0], m.report.sums[i][1] = at.data.penalized(g), at.moved[i]*at.moved[i]
	}
	m.exchange.mixer.Reduce(m.words, m.report.sums)
}

// A course is how the objective of all nodes has gone.
type course struct {
	worse                 bool // than at the start
	since                 int  // worse: the first reported iteration that was
	start, lowest, latest float64
	move                  float64   // the latest root mean square of |U - previous U|_F
	began                 []float64 // objective of every hosted node at the start
}

const (
	// A run has diverged when its objective is above the start's by more than margin for
	// so many iterations, and worth mentioning: beyond rounding of an exact start.
	divergedAfter  = 20
	divergedMargin = 1.05
	worthMention   = 1e-6 // of the sum of y^2
)

// add takes over the objective of the state of an iteration, and reports whether none was
// lower. squares is the sum of y^2.
func (c *course) add(objective float64, iteration int, squares float64) (lowest bool) {
	c.latest = objective
	if iteration == 0 {
		c.start = objective
	}
	if lowest = objective < c.lowest; lowest {
		c.lowest = objective
	}
	worse := c.isWorse(objective, squares)
	if worse && !c.worse {
		c.since = iteration
	}
	c.worse = worse
	return lowest
}

// isWorse reports whether an objective is worse than that of the start.
func (c *course) isWorse(objective, squares float64) bool {
	return !(objective <= divergedMargin*c.start) && !(objective <= worthMention*squares)
}

func (m *monitor) state(a *archive) {
	a.data(&m.report.inFlight)
	a.data(&m.course.worse)
	for _, v := range []*int{&m.report.of, &m.report.next, &m.course.since, &m.gauge.next, &m.escapes} {
		a.int("an iteration", v, math.MaxInt32)
	}
	for _, v := range []*float64{&m.course.start, &m.course.lowest, &m.course.latest, &m.course.move, &m.gauge.residual, &m.gauge.noise} {
		a.data(v)
	}
	a.floats("the objectives at the start", m.course.began)
	for _, u := range slices.Concat(m.report.u, m.best) {
		a.basis("the best state", u)
	}
}
