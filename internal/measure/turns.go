package measure

import (
	"context"
	"math"
	"slices"
	"time"
)

// turn is the time of one operation before the next one has its turn. It is long against the timer and the
// filling of caches that other operations left cold. It is short against the seconds between changes of a
// shared machine's speed. Tests shorten it.
var turn = 40 * time.Millisecond

// A Timer repeats an operation, and returns the mean milliseconds of one call.
type Timer func(calls int) (ms float64, err error)

// Calls returns the timer of a function.
func Calls(f func()) Timer {
	return func(calls int) (ms float64, err error) {
		start := time.Now()
		for range calls {
			f()
		}
		return float64(time.Since(start).Nanoseconds()) / 1e6 / float64(calls), nil
	}
}

// A Timing is the median milliseconds of a call, or the error that ended it.
type Timing struct {
	MS  float64
	Err error
}

// Turns lets timers make calls in turns for about the given time, at least five turns
// each. A turn begins with a call that does not count, and every round of turns with
// another timer, so that no timer always follows a certain other one. A timer that fails has no further
// turns. When the context ends Turns returns its error.
func Turns(ctx context.Context, length time.Duration, timers ...Timer) ([]Timing, error) {
	times, timings, calls := make([][]float64, len(timers)), make([]Timing, len(timers)), make([]int, len(timers))
	one := func(i int) (ms float64, err error) {
		if _, err = timers[i](1); err != nil { // grows, faults in and trains what is lazy
			return 0, err
		}
		if calls[i] == 0 {
			if ms, err = timers[i](1); err != nil {
				return 0, err
			}
			calls[i] = int(min(max(turn.Seconds()*1e3/max(ms, 1e-6), 1), 10000))
		}
		return timers[i](calls[i])
	}
	for round, start := 0, time.Now(); round < 5 || time.Since(start) < length; round++ {
		for k := range timers {
			i := (k + round) % len(timers)
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if timings[i].Err != nil {
				continue
			}
			var ms float64
			if ms, timings[i].Err = one(i); timings[i].Err == nil {
				times[i] = append(times[i], ms)
			}
		}
	}
	for i := range timings {
		if timings[i].Err == nil {
			timings[i].MS = Median(times[i])
		}
	}
	return timings, nil
}

// InTurns returns the median milliseconds of a call of each function, measured by Turns.
func InTurns(ctx context.Context, length time.Duration, f ...func()) ([]float64, error) {
	timers := make([]Timer, len(f))
	for i := range f {
		timers[i] = Calls(f[i])
	}
	timings, err := Turns(ctx, length, timers...)
	ms := make([]float64, len(timings))
	for i := range timings {
		ms[i] = timings[i].MS
	}
	return ms, err
}

// Median returns the median of v, NaN if v is empty. It sorts v.
func Median(v []float64) float64 {
	if len(v) == 0 {
		return math.NaN()
	}
	slices.Sort(v)
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}
