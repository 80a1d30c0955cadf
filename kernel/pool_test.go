package kernel_test

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/difalt/difalt/internal/check"
	"github.com/difalt/difalt/kernel"
)

func TestPool(t *testing.T) {
	for _, workers := range []int{1, 2, 3, 5, 4 * runtime.GOMAXPROCS(0)} {
		p := kernel.NewPool(workers)
		if p.Workers() != workers {
			t.Errorf("%d workers, want %d", p.Workers(), workers)
		}
		// Plain memory: the race detector sees whether Run orders it.
		counts, sum := make([]int, workers), 0
		for range 2000 {
			p.Run(func(w int) { counts[w]++ })
			for _, c := range counts {
				sum += c
			}
		}
		for w, c := range counts {
			if c != 2000 {
				t.Errorf("%d workers: worker %d ran %d times", workers, w, c)
			}
		}
		if want := workers * 2000 * 2001 / 2; sum != want {
			t.Errorf("%d workers: Run returned before its workers: %d, want %d", workers, sum, want)
		}
		p.Close()
	}
	p := kernel.NewPool(0)
	defer p.Close()
	if p.Workers() != runtime.GOMAXPROCS(0) {
		t.Errorf("%d workers", p.Workers())
	}
	wantPanic(t, "too many workers", func() { kernel.NewPool(kernel.MaxWorkers + 1) })
}

// Workers that have parked, and callers that have, wake for the next run; uneven
// jobs make every combination of spinning and parked.
func TestPoolParks(t *testing.T) {
	p := kernel.NewPool(3)
	defer p.Close()
	var ran atomic.Int64
	pauses := []time.Duration{0, 20 * time.Microsecond, 50 * time.Microsecond, 60 * time.Microsecond,
		2 * time.Millisecond}
	n := 0
	for _, between := range pauses {
		for _, inside := range pauses {
			for slow := range 4 { // worker 3 does not exist: nobody is slow
				for range 3 {
					p.Run(func(w int) {
						if w == slow {
							time.Sleep(inside)
						}
						ran.Add(1)
					})
					n++
					time.Sleep(between)
				}
			}
		}
	}
	if ran.Load() != int64(3*n) {
		t.Errorf("%d calls, want %d", ran.Load(), 3*n)
	}
}

// Several pools at once, each with its own caller, more workers than processors.
func TestPoolsCompete(t *testing.T) {
	const pools, runs = 4, 300
	var total atomic.Int64
	done := make(chan bool)
	for range pools {
		go func() {
			p := kernel.NewPool(2)
			defer p.Close()
			for range runs {
				p.Run(func(int) { total.Add(1) })
			}
			done <- true
		}()
	}
	for range pools {
		<-done
	}
	if total.Load() != 2*pools*runs {
		t.Errorf("%d calls, want %d", total.Load(), 2*pools*runs)
	}
}

func TestPoolClose(t *testing.T) {
	before := runtime.NumGoroutine()
	for range 20 {
		p := kernel.NewPool(6)
		p.Run(func(int) {})
		p.Close()
		p.Close()
		wantPanic(t, "negative", func() { kernel.NewPool(-1) })
		wantPanic(t, "Run after Close", func() { p.Run(func(int) {}) })
		kernel.NewPool(3).Close() // never used
	}
	check.Goroutines(t, before)
}

// A panic in the caller's share of a job leaves a pool that works and can close.
func TestPoolPanic(t *testing.T) {
	p := kernel.NewPool(3)
	defer p.Close()
	var others atomic.Int64
	func() {
		defer func() {
			if recover() != "job" {
				t.Error("the panic was lost")
			}
		}()
		p.Run(func(w int) {
			if w == 0 {
				panic("job")
			}
			time.Sleep(time.Millisecond)
			others.Add(1)
		})
	}()
	if others.Load() != 2 {
		t.Errorf("Run ended before %d of its workers", 2-others.Load())
	}
	wantPanic(t, "Run in a job", func() {
		p.Run(func(w int) {
			if w == 0 {
				p.Run(func(int) {})
			}
		})
	})
	p.Run(func(int) { others.Add(1) })
	if others.Load() != 5 {
		t.Errorf("%d calls after a panic, want 3", others.Load()-2)
	}
}

// Misuse, and a panic or the end of a goroutine in any worker's share of a job, end in a panic at the
// caller, and leave a pool that works.
func TestPoolFaults(t *testing.T) {
	p := kernel.NewPool(3)
	defer p.Close()
	for message, f := range map[string]func(){
		"function is nil":              func() { p.Run(nil) },
		"pool was not made by NewPool": func() { new(kernel.Pool).Run(func(int) {}) },
		"pool used while it runs":      func() { p.Run(func(w int) { closeAs(0, w, p) }) },
	} {
		if got := panicOf(f); got != "kernel: "+message {
			t.Errorf("%s: panic %v", message, got)
		}
	}
	// The function may run on a goroutine that helps, or on the caller's, which then ends.
	ended := make(chan any)
	go func() {
		defer func() { ended <- recover() }()
		p.Run(func(w int) {
			if w == 2 {
				runtime.Goexit()
			}
		})
	}()
	if got := <-ended; got != nil && got != "kernel: a function ended its goroutine" {
		t.Errorf("a function that ends its goroutine: panic %v", got)
	}
	wantPanic(t, "nil pool", func() { (*kernel.Pool)(nil).Run(func(int) {}) })
	wantPanic(t, "nil pool closed", func() { (*kernel.Pool)(nil).Close() })
	wantPanic(t, "closed by a worker", func() { p.Run(func(w int) { closeAs(1, w, p) }) })
	for bad := range 3 {
		got := panicOf(func() {
			p.Run(func(w int) {
				if w == bad {
					panic(bad)
				}
			})
		})
		if got != bad {
			t.Errorf("a panic of worker %d is %v at the caller", bad, got)
		}
	}
	if got := panicOf(func() { p.Run(func(w int) { panic(w) }) }); got != 0 {
		t.Errorf("panics of all workers are %v at the caller, want its own", got)
	}
	var calls atomic.Int64
	for range 100 {
		p.Run(func(int) { calls.Add(1) })
	}
	if calls.Load() != 300 {
		t.Errorf("%d calls after the faults, want 300", calls.Load())
	}
}

func closeAs(closer, worker int, p *kernel.Pool) {
	if worker == closer {
		p.Close()
	}
}

func TestPoolDoesNotAllocate(t *testing.T) {
	for _, workers := range []int{1, 2, 3} {
		p := kernel.NewPool(workers)
		f := func(int) {}
		if n := check.Allocations(100, func() { p.Run(f) }); n != 0 {
			t.Errorf("%d workers: %d allocations", workers, n)
		}
		p.Close()
	}
}
