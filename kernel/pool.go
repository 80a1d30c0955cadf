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
	job     func(worker int) // of the running fork
	fault   atomic.Pointer[any]
	epoch   atomic.Uint32
	pending atomic.Int32
	caller  *parker
	spin    time.Duration
	closed  bool
}

// MaxWorkers is the largest number of workers of a pool. A fork wakes them one after the other, and each has
// a workspace: with more of them a step would take longer on any machine that exists.
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
		p.spin = 0 // a spinning worker would keep another one from running
	}
	for w := 1; w < workers; w++ {
		k := newParker()
		p.workers = append(p.workers, k)
		p.served.Go(func() { p.serve(k, w, 0) })
	}
	return p
}

// Workers returns the number of workers, the caller included.
func (p *Pool) Workers() int { return len(p.workers) + 1 }

// Run calls f(w) for every worker w = 0, ..., Workers()-1 and returns when all calls have returned; f(0)
// runs on the calling goroutine. If calls panic, Run panics with the value of one of them after all have
// ended, and the pool stays usable. Run does not allocate if f is a stored function value.
func (p *Pool) Run(f func(worker int)) {
	p.mustBeMade()
	switch {
	case f == nil:
		panic(noJob)
	case p.closed:
		panic(poolClosed)
	case p.job != nil:
		panic(poolBusy)
	}
	p.job = f
	p.fault.Store(nil)
	p.pending.Store(int32(len(p.workers)))
	p.epoch.Add(1)
	for _, k := range p.workers {
		k.wake()
	}
	p.runAsCaller(f)
	if fault := p.fault.Swap(nil); fault != nil {
		panic(*fault)
	}
}

// runAsCaller is the caller's part of a fork. A panic in f(0) leaves no worker behind.
func (p *Pool) runAsCaller(f func(worker int)) {
	defer p.join()
	f(0)
}

func (p *Pool) join() {
	p.caller.wait(p.spin, func() bool { return p.pending.Load() == 0 })
	p.job = nil
}

// mustBeMade panics unless NewPool made the pool.
func (p *Pool) mustBeMade() {
	if p == nil || p.caller == nil {
		panic(notNewPool)
	}
}

// Close ends the workers and returns when they have exited. It may be called again, but not from within a
// job.
func (p *Pool) Close() {
	p.mustBeMade()
	if p.closed {
		return
	}
	if p.job != nil {
		panic(poolBusy)
	}
	p.closed = true
	p.epoch.Add(1)
	for _, k := range p.workers {
		k.wake()
	}
	p.served.Wait()
}

// serve computes worker w's part of all forks after the first seen ones.
func (p *Pool) serve(k *parker, w int, seen uint32) {
	for ; ; seen++ {
		k.wait(p.spin, func() bool { return p.epoch.Load() != seen })
		if p.closed {
			return
		}
		p.runAsWorker(k, w, seen+1)
	}
}

// runAsWorker is a worker's part of fork number seen. It leaves a panic of the job to Run, on the caller's
// goroutine, and replaces a goroutine that the job ends.
func (p *Pool) runAsWorker(k *parker, w int, seen uint32) {
	returned := false
	defer func() {
		if !returned {
			fault := recover()
			if fault == nil { // runtime.Goexit
				fault = jobEnded
				p.served.Go(func() { p.serve(k, w, seen) })
			}
			p.fault.Store(&fault)
		}
		if p.pending.Add(-1) == 0 {
			p.caller.wake()
		}
	}()
	p.job(w)
	returned = true
}

// A parker lets one goroutine wait for a condition that another goroutine makes true before it calls wake.
type parker struct {
	parked atomic.Bool
	signal chan struct{}
}

func newParker() *parker { return &parker{signal: make(chan struct{}, 1)} }

// wait polls ready for the given time and then sleeps until wake.
func (k *parker) wait(spin time.Duration, ready func() bool) {
	if ready() {
		return
	}
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
