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

func TestUsageErrors(t *testing.T) {
	inFull(t)
	for _, c := range []struct {
		args []string
		want []string
	}{
		{[]string{"simulat"}, []string{`unknown command "simulat"`, "did you mean simulate"}},
		{[]string{"simulate", "extra"}, []string{"takes no arguments", `"extra"`}},
		{[]string{"simulate", "--no-such-flag"}, []string{"unknown flag: --no-such-flag", "difalt simulate --help"}},
		{[]string{"simulate", "--nodes", "many"}, []string{"--nodes", `"many"`}},
		{[]string{"simulate", "--nodes", "-3"}, []string{"--nodes is -3"}},
		{[]string{"simulate", "--features", "0"}, []string{"--features is 0"}},
		{[]string{"simulate", "--tasks", "0"}, []string{"--tasks is 0"}},
		{[]string{"simulate", "--samples", "-1"}, []string{"--samples is -1"}},
		{[]string{"simulate", "--rank", "0"}, []string{"--rank is 0"}},
		{[]string{"simulate", "--rank", "121"}, []string{"--rank is 121", "min(features, tasks) = min(120, 120)"}},
		{[]string{"simulate", "--rounds", "0"}, []string{"--rounds is 0"}},
		{[]string{"simulate", "--init-rounds", "0"}, []string{"--init-rounds is 0"}},
		{[]string{"simulate", "--power-iterations", "-1"}, []string{"--power-iterations is -1"}},
		{[]string{"simulate", "--iterations", "0"}, []string{"--iterations is 0"}},
		{[]string{"simulate", "--trials", "0"}, []string{"--trials is 0"}},
		{[]string{"simulate", "--workers", "-2"}, []string{"--workers is -2"}},
		{[]string{"simulate", "--noise", "-0.5"}, []string{"--noise is -0.5"}},
		{[]string{"simulate", "--noise", "NaN"}, []string{"--noise is NaN"}},
		{[]string{"simulate", "--kappa", "0.5"}, []string{"--kappa is 0.5"}},
		{[]string{"simulate", "--nodes", "200"}, []string{"--nodes is 200", "tasks = 120"}},
		{[]string{"simulate", "--method", "dif,sgd"}, []string{"--method", `"sgd"`, "dif altgdmin dec dgd"}},
		{[]string{"simulate", "--method", "dif,dif"}, []string{"--method", "dif is listed twice"}},
		{[]string{"simulate", "--method", ""}, []string{"--method", "none"}},
		{[]string{"simulate", "--graph", "blob"}, []string{"--graph: unknown graph", `"blob"`, "ring", "er:P"}},
		{[]string{"simulate", "--agree", "talk"}, []string{`--agree: unknown kind of agreement "talk"`, "chebyshev"}},
		{[]string{"describe", "model.npz"}, []string{"takes a table", "model.npz", "difalt model show"}},
		{[]string{"simulate", "--weights", "heavy"}, []string{"--weights", `"heavy"`, "metropolis", "equal"}},
		{[]string{"simulate", "--graph", "ring", "--weights", "equal"}, []string{"--weights", "ring", "metropolis"}},
		{[]string{"simulate", "--time-model", "fast"}, []string{"--time-model", `"fast"`, "paper or paper-text"}},
		{[]string{"simulate", "--latency", "-1s"}, []string{"--latency is -1s"}},
		{[]string{"simulate", "--bandwidth", "0"}, []string{"--bandwidth is 0"}},
		{[]string{"simulate", "--jitter", "-1ms"}, []string{"--jitter is -1ms"}},
		{[]string{"simulate", "--preset", "fig3"}, []string{"--preset", `"fig3"`, "fig1a", "fig2c", "all"}},
		{[]string{"simulate", "--preset", "fig1a", "--rank", "0"}, []string{"--rank is 0"}},
		{[]string{"simulate", "--out", ""}, []string{"--out is empty"}},
	} {
		stdout, stderr, code := difaltCommand(t, c.args...)
		if code != exitUsage || stdout != "" {
			t.Errorf("%q: exit code %d, output %q, want %d and none", c.args, code, stdout, exitUsage)
		}
		if !strings.HasPrefix(stderr, "difalt: ") || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%q: error is not one line of difalt: %q", c.args, stderr)
		}
		for _, want := range c.want {
			if !strings.Contains(stderr, want) {
				t.Errorf("%q: error %q does not mention %q", c.args, stderr, want)
			}
		}
	}
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
