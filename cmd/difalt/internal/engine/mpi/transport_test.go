//go:build mpi

package mpi

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/internal/engine"
	"github.com/difalt/difalt/internal/testnet"
	"github.com/difalt/difalt/topology"
)

// TestSameBits: by 2, 4 and 8 processes, on sparse and dense graphs, averages and sums
// have the bits of one process.
func TestSameBits(t *testing.T) {
	for _, n := range []int{2, 4, 8} {
		if text, code := play(t, n, "same bits"); code != 0 {
			t.Errorf("%d processes: exit code %d: %s", n, code, text)
		}
	}
}

func init() {
	parts["same bits"] = func(w *World) error {
		for _, name := range []string{"path", "star", "complete"} {
			g := must(topology.Parse(name, w.Size(), 1))
			tr, err := connect(w, g, quick())
			if err != nil {
				return err
			}
			weights := must(topology.NewWeights(g, topology.Metropolis))
			got, err := testnet.Work(context.Background(), weights, tr, 6000)
			if err != nil {
				return err
			}
			want := must(testnet.Work(context.Background(), weights, nil, 6000))
			if got[w.Rank()] != want[w.Rank()] || got[w.Rank()] == "" {
				return fmt.Errorf("%s: other bits than in one process", name)
			}
			if err := tr.Close(); err != nil {
				return err
			}
			if err := tr.Exchange(context.Background(), 0, nil, nil, nil); !errors.Is(err, engine.ErrClosed) {
				return fmt.Errorf("after Close: %v", err)
			}
		}
		return nil
	}
}
