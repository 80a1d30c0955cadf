//go:build linux

package main

import (
	"os"
	"strings"
	"testing"
)

// TestMain lets the test program stand between nodes, as the program does.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "-as" {
		main()
		return
	}
	os.Exit(m.Run())
}

// TestSome runs a few of the faults once; all of them many times is "make faults".
func TestSome(t *testing.T) {
	if err := able(); err != nil {
		t.Skipf("SKIPPED, which is not passed: %v", err)
	}
	if testing.Short() {
		t.Skip("skipped: runs real processes")
	}
	var out strings.Builder
	code, err := run(&out, 1, 2, "^(kill -9 in the middle|all killed|frame of the future|full disk|two processes)", "", "../../../examples/clinics.csv")
	if err != nil || code != 0 {
		t.Fatalf("code %d: %v\n%s", code, err, out.String())
	}
	if n := strings.Count(out.String(), "| 1 |"); n < 5 {
		t.Errorf("only %d faults were run:\n%s", n, out.String())
	}
}
