package difalt

import (
	"math"

	"github.com/difalt/difalt/internal/gram"
	"github.com/difalt/difalt/internal/sums"
)

// A tally is what the nodes sum in a check: the numbers of one node, or the totals.
type tally struct {
	leaving   bool    // the node requests the end of the run
	broken    bool    // the node has a number that is not finite, or does not fit into a sum
	objective float64 // see point.penalized
	moved     float64 // the square of the node's last move of U
	moments   []float64
	// sketch is of the Newton-like step. It is empty unless the check measures the residual by it.
	sketch []float64
	energy float64 // the unit of objective
}

// Fields implements sums.Record.
func (t *tally) Fields(row *sums.Row) {
	row.Flag(&t.leaving)
	row.Flag(&t.broken)
	row.Number(&t.objective, t.energy)
	row.Number(&t.moved, 1)
	row.Numbers(t.moments, 1)
	row.Numbers(t.sketch, 1)
}

// A need is what a stop rule lacks for a decision.
type need uint8

const (
	nothing      need = iota
	theGradients      // of all nodes, summed: then judgeStep decides
)

// A stopRule decides from totals when a run ends. A run is
//
//	Canceled   if a node leaves;
//	Diverged   if a node has a number that is not finite, or the objective stays above its first value;
//	Converged  if the residual, a Newton-like step for the data of all nodes, is below Options.Tolerance, or
//	           with StopAtNoise twice below a part of the statistical error, while the objective has hardly
//	           fallen in between.
//
// The residual is an estimate from P: in a long valley, as tasks of few samples or of very different sizes
// make it, it may be much too small. There the objective goes on falling. Short steps do not prove
// convergence, since they depend on the condition number. They are a reason to sum the gradients and
// measure the residual. The rule knows neither nodes nor messages: it has the totals of one check after the
// other.
type stopRule struct {
	o         *Options
	totals    *totals
	moments   *gram.Matrix // judge sets it to the moments of the tally
	knowsStep bool         // the method is a stepper

	course
	checked bool    // see started
	last    float64 // objective
	signal  float64 // see totals.signal
	latest  int     // the iteration of the last check; -1 before
	before  course  // the course before that check
}

// A course is what a stop rule keeps from one check to the next. It goes into a Snapshot, so that a restored
// run ends as the run itself would.
type course struct {
	Start    float64 // the objective of the first check of the run; NaN before
	Lowest   float64 // objective of all checks
	Worse    int     // checks in a row with an objective far above Start
	Noise    float64 // the statistical error; see totals.signal
	Residual float64 // see Result.Residual
	Measured int     // the iteration of the last measurement of the residual
	Pause    pause
	Escapes  int // from saddle points
}

// A pause begins where the residual is at the noise for the first time. The run ends if it is at the noise
// after pauseLen iterations, too. Meanwhile the objective must have fallen by no more than the remaining
// distance explains.
type pause struct {
	On        bool
	Since     int     // the iteration
	Objective float64 // there
}

const (
	// CheckEvery is the number of iterations between two checks of the stop rule.
	CheckEvery = 10

	divergedAfter  = 2    // checks in a row
	divergedMargin = 1.05 // times the objective of the start
	negligible     = 1e-6 // times the sum of y^2: smaller objectives do not count as divergence
	measureAfter   = 2    // iterations between two measurements
	shortestMove   = 1e-14
	lastDigits     = 4 * 0x1p-52
	noiseShare     = 0.1 // of the statistical error: StopAtNoise
	pauseLen       = 5   // iterations of a pause
)

func newStopRule(o *Options, t *totals, moments *gram.Matrix, knowsStep bool) stopRule {
	return stopRule{
		o: o, totals: t, moments: moments, knowsStep: knowsStep, course: newCourse(), latest: -1,
	}
}

func newCourse() course {
	nan := math.NaN()
	return course{Start: nan, Lowest: math.Inf(1), Noise: nan, Residual: nan, Measured: -measureAfter}
}

// valid reports whether a run can have this course in an iteration.
func (c *course) valid(iteration int) bool {
	for _, v := range []float64{c.Start, c.Lowest, c.Noise, c.Residual, c.Pause.Objective} {
		if v < 0 {
			return false
		}
	}
	return !math.IsInf(c.Start, 0) && !math.IsNaN(c.Lowest) && c.Worse >= 0 && c.Escapes >= 0 &&
		c.Measured <= iteration && c.Pause.Since >= 0 && c.Pause.Since <= iteration && finite(c.Pause.Objective)
}

// started reports whether the nodes have made a check, and the method can continue from it.
func (r *stopRule) started() bool { return r.checked }

// restore continues a course. A method that sends P needs a check of its own: it begins without one.
func (r *stopRule) restore(c course) {
	r.course = c
	r.checked = !r.knowsStep && !math.IsNaN(c.Start)
}

// courseAt returns the course that a snapshot of an iteration has: the one before a check of this iteration,
// which a restored run makes again.
func (r *stopRule) courseAt(iteration int) course {
	if r.latest == iteration {
		return r.before
	}
	return r.course
}

// escape counts a saddle point that the run leaves in an iteration. The next check compares with no earlier
// one.
func (r *stopRule) escape(iteration int) {
	r.Escapes++
	r.Measured, r.Pause.On = iteration, false
	r.before = r.course
}

// mustCheck reports whether the nodes make a check in an iteration, whose last step had the given length if
// the rule knows it; all nodes decide alike.
func (r *stopRule) mustCheck(iteration int, lastStep float64) bool {
	return !r.started() || iteration%CheckEvery == 0 || iteration == r.o.Iterations || r.isShort(iteration, lastStep)
}

// isShort reports whether the last step, where all nodes know its length, is a reason to measure the
// residual.
func (r *stopRule) isShort(iteration int, lastStep float64) bool {
	if !r.knowsStep || r.o.EveryIteration || iteration < r.Measured+measureAfter {
		return false
	}
	threshold := r.threshold()
	if r.Pause.On && iteration < r.Pause.Since+pauseLen {
		threshold = r.precise()
	}
	return r.distance(lastStep) <= threshold
}

// sketches reports whether a check measures the residual by a sketch.
func (r *stopRule) sketches(iteration int, lastStep float64) bool {
	if !r.started() || !r.knowsStep || r.o.EveryIteration {
		return false
	}
	return iteration == r.o.Iterations || r.isShort(iteration, lastStep)
}

// distance returns the distance from a minimiser that a Newton-like step of the given length indicates.
func (r *stopRule) distance(length float64) float64 {
	return length / (r.totals.contraction() * r.signal)
}

// least is the smallest eigenvalue of sum_t b_t b_t' that counts.
func (r *stopRule) least() float64 { return r.moments.Least() / (r.totals.unit * r.totals.unit) }

// precise is the residual at which the run has converged whatever the noise. It is never below the part of
// the residual that is rounding.
func (r *stopRule) precise() float64 {
	floor := lastDigits * math.Sqrt(r.totals.YY/(r.totals.Curvature()*r.least()))
	return max(r.o.Tolerance, min(floor, 1))
}

// threshold is the residual at which the run may have converged.
func (r *stopRule) threshold() float64 {
	if r.o.StopAtNoise && r.Noise < 1 {
		return max(r.precise(), noiseShare*r.Noise)
	}
	return r.precise()
}

// judge returns the status that follows from the totals of a check, or what it needs for that.
func (r *stopRule) judge(iteration int, nodes float64, t *tally) (Status, need) {
	first := !r.started()
	r.latest, r.before = iteration, r.course
	if t.broken {
		return Diverged, nothing
	}
	r.record(iteration, t)
	worse := r.Worse
	diverged := worse >= divergedAfter || iteration == r.o.Iterations && worse > 0
	switch {
	case diverged && !r.o.EveryIteration:
		return Diverged, nothing
	case t.leaving:
		return Canceled, nothing
	case len(t.sketch) > 0:
		return r.judgeStep(iteration, norm(t.sketch)), nothing
	case !first && !r.knowsStep && !r.o.EveryIteration && r.nearEnd(iteration, math.Sqrt(t.moved/nodes)):
		return Running, theGradients
	}
	return r.atLimit(iteration), nothing
}

// nearEnd reports whether the moves of U, whose root mean square is moved, are a reason to measure the
// residual.
func (r *stopRule) nearEnd(iteration int, moved float64) bool {
	return iteration == r.o.Iterations || r.o.StopAtNoise || moved <= max(r.o.Tolerance, shortestMove)
}

// record stores the objective and the moments of a check. The check that some methods need after Restore
// counts only where the run itself would have made it.
func (r *stopRule) record(iteration int, t *tally) {
	counts := r.checked || iteration%CheckEvery == 0 || iteration == r.o.Iterations
	r.checked = true
	if math.IsNaN(r.Start) {
		r.Start = t.objective
	}
	r.Lowest, r.last = min(r.Lowest, t.objective), t.objective
	isWorse := t.objective > divergedMargin*r.Start && t.objective > negligible*r.totals.YY
	switch {
	case counts && isWorse:
		r.Worse++
	case counts:
		r.Worse = 0
	}
	r.moments.Invert(t.moments)
	r.signal, r.Noise = r.totals.signal(r.least(), t.objective)
}

// judgeStep sets the residual from the length of the Newton-like step, and returns the status.
func (r *stopRule) judgeStep(iteration int, length float64) Status {
	r.Residual, r.Measured = r.distance(length), iteration
	switch {
	case r.Residual <= r.precise():
		return Converged
	case r.Residual <= r.threshold():
		return r.judgePause(iteration)
	}
	r.Pause.On = false
	return r.atLimit(iteration)
}

// judgePause returns the status where the residual is at the noise.
func (r *stopRule) judgePause(iteration int) Status {
	p := &r.Pause
	if p.On && iteration < p.Since+pauseLen {
		return r.atLimit(iteration)
	}
	if p.On && p.Objective-r.last <= r.explained() {
		return Converged
	}
	*p = pause{true, iteration, r.last}
	return r.atLimit(iteration)
}

// explained returns the excess of the objective over the minimum at a distance of noiseShare statistical
// errors: at one of them it is the variance of the noise for each of the d r entries of U.
func (r *stopRule) explained() float64 {
	variance := r.last / r.totals.Free()
	return noiseShare * noiseShare * variance * r.totals.Features * r.totals.Rank
}

// judgeSpread makes the residual at least the given distance of a node from the mean of all nodes, and
// returns the status.
func (r *stopRule) judgeSpread(iteration int, spread float64) Status {
	r.Residual = max(r.Residual, spread)
	if r.Residual <= r.threshold() {
		return Converged
	}
	return r.atLimit(iteration)
}

// atLimit returns the status of a run that goes on unless all iterations are done.
func (r *stopRule) atLimit(iteration int) Status {
	if iteration == r.o.Iterations {
		return IterationLimit
	}
	return Running
}
