package tile

import (
	"fmt"
	"os"
	"strings"
)

// A Schedule is how the tiles prefetch the samples that follow while they compute. The fastest one depends on
// the processor, the shape and the number of workers, so that package kernel measures it. No bit of a result
// depends on it.
type Schedule struct {
	Name string
	// None prefetches nothing, and leaves everything to the processor's own prefetching.
	None bool
	// Ahead is how many bytes ahead of their use X U prefetches samples, at most.
	Ahead int
	// Near is how many features ahead of their use a packed basis prefetches those of the same rows: of long
	// rows, the whole rows that follow would fill too much of the second-level cache. 0 prefetches rows.
	Near int
}

var (
	// None prefetches nothing.
	None   = &Schedule{Name: "none", None: true}
	task   = &Schedule{Name: "task", Ahead: 1 << 30} // exactly one task ahead
	window = &Schedule{Name: "64k", Ahead: Window}   // on AVX-512 in twice as many streams, see basisPrefetch
	near64 = &Schedule{Name: "near64", Near: 64}     // for packed bases
)

// Schedules returns the candidates of the active tier for samples of size bytes, d features and rank r; none
// if schedules make no difference to it.
func Schedules(d, r, size int) []*Schedule {
	switch {
	case !scheduled():
		return nil
	case Packed(d, r, size) > 0:
		return []*Schedule{None, window, near64}
	}
	return []*Schedule{None, task, window}
}

// HalfSchedules are Schedules for the products with samples of 16 bits.
func HalfSchedules() []*Schedule { return Schedules(1, 1, 2) }

// windowFrom is the size in bytes of the smallest task with the window as its usual schedule.
const windowFrom = 64 << 10

// Usual returns the schedule for tasks of the given bytes, with d features of size bytes, and a basis of rank
// r, as long as the fastest has not been measured: the best one on most processors. A task of up to resident
// bytes stays in the second-level cache from X U to X'e. A larger one is read from memory twice, and there
// some processors do better alone, except that they do not follow as many rows as a tile of a packed basis
// has.
func Usual(bytes, size, resident, d, r int) *Schedule {
	packed := Packed(d, r, size) > 0
	switch {
	case packed && longRows(Pad(d)*size):
		return near64
	case bytes > resident:
		return None
	case packed || bytes >= windowFrom:
		return window
	}
	return task
}

// ScheduleVariable is the environment variable that forces a schedule.
const ScheduleVariable = "DIFALT_SCHEDULE"

// ForcedSchedule returns the schedule that the environment variable names, nil if it names
// none, and an error if there is no such schedule on this machine and build.
func ForcedSchedule() (*Schedule, error) {
	name := os.Getenv(ScheduleVariable)
	if name == "" {
		return nil, nil
	}
	have := all()
	if len(have) == 0 {
		return nil, fmt.Errorf("%s=%s: kernel %v has no choice of schedules", ScheduleVariable, name, active)
	}
	for _, s := range have {
		if strings.EqualFold(s.Name, name) {
			return s, nil
		}
	}
	return nil, fmt.Errorf("%s=%s: unknown schedule: have %v", ScheduleVariable, name, ScheduleNames())
}

// ScheduleNames returns the names that the environment variable may have.
func ScheduleNames() []string {
	var names []string
	for _, s := range all() {
		names = append(names, s.Name)
	}
	return names
}

// all returns the schedules of the active tier.
func all() []*Schedule {
	if len(Schedules(1, 1, 8)) == 0 {
		return nil
	}
	return []*Schedule{None, task, window, near64}
}

// Eighths returns how many eighths of a task X U on a basis of rank r prefetches: basisShare for each group
// of columns, or all with a packed basis. The rest is that of X'e.
func Eighths(r int, packed bool) int {
	if packed {
		return 8
	}
	return min(8, (r+maxDots-1)/maxDots*basisShare)
}

// A Hint is the memory that an operation prefetches while it computes: the given eighths of the bytes of its
// samples, from address Next on, which need not be readable, by a schedule. If Next is zero it prefetches
// nothing.
type Hint struct {
	Next    uintptr
	Eighths int
	*Schedule
}
