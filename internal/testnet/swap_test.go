package testnet_test

import (
	"errors"
	"testing"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/internal/testnet"
	"github.com/difalt/difalt/topology"
)

// TestSwap: sums pass, and whatever depends on one node alone does not, be it sent by one of the
// two or follow from a number of its own that it counts twice.
func TestSwap(t *testing.T) {
	g, err1 := topology.Path(5)
	w, err2 := topology.NewWeights(g, topology.Metropolis)
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	number := []float64{1.25, 2, -3e-7, 4, 5e9}
	for name, c := range map[string]struct {
		passes bool
		do     func(n *consensus.Network, node int, x float64) error
	}{
		"sum": {true, func(n *consensus.Network, _ int, x float64) error {
			return n.Sum(t.Context(), [][]float64{{x}})
		}},
		"broadcast": {false, func(n *consensus.Network, _ int, x float64) error {
			return n.Broadcast(t.Context(), 1, [][]float64{{x}})
		}},
		"gather": {false, func(n *consensus.Network, _ int, x float64) error {
			_, err := n.Gather(t.Context(), [][]byte{make([]byte, max(0, int(x)&7))})
			return err
		}},
		"weighted": {false, func(n *consensus.Network, node int, x float64) error {
			return n.Sum(t.Context(), [][]float64{{x * float64(node)}})
		}},
		"nothing masked": {false, func(*consensus.Network, int, float64) error { return nil }},
	} {
		err := testnet.Swap(w, 1, 4, func(node int, n *consensus.Network, swapped bool) error {
			if of := map[int]int{1: 4, 4: 1}; swapped && of[node] != 0 {
				return c.do(n, node, number[of[node]])
			}
			return c.do(n, node, number[node])
		})
		if (err == nil) != c.passes {
			t.Errorf("%s: %v", name, err)
		}
	}
}
