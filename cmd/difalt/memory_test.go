//go:build linux && !race

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"testing"
	"time"

	"github.com/difalt/difalt/cmd/difalt/internal/memory"
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

// With a table in use the heap grows by little before it is collected; afterwards all is as it was.
func TestSaveMemory(t *testing.T) {
	t.Setenv("GOGC", "")
	restore := saveMemory()
	table := make([]float64, 8<<20)
	percent := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	for runtime.GC(); percent[0].Value.Kind() == metrics.KindBad || percent[0].Value.Uint64() == 100; metrics.Read(percent) {
		time.Sleep(time.Millisecond) // what follows a collection does so a little later
	}
	var before, now runtime.MemStats
	runtime.ReadMemStats(&before)
	most := uint64(0)
	for range 100 {
		garbage = make([]byte, 1<<20)
		runtime.ReadMemStats(&now)
		most = max(most, now.HeapAlloc)
	}
	if got := most - before.HeapAlloc; got > 32<<20 || now.NumGC < before.NumGC+6 {
		t.Errorf("the heap grew by %d bytes, and was collected %d times", got, now.NumGC-before.NumGC)
	}
	restore()
	runtime.KeepAlive(table)
	if got := debug.SetGCPercent(100); got != 100 {
		t.Errorf("the heap grows by %d %% afterwards", got)
	}
}

var garbage []byte
