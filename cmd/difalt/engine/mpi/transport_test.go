//go:build mpi

package mpi

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/engine"
	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/wire"
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
			got, err := work(g, tr)
			if err != nil {
				return err
			}
			want := must(work(g, nil))
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

// work averages by gossip and along the tree, and adds, and returns the bits of the results by node.
func work(g *topology.Graph, tr wire.Transport) (map[int]string, error) {
	n, err := consensus.New(must(topology.NewWeights(g, topology.Metropolis)), tr)
	if err != nil {
		return nil, err
	}
	bits := make(map[int]string)
	for _, e := range []consensus.Exchange{must(n.Agree(5, nil)), must(n.TreeMean(consensus.Float64)), must(n.TreeMean(consensus.Int8))} {
		z, sums := make([]consensus.Message, len(n.Hosted())), make([][]float64, len(n.Hosted()))
		for i, node := range n.Hosted() {
			z[i].Scalars = make([]float64, 6000)
			rng := rand.New(rand.NewPCG(uint64(node), 5))
			for k := range z[i].Scalars {
				z[i].Scalars[k] = rng.NormFloat64()
			}
		}
		for round := range 6 {
			for i := range z {
				sums[i] = append([]float64(nil), z[i].Scalars[:1+500*(round%2)]...)
			}
			if err := errors.Join(e.Average(context.Background(), z), n.Sum(context.Background(), sums)); err != nil {
				return nil, err
			}
		}
		for i, node := range n.Hosted() {
			bits[node] += fmt.Sprintf("%x %x", z[i].Scalars, sums[i])
		}
	}
	return bits, nil
}
