// Package longtest keeps tests that take minutes out of go test, until the environment
// has DIFALT_LONG=1. make test-long runs them.
//
// A long test repeats a promise that a quick test holds already, with more trials or at
// another size. It is never the only test of a promise.
package longtest

import (
	"os"
)

// Enabled reports whether long tests run. A test may ask it for its size:
//
//	trials := 3
//	if longtest.Enabled() {
//		trials = 100
//	}
func Enabled() bool {
	// The variable is read while the test runs, so that the cache of go test depends on it.
	return os.Getenv("DIFALT_LONG") == "1"
}
