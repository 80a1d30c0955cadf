//go:build unix

package main

import (
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Tests that wait for timeouts rather than compute are here: files come in the order of their names,
// so that others run meanwhile.

// TestTerminatedAlone: a node that gets SIGTERM while another is lost, so that it can tell
// nobody, ends soon, as interrupted, and writes nothing.
func TestTerminatedAlone(t *testing.T) {
	t.Parallel()
	inFull(t)
	f := newFederation(t, "path", nil)
	list := f.launch(t, append(long, "--rejoin-timeout", "1m", "--round-timeout", "1m")...)
	training(t, list)
	_ = list[1].cmd.Process.Kill()
	list[1].code(t, 10*time.Second)
	_ = list[0].cmd.Process.Signal(syscall.SIGTERM)
	if code := list[0].code(t, 20*time.Second); code != exitTerminated || !strings.Contains(list[0].err.String(), "difalt: interrupted, and the others cannot be told") {
		t.Errorf("exit code %d: %s", code, tail(list[0]))
	}
	_ = list[2].cmd.Process.Kill()
	list[2].code(t, 10*time.Second)
}

// TestStopped: a node that does not run for less than the deadline changes no bit; for
// longer, the others name it, and it finds out when it goes on.
func TestStopped(t *testing.T) {
	t.Parallel()
	inFull(t)
	f := newFederation(t, "path", nil)
	trained := []string{"--iterations", "400", "--method", "dif", "--agree", "plain", "--starts", "1", "--rank", "2", "--ridge", "2"}
	flags := append(slices.Clone(trained), "--round-timeout", "20s")
	list := f.launch(t, flags...)
	training(t, list)
	_ = list[1].cmd.Process.Signal(syscall.SIGSTOP)
	list[0].said(t, "waits_for=site-b")
	time.Sleep(500 * time.Millisecond)
	_ = list[1].cmd.Process.Signal(syscall.SIGCONT)
	for i, p := range list {
		if code := p.code(t, 30*time.Second); code != 0 {
			t.Fatalf("stopped for a second: node %d ends with %d: %s", i, code, tail(p))
		}
	}
	f.sameBits(t, "stopped", f.whole(t, "path", trained...))

	f = newFederation(t, "path", nil)
	list = f.launch(t, long...)
	training(t, list)
	_ = list[2].cmd.Process.Signal(syscall.SIGSTOP)
	for _, i := range []int{0, 1} {
		if code := list[i].code(t, 12*time.Second); code != exitPeer || !strings.Contains(list[i].err.String(), `node "site-c" has failed (timeout`) {
			t.Errorf("site-c stopped: %s ends with %d: %s", nodeNames[i], code, tail(list[i]))
		}
	}
	_ = list[2].cmd.Process.Signal(syscall.SIGCONT)
	if code := list[2].code(t, 12*time.Second); code != exitPeer {
		t.Errorf("site-c goes on: exit code %d: %s", code, tail(list[2]))
	}
	f.clean(t, "stopped for long", nil)
}
