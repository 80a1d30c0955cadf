//go:build linux && !race

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/difalt/difalt/internal/memory"
)

// TestNoMemory: what cannot fit is told before it is computed, in a line and with exit code 1,
// by fit and by the node of up that it concerns; and so is a limit with which Go programs break off.
func TestNoMemory(t *testing.T) {
	folder := sites(t)
	fit := append([]string{"fit", "--data", filepath.Join(folder, "site-*.csv")}, clinicFlags...)
	up := append([]string{"up", "--data", filepath.Join(folder, "site-*.csv")}, clinicFlags...)
	const want = "features need at least"
	t.Setenv(memory.Variable, "10kB")
	if _, stderr, code := difaltCommand(t, fit...); code != exitFailure || !strings.Contains(stderr, want) || strings.Count(stderr, "\n") > 1 {
		t.Errorf("fit: exit code %d: %s", code, stderr)
	}
	p := launch(t, up...)
	if code := p.code(t, 20*time.Second); code != exitFailure || !strings.Contains(p.err.String(), want) {
		t.Errorf("up: exit code %d: %s", code, p.err.String())
	}
	t.Setenv(memory.Variable, "")
	cmd := exec.Command("sh", append([]string{"-c", `ulimit -v 1900000; exec "$0" "$@"`, os.Args[0]}, fit...)...)
	cmd.Env = append(os.Environ(), asCommand+"=1")
	text, err := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() != exitFailure || !strings.HasPrefix(string(text), "difalt: ulimit -v leaves 1.9 GB of addresses") || strings.Count(string(text), "\n") != 1 {
		t.Errorf("a limit of addresses: %v: %s", err, text)
	}
}

// The floor of the heap is one for all calls of saveMemory, of fits one after the other too.
func TestOneHeapFloor(t *testing.T) {
	t.Setenv("GOGC", "")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 3 {
		restore := saveMemory(25)
		saveMemory(10)()
		restore()
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > uint64(len(heapFloor()))*3/2 {
		t.Errorf("%d bytes were allocated for a floor of %d", n, len(heapFloor()))
	}
}
