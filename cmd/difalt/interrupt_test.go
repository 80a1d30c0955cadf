//go:build unix

package main

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// writeLarge writes a table that takes seconds to fit.
func writeLarge(t *testing.T, path string) {
	t.Helper()
	const tasks, rows, features = 400, 14, 40
	r := rand.New(rand.NewPCG(1, 2))
	var b bytes.Buffer
	b.WriteString("task,y")
	for i := range features {
		fmt.Fprintf(&b, ",x%d", i)
	}
	b.WriteByte('\n')
	for k := range tasks {
		slope := r.NormFloat64()
		for range rows {
			x := r.NormFloat64()
			fmt.Fprintf(&b, "t%d,%.3f,%.3f", k, slope*x+r.NormFloat64(), x)
			for range features - 1 {
				fmt.Fprintf(&b, ",%.3f", r.NormFloat64())
			}
			b.WriteByte('\n')
		}
	}
	if err := os.WriteFile(path, b.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
}

// At whatever moment it is interrupted, a command ends, and leaves complete files or none.
func TestInterruptedAnywhere(t *testing.T) {
	table := filepath.Join(t.TempDir(), "large.csv")
	writeLarge(t, table)
	moments := 4
	if testing.Short() {
		moments = 1
	}
	for _, args := range [][]string{
		{"fit", "--data", table, "--task", "task", "--target", "y", "--model", "DIR/m.npz", "--trace", "DIR/t.csv", "--report", "DIR/report"},
		{"simulate", "--features", "300", "--tasks", "300", "--trials", "50", "--iterations", "40", "--out", "DIR/out"},
		{"describe", table, "--task", "task"},
	} {
		for k := range moments {
			t.Run(args[0], func(t *testing.T) {
				t.Parallel()
				interrupt(t, args, rand.New(rand.NewPCG(uint64(k), 3)))
			})
		}
	}
}

// interrupt interrupts a command at a random moment.
func interrupt(t *testing.T, args []string, r *rand.Rand) {
	dir := t.TempDir()
	args = slices.Clone(args)
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], "DIR", dir)
	}
	wait := time.Duration(r.Float64() * float64(2*time.Second))
	signal, want := syscall.SIGINT, exitInterrupted
	if r.IntN(2) == 0 {
		signal, want = syscall.SIGTERM, exitTerminated
	}
	p := launch(t, args...)
	time.Sleep(wait)
	_ = p.cmd.Process.Signal(signal)
	code := p.code(t, 5*time.Second)
	// A process may end before it is told to, and also before it listens.
	if code != 0 && code != want && code != -1 {
		t.Errorf("%v after %v: exit code %d: %s", signal, wait, code, p.err.String())
	}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch name := d.Name(); {
		case err != nil || d.IsDir():
		case strings.HasPrefix(name, "."):
			t.Errorf("%v after %v: left %s", signal, wait, path)
		case name == "m.npz":
			_, err = loadModel(path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// A cancelingWriter cancels a context when something is written.
type cancelingWriter struct {
	bytes.Buffer
	cancel func()
}

func (w *cancelingWriter) Write(p []byte) (int, error) {
	w.cancel()
	return w.Buffer.Write(p)
}

// However many rounds an iteration has, simulate ends when it is told to: it is told when it
// says what it is about to compute.
func TestRoundsAreInterrupted(t *testing.T) {
	for _, more := range [][]string{{"--method", "dif"}, {"--loss", "0.1"}, {"--compress", "int8"}, {"--agree", "chebyshev", "--graph", "ring"}} {
		ctx, cancel := context.WithCancel(t.Context())
		out := &cancelingWriter{cancel: cancel}
		args := append([]string{"simulate", "--nodes", "4", "--features", "8", "--tasks", "8", "--samples", "8", "--rank", "2", "--trials", "1",
			"--iterations", "3", "--rounds", "1000000000", "--out", t.TempDir()}, more...)
		var stderr bytes.Buffer
		if code := run(ctx, args, out, &stderr); code != exitInterrupted && code != 0 {
			t.Errorf("%q: exit code %d: %s", more, code, stderr.String())
		}
	}
}
