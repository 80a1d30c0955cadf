package fit

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/collective"
	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/topology"
)

// No frame of a fit is longer than what is announced for its features and rank, on tables so small that what nodes gather is
// shorter than the sums: with one loading and many features; with several, whose information is joint; and with more
// features than rows.
func TestLargestMessage(t *testing.T) {
	inFull(t)
	w := weights(t, "ring", 3, topology.Metropolis)
	for _, c := range []struct{ features, rank, rows int }{{60, 1, 24}, {24, 3, 12}, {100, 1, 3}} {
		_, taps := tapped(t, w, func(net *consensus.Network) (*outcome, error) {
			g := net.Hosted()[0]
			tab, x := emptyTable(t, c.features), make([]float64, c.features)
			for task := range 4 {
				rng := rand.New(rand.NewPCG(uint64(g), uint64(task)))
				slope := rng.NormFloat64()
				for range c.rows {
					for j := range x {
						x[j] = rng.NormFloat64()
					}
					if err := tab.Append(fmt.Sprint(g, task), "", x, x[0]*slope+x[1]+rng.NormFloat64()); err != nil {
						return nil, err
					}
				}
			}
			if err := tab.AssignNode(fmt.Sprint(g)); err != nil {
				return nil, err
			}
			config := testConfig(t, 3, c.rank)
			config.Network, config.Starts = net, 1
			m, r, err := Fit(t.Context(), tab, config)
			return &outcome{m, r}, err
		})
		longest := 0
		for _, p := range taps {
			for _, f := range p.frames {
				longest = max(longest, len(f))
			}
		}
		if most := wire.MaxHeader + collective.LongestMessage(LargestMessage(c.features, c.rank), 3); longest > most {
			t.Errorf("%+v: a frame of %d bytes, at most %d were announced", c, longest, most)
		}
	}
}

// What nodes gather is announced for any table, and more than that for features and ranks whose sums are longer.
func TestLargestMessageIsThatOfSums(t *testing.T) {
	for _, c := range []struct{ features, rank, want int }{{3, 0, 1 << 16}, {205, 2, 1 << 16}, {56, 7, 1 << 16}, {1000, 0, longestSum(1000, 0)}, {1200, 0, 120000}} {
		if got := LargestMessage(c.features, c.rank); got != c.want+1 {
			t.Errorf("%d features, rank %d: %d numbers, want %d", c.features, c.rank, got, c.want+1)
		}
	}
}
