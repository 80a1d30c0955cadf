//go:build mpi

package mpi

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/difalt/difalt/cmd/difalt/internal/engine"
	"github.com/difalt/difalt/topology"
)

// TestFailures: each failure is an error of the right kind about the right node where it
// is noticed, in the time of a round, and then the whole job ends, with its exit code.
func TestFailures(t *testing.T) {
	for part, wants := range map[string][]string{
		"silent":   {"rank 1: node 2, round 3: waiting: nothing has come from it for 8s"},
		"too long": {"rank 1: node 2, round 3: corrupt: a frame of 1000010 bytes, more than 1000"},
		"fails":    {"rank 2: disk full"},
		"killed":   {"rank 2", "signal 9"},
		"other size": {"rank 0: mpi: a graph of 5 nodes for 4 processes",
			"rank 3: mpi: a graph of 5 nodes for 4 processes"},
		"nobody else": {"rank 0: mpi: not all of the 4 processes are there after 300ms"},
	} {
		t.Run(part, func(t *testing.T) {
			text, code := play(t, 4, part)
			if code == 0 || part != "killed" && code != 1 {
				t.Errorf("exit code %d: %s", code, text)
			}
			for _, want := range wants {
				if !strings.Contains(text, want) {
					t.Errorf("no %q in %s", want, text)
				}
			}
		})
	}
}

// failing exchanges frames until trouble, which node 2 makes in round 3.
func failing(o engine.Options, trouble func(tr *Transport, out [][]byte) error) func(w *World) error {
	return func(w *World) error {
		g := must(topology.Ring(w.Size()))
		tr, err := connect(w, g,
			engine.Options{JoinTimeout: o.JoinTimeout, RoundTimeout: time.Minute, MaxFrame: o.MaxFrame})
		if err != nil {
			return err
		}
		peers := g.Neighbors(w.Rank())
		out, in := make([][]byte, len(peers)), make([][]byte, len(peers))
		for seq := uint64(0); ; seq++ {
			for k := range out {
				out[k] = frame(64)
			}
			if seq == 3 { // earlier rounds wait for slow machines
				tr.o.RoundTimeout = o.RoundTimeout
			}
			if w.Rank() == 2 && seq == 3 {
				if err := trouble(tr, out); err != nil {
					return err
				}
			}
			err := tr.Exchange(context.Background(), seq, out, in, nil)
			if err == nil {
				continue
			}
			again := tr.Exchange(context.Background(), seq+1, out, in, nil)
			if again == nil || again.Error() != err.Error() {
				return fmt.Errorf("again: %v, first %v", again, err)
			}
			if w.Rank() != 1 {
				time.Sleep(time.Minute) // node 1 ends the job
			}
			return err
		}
	}
}

func init() {
	impatient := quick()
	impatient.RoundTimeout = 8 * time.Second
	parts["silent"] = failing(impatient, func(*Transport, [][]byte) error { time.Sleep(time.Minute); return nil })
	small := quick()
	small.MaxFrame = 1000
	parts["too long"] = failing(small, func(tr *Transport, out [][]byte) error {
		tr.o.MaxFrame, out[0] = 1<<30, frame(1_000_000)
		return nil
	})
	parts["fails"] = failing(quick(), func(*Transport, [][]byte) error { return errors.New("disk full") })
	parts["killed"] = failing(quick(),
		func(*Transport, [][]byte) error { return syscall.Kill(os.Getpid(), syscall.SIGKILL) })
	parts["other size"] = func(w *World) error { _, err := connect(w, must(topology.Ring(5)), quick()); return err }
	parts["nobody else"] = func(w *World) error {
		o := quick()
		if o.JoinTimeout = 300 * time.Millisecond; w.Rank() != 0 {
			time.Sleep(time.Minute)
		}
		_, err := connect(w, must(topology.Ring(4)), o)
		return err
	}
}
