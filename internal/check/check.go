// Package check has the assertions that tests of several packages share.
package check

import (
	"net"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"
)

// OK returns v. It panics for an error, which a test does not expect.
func OK[T any](v T, err error) T {
	Done(err)
	return v
}

// Done panics for an error, which a test does not expect.
func Done(err error) {
	if err != nil {
		panic(err)
	}
}

// FailIf reports a failure where wrong is true, and lets the test go on.
func FailIf(t testing.TB, wrong bool, format string, args ...any) {
	t.Helper()
	if wrong {
		t.Errorf(format, args...)
	}
}

// Listen listens at a free port of this machine until the test ends: over IPv4, or over IPv6 where that is
// all there is. On Linux the port is the test's until then, also where it closes the listener.
func Listen(t testing.TB) net.Listener {
	t.Helper()
	l, err := listen(t, "127.0.0.1")
	if err != nil {
		l, err = listen(t, "::1")
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// listen listens at a port of a loopback address.
func listen(t testing.TB, host string) (net.Listener, error) {
	port, release, err := reserve(host)
	if err != nil {
		return nil, err
	}
	t.Cleanup(release)
	return net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port)))
}

// Loopback returns the address at which Listen listens, without a port.
func Loopback(t testing.TB) string {
	t.Helper()
	host, _, err := net.SplitHostPort(Listen(t).Addr().String())
	Done(err)
	return host
}

// longest is longer than any test of Limit takes on a busy machine, and shorter than go test waits.
const longest = 8 * time.Minute

// Limit ends the test program if the test does not end: the message names the test and shows where all
// goroutines are. A limit of the whole program would not name the test.
func Limit(t testing.TB) {
	if _, ok := t.(*testing.T); !ok {
		return // a benchmark or a fuzz target may take any time
	}
	name := t.Name()
	timer := time.AfterFunc(longest, func() {
		debug.SetTraceback("all")
		panic(name + " has not ended after " + longest.String())
	})
	t.Cleanup(func() { timer.Stop() })
}

// patience is how long a test waits for an event that an idle machine needs no time for.
const patience = time.Minute

// Goroutines waits until no more goroutines run than before: one ends a moment after its last message.
func Goroutines(t testing.TB, before int) {
	t.Helper()
	for range patience / time.Millisecond {
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(time.Millisecond)
	}
	stacks := make([]byte, 1<<16)
	t.Errorf("%d goroutines, %d before:\n%s", runtime.NumGoroutine(), before, stacks[:runtime.Stack(stacks, true)])
}

// Allocations returns how often n calls of f allocate, after a first measurement. The runtime allocates at
// times when a goroutine waits, so the fewest of some measurements count; f itself allocates in each of them.
func Allocations(n int, f func()) int {
	all := func() {
		for range n {
			f()
		}
	}
	fewest := int(testing.AllocsPerRun(1, all))
	for try := 0; try < 200 && fewest > 0; try++ {
		fewest = min(fewest, int(testing.AllocsPerRun(1, all)))
	}
	return fewest
}

// Error reports an error that is nil, or lacks one of the wanted pieces of text.
func Error(t testing.TB, err error, want ...string) {
	t.Helper()
	for _, piece := range want {
		FailIf(t, err == nil || !strings.Contains(err.Error(), piece), "the error is %v: want %q", err, piece)
	}
}
