package settings_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/transport"
	"github.com/difalt/difalt/internal/settings"
	"github.com/difalt/difalt/internal/testnet"
	"github.com/difalt/difalt/topology"
)

// TestAlike: the sums of the digits show whether all nodes have one list, up to 2^14 nodes, and whoever
// differs.
func TestAlike(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for trial := range 300 {
		nodes := []int{1, 2, 3, 10, 1 << 14}[trial%5]
		own := settings.Digits([]consensus.Setting{{Name: "Rank", Value: fmt.Sprint(rng.Uint32())}})
		other := settings.Digits([]consensus.Setting{{Name: "Rank", Value: fmt.Sprint(rng.Uint32())}})
		all, mixed := make([]float64, 8), make([]float64, 8)
		differ := 1 + rng.IntN(max(nodes-1, 1))
		for node := range nodes {
			digits := own
			if node < differ {
				digits = other
			}
			for k, v := range own {
				all[k] += v
				mixed[k] += digits[k]
			}
		}
		if !settings.Alike(all, nodes) {
			t.Errorf("%d nodes with one list are not alike", nodes)
		}
		if settings.Alike(mixed, nodes) && nodes > 1 {
			t.Errorf("%d of %d nodes have another list, and all are alike", differ, nodes)
		}
	}
	if digits := settings.Digits(nil); len(digits) != 8 || slices.Max(digits) >= 1<<24 {
		t.Errorf("digits %v", digits)
	}
}

// TestDifference: all nodes name the first node whose settings differ from theirs, and the setting. Where no
// setting differs, a node has added other digits than its own.
func TestDifference(t *testing.T) {
	g, err1 := topology.Path(3)
	w, err2 := topology.NewWeights(g, topology.Metropolis)
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	for _, odd := range []int{-1, 0, 2} {
		errs := testnet.Run(g, nil, func(node int, tr transport.Transport) error {
			n, err := consensus.New(w, tr)
			if err != nil {
				return err
			}
			list := []consensus.Setting{{Name: "Rank", Value: "2"}, {Name: "Seed", Value: "1"}}
			if node == odd {
				list[1].Value = "7"
			}
			return settings.Difference(context.Background(), n, list)
		})
		for node, err := range errs {
			var peer *transport.PeerError
			switch {
			case odd < 0 && !errors.Is(err, consensus.ErrContradiction):
				t.Errorf("equal settings, node %d: %v", node, err)
			case odd < 0:
			case !errors.As(err, &peer) || peer.Kind != transport.Refused || !strings.Contains(err.Error(), "Seed is"):
				t.Errorf("node %d differs, node %d: %v", odd, node, err)
			case node != odd && peer.Peer != odd || node == odd && peer.Peer == odd:
				t.Errorf("node %d differs, node %d blames node %d", odd, node, peer.Peer)
			}
		}
	}
}
