package kernel

import (
	"slices"
	"sync"
	"time"

	"github.com/difalt/difalt/kernel/internal/tile"
)

// A tuning chooses the schedule of an Executor by measuring some in its first steps, on
// the caller's own data. Every job of a step (a chunk of a group) runs on a schedule of its
// own and is timed by itself, and in as many steps as there are schedules every job has
// had each. So what else happens on the machine meets all schedules alike, a job that was
// interrupted does not count, and a dozen steps are enough. Those clearly slower than the
// best drop out on the way. Results do not depend on schedules.
type tuning struct {
	shape          shape
	chosen         *tile.Schedule // once it is known; nil is the usual schedule of every task
	left           []*tile.Schedule
	jobs           int
	warm           bool
	turn           int // steps since left changed
	turns          int // when they are judged
	final          bool
	times          []time.Duration // of job j in a turn: times[turn*jobs+j]
	of             []time.Duration // scratch memory of judge
	ratios, slower []float64
}

// A shape is what the choice of a schedule depends on, beside the processor.
type shape struct {
	tier                   tile.Tier
	storage                Storage
	samples, d, r, workers int  // samples of a mean task
	reduced                bool // to 16 bits
}

// chosen remembers the choices of this process.
var chosen struct {
	sync.Mutex
	schedules map[shape]*tile.Schedule
}

const (
	// Times of so many jobs, in not more than so many turns of each schedule, are taken to
	// drop schedules that are slower than the best by a factor of dropped, and then to choose.
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
	candidates := tile.Schedules(t.shape.r)
	if reduced {
		candidates = tile.HalfSchedules()
	}
	if mean := bytes / max(tasks, 1); mean > resident && (reduced || tile.Packed(t.shape.r) == 0) {
		candidates = nil // see tile.Usual
	}
	if forced, _ := tile.ForcedSchedule(); forced != nil {
		if slices.Contains(candidates, forced) {
			t.chosen = forced
		}
		return t
	}
	if bytes <= worthwhile*resident*workers || len(candidates) < 2 {
		return t
	}
	chosen.Lock()
	known, ok := chosen.schedules[t.shape]
	chosen.Unlock()
	if ok {
		t.chosen = known
		return t
	}
	t.measure(slices.Clone(candidates))
	return t
}

// measure starts to measure the candidates.
func (t *tuning) measure(candidates []*tile.Schedule) {
	t.left = candidates
	t.times = make([]time.Duration, t.jobs*len(t.left)*(1+finalTimes/t.jobs))
	t.ratios = make([]float64, finalTimes+t.jobs)
	t.slower = make([]float64, len(t.left))
	t.of = make([]time.Duration, len(t.left))
	t.begin(firstTimes, firstTurns)
}

// begin starts to measure what is left: so many times each, in not more than so many turns.
func (t *tuning) begin(times, turns int) {
	t.turn, t.turns = 0, len(t.left)*min((times+t.jobs-1)/t.jobs, turns)
}

// settled reports whether there is nothing more to measure.
func (t *tuning) settled() bool { return t.left == nil }

// schedule returns the schedule of a job in the present step.
func (t *tuning) schedule(job int) *tile.Schedule {
	if t.left == nil || !t.warm {
		return t.chosen
	}
	return t.left[t.candidate(job, t.turn)]
}

// candidate returns the number of the schedule of a job. Some jobs in a row have the same
// one, since the first task of a job finds what the job before has prefetched, and the
// triangular numbers see to it that each candidate follows on each other equally often.
func (t *tuning) candidate(job, turn int) int {
	const runs = 16
	run := job / ((t.jobs + runs - 1) / runs)
	return (run*(run+1)/2 + turn) % len(t.left)
}

// record takes the time of a job.
func (t *tuning) record(job int, elapsed time.Duration) {
	if t.left != nil && t.warm {
		t.times[t.turn*t.jobs+job] = elapsed
	}
}

// next ends a step.
func (t *tuning) next() {
	switch {
	case t.left == nil:
		return
	case !t.warm: // the first step grows, faults in and reads what is cold
		t.warm = true
		return
	}
	if t.turn++; t.turn == t.turns {
		t.judge()
	}
}

// judge drops the schedules that are slower than the best, and all but that in the end.
func (t *tuning) judge() {
	best := 0
	for c := range t.left {
		t.slower[c] = t.slowness(c)
		if t.slower[c] < t.slower[best] {
			best = c
		}
	}
	winner, kept := t.left[best], t.left[:0]
	for c, s := range t.left {
		if t.slower[c] <= dropped*t.slower[best] {
			kept = append(kept, s)
		}
	}
	if t.final || len(kept) == 1 {
		t.choose(winner)
		return
	}
	t.left, t.final = kept, true
	t.begin(finalTimes, finalTurns)
}

// slowness returns the time of the jobs on candidate c over the median on all candidates:
// the mean of the middle half of these ratios. So interrupted jobs do not disturb it.
func (t *tuning) slowness(c int) float64 {
	n := len(t.left)
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

// choose ends the measurement, and remembers its result for the process.
func (t *tuning) choose(s *tile.Schedule) {
	t.chosen, t.left, t.times, t.of, t.ratios, t.slower = s, nil, nil, nil, nil, nil
	chosen.Lock()
	defer chosen.Unlock()
	if chosen.schedules == nil {
		chosen.schedules = make(map[shape]*tile.Schedule)
	}
	chosen.schedules[t.shape] = s
}
