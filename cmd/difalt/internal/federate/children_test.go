//go:build unix

package federate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// shell returns a child that runs a script of a shell.
func shell(name, script string) *Child {
	return &Child{Name: name, Command: func() (*exec.Cmd, error) { return exec.Command("sh", "-c", script), nil }}
}

func names(children []*Child) (list []string) {
	for _, c := range children {
		list = append(list, c.Name)
	}
	return list
}

// TestChildThatCannotStart: when a process cannot be started, those before it are asked to
// leave, and are gone when the error comes: what they work on may then be removed.
func TestChildThatCannotStart(t *testing.T) {
	folder := t.TempDir()
	children := []*Child{
		shell("a", "cat >/dev/null; sleep 0.2; touch "+filepath.Join(folder, "left")),
		{Name: "b", Command: func() (*exec.Cmd, error) { return exec.Command(filepath.Join(folder, "none")), nil }},
		shell("c", "touch "+filepath.Join(folder, "started")),
	}
	_, err := RunChildren(t.Context(), children, NewBoard(new(bytes.Buffer), names(children)))
	if !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), `node "b": `) {
		t.Errorf("error %v", err)
	}
	if _, err := os.Stat(filepath.Join(folder, "left")); err != nil {
		t.Errorf("the first process has not left yet: %v", err)
	}
	if _, err := os.Stat(filepath.Join(folder, "started")); err == nil {
		t.Error("the one after it was started")
	}
}

// TestChildren: what processes print and log, and how they end, is returned; one that a signal
// has ended is started again as often as it may be; and all leave when they are asked to.
func TestChildren(t *testing.T) {
	file := filepath.Join(t.TempDir(), "starts")
	killed := shell("killed", fmt.Sprintf("echo x >>%[1]s; [ $(wc -l <%[1]s) -ge 3 ] || kill -9 $$; echo '{\"level\":\"WARN\",\"msg\":\"w\"}' >&2; echo well", file))
	killed.Restarts = 2
	children := []*Child{
		killed,
		shell("fails", `echo '{"msg":"failed","why":"no rows"}' >&2; exit 4`),
		shell("dies", "kill -9 $$"),
	}
	ends, err := RunChildren(t.Context(), children, NewBoard(new(bytes.Buffer), names(children)))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []End{{"killed", 0, "", []byte("well\n"), []string{"w"}}, {"fails", 4, "no rows", nil, nil}, {"dies", -1, "signal: killed", nil, nil}} {
		if e := ends[i]; e.Name != want.Name || e.Code != want.Code || !strings.Contains(e.Why, want.Why) || string(e.Stdout) != string(want.Stdout) || !slices.Equal(e.Warnings, want.Warnings) {
			t.Errorf("%+v, want %+v", e, want)
		}
	}

	ctx, cancel := context.WithCancel(t.Context())
	waits := []*Child{shell("waits", "cat >/dev/null; exit 130")}
	cancel()
	if ends, err = RunChildren(ctx, waits, NewBoard(new(bytes.Buffer), names(waits))); err != nil || ends[0].Code != 130 {
		t.Errorf("%+v, %v", ends, err)
	}
}

// TestLocal: nothing is left when it is closed.
func TestLocal(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	l, err := NewLocal(2)
	if err != nil {
		t.Fatal(err)
	}
	if len(l.Addresses) != 2 || l.Addresses[0] == l.Addresses[1] {
		t.Errorf("addresses %q", l.Addresses)
	}
	l.Close()
	if list, _ := os.ReadDir(os.Getenv("TMPDIR")); len(list) > 0 {
		t.Errorf("leaves %v", list)
	}
}

// TestAbandoned: what a process has left that was killed, keys too, goes with the next one; what
// is in use stays, and so does what is called otherwise.
func TestAbandoned(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("TMPDIR", folder)
	alive, err := NewLocal(2)
	if err != nil {
		t.Fatal(err)
	}
	defer alive.Close()
	left, other := filepath.Join(folder, localPrefix+"1"), filepath.Join(folder, "nodes")
	if err := errors.Join(os.Mkdir(left, 0o700), os.WriteFile(filepath.Join(left, "a.key"), nil, 0o600), os.Mkdir(other, 0o700)); err != nil {
		t.Fatal(err)
	}
	next, err := NewLocal(2)
	if err != nil {
		t.Fatal(err)
	}
	defer next.Close()
	for path, want := range map[string]bool{alive.folder: true, next.folder: true, left: false, other: true} {
		if _, err := os.Stat(path); (err == nil) != want {
			t.Errorf("%s: %v, should be there: %v", path, err, want)
		}
	}
}

// TestLocalsAtOnce: of many that begin at the same time none takes another one's folder for one that
// was left behind.
func TestLocalsAtOnce(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 30 {
				l, err := NewLocal(0)
				if err != nil {
					t.Error(err)
					return
				}
				if _, err := os.Stat(l.folder); err != nil {
					t.Error(err)
				}
				l.Close()
			}
		})
	}
	all.Wait()
}
