package blas

import (
	"runtime"
	"sync/atomic"
	"time"
)

// linger is how long an idle helper polls for the next job before it ends, and a caller for the last part
// before it sleeps. A sleeping thread starts again after up to 110 us.
const linger = 50 * time.Microsecond

// A job is a number of parts, which the caller and helpers take in turn.
type job struct {
	part       func(i int)
	parts      int64
	next, done atomic.Int64
}

// team are the helpers of all callers: goroutines that end when no job follows.
var team struct {
	offered atomic.Pointer[job] // the job that has parts for helpers
	idle    atomic.Int64        // helpers without a job, with those that do not run yet
	ended   atomic.Int64        // the time at which the last job ended
}

var started = time.Now()

// inTurn calls part for all i below parts on several threads. A helper that comes late finds nothing left to
// do. Of small jobs the first one wakes no helper; those that follow soon after another job do.
func inTurn(threads, parts int, small bool, part func(i int)) {
	if soon := time.Since(started) - time.Duration(team.ended.Load()); small && soon > 2*linger {
		threads = 1
	}
	threads = min(threads, parts)
	j := &job{part: part, parts: int64(parts)}
	for j.next.Load() < j.parts {
		if threads > 1 && team.offered.Load() == nil && team.offered.CompareAndSwap(nil, j) {
			for team.idle.Load() < int64(threads-1) {
				team.idle.Add(1)
				go help()
			}
		}
		j.take()
	}
	team.offered.CompareAndSwap(j, nil)
	for !poll(func() bool { return j.done.Load() == j.parts }) {
		time.Sleep(linger) // of long parts it is a small part
	}
	team.ended.Store(int64(time.Since(started)))
}

// take computes the next part, if there is one.
func (j *job) take() {
	i := j.next.Add(1)
	if i > j.parts {
		return
	}
	j.part(int(i - 1))
	j.done.Add(1)
}

// waiting returns the job that is offered if it has parts left.
func waiting() *job {
	if j := team.offered.Load(); j != nil && j.next.Load() < j.parts {
		return j
	}
	return nil
}

// help computes parts of the jobs that are offered, until none is for a while.
func help() {
	for {
		var j *job
		poll(func() bool {
			j = waiting()
			return j != nil
		})
		team.idle.Add(-1)
		if j == nil {
			j = waiting() // of a caller that counted on this helper
		}
		if j == nil {
			return
		}
		for j.next.Load() < j.parts {
			j.take()
		}
		team.idle.Add(1)
	}
}

// poll calls ready until it returns true, or linger has passed, and returns its last value.
func poll(ready func() bool) bool {
	for start := time.Now(); time.Since(start) < linger; runtime.Gosched() {
		for range 64 {
			if ready() {
				return true
			}
		}
	}
	return false
}
