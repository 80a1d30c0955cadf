package tile

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// A Schedule says how the tiles prefetch the samples that follow while they compute. Which one is fastest depends on the processor, the shape and the number of
// workers, so that package kernel measures it. No bit of a result depends on it.
type Schedule struct {
	Name string
	// None prefetches nothing, and leaves everything to the processor's own prefetching.
	None bool
	// Share is how many eighths of a task each group of up to maxDots columns of X U
	// prefetches; X'e prefetches the rest.
	Share int
	// Ahead is how many bytes ahead of their use X U prefetches samples, at most.
	Ahead int
	// Twice has X U prefetch in twice as many streams of half the length; see prefetch.
	Twice bool
	// Near is how many features ahead of their use a packed basis prefetches those of the
	// same rows, into the first-level cache: where rows are long, the whole rows that
	// follow would take up too much of the second level. 0 prefetches rows.
	Near int
}

// oneTask is an Ahead without a limit: exactly one task.
const oneTask = 1 << 30

// The schedules for bases that are not packed, on AVX-512 and on AVX2, whose tiles are
// half as high and prefetch every line twice anyway, and those for packed ones.
var (
	dots512 = []*Schedule{
		None, share6, share6x2w, {Name: "share6x2", Share: 6, Ahead: oneTask, Twice: true},
		{Name: "share8x2", Share: 8, Ahead: oneTask, Twice: true}, {Name: "share4x2", Share: 4, Ahead: oneTask, Twice: true},
		share4w, share2w,
	}
	dots2 = []*Schedule{ // and for samples of 16 bits
		None, share6, share6w, {Name: "share8", Share: 8, Ahead: oneTask}, {Name: "share8-64k", Share: 8, Ahead: Window},
		{Name: "share4", Share: 4, Ahead: oneTask}, share4w, share2w,
	}
	panels16 = []*Schedule{
		None, rows, {Name: "near32", Near: 32}, near64, {Name: "near128", Near: 128}, {Name: "near256", Near: 256},
	}

	// None prefetches nothing.
	None      = &Schedule{Name: "none", None: true}
	share6    = &Schedule{Name: "share6", Share: basisShare, Ahead: oneTask}
	share6w   = &Schedule{Name: "share6-64k", Share: basisShare, Ahead: Window}
	share4w   = &Schedule{Name: "share4-64k", Share: 4, Ahead: Window}
	share2w   = &Schedule{Name: "share2-64k", Share: 2, Ahead: Window}
	share6x2w = &Schedule{Name: "share6x2-64k", Share: basisShare, Ahead: Window, Twice: true}
	rows      = &Schedule{Name: "rows-64k", Share: 8, Ahead: Window}
	near64    = &Schedule{Name: "near64", Near: 64}
)

// Schedules returns the candidates of the active tier for a basis of d features and rank r;
// none if schedules make no difference to it.
func Schedules(d, r int) []*Schedule {
	switch {
	case active != AVX2 && active != AVX512:
		return nil
	case Packed(d, r) > 0:
		return panels16
	case active == AVX512:
		return dots512
	}
	return dots2
}

// HalfSchedules are Schedules for the products with samples of 16 bits.
func HalfSchedules() []*Schedule {
	if active != AVX2 && active != AVX512 {
		return nil
	}
	return dots2
}

// A task of more bytes than twiceFrom is prefetched in twice as many streams on AVX-512:
// of a smaller one they would be too short for the processor to follow.
const twiceFrom = 64 << 10

// Usual returns the schedule for tasks of some bytes, with d features of so many bytes
// each, and a basis of rank r, where the fastest has not been measured: what was best on most
// processors. resident is the size of a task that stays in the second-level cache from X U
// to X'e. One that does not is read from memory twice, and there some processors do better
// alone, except that they do not follow as many rows as a tile of a packed basis takes.
func Usual(bytes, size, resident, d, r int) *Schedule {
	switch {
	case Packed(d, r) > 0 && longRows(Pad(d)*size):
		return near64
	case bytes > resident:
		return None
	case Packed(d, r) > 0:
		return rows
	case bytes < twiceFrom:
		return share6
	case active == AVX512:
		return share6x2w
	}
	return share6w
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

// ScheduleNames returns what the environment variable may name.
func ScheduleNames() []string {
	var names []string
	for _, s := range all() {
		if !slices.Contains(names, s.Name) {
			names = append(names, s.Name)
		}
	}
	return names
}

func all() []*Schedule {
	return slices.Concat(Schedules(1, 1), HalfSchedules(), Schedules(1, PackWidth))
}

// Eighths returns how many eighths of a task X U on a basis of rank r prefetches.
func (s *Schedule) Eighths(r int, packed bool) int {
	if packed {
		return 8
	}
	return min(8, (r+maxDots-1)/maxDots*s.Share)
}

// A Hint says what a tile prefetches while it computes: so many eighths of the bytes of
// the samples that it is given, from address Next on, which need not be readable, or
// nothing if that is zero; and how. The zero Hint prefetches nothing.
type Hint struct {
	Next    uintptr
	Eighths int
	*Schedule
}
