package main

import "testing"

// TestEnding checks which tests count as failed. Tests that only ran into the time limit have not failed.
func TestEnding(t *testing.T) {
	const limit = "panic: test timed out after 5m0s\n\trunning tests:\n\t\tTestFit (4m59s)\n"
	for _, c := range []struct {
		name, out string
		stopped   bool
		want      outcome
	}{
		{"a failure", "--- FAIL: TestFit (0.01s)\n    fit_test.go:9: 1, want 2\nFAIL\n", false, killed},
		{"a failure in a part", "--- FAIL: TestFit (0.01s)\n    --- FAIL: TestFit/a (0.00s)\n", false, killed},
		{"a panic", "panic: runtime error: index out of range\n\ngoroutine 7 [running]:\n", false, killed},
		{"a test that does not compile", "./a_test.go:9:2: undefined: a\nFAIL\tp [build failed]\n", false, killed},
		{"the limit", limit, false, unsettled},
		{"a failure before the limit", "--- FAIL: TestFit (0.01s)\n" + limit, false, killed},
		{"a failure that quotes the limit", "    a_test.go:9: " + limit + "--- FAIL: TestFit\n", false, killed},
		{"a panic that quotes the limit", "panic: want " + limit[7:] + "\n", false, killed},
		{"stopped after the limit", "", true, unsettled},
		{"stopped after a failure", "--- FAIL: TestFit (0.01s)\n", true, killed},
	} {
		if got := ending([]byte(c.out), c.stopped); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
