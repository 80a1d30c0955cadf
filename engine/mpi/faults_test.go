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

	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/engine"
)

// TestFailures: each failure is an error of the right kind about the right node where it
// is noticed, in the time of a round, and then the whole job ends, with its exit code.
func TestFailures(t *testing.T) {
	for part, wants := range map[string][]string{
		"silent":   {"rank 1: consensus: node 2, round 3: timeout: it has sent nothing for 300ms"},
		"no frame": {`rank 1: consensus: node 2, round 3: corrupt: consensus: a frame begins with "GET "`},
		"too long": {"rank 1: consensus: node 2, round 3: corrupt: a frame of 1000056 bytes, more than 1000"},
		"cut off":  {"rank 1: consensus: node 2, round 3: corrupt: a frame of 100 bytes, want 120"},
		"flipped":  {"rank 1: consensus: node 2, round 3: corrupt: consensus: a frame has another checksum"},
		"fails":    {"rank 2: disk full"},
		"killed":   {"rank 2", "signal 9"},
	} {
		t.Run(part, func(t *testing.T) {
			began := time.Now()
			text, code := play(t, 4, part)
			if code == 0 || part != "killed" && code != 1 {
				t.Errorf("exit code %d: %s", code, text)
			}
			mentions(t, part, text, wants...)
			if d := time.Since(began); d > 20*time.Second {
				t.Errorf("took %v", d)
			}
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
				err := tr.Exchange(context.Background(), seq, out, in)
				if err == nil {
					continue
				}
				var peer *wire.PeerError
				if again := tr.Exchange(context.Background(), seq, out, in); !errors.As(again, &peer) || again.Error() != err.Error() {
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
	parts["no frame"] = failing(quick(), func(_ *Transport, out [][]byte) error {
		copy(out[0], "GET / HTTP/1.1")
		return nil
	})
	small := quick()
	small.MaxFrame = 1000
	parts["too long"] = failing(small, func(tr *Transport, out [][]byte) error {
		tr.o.MaxFrame, out[0] = 1<<30, frame(1_000_000)
		return nil
	})
	parts["cut off"] = failing(quick(), func(_ *Transport, out [][]byte) error {
		out[0] = out[0][:100]
		return nil
	})
	parts["fails"] = failing(quick(), func(*Transport, [][]byte) error { return errors.New("disk full") })
	parts["killed"] = failing(quick(), func(*Transport, [][]byte) error { return syscall.Kill(os.Getpid(), syscall.SIGKILL) })
}

// A flipping transport damages what it sends in round 3.
type flipping struct{ wire.Transport }

func (x flipping) Exchange(ctx context.Context, seq uint64, out, in [][]byte) error {
	if seq == 3 {
		out[0][len(out[0])-3] ^= 4
	}
	return x.Transport.Exchange(ctx, seq, out, in)
}

func init() {
	parts["flipped"] = func(w *World) error {
		g := ring(w)
		tr, err := connect(w, g, quick())
		if err != nil {
			return err
		}
		if w.Rank() == 2 {
			_, err = work(g, flipping{tr})
		} else {
			_, err = work(g, tr)
		}
		if w.Rank() != 1 {
			time.Sleep(time.Minute) // node 1 ends the job
		}
		return err
	}
}
