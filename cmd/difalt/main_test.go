package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
)

// inFull skips a test that runs with all others in the default build. What remains with -short,
// and the race detector, is about goroutines and signals.
func inFull(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("skipped with -short: go test runs it")
	}
}

// firstOf returns all cases of a test, and with -short the first.
func firstOf[T any](cases []T) []T {
	if testing.Short() {
		return cases[:1]
	}
	return cases
}

// difaltCommand runs a command line and returns its output and exit code.
func difaltCommand(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, err bytes.Buffer
	code = run(t.Context(), args, &out, &err)
	return out.String(), err.String(), code
}

func TestHelpAndVersion(t *testing.T) {
	for _, c := range []struct {
		args []string
		want []string
	}{
		{nil, []string{"difalt simulate", "difalt info"}},
		{[]string{"--version"}, []string{"difalt "}},
		{[]string{"simulate", "--help"}, []string{"--rounds", "(default 10)", "difalt simulate --rounds 1", "trace.csv"}},
		{[]string{"info"}, []string{"cpu", "kernel", "available", "workers", "go1."}},
		{[]string{"completion", "bash"}, []string{"complete"}},
	} {
		stdout, stderr, code := difaltCommand(t, c.args...)
		if code != 0 || stderr != "" {
			t.Errorf("%q: exit code %d, error %q", c.args, code, stderr)
		}
		for _, want := range c.want {
			if !strings.Contains(stdout, want) {
				t.Errorf("%q does not mention %q", c.args, want)
			}
		}
	}
}

func TestInterruptedBeforeTheStart(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, err bytes.Buffer
	code := run(ctx, []string{"simulate", "--out", t.TempDir()}, &out, &err)
	if code != exitInterrupted || !strings.Contains(err.String(), "interrupted") {
		t.Errorf("exit code %d, error %q, want %d and that it was interrupted", code, err.String(), exitInterrupted)
	}
}
