package consensus_test

import (
	"sync"
	"testing"
	"time"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/internal/testnet"
	"github.com/difalt/difalt/topology"
)

// TestFewPartners: the masks of a network in which nodes share them with some others only cancel
// as well, with one node a process or several.
func TestFewPartners(t *testing.T) {
	t.Parallel()
	const nodes = 70
	g, err := topology.Parse("exponential", nodes, 1)
	if err != nil {
		t.Fatal(err)
	}
	w, err := topology.NewWeights(g, topology.Metropolis)
	if err != nil {
		t.Fatal(err)
	}
	alone, err := consensus.New(w, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := rowsOf(alone)
	if err := alone.Sum(t.Context(), want); err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{1, 3} {
		var groups [][]int
		for i := range nodes {
			if i%size == 0 {
				groups = append(groups, nil)
			}
			groups[i/size] = append(groups[i/size], i)
		}
		pipes, err := testnet.Connect(g, groups, testnet.Options{RoundTimeout: 20 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for _, p := range pipes {
			wg.Go(func() {
				defer p.Close()
				n, err := consensus.New(w, p)
				if err != nil {
					t.Error(err)
					return
				}
				for range 2 {
					z := rowsOf(n)
					if err := n.Sum(t.Context(), z); err != nil {
						t.Error(err)
						return
					}
					for k, x := range z[0] {
						if x != want[0][k] {
							t.Errorf("nodes %d: number %d is %v, want %v", p.Hosted(), k, x, want[0][k])
						}
					}
				}
			})
		}
		wg.Wait()
	}
}
