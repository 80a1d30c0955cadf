package consensus_test

import (
	"context"
	"testing"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/internal/testnet"
)

// TestTransportAllocs: over a transport, an iteration of averages, sums and reductions
// allocates next to nothing once it has been done twice: its journal is used again.
func TestTransportAllocs(t *testing.T) {
	w := networks(t)[0]
	for _, a := range someAgreements(t) {
		ts := must[[]wire.Transport](t)(testnet.Connect(w.Graph(), splits(6)[1], testnet.Options{}))
		iterate := make([]func(), len(ts))
		for k, tr := range ts {
			n := must[*consensus.Network](t)(consensus.New(w, tr))
			m := must[*consensus.Mixer](t)(n.NewMixer(a, nil))
			z := messages(n, 40, 3, 2, consensus.StreamBasis, 1)
			words, rows := make([]uint8, len(z)), make([][]float64, len(z))
			for i := range rows {
				rows[i] = make([]float64, 2)
			}
			iterate[k] = func() {
				m.Reduce(words, rows)
				for range 2 {
					if err := m.Mix(context.Background(), z, 5); err != nil {
						t.Error(err)
					}
				}
				if err := n.Sum(context.Background(), rows); err != nil {
					t.Error(err)
				}
				m.Reduced()
				n.Commit()
			}
		}
		begin, end := make(chan bool), make(chan bool)
		go func() {
			for range begin {
				iterate[1]()
				end <- true
			}
		}()
		both := func() {
			begin <- true
			iterate[0]()
			<-end
		}
		both()
		both()
		if n := testing.AllocsPerRun(10, both); n > 2 {
			t.Errorf("%v: %v allocations in an iteration of %d exchanges", a, n, 10+6)
		}
		close(begin)
		for _, tr := range ts {
			tr.Close()
		}
	}
}
