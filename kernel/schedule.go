package kernel

import (
	"slices"
	"sync"
	"time"

	"github.com/difalt/difalt/internal/tile"
)

// A tuning finds the fastest schedule of an Executor by measuring some in its first
// steps, on the caller's own data. Every job of a step (a chunk of a group) runs on a
// schedule of its own and is timed by itself, and in as many steps as there are candidates
// every job has had each. So what else happens on the machine slows all candidates alike, a
// job that was interrupted does not count, and a dozen steps are enough. Those clearly
// slower than the best drop out on the way. Results do not depend on schedules.
type tuning struct {
	shape shape
	stage stage
	best  *tile.Schedule // once it is decided; nil is the usual schedule of every task

	// Until it is decided:
	candidates     []*tile.Schedule
	jobs           int
	turn           int             // steps of this stage that are over
	turns          int             // steps of this stage
	times          []time.Duration // of job j in a turn: times[turn*jobs+j]
	of             []time.Duration // scratch memory of slowness
	ratios, slower []float64
}

// A stage is how far a tuning has come.
type stage uint8

const (
	decided   stage = iota // nothing is measured, or nothing any more
	warming                // the first step grows, faults in and reads what is cold: it is not timed
	screening              // the candidates that are clearly slower drop out
	deciding               // the fastest of the others is found
)

// A shape is what the fastest schedule depends on, beside the processor.
type shape struct {
	tier                   tile.Tier
	storage                Storage
	samples, d, r, workers int  // samples of a mean task
	reduced                bool // to 16 bits
}

// fastest remembers for the whole process what was decided.
var fastest struct {
	sync.Mutex
	of map[shape]*tile.Schedule
}

const (
	// Times of so many jobs, in not more than so many turns of each schedule, are taken to
	// drop schedules that are slower than the best by a factor of dropped, and then to decide.
	firstTimes, firstTurns = 24, 4
	finalTimes, finalTurns = 192, 8
	dropped                = 1.10
	// Samples that are not more than so many times what the caches of the workers keep are
	// not worth a measurement.
	worthwhile = 2
)

// newTuning returns the tuning of an executor with the given jobs.
func newTuning(groups []*Group, jobs, workers int, reduced bool) *tuning {
	t := &tuning{jobs: jobs}
	tasks, samples, bytes := 0, 0, 0
	for _, g := range groups {
		tasks += g.fit.Len()
		samples += g.fit.total
		if reduced {
			bytes += 2 * g.fit.total * g.fit.stride
		} else {
			bytes += g.fit.Bytes()
		}
		t.shape.storage = g.fit.storage
		t.shape.d, t.shape.r = max(t.shape.d, g.fit.d), max(t.shape.r, g.r)
	}
	t.shape.tier, t.shape.workers, t.shape.samples, t.shape.reduced = tile.Active(), workers, samples/max(tasks, 1), reduced
	candidates := tile.Schedules(t.shape.d, t.shape.r)
	if reduced {
		candidates = tile.HalfSchedules()
	}
	if mean := bytes / max(tasks, 1); reduced && mean > resident {
		candidates = nil // see tile.Usual
	}
	if forced, _ := tile.ForcedSchedule(); forced != nil {
		if slices.Contains(candidates, forced) {
			t.best = forced
		}
		return t
	}
	switch {
	case len(candidates) < 2:
		return t
	case bytes <= resident*workers: // they stay in the second-level caches
		t.best = tile.None
		return t
	case bytes <= worthwhile*resident*workers:
		return t
	}
	fastest.Lock()
	best, ok := fastest.of[t.shape]
	fastest.Unlock()
	if ok {
		t.best = best
		return t
	}
	t.measure(slices.Clone(candidates))
	return t
}

// measure starts to measure the candidates.
func (t *tuning) measure(candidates []*tile.Schedule) {
	n := len(candidates)
	t.stage, t.candidates = warming, candidates
	t.times = make([]time.Duration, t.jobs*n*(1+finalTimes/t.jobs))
	t.ratios = make([]float64, finalTimes+t.jobs)
	t.slower, t.of = make([]float64, n), make([]time.Duration, n)
}

// enter begins a stage that takes so many times of every candidate, in not more than so
// many turns.
func (t *tuning) enter(s stage, times, turns int) {
	t.stage, t.turn, t.turns = s, 0, len(t.candidates)*min((times+t.jobs-1)/t.jobs, turns)
}

// timing reports whether the jobs of this step are timed.
func (t *tuning) timing() bool { return t.stage == screening || t.stage == deciding }

// schedule returns the schedule of a job in the present step.
func (t *tuning) schedule(job int) *tile.Schedule {
	if !t.timing() {
		return t.best
	}
	return t.candidates[t.candidate(job, t.turn)]
}

// candidate returns the number of the schedule of a job. Some jobs in a row have the same
// one, since the first task of a job finds what the job before has prefetched, and the
// triangular numbers see to it that each candidate follows on each other equally often.
func (t *tuning) candidate(job, turn int) int {
	const runs = 16
	run := job / ((t.jobs + runs - 1) / runs)
	return (run*(run+1)/2 + turn) % len(t.candidates)
}

// record takes the time of a job.
func (t *tuning) record(job int, elapsed time.Duration) {
	if t.timing() {
		t.times[t.turn*t.jobs+job] = elapsed
	}
}

// next ends a step.
func (t *tuning) next() {
	switch t.stage {
	case decided:
	case warming:
		t.enter(screening, firstTimes, firstTurns)
	case screening, deciding:
		if t.turn++; t.turn == t.turns {
			t.judge()
		}
	}
}

// judge ends a stage: it drops the candidates that are slower than the best, or all others.
func (t *tuning) judge() {
	best := 0
	for c := range t.candidates {
		t.slower[c] = t.slowness(c)
		if t.slower[c] < t.slower[best] {
			best = c
		}
	}
	winner, kept := t.candidates[best], t.candidates[:0]
	for c, s := range t.candidates {
		if t.slower[c] <= dropped*t.slower[best] {
			kept = append(kept, s)
		}
	}
	if t.stage == deciding || len(kept) == 1 {
		t.decide(winner)
		return
	}
	t.candidates = kept
	t.enter(deciding, finalTimes, finalTurns)
}

// slowness returns the time of the jobs on candidate c over the median on all candidates:
// the mean of the middle half of these ratios. So interrupted jobs do not disturb it.
func (t *tuning) slowness(c int) float64 {
	n := len(t.candidates)
	ratios, of := t.ratios[:0], t.of[:n]
	for first := 0; first < t.turns; first += n { // all candidates once
		for job := range t.jobs {
			for i := range n {
				of[t.candidate(job, first+i)] = t.times[(first+i)*t.jobs+job]
			}
			own := of[c]
			slices.Sort(of)
			ratios = append(ratios, float64(2*own)/float64(max(of[(n-1)/2]+of[n/2], 1)))
		}
	}
	slices.Sort(ratios)
	middle := ratios[len(ratios)/4 : len(ratios)-len(ratios)/4]
	sum := 0.0
	for _, v := range middle {
		sum += v
	}
	return sum / float64(len(middle))
}

// decide ends the measurement, and remembers its result for the process.
func (t *tuning) decide(best *tile.Schedule) {
	*t = tuning{shape: t.shape, jobs: t.jobs, best: best}
	fastest.Lock()
	defer fastest.Unlock()
	if fastest.of == nil {
		fastest.of = make(map[shape]*tile.Schedule)
	}
	fastest.of[t.shape] = best
}
