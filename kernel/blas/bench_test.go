package blas_test

import (
	"flag"
	"math"
	"regexp"
	"runtime"
	"testing"
	"time"

	"github.com/difalt/difalt/kernel/blas"
	gblas "gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/blas/cblas128"
	reference "gonum.org/v1/gonum/blas/gonum"
	"gonum.org/v1/gonum/lapack"
	lapackreference "gonum.org/v1/gonum/lapack/gonum"
	"gonum.org/v1/gonum/lapack/lapack64"
)

var chosen = flag.String("cases", "", "measure only the cases whose names match this regular expression")

// A peer is an implementation that is measured in turns with others.
type peer struct {
	name   string
	blas   gblas.Float64
	lapack lapack.Float64
	single gblas.Float32
	pairs  gblas.Complex128
}

var (
	ours  = peer{"difalt", &blas.Registered{}, &blas.RegisteredLapack{}, &blas.Registered{}, &blas.Registered{}}
	gonum = peer{"gonum", reference.Implementation{}, lapackreference.Implementation{}, reference.Implementation{},
		reference.Implementation{}}
)

func (p *peer) use() {
	blas64.Use(p.blas)
	lapack64.Use(p.lapack)
	blas32.Use(p.single)
	cblas128.Use(p.pairs)
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// eachSelected visits the workloads that the flag -cases chooses, and returns to this package after each.
func eachSelected(visit func(workload)) {
	defer restore()()
	match := regexp.MustCompile(*chosen)
	ours.use() // for the operands
	eachWorkload(func(w workload) {
		if match.MatchString(w.name) {
			visit(w)
			ours.use()
		}
	})
}

// A peer takes at least fewestTurns turns, and longTurns where one run takes longer than the budget. Then
// they go on until the least turns of all peers agree, or the time of mostBudgets budgets is spent.
const fewestTurns, longTurns, mostBudgets = 5, 2, 8

// leastTurns are the least three times of a run by one peer, in order: averages of a turn, in seconds.
type leastTurns [3]float64

// add notes the time of another turn.
func (t *leastTurns) add(seconds float64) {
	for i, other := range t {
		if seconds < other {
			t[i], seconds = seconds, other
		}
	}
}

// agree reports whether the three differ by up to 3 %: the least one is no lucky turn of a loud machine, and
// none of a quiet machine is missing.
func (t *leastTurns) agree() bool { return t[2] <= 1.03*t[0] }

// least returns the least time of a run by each peer, in seconds, over turns of all of them, and the time 0
// for a peer that refuses the call, as netlib does some with workspaces for other decompositions.
func (w *workload) least(peers []peer, clock func() time.Duration, turn, budget time.Duration) []float64 {
	runtime.GC() // of operands that were needed before
	times, counts, best := make([]leastTurns, len(peers)), make([]int, len(peers)), make([]float64, len(peers))
	var total time.Duration
	for round, open := 0, true; open; round++ {
		open = false
		for i := range peers {
			t := &times[i]
			long := t[0] > budget.Seconds()
			if round > 0 && (counts[i] == 0 || long && round >= longTurns && total > mostBudgets*budget) {
				continue
			}
			peers[i].use()
			if round == 0 {
				if !runs(w.run) {
					continue
				}
				counts[i], *t = 1, leastTurns{math.Inf(1), math.Inf(1), math.Inf(1)}
			}
			before, wall := clock(), time.Now()
			for range counts[i] {
				w.run()
			}
			elapsed := clock() - before
			total += time.Since(wall)
			t.add(elapsed.Seconds() / float64(counts[i]))
			best[i] = t[0]
			counts[i] = max(1, min(int(turn.Seconds()/t[0]), 1000))
			enough := round+1 >= fewestTurns || long && round+1 >= longTurns
			open = open || !enough || total < budget || !t.agree() && total < mostBudgets*budget
		}
	}
	return best
}

// runs reports whether a call returns without a panic.
func runs(call func()) (ok bool) {
	defer func() { ok = recover() == nil }()
	call()
	return true
}

// BenchmarkBesideGonum reports the least time of every workload, and gonum's as a multiple of it.
func BenchmarkBesideGonum(b *testing.B) {
	start := time.Now()
	clock := func() time.Duration { return time.Since(start) }
	eachSelected(func(w workload) {
		b.Run(w.name, func(b *testing.B) {
			var best []float64
			for b.Loop() {
				best = w.least([]peer{ours, gonum}, clock, 200*time.Microsecond, 20*time.Millisecond)
			}
			b.ReportMetric(best[0]*1e9, "ns/call")
			b.ReportMetric(best[1]/best[0], "gonum")
			b.ReportMetric(0, "ns/op")
		})
	})
}
