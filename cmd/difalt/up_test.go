//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os/exec"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/difalt/difalt/internal/options"
)

// TestUpOutcome: what up ends with is the error of a node that does not blame another, and
// its exit code; a node that was interrupted takes nobody's report away.
func TestUpOutcome(t *testing.T) {
	for _, x := range []struct {
		ends   []string // of the processes, for a shell
		code   int
		report bool
	}{
		{[]string{"exit 0", "exit 0"}, 0, true},
		{[]string{"exit 130", "exit 143", "exit 130"}, exitInterrupted, true},
		{[]string{"exit 143", "exit 130"}, exitInterrupted, true},
		{[]string{"exit 130", "exit 1", "exit 3"}, exitFailure, false},
		{[]string{"exit 3", "exit 2", "exit 3"}, exitUsage, false},
		{[]string{"exit 3", "exit 4", "exit 4"}, exitDiverged, false},
		{[]string{"exit 3", "kill -9 $$", "exit 3"}, exitFailure, false},
		{[]string{"exit 0", "exit 3"}, exitPeer, false},
	} {
		var children []*child
		for i, end := range x.ends {
			c := &child{name: fmt.Sprint("n", i), cmd: exec.Command("sh", "-c", end), line: &boardLine{error: end}}
			c.stdout.WriteString("report")
			c.err = c.cmd.Run()
			children = append(children, c)
		}
		var out bytes.Buffer
		err := (&upFlags{options.New(options.Up)}).outcome(&out, children)
		if code := complain(t.Context(), new(bytes.Buffer), err); code != x.code || (out.String() == "report") != x.report {
			t.Errorf("%q: exit code %d, want %d, and prints %q: %v", x.ends, code, x.code, out.String(), err)
		}
	}
}

// TestUpJSON: with --json, nothing but JSON is printed.
func TestUpJSON(t *testing.T) {
	f := &federation{folder: sites(t)}
	t.Setenv("TMPDIR", t.TempDir())
	p := launch(t, append([]string{"up", "--data", f.path("site-*.csv"), "--model", f.path("m.npz"), "--rank", "2", "--ridge", "1", "--json"}, clinicFlags...)...)
	if code := p.code(t, time.Minute); code != 0 {
		t.Fatalf("exit code %d: %s", code, p.err.String())
	}
	var r struct{ Tasks int }
	if err := json.Unmarshal([]byte(p.out.String()), &r); err != nil || r.Tasks == 0 {
		t.Errorf("%v, %d tasks: %s", err, r.Tasks, p.out.String())
	}
}

// TestBoardFits: on a terminal no line wraps and none scrolls away, and the last one is kept.
func TestBoardFits(t *testing.T) {
	lines := []string{"a", "b é waits for c", "c", "d", "e", "all wait for c"}
	for _, x := range []struct {
		columns, rows int
		want          []string
	}{
		{0, 0, lines},
		{80, 7, lines},
		{80, 5, []string{"a", "b é waits for c", "... and 3 more", "all wait for c"}},
		{15, 40, []string{"a", "b é waits f...", "c", "d", "e", "all wait for c"}},
		{3, 2, lines},
	} {
		got := within(append([]string(nil), lines...), x.columns, x.rows)
		if !reflect.DeepEqual(got, x.want) {
			t.Errorf("%d columns and %d rows: %q, want %q", x.columns, x.rows, got, x.want)
		}
	}
}

// TestBoardForgets: nobody waits any more for or by a process that has ended.
func TestBoardForgets(t *testing.T) {
	b := newBoard(new(bytes.Buffer), []string{"a", "b"})
	b.of(0).follow(strings.NewReader(`{"msg":"progress","stage":"iterations","waits_for":"b","seconds":2}` + "\n"))
	if text := strings.Join(b.text(), "\n"); !strings.Contains(text, "all wait for b (edge a-b)") {
		t.Errorf("the board says %q", text)
	}
	b.of(0).follow(strings.NewReader(`{"msg":"failed","why":"--rank is 2"}` + "\n"))
	if text := strings.Join(b.text(), "\n"); strings.Contains(text, "wait") || b.of(0).lastError() != "--rank is 2" {
		t.Errorf("the board says %q", text)
	}
}

// TestTerminatedAlone: a node that gets SIGTERM while another is lost, so that it can tell
// nobody, ends soon, as interrupted, and writes nothing.
func TestTerminatedAlone(t *testing.T) {
	inFull(t)
	f := federate(t, "path", nil)
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
