//go:build unix

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/internal/cli"
)

// A command that reads a table without an end ends at one signal, with the code of that signal, and leaves no
// file.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	x, dir, pipe := fixture(t), t.TempDir(), filepath.Join(t.TempDir(), "pipe.csv")
	if err := syscall.Mkfifo(pipe, 0o666); err != nil {
		t.Skip(err)
	}
	for i, args := range [][]string{
		{"fit", "--task", "clinic", "--target", "score", "--model", filepath.Join(dir, "m.npz"),
			"--report", filepath.Join(dir, "r")},
		{"predict", "--model", x.model, "--out", filepath.Join(dir, "p.csv")},
		{"adapt", "--model", x.model, "--out", filepath.Join(dir, "m.npz")},
	} {
		p := launch(t, "", "", append(args, "--json", "--data", pipe)...)
		w, err := os.OpenFile(pipe, os.O_WRONLY, 0) // waits for the reader
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		if _, err := w.WriteString("clinic,score,a\nC1,2,3\n"); err != nil {
			t.Fatal(err)
		}
		end, want := syscall.SIGINT, cli.ExitInterrupted
		switch {
		case i == 1:
			end, want = syscall.SIGTERM, cli.ExitTerminated
		case i == 2 && !signal.Ignored(syscall.SIGHUP): // nohup has its processes ignore it
			end, want = syscall.SIGHUP, cli.ExitHungUp
		}
		_ = p.cmd.Process.Signal(end)
		code := p.code(t)
		if code != want || !strings.Contains(p.err.String(), fmt.Sprintf(`{"code":%d,"message":"interrupted`, want)) {
			t.Errorf("%q: exit code %d, message %q", args, code, p.err.String())
		}
	}
	if left := folder(t, dir); len(left) > 0 {
		t.Errorf("files are left: %d", len(left))
	}
}

// An endedContext says that it has ended only to who asks it.
type endedContext struct{ context.Context }

func (endedContext) Err() error { return context.Canceled }

// An interruption while adapt learns has the words of every other one.
func TestInterruptedAdapt(t *testing.T) {
	t.Parallel()
	x, dir := fixture(t), t.TempDir()
	var stdout, stderr bytes.Buffer
	args := []string{"adapt", "--model", x.model, "--missing", "drop", "--out", filepath.Join(dir, "m.npz"), x.table}
	code := run(endedContext{t.Context()}, args, &stdout, &stderr)
	if code != cli.ExitInterrupted || !strings.Contains(stderr.String(), "interrupted: nothing was written") ||
		len(folder(t, dir)) > 0 {
		t.Errorf("exit code %d: %s", code, stderr.String())
	}
}
