package grpc

import (
	"runtime"
	"testing"
)

// TestMemory: a transport keeps about four frames an edge: two that it may have to send
// again, and two that have come; and what gRPC has on its way does not grow with the frames
// or the rounds.
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
	before := live()
	for _, err := range each([]*Transport{a, b}, func(tr *Transport) error {
		out, in := [][]byte{append([]byte(nil), f...)}, make([][]byte, 1)
		for seq := range uint64(20) {
			renumber(out[0], seq)
			if err := tr.Exchange(t.Context(), seq, out, in); err != nil {
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
	runtime.KeepAlive([]any{a, b, f})
}
