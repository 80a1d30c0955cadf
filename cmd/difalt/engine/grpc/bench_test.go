package grpc

import (
	"fmt"
	"testing"
)

// BenchmarkRound is a round of a ring on loopback.
func BenchmarkRound(b *testing.B) {
	for _, nodes := range []int{4, 8} {
		for _, size := range []int{19 << 10, 1 << 20} {
			b.Run(fmt.Sprintf("nodes=%d/bytes=%d", nodes, size), func(b *testing.B) {
				b.ReportAllocs()
				list := newParty(b, "ring", nodes).joined(b, quick())
				b.ResetTimer()
				noErrors(b, each(list, func(tr *Transport) error {
					in, out := make([][]byte, 2), make([][]byte, 2)
					for seq := range uint64(b.N) {
						for k := range out {
							out[k] = frame(seq, size)
						}
						if err := tr.Exchange(b.Context(), seq, out, in, nil); err != nil {
							return err
						}
					}
					return nil
				}))
			})
		}
	}
}
