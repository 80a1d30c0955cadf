package kernel

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// spinFor is how long an idle worker polls for the next fork before it parks. It covers the serial gaps
// inside an iteration, and is too short to take a core from other programs.
const spinFor = 50 * time.Microsecond

// A Pool is a fixed set of workers for fork-join loops that last microseconds. Starting goroutines and
// waiting for them can cost half of a small iteration; workers that spin for a moment and then park cost next
// to nothing.
//
// A Pool is used by one goroutine at a time, and not from within a job. Close ends its goroutines.
type Pool struct {
	workers []*parker // workers 1, 2, ...; the caller is worker 0
	served  sync.WaitGroup
	job     func(worker int)
	epoch   atomic.Uint32
	pending atomic.Int32
	caller  *parker
	spin    time.Duration
	closed  bool
}

// MaxWorkers is the largest number of workers of a pool. A fork wakes them one after the other, and each has
// a workspace of its own: with more of them a step would take longer on any machine that exists.
const MaxWorkers = 1024

// NewPool returns a pool of the given number of workers, the caller included; 0 stands for GOMAXPROCS, but at
// most MaxWorkers. It panics for a negative number, and for more than MaxWorkers.
func NewPool(workers int) *Pool {
	if workers < 0 {
		panic(noWorkers)
	}
	if workers > MaxWorkers {
		panic(tooManyWorkers)
	}
	if workers == 0 {
		workers = min(runtime.GOMAXPROCS(0), MaxWorkers)
	}
	p := &Pool{spin: spinFor, caller: newParker()}
	if workers > runtime.GOMAXPROCS(0) {
		p.spin = 0 // spinning workers would keep the others from running
	}
	for w := 1; w < workers; w++ {
		k := newParker()
		p.workers = append(p.workers, k)
		p.served.Go(func() { p.serve(k, w) })
	}
	return p
}

// Workers returns the number of workers, the caller included.
func (p *Pool) Workers() int { return len(p.workers) + 1 }

// Run calls f(w) for every worker w = 0, ..., Workers()-1 and returns when all calls have returned; f(0) runs
// on the calling goroutine. It does not allocate if f is a stored function value.
func (p *Pool) Run(f func(worker int)) {
	if p.closed {
		panic(poolClosed)
	}
	if p.job != nil {
		panic(poolBusy)
	}
	p.job = f
	// Deferred, so that a panic in f(0) leaves no worker behind and the pool usable.
	defer p.join()
	p.pending.Store(int32(len(p.workers)))
	p.epoch.Add(1)
	for _, k := range p.workers {
		k.wake()
	}
	f(0)
}

func (p *Pool) join() {
	p.caller.wait(p.spin, func() bool { return p.pending.Load() == 0 })
	p.job = nil
}

// Close ends the workers and returns when they have exited. It may be called again.
func (p *Pool) Close() {
	if p.closed {
		return
	}
	p.closed = true
	p.epoch.Add(1)
	for _, k := range p.workers {
		k.wake()
	}
	p.served.Wait()
}

func (p *Pool) serve(k *parker, w int) {
	for seen := uint32(0); ; seen++ {
		k.wait(p.spin, func() bool { return p.epoch.Load() != seen })
		if p.closed {
			return
		}
		p.job(w)
		if p.pending.Add(-1) == 0 {
			p.caller.wake()
		}
	}
}

// A parker lets one goroutine wait for a condition that another goroutine makes true before it calls wake.
type parker struct {
	parked atomic.Bool
	signal chan struct{}
}

func newParker() *parker { return &parker{signal: make(chan struct{}, 1)} }

// wait polls ready for the given time and then sleeps until wake.
func (k *parker) wait(spin time.Duration, ready func() bool) {
	if spin > 0 {
		start := time.Now()
		for i := 1; ; i++ {
			if ready() {
				return
			}
			if i%256 == 0 {
				if time.Since(start) > spin {
					break
				}
				runtime.Gosched()
			}
		}
	}
	for !ready() {
		k.parked.Store(true)
		if ready() && k.parked.CompareAndSwap(true, false) {
			return
		}
		<-k.signal
	}
}

// wake ends the sleep of a parked goroutine; it does nothing to one that runs.
func (k *parker) wake() {
	if k.parked.CompareAndSwap(true, false) {
		k.signal <- struct{}{}
	}
}
