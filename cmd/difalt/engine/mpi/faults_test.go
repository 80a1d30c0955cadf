//go:build mpi

package mpi

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/difalt/difalt/cmd/difalt/engine"
	"github.com/difalt/difalt/consensus/wire"
)

// TestFailures: each failure is an error of the right kind about the right node where it
// is noticed, in the time of a round, and then the whole job ends, with its exit code.
func TestFailures(t *testing.T) {
	for part, wants := range map[string][]string{
		"silent":   {"rank 1: consensus: node 2, round 3: timeout: it has sent nothing for 300ms"},
		"too long": {"rank 1: consensus: node 2, round 3: corrupt: a frame of 1000010 bytes, more than 1000"},
		"no frame": {"rank 1: consensus: node 2, round 5: corrupt: consensus: a frame has a wrong checksum"},
		"cut off":  {"rank 1: consensus: node 2, round 5: corrupt: consensus: a frame has 4 bytes: must have at least 10"},
		"flipped":  {"rank 1: consensus: node 2, round 5: corrupt: consensus: a frame has a wrong checksum"},
		"fails":    {"rank 2: disk full"},
		"killed":   {"rank 2", "signal 9"},
	} {
		t.Run(part, func(t *testing.T) {
			text, code := play(t, 4, part)
			if code == 0 || part != "killed" && code != 1 {
				t.Errorf("exit code %d: %s", code, text)
			}
			mentions(t, part, text, wants...)
		})
	}
}

func init() {
	// failing exchanges frames until trouble, which node 2 makes in round 3.
	failing := func(o engine.Options, trouble func(tr *Transport, out [][]byte) error) func(w *World) error {
		return func(w *World) error {
			g := ring(w)
			tr, err := connect(w, g, o)
			if err != nil {
				return err
			}
			peers := g.Neighbors(w.Rank())
			out, in := make([][]byte, len(peers)), make([][]byte, len(peers))
			for seq := uint64(0); ; seq++ {
				for k := range out {
					out[k] = frame(64, seq)
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
				if again := tr.Exchange(context.Background(), seq+1, out, in, nil); again == nil || again.Error() != err.Error() {
					return fmt.Errorf("again: %v, first %v", again, err)
				}
				if w.Rank() != 1 {
					time.Sleep(time.Minute) // node 1 ends the job
				}
				return err
			}
		}
	}
	impatient := quick()
	impatient.RoundTimeout = 300 * time.Millisecond
	parts["silent"] = failing(impatient, func(*Transport, [][]byte) error { time.Sleep(time.Minute); return nil })
	small := quick()
	small.MaxFrame = 1000
	parts["too long"] = failing(small, func(tr *Transport, out [][]byte) error {
		tr.o.MaxFrame, out[0] = 1<<30, frame(1_000_000)
		return nil
	})
	parts["fails"] = failing(quick(), func(*Transport, [][]byte) error { return errors.New("disk full") })
	parts["killed"] = failing(quick(), func(*Transport, [][]byte) error { return syscall.Kill(os.Getpid(), syscall.SIGKILL) })
}

// A damaging transport changes what it sends in round 5, after the exchange of keys.
type damaging struct {
	wire.Transport
	change func(p []byte) []byte
}

func (x damaging) Exchange(ctx context.Context, seq uint64, out, in [][]byte, due []bool) error {
	if seq == 5 {
		out[0] = x.change(out[0])
	}
	return x.Transport.Exchange(ctx, seq, out, in, due)
}

func init() {
	for part, change := range map[string]func(p []byte) []byte{
		"flipped":  func(p []byte) []byte { p[len(p)-3] ^= 4; return p },
		"no frame": func(p []byte) []byte { copy(p, "GET / HTTP/1.1"); return p },
		"cut off":  func(p []byte) []byte { return p[:4] },
	} {
		parts[part] = func(w *World) error {
			g := ring(w)
			tr, err := connect(w, g, quick())
			if err != nil {
				return err
			}
			if w.Rank() == 2 {
				_, err = work(g, damaging{tr, change})
			} else {
				_, err = work(g, tr)
			}
			if w.Rank() != 1 {
				time.Sleep(time.Minute) // node 1 ends the job
			}
			return err
		}
	}
}
