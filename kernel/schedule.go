package kernel

import (
	"slices"
	"sync"
	"time"

	"github.com/difalt/difalt/internal/tile"
)

// A tuning finds the fastest schedule of an Executor by measuring the candidates in its first steps, on the
// caller's data. Every job of a step (a chunk of a group) runs on one candidate and is timed on its own; in a
// round of as many steps as there are candidates every job runs on each. So other load on the machine slows
// all candidates alike, and interrupted jobs do not matter. Results do not depend on schedules.
type tuning struct {
	shape shape
	stage stage
	best  *tile.Schedule // once it is decided; nil is the usual schedule of every task

	// Until it is decided:
	candidates []*tile.Schedule
	jobs       int
	step       int             // steps that were measured
	rounds     int             // to be measured
	times      []time.Duration // of job j in a step: times[step*jobs+j]
	round      []time.Duration // scratch memory of slowness
	ratios     []float64       // scratch memory of slowness
}

// A stage is the progress of a tuning.
type stage uint8

const (
	decided   stage = iota // nothing is measured
	warming                // the first step, which grows memory and reads what is cold, is not timed
	measuring              // the jobs of each step are timed
)

// A shape is what the fastest schedule depends on, besides the processor.
type shape struct {
	tier                   tile.Tier
	storage                Storage
	samples, d, r, workers int  // samples of a mean task
	copies                 bool // in 16 bits
}

// fastest holds the decisions of the process.
var fastest struct {
	sync.Mutex
	of map[shape]*tile.Schedule
}

const (
	// Every candidate is measured for at least minTimes jobs, but in at most maxRounds rounds.
	minTimes, maxRounds = 160, 8
	// Samples of at most worthwhile times the caches of the workers are not worth a measurement.
	worthwhile = 2
)

// newTuning returns the tuning of an executor with the given jobs.
func newTuning(groups []*Group, jobs, workers int, copies bool) *tuning {
	t := &tuning{jobs: jobs}
	tasks, samples, bytes := 0, 0, 0
	for _, g := range groups {
		tasks += g.fit.Len()
		samples += g.fit.total
		if copies {
			bytes += 2 * g.fit.total * g.fit.stride
		} else {
			bytes += g.fit.Bytes()
		}
		t.shape.storage = g.fit.storage
		t.shape.d, t.shape.r = max(t.shape.d, g.fit.d), max(t.shape.r, g.r)
	}
	t.shape.tier, t.shape.workers, t.shape.samples, t.shape.copies = tile.Active(), workers, samples/max(tasks, 1), copies
	candidates := tile.Schedules(t.shape.d, t.shape.r, t.shape.storage.size())
	if copies {
		candidates = tile.HalfSchedules()
	}
	if mean := bytes / max(tasks, 1); copies && mean > resident {
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
	t.measure(candidates)
	return t
}

// measure starts to measure the candidates.
func (t *tuning) measure(candidates []*tile.Schedule) {
	n := len(candidates)
	t.stage, t.candidates = warming, candidates
	t.rounds = min((minTimes+t.jobs-1)/t.jobs, maxRounds)
	t.times = make([]time.Duration, t.rounds*n*t.jobs)
	t.round, t.ratios = make([]time.Duration, n), make([]float64, t.rounds*t.jobs)
}

// schedule returns the schedule of a job in the present step.
func (t *tuning) schedule(job int) *tile.Schedule {
	if t.stage != measuring {
		return t.best
	}
	return t.candidates[t.candidate(job, t.step)]
}

// candidate returns the number of the candidate of a job in a step. Some jobs in a row have the same one,
// since the first task of a job finds what the job before has prefetched.
func (t *tuning) candidate(job, step int) int {
	const runs = 16
	return (job/((t.jobs+runs-1)/runs) + step) % len(t.candidates)
}

// record takes the time of a job.
func (t *tuning) record(job int, elapsed time.Duration) {
	if t.stage == measuring {
		t.times[t.step*t.jobs+job] = elapsed
	}
}

// next ends a step. After the last one it decides, and records the decision for the process.
func (t *tuning) next() {
	switch t.stage {
	case warming:
		t.stage = measuring
	case measuring:
		if t.step++; t.step < t.rounds*len(t.candidates) {
			return
		}
		best, least := 0, t.slowness(0)
		for c := 1; c < len(t.candidates); c++ {
			if s := t.slowness(c); s < least {
				best, least = c, s
			}
		}
		*t = tuning{shape: t.shape, jobs: t.jobs, best: t.candidates[best]}
		fastest.Lock()
		defer fastest.Unlock()
		if fastest.of == nil {
			fastest.of = make(map[shape]*tile.Schedule)
		}
		fastest.of[t.shape] = t.best
	}
}

// slowness returns the time of the jobs on candidate c, relative to the median of all candidates in the same
// round: the mean of the middle half of these ratios. Interrupted jobs are not among them.
func (t *tuning) slowness(c int) float64 {
	n := len(t.candidates)
	ratios := t.ratios[:0]
	for first := 0; first < t.step; first += n {
		for job := range t.jobs {
			for i := range n {
				t.round[t.candidate(job, first+i)] = t.times[(first+i)*t.jobs+job]
			}
			own := t.round[c]
			slices.Sort(t.round)
			median := float64(t.round[(n-1)/2]+t.round[n/2]) / 2
			ratios = append(ratios, float64(own)/max(median, 1))
		}
	}
	slices.Sort(ratios)
	sum, middle := 0.0, ratios[len(ratios)/4:len(ratios)-len(ratios)/4]
	for _, v := range middle {
		sum += v
	}
	return sum / float64(len(middle))
}
