package consensus

import (
	"fmt"
	"testing"

	"github.com/difalt/difalt/topology"
)

// BenchmarkMix is a round of 100 nodes with 1000 numbers each.
func BenchmarkMix(b *testing.B) {
	g, err := topology.ErdosRenyi(100, .05, 1)
	if err != nil {
		b.Fatal(err)
	}
	w, err := topology.NewWeights(g, topology.Metropolis)
	if err != nil {
		b.Fatal(err)
	}
	for _, a := range []Agreement{
		{}, {RoundByRound: true}, {Trigger: .4},
		{Codec: Float32}, {Codec: Int8}, {Codec: Int4},
	} {
		for _, rounds := range []int{1, 10} {
			b.Run(fmt.Sprintf("%v/rounds=%d", a, rounds), func(b *testing.B) {
				m := newMixer(b, w, nil, a)
				z := streamOf(randomMessages(100, 100, 10, 0, 1), StreamBasis)
				for b.Loop() {
					if err := m.Mix(background, z, rounds); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
