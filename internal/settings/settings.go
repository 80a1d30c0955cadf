// Package settings compares the settings of all nodes of a network.
package settings

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/transport"
)

// Digits returns four numbers below 2^12 that depend on the settings, each followed by its square. Every node
// adds them to a sum over all nodes; from the sum, Alike finds whether all nodes have equal settings.
func Digits(list []consensus.Setting) (digits []float64) {
	h := fnv.New64a()
	fmt.Fprint(h, list)
	for sum := h.Sum64(); len(digits) < 8; sum >>= 16 {
		v := float64(sum >> 4 & (1<<12 - 1))
		digits = append(digits, v, v*v)
	}
	return digits
}

// Alike reports whether all nodes added equal digits: (sum of v)^2 is the number of nodes times the sum of
// v^2 only then. It is exact up to 2^14 nodes.
func Alike(sums []float64, nodes int) bool {
	for k := 0; k < len(sums); k += 2 {
		if sums[k]*sums[k] != float64(nodes)*sums[k+1] {
			return false
		}
	}
	return true
}

// Difference gathers the settings of all nodes. It returns a *transport.PeerError that names the first node
// with other settings than the given ones, and the first of these settings.
func Difference(ctx context.Context, net *consensus.Network, here []consensus.Setting) error {
	own, err := json.Marshal(here)
	if err != nil {
		return err
	}
	all, err := net.Gather(ctx, slices.Repeat([][]byte{own}, len(net.Hosted())))
	if err != nil {
		return err
	}
	for g, text := range all {
		var there []consensus.Setting
		_ = json.Unmarshal(text, &there) // settings that cannot be read are unknown
		if differ := consensus.Difference(there, fmt.Sprintf("at node %d", g), here, "here"); differ != "" {
			err := fmt.Errorf("the nodes do not run with the same options: %s", differ)
			return &transport.PeerError{Peer: g, Kind: transport.Refused, Err: err}
		}
	}
	const same = "the sums of the nodes' settings differ, but their settings do not: %w"
	return fmt.Errorf(same, consensus.ErrContradiction)
}
