// Package check has the assertions that tests of several packages share.
package check

import (
	"strings"
	"testing"
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

// Error reports an error that is nil, or lacks one of the wanted pieces of text.
func Error(t testing.TB, err error, want ...string) {
	t.Helper()
	for _, piece := range want {
		FailIf(t, err == nil || !strings.Contains(err.Error(), piece), "the error is %v: want %q", err, piece)
	}
}
