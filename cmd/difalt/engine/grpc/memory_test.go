package grpc

import (
	"runtime"
	"slices"
	"testing"

	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/internal/testnet"
)

// TestMemory: a transport and its caller have about four frames an edge: one to be made, one
// that may have to be sent again, and two that have come; and what gRPC has on its way does
// not grow with the frames or the rounds.
func TestMemory(t *testing.T) {
	const size = 4 << 20
	live := func() float64 {
		var m runtime.MemStats
		for range 2 {
			runtime.GC()
		}
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc)
	}
	f := frame(t, 0, size)
	a, b := pair(t, quick())
	outs := [2][][]byte{{nil}, {nil}}
	before := live()
	for _, err := range each([]*Transport{a, b}, func(tr *Transport) error {
		out, in := outs[tr.node], make([][]byte, 1)
		for seq := range uint64(20) {
			if out[0] == nil {
				out[0] = slices.Clone(f)
			}
			testnet.Seal(out[0], wire.Origin{}, seq)[1] = byte(seq)
			if err := tr.Exchange(t.Context(), seq, out, in, nil); err != nil {
				return err
			}
		}
		return nil
	}) {
		if err != nil {
			t.Fatal(err)
		}
	}
	frames := (live() - before) / 2 / size
	t.Logf("%.1f frames an edge", frames)
	if frames > 4.3 {
		t.Errorf("%.1f frames an edge", frames)
	}
	runtime.KeepAlive([]any{a, b, f, outs})
}
