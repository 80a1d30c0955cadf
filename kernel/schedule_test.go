package kernel

import (
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/difalt/difalt/internal/tiertest"
	"github.com/difalt/difalt/internal/tile"
)

// drawn returns seeded tasks with two samples more in every third one, and a basis.
func drawn(tasks, n, d, r int, storage Storage) (*Tasks, *Basis) {
	rng := rand.New(rand.NewPCG(uint64(n), uint64(d)))
	rows := make([]int, tasks)
	for t := range rows {
		rows[t] = n + 2*(t%3/2)
	}
	b := NewBuilder(d, rows, storage)
	x := make([]float64, d)
	for t, n := range rows {
		for i := range n {
			for k := range x {
				x[k] = rng.NormFloat64()
			}
			b.SetRow(t, i, x, rng.NormFloat64())
		}
	}
	u := NewBasis(d, r)
	for j := range r {
		for k := range d {
			u.Col(j)[k] = rng.NormFloat64()
		}
	}
	return b.Tasks(), u
}

// small makes the second-level cache seem so small that all data are worth a schedule.
func small(t *testing.T) {
	before := resident
	resident = 64 << 10
	fastest.of = nil
	t.Cleanup(func() { resident, fastest.of = before, nil })
}

func sameStep(t *testing.T, name string, got, want *Group) {
	t.Helper()
	if !slices.Equal(got.B, want.B) || !slices.Equal(got.Grad.data, want.Grad.data) || got.Objective != want.Objective {
		t.Errorf("%s: the step gives other bits", name)
	}
}

// A schedule, and the measurement of all, change no bit.
func TestSchedulesGiveTheSameBits(t *testing.T) {
	tiertest.Each(t, func(t *testing.T) {
		small(t)
		for _, c := range []struct {
			tasks, n, d, r int
			storage        Storage
		}{{70, 9, 130, 4, Float64}, {64, 25, 61, 5, Float32}, {66, 12, 100, 10, Float64}, {20, 13, 900, 16, Float64}, {20, 7, 1400, 20, Float32}, {20, 6, 1100, 7, Float64}, {12, 40, 600, 4, Float64}} {
			x, u := drawn(c.tasks, c.n, c.d, c.r, c.storage)
			t.Setenv(tile.ScheduleVariable, "")
			want, got := NewGroup(x, c.r), NewGroup(x, c.r)
			want.Step(u, 0, nil)
			for _, workers := range []int{1, 2} {
				pool := NewPool(workers)
				for _, by := range tile.Schedules(c.d, c.r, c.storage.size()) {
					t.Setenv(tile.ScheduleVariable, strings.ToUpper(by.Name))
					e := NewExecutor(pool, []*Group{got})
					if name, final := e.Schedule(); name != by.Name || !final {
						t.Errorf("%s forced: schedule %s, final %t", by.Name, name, final)
					}
					e.Step([]*Basis{u}, 0)
					sameStep(t, by.Name, got, want)
				}
				t.Setenv(tile.ScheduleVariable, "")
				e := NewExecutor(pool, []*Group{got})
				steps := 0
				for final := false; !final; _, final = e.Schedule() {
					e.Step([]*Basis{u}, 0)
					sameStep(t, "measuring", got, want)
					if steps++; steps > 200 {
						t.Fatalf("no schedule after %d steps", steps)
					}
				}
				if got := NewExecutor(pool, []*Group{got}); got.tuning.best != e.tuning.best || got.tuning.stage != decided {
					t.Error("another executor of the process measures again")
				}
				bases := []*Basis{u}
				if n := testing.AllocsPerRun(5, func() { e.Step(bases, 0) }); n != 0 && !raceDetector {
					t.Errorf("%g allocations a step", n)
				}
				pool.Close()
			}
		}
	})
}

// A schedule for other ranks does not disturb.
func TestForcedScheduleForOtherRanks(t *testing.T) {
	if tile.Packed(1, 16, 8) == 0 {
		t.Skip("one kind of schedules on this tier")
	}
	t.Setenv(tile.ScheduleVariable, "near64")
	x, _ := drawn(20, 9, 130, 4, Float64)
	if name, final := scheduleOf(x, 4, 1); name != usual || !final {
		t.Errorf("rank 4: schedule %s, final %t", name, final)
	}
}

// scheduleOf returns the schedule of an executor of a group on the tasks, with a number of workers.
func scheduleOf(x *Tasks, r, workers int) (name string, final bool) {
	pool := NewPool(workers)
	defer pool.Close()
	return NewExecutor(pool, []*Group{NewGroup(x, r)}).Schedule()
}

// Executors of several goroutines measure at the same time.
func TestSchedulesAreFoundConcurrently(t *testing.T) {
	small(t)
	x, u := drawn(64, 25, 61, 5, Float64)
	want := NewGroup(x, 5)
	want.Step(u, 0, nil)
	var g sync.WaitGroup
	for range 4 {
		g.Go(func() {
			pool := NewPool(2)
			defer pool.Close()
			got := NewGroup(x, 5)
			e := NewExecutor(pool, []*Group{got})
			for range 60 {
				e.Step([]*Basis{u}, 0)
			}
			sameStep(t, "concurrently", got, want)
		})
	}
	g.Wait()
}

// The fastest schedule is found under the disturbances of a busy machine: every eighth
// job is interrupted for ten times its time, the machine slows down by the minute, and
// jobs differ in size. Times are made up.
func TestTuningFindsTheFastest(t *testing.T) {
	small(t)
	rng := rand.New(rand.NewPCG(3, 3))
	for _, jobs := range []int{1, 3, 8, 20, 64, 100} {
		wrong := 0
		const runs = 50
		for range runs {
			all := make([]*tile.Schedule, 8)
			cost := map[*tile.Schedule]float64{}
			fastest := rng.IntN(len(all))
			for i := range all {
				all[i] = &tile.Schedule{Ahead: 1 + i}
				cost[all[i]] = 1.03 + 0.4*rng.Float64()
			}
			cost[all[fastest]] = 1
			u := &tuning{jobs: jobs}
			u.measure(slices.Clone(all))
			steps := 0
			for ; u.stage != decided; steps++ {
				slow := 1 + 0.3*float64(steps)/20
				for job := range jobs {
					d := 1e5 * float64(1+job%3) * slow * (1 + 0.02*rng.NormFloat64())
					if by := u.schedule(job); by != nil {
						d *= cost[by]
					}
					if rng.IntN(8) == 0 {
						d *= 10
					}
					u.record(job, time.Duration(d))
				}
				u.next()
			}
			if steps > 1+len(all)*maxRounds {
				t.Fatalf("%d jobs: %d steps", jobs, steps)
			}
			// With few jobs there are few times.
			if c := cost[u.best]; c > 1 {
				wrong++
			}
		}
		if allowed := map[int]int{1: 20, 3: 8, 8: 2, 20: 2}[jobs]; wrong > allowed {
			t.Errorf("%d jobs: %d of %d times another schedule than the fastest", jobs, wrong, runs)
		}
	}
}

// Every job has every schedule once before it has one again.
func TestTuningIsFair(t *testing.T) {
	for _, jobs := range []int{1, 7, 20, 64} {
		u := &tuning{jobs: jobs}
		u.measure(make([]*tile.Schedule, 6))
		for job := range jobs {
			seen := map[int]bool{}
			for turn := range 6 {
				seen[u.candidate(job, turn)] = true
			}
			if len(seen) != 6 {
				t.Errorf("job %d of %d has %d of 6 schedules", job, jobs, len(seen))
			}
		}
	}
}

func TestCheckEnvironmentOfASchedule(t *testing.T) {
	t.Setenv(tile.ScheduleVariable, "shrae6")
	err := CheckEnvironment()
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range append(Describe().Schedules, tile.ScheduleVariable, "shrae6") {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not name %s", err, want)
		}
	}
	for _, name := range Describe().Schedules {
		t.Setenv(tile.ScheduleVariable, name)
		if err := CheckEnvironment(); err != nil || Describe().Schedule != name {
			t.Errorf("%s: Info says %q, Err %v", name, Describe().Schedule, err)
		}
	}
}

// Steps on 16 bits have schedules of their own, which are measured while anchors come
// between, and change no bit either.
func TestSchedulesOf16Bits(t *testing.T) {
	tiertest.Each(t, func(t *testing.T) {
		small(t)
		t.Setenv(tile.ScheduleVariable, "")
		x, u := drawn(64, 25, 61, 5, Float64)
		v := u.Clone()
		for k := range v.Col(0) {
			v.Col(0)[k] += 1e-3
		}
		bases := []*Basis{u, v}
		want := NewGroup(x, 5)
		want.EnableMixedPrecision()
		want.RefreshReference()
		want.Step(u, 0, nil)
		want.Step(v, 0, nil)
		pool := NewPool(2)
		defer pool.Close()
		check := func(name string, rounds int) *Executor {
			got := NewGroup(x, 5)
			e := NewExecutor(pool, []*Group{got})
			got.EnableMixedPrecision()
			for range rounds {
				got.RefreshReference()
				e.Step(bases[:1], 0)
				e.Step(bases[1:], 0)
				sameStep(t, name, got, want)
			}
			return e
		}
		e := check("measuring", 120)
		for i, k := range e.tunings {
			if k.stage != decided {
				t.Errorf("tuning %d is not decided", i)
			}
		}
		for _, by := range tile.HalfSchedules() {
			t.Setenv(tile.ScheduleVariable, by.Name)
			if name, final := check(by.Name, 1).Schedule(); name != by.Name || !final {
				t.Errorf("%s forced: schedule %s, final %t", by.Name, name, final)
			}
		}
	})
}

// Tasks that the second-level cache does not hold have a schedule that was measured on such
// tasks, and no other.
func TestScheduleOfLargeTasks(t *testing.T) {
	tiertest.Each(t, func(t *testing.T) {
		small(t)
		t.Setenv(tile.ScheduleVariable, "")
		const d, r = 600, 4
		all := tile.Schedules(d, r, 8)
		if len(all) == 0 {
			t.Skip("no schedules on this tier")
		}
		alike, _ := drawn(8, 40, d, r, Float64)
		rows := slices.Repeat([]int{2}, 30)
		rows[7] = 40
		one := NewBuilder(d, rows, Float64).Tasks()
		for _, by := range all {
			if got := samplesOf(alike, 3, r, by).basisNext.Schedule; got != by {
				t.Errorf("%s was measured on large tasks, which go by %s", by.Name, got.Name)
			}
			if got := samplesOf(one, 7, r, by).basisNext.Schedule; !got.None {
				t.Errorf("%s was measured on small tasks, a large one goes by %s", by.Name, got.Name)
			}
			if got := samplesOf(one, 6, r, by).basisNext.Schedule; got != by {
				t.Errorf("%s was measured on small tasks, one goes by %s", by.Name, got.Name)
			}
		}
		if _, final := scheduleOf(alike, r, 1); final {
			t.Error("nothing is measured on large tasks")
		}
	})
}

// What stays in the second-level cache is not prefetched, and what does not is.
func TestScheduleInCache(t *testing.T) {
	tiertest.Each(t, func(t *testing.T) {
		small(t)
		t.Setenv(tile.ScheduleVariable, "")
		const n, d, r = 8, 64, 4
		if len(tile.Schedules(d, r, 8)) == 0 {
			t.Skip("no schedules on this tier")
		}
		task := 8 * n * d // bytes
		for _, workers := range []int{1, 2} {
			for _, c := range []struct {
				tasks int
				want  string
			}{{resident * workers / task, "none"}, {resident*workers/task + 1, usual}} {
				rows := slices.Repeat([]int{n}, c.tasks)
				if name, final := scheduleOf(NewBuilder(d, rows, Float64).Tasks(), r, workers); name != c.want || !final {
					t.Errorf("%d tasks, %d workers: schedule %s, final %t; want %s", c.tasks, workers, name, final, c.want)
				}
			}
		}
	})
}
