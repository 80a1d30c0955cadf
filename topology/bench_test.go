package topology

import (
	"fmt"
	"testing"
)

// BenchmarkMix is a round of 100 nodes with 1000 numbers each.
func BenchmarkMix(b *testing.B) {
	g, err := ErdosRenyi(100, .05, 1)
	if err != nil {
		b.Fatal(err)
	}
	w, err := NewWeights(g, Metropolis)
	if err != nil {
		b.Fatal(err)
	}
	for _, a := range []Agreement{
		{}, {Sporadic: .4}, {Links: Links{Loss: .1}},
		{Compressor: float32Coder{}}, {Compressor: quantizer{4, false}}, {Compressor: quantizer{4, true}},
		{Compressor: quantizer{16, false}}, {Compressor: topK{.1}},
	} {
		for _, rounds := range []int{1, 10} {
			b.Run(fmt.Sprintf("%v/rounds=%d", a, rounds), func(b *testing.B) {
				m, err := NewMixer(w, nil, a)
				if err != nil {
					b.Fatal(err)
				}
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
