//go:build linux && !race

package main

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestNodeMemory: when it has trained on the example, a node has at most 12 MB of its own, mostly 6.
// The matrices on its edges are of 11 rows there. The pages of the program, which are
// shared and can be read again, are not its own; how many are in memory is for the system.
func TestNodeMemory(t *testing.T) {
	t.Setenv("GOMAXPROCS", "2") // each has memory of its own
	t.Setenv("GOGC", "")
	f := newFederation(t, "ring", nil)
	list := f.launch(t, "--stay")
	for i, p := range list {
		p.said(t, "done, waits to be ended")
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
		if err != nil {
			t.Fatal(err)
		}
		own := map[string]int{} // kB
		for line := range strings.Lines(string(text)) {
			var name string
			var value int
			if n, _ := fmt.Sscanf(line, "%s %d kB", &name, &value); n == 2 {
				own[name] = value
			}
		}
		t.Logf("node %d: %d kB of its own, %d of the program", i, own["RssAnon:"], own["RssFile:"])
		if own["RssAnon:"] == 0 || own["RssAnon:"] > 12000 {
			t.Errorf("node %d has %d kB of its own", i, own["RssAnon:"])
		}
	}
	for _, p := range list {
		_ = p.cmd.Process.Signal(syscall.SIGTERM)
		if code := p.code(t, 10*time.Second); code != 0 {
			t.Errorf("exit code %d: %s", code, tail(p))
		}
	}
}
