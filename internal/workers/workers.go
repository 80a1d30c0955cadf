// Package workers shares the parts of jobs between the goroutine that needs the results and helpers. A
// process has at most one helper fewer than GOMAXPROCS, whoever calls: no pool of goroutines spins beside
// another. Helpers poll for the next job for a moment, and then end.
package workers

import (
	"runtime"
	"sync/atomic"
	"time"

	"github.com/difalt/difalt/internal/fault"
)

// Linger is how long an idle helper polls for the next job before it ends, and a caller for the last part
// before it sleeps. It covers the serial gaps of an iteration, and is too short to take a core from other
// programs. A sleeping thread starts again after up to 110 us.
const Linger = 50 * time.Microsecond

// Most is the largest number of helpers of a process.
const Most = 1024

// A Job is a number of parts. In a run, one goroutine computes each part, once. A Job is used by one
// goroutine at a time, and may be run again; its parts do not wait for each other.
type Job struct {
	part    func(i int)
	ended   any
	run     atomic.Uint32
	claimed []atomic.Uint32 // the last run that has taken the part
	left    atomic.Int64    // parts that nobody took
	pending atomic.Int64    // parts that are not done
	fault   atomic.Pointer[any]
	parked  atomic.Bool // the caller sleeps until signal
	signal  chan struct{}
}

// NewJob returns a job of some parts. Run panics with the value ended if a part ends a helper's goroutine.
func NewJob(parts int, ended any) *Job {
	return &Job{ended: ended, claimed: make([]atomic.Uint32, parts), signal: make(chan struct{}, 1)}
}

// shared has the helpers of all callers.
var shared struct {
	// offered holds jobs with parts for helpers. A job that finds no place here gets no helpers.
	offered [64]atomic.Pointer[Job]
	// idle counts helpers without a job. It includes helpers whose goroutines have not run yet.
	idle atomic.Int64
	// names are the names that helpers have taken.
	names [Most]atomic.Bool
	// alive counts helpers, and limit is the most there may be, as the last Run set it.
	alive, limit atomic.Int64
}

// HelpersWait reports whether helpers wait for a job.
func HelpersWait() bool { return shared.idle.Load() > 0 }

// Run calls part for all i below the number of parts, and returns when all calls have returned. The caller
// computes part 0, and then parts that no helper has taken yet; up to helpers goroutines help, each first
// with a part that is fixed for all runs, and then with those behind it. If parts panic, Run panics after all
// have ended, with the value of part 0 or of another one. A part that ends the caller's goroutine does so
// after all have ended. Run does not allocate.
func (j *Job) Run(helpers int, part func(i int)) {
	j.part = part
	j.fault.Store(nil)
	parts := int64(len(j.claimed))
	j.pending.Store(parts)
	j.left.Store(parts)
	run := j.run.Add(1)
	limit := min(runtime.GOMAXPROCS(0)-1, Most)
	if shared.limit.Load() != int64(limit) { // else the helpers would fetch it again
		shared.limit.Store(int64(limit))
	}
	place := -1
	if helpers = min(helpers, len(j.claimed)-1, limit); helpers > 0 {
		place = j.offer(helpers)
	}
	defer j.finish(place, run)
	j.take(run, 0, true)
}

// finish computes the parts that nobody has taken, which exist if a part ended the goroutine, and waits for
// the parts of helpers.
func (j *Job) finish(place int, run uint32) {
	j.take(run, 0, true)
	if place >= 0 {
		shared.offered[place].Store(nil)
	}
	j.wait()
	j.part = nil
	if value := j.fault.Swap(nil); value != nil {
		panic(*value)
	}
}

// offer lets helpers take parts, starts as many of them as are missing, and returns the place of the job.
func (j *Job) offer(helpers int) (place int) {
	for place = range shared.offered {
		if shared.offered[place].Load() == nil && shared.offered[place].CompareAndSwap(nil, j) {
			hired := false
			for shared.idle.Load() < int64(helpers) && hire() {
				hired = true
			}
			if hired {
				go nothing()
			}
			return place
		}
	}
	return -1
}

// hire starts a helper, unless there are enough.
func hire() bool {
	for n := shared.alive.Load(); n < shared.limit.Load(); n = shared.alive.Load() {
		if shared.alive.CompareAndSwap(n, n+1) {
			shared.idle.Add(1)
			go help()
			return true
		}
	}
	return false
}

// nothing is a goroutine that ends. Started after helpers, it is the one that was started last, which other
// threads take some 60 us later than those in the queue before it.
func nothing() {}

// dismiss takes the helper that calls it out of the count if there are too many: GOMAXPROCS is lower than
// when they were hired.
func dismiss() bool {
	for n := shared.alive.Load(); n > shared.limit.Load(); n = shared.alive.Load() {
		if shared.alive.CompareAndSwap(n, n-1) {
			return true
		}
	}
	return false
}

// take computes the parts of a run that nobody has taken, from part first on and around, on the goroutine
// of the caller or of a helper.
func (j *Job) take(run uint32, first int, caller bool) {
	parts := len(j.claimed)
	for k := 0; k < parts && j.left.Load() > 0; k++ {
		i := (first + k) % parts
		if j.claimed[i].CompareAndSwap(run-1, run) {
			j.left.Add(-1)
			j.call(i, caller)
		}
	}
}

// firstOf returns the part that a helper takes first: the first one of its share. Unless a thread is late,
// each takes the parts in every run that it took in the one before, and that its caches hold.
func (j *Job) firstOf(name int) int {
	return (name + 1) * len(j.claimed) / (int(shared.limit.Load()) + 1)
}

// call computes a part. It leaves a panic to Run.
func (j *Job) call(i int, caller bool) {
	returned := false
	defer func() {
		if !returned {
			recovered := recover()
			fault.Moved(recovered)
			j.fail(i, recovered, caller)
		}
		if j.pending.Add(-1) == 0 && j.parked.CompareAndSwap(true, false) {
			j.signal <- struct{}{}
		}
	}()
	j.part(i)
	returned = true
}

// fail keeps the panic of a part, or nil if it ended its goroutine.
func (j *Job) fail(i int, value any, caller bool) {
	if value == nil {
		value = j.ended
		if caller {
			return
		}
	}
	if i == 0 {
		j.fault.Store(&value)
	} else {
		j.fault.CompareAndSwap(nil, &value)
	}
}

// wait returns when all parts are done: it polls, and then sleeps until the last one wakes it.
func (j *Job) wait() {
	done := func() bool { return j.pending.Load() == 0 }
	if done() || poll(done) {
		return
	}
	for !done() { // the last part of a run before may still wake the caller
		j.parked.Store(true)
		if done() && j.parked.CompareAndSwap(true, false) {
			return
		}
		<-j.signal
	}
}

// help computes parts of jobs that are offered, until no job is offered for a while.
func help() {
	name := 0
	for !shared.names[name].CompareAndSwap(false, true) {
		name = (name + 1) % Most
	}
	busy, dismissed := false, false
	defer func() { // also if a part ends the goroutine
		if !busy {
			shared.idle.Add(-1)
		}
		shared.names[name].Store(false)
		if !dismissed {
			shared.alive.Add(-1)
		}
	}()
	for {
		var j *Job
		poll(func() bool {
			j = waiting()
			return j != nil
		})
		if dismissed = dismiss(); dismissed {
			return
		}
		shared.idle.Add(-1)
		busy = true
		if j == nil {
			j = waiting() // of a caller that counted on this helper
		}
		if j == nil {
			return
		}
		j.take(j.run.Load(), j.firstOf(name), false)
		busy = false
		shared.idle.Add(1)
	}
}

// waiting returns a job that is offered and has parts left, or nil.
func waiting() *Job {
	for place := range shared.offered {
		if j := shared.offered[place].Load(); j != nil && j.left.Load() > 0 {
			return j
		}
	}
	return nil
}

// poll calls ready until it returns true, or Linger has passed, and returns its last value.
func poll(ready func() bool) bool {
	for start := time.Now(); time.Since(start) < Linger; runtime.Gosched() {
		for range 64 {
			if ready() {
				return true
			}
		}
	}
	return false
}
