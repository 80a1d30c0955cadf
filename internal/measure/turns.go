package measure

import (
	"context"
	"math"
	"slices"
	"time"
)

// turn is how long one thing is repeated before the next one has its turn: long
// against the timer and against the cold caches that the others left behind,
// short against the seconds over which a shared machine changes its speed.
const turn = 40 * time.Millisecond

// InTurns repeats the functions in turns for about the given time, at least five
// turns each, and returns the median time of one call of each in milliseconds.
// Each turn begins with a call that is not timed.
func InTurns(ctx context.Context, length time.Duration, f ...func()) ([]float64, error) {
	repeat := make([]int, len(f))
	for i := range f {
		f[i]() // grows, faults in and trains what is lazy
		start := time.Now()
		f[i]()
		repeat[i] = Repeats(time.Since(start))
	}
	times := make([][]float64, len(f))
	for start := time.Now(); len(times[0]) < 5 || time.Since(start) < length; {
		for i := range f {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			times[i] = append(times[i], one(f[i], repeat[i]))
		}
	}
	medians := make([]float64, len(f))
	for i := range times {
		medians[i] = Median(times[i])
	}
	return medians, nil
}

// one times one turn: a call that is not timed, and then so many calls.
func one(f func(), repeat int) (ms float64) {
	f()
	start := time.Now()
	for range repeat {
		f()
	}
	return float64(time.Since(start).Nanoseconds()) / 1e6 / float64(repeat)
}

// Repeats returns how many calls of the given length make a turn.
func Repeats(once time.Duration) int {
	return int(min(max(turn/max(once, 1), 1), 10000))
}

// Median returns the median of v, NaN if v is empty. It sorts v.
func Median(v []float64) float64 {
	if len(v) == 0 {
		return math.NaN()
	}
	slices.Sort(v)
	m := len(v) / 2
	if len(v)%2 == 1 {
		return v[m]
	}
	return (v[m-1] + v[m]) / 2
}
