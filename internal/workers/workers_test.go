package workers_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/difalt/difalt/internal/check"
	"github.com/difalt/difalt/internal/fault"
	"github.com/difalt/difalt/internal/workers"
)

// A caller runs jobs of its own, one after the other, and checks them against a model: every part once a run,
// in plain memory, and the panic of part 0, or of the only part that panics.
type caller struct {
	rng   *rand.Rand
	sizes []int
	jobs  []*workers.Job
	runs  [][]int // calls of each part
}

func newCaller(seed uint64) *caller {
	c := &caller{rng: rand.New(rand.NewPCG(seed, 1))}
	for _, n := range []int{1, 2, 3, 8, 65} {
		c.sizes = append(c.sizes, n)
		c.jobs = append(c.jobs, workers.NewJob(n, "ended"))
		c.runs = append(c.runs, make([]int, n))
	}
	return c
}

// step runs a job in one of several ways and returns what was wrong.
func (c *caller) step(depth int) error {
	k := c.rng.IntN(len(c.jobs))
	size, calls := c.sizes[k], c.runs[k]
	before := append([]int(nil), calls...)
	bad, nested, pause := -1, depth > 0 && c.rng.IntN(4) == 0, c.rng.IntN(8) == 0
	if c.rng.IntN(4) == 0 {
		bad = c.rng.IntN(size)
	}
	seed := c.rng.Uint64()
	var wrong atomic.Pointer[error]
	got := run(c.jobs[k], c.rng.IntN(5), func(i int) {
		calls[i]++
		if nested && i%16 == 0 {
			if err := newCaller(seed + uint64(i)).step(depth - 1); err != nil {
				wrong.Store(&err)
			}
		}
		if pause && i == 1 {
			time.Sleep(60 * time.Microsecond) // longer than a caller polls
		}
		if i == bad {
			panic(i)
		}
	})
	if err := wrong.Load(); err != nil {
		return *err
	}
	if bad >= 0 && got != bad || bad < 0 && got != nil {
		return fmt.Errorf("%d parts, %d panics: the caller has %v", size, bad, got)
	}
	for i := range calls {
		if calls[i] != before[i]+1 {
			return fmt.Errorf("%d parts: part %d ran %d times", size, i, calls[i]-before[i])
		}
	}
	return nil
}

func run(j *workers.Job, helpers int, part func(i int)) (fault any) {
	defer func() { fault = recover() }()
	j.Run(helpers, part)
	return nil
}

// TestWorkersModel has several callers at once, some of them bound to a thread, on one processor and on more.
func TestWorkersModel(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	steps := 400
	if testing.Short() {
		steps = 100
	}
	for _, processors := range []int{1, 2, 3, 8} {
		runtime.GOMAXPROCS(processors)
		var all sync.WaitGroup
		for k := range 5 {
			all.Go(func() {
				if k%2 > 0 {
					runtime.LockOSThread()
					defer runtime.UnlockOSThread()
				}
				c := newCaller(uint64(10*processors + k))
				for range steps {
					if err := c.step(2); err != nil {
						t.Errorf("%d processors: %v", processors, err)
						return
					}
					if c.rng.IntN(50) == 0 {
						time.Sleep(2 * workers.Linger) // helpers end
					}
				}
			})
		}
		all.Wait()
	}
}

// A counter counts the parts that are computed at once.
type counter struct{ now, most atomic.Int64 }

// part computes a part, in which other parts may begin.
func (c *counter) part(int) {
	n := c.now.Add(1)
	for old := c.most.Load(); n > old && !c.most.CompareAndSwap(old, n); old = c.most.Load() {
	}
	for range 20 {
		runtime.Gosched()
	}
	c.now.Add(-1)
}

// TestWorkersAreFew has more callers than processors: together they have no more helpers that compute than
// processors less one, and those end.
func TestWorkersAreFew(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(3))
	const callers = 6
	before := runtime.NumGoroutine()
	var c counter
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			j := workers.NewJob(8, nil)
			for range 200 {
				j.Run(7, c.part)
			}
		})
	}
	all.Wait()
	if limit := int64(callers + 2); c.most.Load() > limit {
		t.Errorf("%d parts at once, want at most %d", c.most.Load(), limit)
	}
	check.Goroutines(t, before)
}

// TestWorkersOfFewerProcessors lowers GOMAXPROCS while seven helpers compute: the next job has two of them.
func TestWorkersOfFewerProcessors(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(8))
	var begun sync.WaitGroup
	begun.Add(8)
	lowered := make(chan struct{})
	go workers.NewJob(8, nil).Run(7, func(int) {
		begun.Done()
		<-lowered
	})
	begun.Wait()
	runtime.GOMAXPROCS(3)
	var c counter
	var once sync.Once
	j := workers.NewJob(8, nil)
	for range 200 {
		j.Run(7, func(i int) {
			once.Do(func() { close(lowered) })
			c.part(i)
		})
	}
	if got := c.most.Load(); got > 3 {
		t.Errorf("%d parts at once, want at most 3", got)
	}
}

// TestWorkersEndGoroutines ends the goroutine that computes a part, of the caller or of a helper.
func TestWorkersEndGoroutines(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	for range 50 {
		var calls atomic.Int64
		ended := make(chan any)
		j := workers.NewJob(4, "ended")
		go func() {
			defer func() { ended <- recover() }()
			j.Run(3, func(i int) {
				calls.Add(1)
				if i == 2 {
					runtime.Goexit()
				}
			})
		}()
		if got := <-ended; got != nil && got != "ended" {
			t.Fatalf("panic %v", got)
		}
		if calls.Load() != 4 {
			t.Fatalf("%d parts ran, want 4", calls.Load())
		}
		j.Run(3, func(int) { calls.Add(1) })
		if calls.Load() != 8 {
			t.Fatalf("%d parts ran afterwards, want 4", calls.Load()-4)
		}
	}
}

func TestWorkersDoNotAllocate(t *testing.T) {
	for _, parts := range []int{1, 2, 3, 20} {
		j, part := workers.NewJob(parts, nil), func(int) {}
		if n := check.Allocations(100, func() { j.Run(parts-1, part) }); n != 0 {
			t.Errorf("%d parts: %d allocations", parts, n)
		}
	}
}

// TestStackOfPart: fault.Of gives the stack of the part that has panicked, on the goroutine of a helper or of
// the caller, and the value stays as it is.
func TestStackOfPart(t *testing.T) {
	j := workers.NewJob(3, nil)
	for bad := range 3 {
		var p *fault.Panic
		func() {
			defer func() { p = fault.Of(recover()) }()
			j.Run(2, func(i int) {
				if i == bad {
					failPart(bad)
				}
			})
		}()
		if p == nil || p.Value != bad || !bytes.Contains(p.Stack, []byte("failPart")) ||
			!bytes.Contains(p.Stack, []byte("raised again by")) {
			t.Errorf("part %d: %v", bad, p)
		}
	}
}

func failPart(value int) { panic(value) }
