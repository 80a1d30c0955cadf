package mixed

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/transport"
	"github.com/difalt/difalt/internal/check"
	"github.com/difalt/difalt/internal/longtest"
	"github.com/difalt/difalt/internal/testnet"
)

// A call is a total of an honest training, in the order of the calls; with agree it is what one of the owners
// has decided.
type call struct {
	name  string
	agree bool
	total []float64
}

// A member is a node that follows the program, but for what a lie adds to its part of a total, or says where
// it decides for all. The others then have a wrong total, the same at all. A root that replaces totals for
// all alike can do no more.
type member struct {
	*seat
	lie   func(at int, c *call)
	calls []call
}

// Add implements Sums.
func (l *member) Add(ctx context.Context, name string, v []float64, d *Decision) error {
	c := &call{name: name, total: make([]float64, len(v))}
	if l.lie != nil {
		l.lie(len(l.calls), c) // total: what the lie adds
	}
	for i, more := range c.total {
		if v[i] += more; !(math.Abs(v[i]) < 1<<63) {
			v[i] = math.Copysign(1<<62, v[i])
		}
	}
	if d != nil && l.lie != nil {
		honest := d.Decide
		d.Decide = func(total []float64) {
			honest(total)
			l.decide(d.Numbers)
		}
	}
	err := l.seat.Add(ctx, name, v, d)
	l.calls = append(l.calls, call{name, false, slices.Clone(v)})
	if d != nil {
		l.calls = append(l.calls, call{"agree", true, slices.Clone(d.Numbers)})
	}
	return err
}

// decide replaces what the center of the network decides.
func (l *member) decide(v []float64) {
	c := &call{"agree", true, slices.Clone(v)}
	l.lie(len(l.calls)+1, c) // after the total that it follows from
	for i, x := range c.total {
		if v[i] = x; x-x != 0 {
			v[i] = math.MaxFloat64
		}
	}
}

// An end is how the training of a node has ended, and whether it was by a panic.
type end struct {
	err   error
	panic string
}

// trainWithLiar trains on the path 0-1-2 of nodes in processes of their own, of which one lies.
func trainWithLiar(t *testing.T, list []Input, o Options, who int, lie func(at int, c *call)) (ends []end,
	calls []call) {
	t.Helper()
	w := weightsOf("path", len(list))
	ends = make([]end, len(list))
	testnet.Run(w.Graph(), nil, func(i int, tr transport.Transport) error {
		defer func() {
			if fault := recover(); fault != nil {
				ends[i].panic = fmt.Sprintf("%v\n%s", fault, debug.Stack())
			}
		}()
		net := check.OK(consensus.New(w, tr))
		if i != who {
			_, _, ends[i].err = Together(t.Context(), list[i:i+1], net, o)
			return ends[i].err
		}
		l := &member{seat: newMeeting(net)[0], lie: lie}
		own := o
		own.Sums = l
		_, _, err := (&fitter{Options: own, in: &list[i]}).fit(t.Context())
		if calls = l.calls; err == nil {
			err = net.Confirm(t.Context())
		}
		ends[i].err = err
		return err
	})
	return ends, calls
}

// memoryFor returns the most memory of a training with a lie: three times that of an honest one, beside
// garbage that is not collected yet. Where a lie is about levels an honest owner may have them, too: a table
// of 2^17 buckets (22 MB measured), or a hundred features of other owners (31 MB).
func memoryFor(honest uint64, levels bool) uint64 {
	const garbage, ofLevels = 8 << 20, 32 << 20
	if levels {
		return 3*honest + ofLevels
	}
	return 3*honest + garbage
}

// peak returns the largest number of bytes that a collection has found reachable while f runs. The collector
// runs often, but with -short, where it would take half of the time. What it has not collected yet does not
// count, so that a busy machine has the same peak.
func peak(f func()) uint64 {
	if !testing.Short() {
		defer debug.SetGCPercent(debug.SetGCPercent(10))
	}
	runtime.GC()
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	quit, largest := make(chan struct{}), uint64(0)
	var done sync.WaitGroup
	done.Go(func() {
		for {
			metrics.Read(sample)
			largest = max(largest, sample[0].Value.Uint64())
			select {
			case <-quit:
				return
			case <-time.After(200 * time.Microsecond):
			}
		}
	})
	f()
	close(quit)
	done.Wait()
	return largest
}

// The tables and options of lies: numbers with curves and held-out rows; and levels, weights and missing
// values.
func victims(t *testing.T) map[string][]Input {
	var plain []Input
	for i, d := range []drawing{
		{tasks: 8, rows: 16, features: 2, levels: 1, slopes: .5, noise: .5, curve: math.Sin},
		{tasks: 6, rows: 20, features: 2, levels: 1, slopes: .5, noise: .5, curve: math.Sin},
		{tasks: 7, rows: 12, features: 2, levels: 1, slopes: .5, noise: 2, curve: math.Sin},
	} {
		d := d.table(t, uint64(i))
		plain = append(plain, Input{Table: d, HeldOut: holdOut(d)})
	}
	return map[string][]Input{"numbers": plain, "levels": cut(mixture(t, 1, 12), 3)}
}

// judged reports what is wrong about the end of an honest node: it may have a model, or the error that nodes
// contradict one another, or that the liar has failed; nothing else, and no node but the liar is accused.
func judged(e end, who int) string {
	var peer *transport.PeerError
	var own *Error
	switch {
	case e.panic != "":
		return e.panic
	case e.err == nil || errors.Is(e.err, consensus.ErrContradiction) || errors.Is(e.err, consensus.ErrInconsistent):
		return ""
	case errors.As(e.err, &own):
		return "blames itself: " + e.err.Error()
	case errors.As(e.err, &peer) && (peer.Peer == who || peer.Kind == transport.Closed): // one that has ended
		return ""
	}
	return e.err.Error()
}

// A lie alters the total of a call, of the honest value was, by the numbers that it returns.
type alteration func(r *rand.Rand, size float64, v []float64)

// one applies f to some entries.
func one(f func(size, v float64) float64) alteration {
	return func(r *rand.Rand, size float64, v []float64) {
		for range 1 + r.IntN(2)*r.IntN(5) {
			if len(v) > 0 {
				k := r.IntN(len(v))
				v[k] = f(size, v[k])
			}
		}
	}
}

// all applies f to all entries.
func all(f func(v float64) float64) alteration {
	return func(_ *rand.Rand, _ float64, v []float64) {
		for k := range v {
			v[k] = f(v[k])
		}
	}
}

var alterations = []alteration{
	one(func(size, v float64) float64 { return v + size }),
	one(func(size, v float64) float64 { return v * size }),
	one(func(size, _ float64) float64 { return size }),
	one(func(_, v float64) float64 { return -v }),
	one(func(float64, float64) float64 { return 0 }),
	one(func(size, v float64) float64 { return math.Nextafter(v, size) }),
	one(func(size, v float64) float64 { return v + math.Copysign(1, size) }),
	all(func(float64) float64 { return 0 }), all(func(v float64) float64 { return -v }),
	all(func(v float64) float64 { return 1e3 * v }), all(func(v float64) float64 { return 1e-3 * v }),
	all(func(float64) float64 { return 1e18 }), all(func(float64) float64 { return -1e18 }),
	func(_ *rand.Rand, _ float64, v []float64) { slices.Reverse(v) },
}

// randomLie returns a lie about one total, or about all from one on.
func randomLie(seed uint64, calls []call) (string, func(at int, c *call)) {
	r := rand.New(rand.NewPCG(seed, 77))
	first := r.IntN(len(calls))
	if r.IntN(3) == 0 { // the first totals decide the most
		first = r.IntN(min(len(calls), 12))
	}
	size := math.Copysign(math.Pow(10, -3+21*r.Float64()), r.Float64()-.5)
	kind, always := r.IntN(len(alterations)), r.IntN(4) == 0
	what := fmt.Sprintf("lie %d: alteration %d of size %.2g from call %d (%s), always %v", seed, kind, size, first,
		calls[first].name, always)
	return what, func(at int, c *call) {
		if at < first || at > first && !always {
			return
		}
		alter(c, at, calls, func(v []float64) { alterations[kind](r, size, v) })
	}
}

// alter applies f to what the honest training had at a call, if it had one of that length there, and has the
// liar add the difference.
func alter(c *call, at int, calls []call, f func(v []float64)) {
	honest := c.total
	if !c.agree {
		honest = make([]float64, len(c.total))
		if at < len(calls) && len(calls[at].total) == len(honest) {
			copy(honest, calls[at].total)
		}
	}
	v := slices.Clone(honest)
	f(v)
	for k := range v {
		if c.agree {
			c.total[k] = v[k]
		} else {
			c.total[k] = v[k] - honest[k]
		}
	}
}

// No lie of a member, or of the root, ends an honest node otherwise than with a model or the error that nodes
// contradict one another: no panic, no blame, no endless training, no memory.
func TestLies(t *testing.T) {
	lies := uint64(9)
	switch {
	case longtest.Enabled():
		lies = 170
	case testing.Short():
		lies = 2
	}
	for name, list := range victims(t) {
		for _, rules := range []Disclosure{open.Disclosure, {LeastSmall: Off}, {}} {
			if name == "levels" && rules == (Disclosure{}) { // which refuse fewer rows
				list = cut(mixture(t, 1, 30), 3)
			}
			for who := range 2 { // a leaf, and the root
				t.Run(fmt.Sprintf("%s, rules %+v, node %d", name, rules, who), func(t *testing.T) {
					tryLies(t, list, Options{Workers: 1, Disclosure: rules}, who, lies)
				})
			}
		}
	}
}

// tryLies tries random lies of a node.
func tryLies(t *testing.T, list []Input, o Options, who int, lies uint64) {
	var calls []call
	honest := peak(func() {
		var ends []end
		ends, calls = trainWithLiar(t, list, o, who, nil)
		for i, e := range ends {
			if e.err != nil || e.panic != "" {
				t.Fatalf("honest: node %d: %v %s", i, e.err, e.panic)
			}
		}
	})
	ended := map[bool]int{}
	for seed := range lies {
		what, lie := randomLie(seed, calls)
		var ends []end
		start := time.Now()
		most := peak(func() { ends, _ = trainWithLiar(t, list, o, who, lie) })
		if d := time.Since(start); d > 3*time.Second {
			t.Logf("%s: %v", what, d)
		}
		if most > memoryFor(honest, strings.Contains(what, "(levels)")) {
			t.Errorf("%s: %d MB, honest %d", what, most>>20, honest>>20)
		}
		for i, e := range ends {
			if i == who {
				continue
			}
			ended[e.err == nil]++
			if wrong := judged(e, who); wrong != "" {
				t.Errorf("%s: node %d: %.1200s", what, i, wrong)
			}
		}
	}
	t.Logf("%d calls, %d kB; models: %d, errors: %d", len(calls), honest>>10, ended[true], ended[false])
}
