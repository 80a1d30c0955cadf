package difalt_test

import (
	"testing"

	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/topology"
)

// Near the end of a run only do nodes add up the numbers that a residual takes: an earlier look costs what
// the first one costs, which measures nothing.
func TestLooksFarFromTheEnd(t *testing.T) {
	const last = 25
	var look int64 // bytes of the first look of the first method
	p := draw(t, 4, 20, 40, 15, 2, 2, .1, 1)
	for _, method := range []difalt.Method{difalt.DifAltGDmin, difalt.DecAltGDmin, difalt.DGD, difalt.Accelerated} {
		var bytes []int64 // before iteration k
		o := difalt.Options{Method: method, Rank: 2, Iterations: last, Rounds: 4, Tolerance: 1e-15}
		o.Observer = func(r *difalt.Record) error {
			bytes = append(bytes, r.Traffic.Bytes)
			return nil
		}
		run(t, p, connect(t, weights(t, "ring", 4, 1, topology.Metropolis), nil), o)
		if len(bytes) < last {
			t.Fatalf("%v: %d iterations", method, len(bytes))
		}
		quiet := bytes[2] - bytes[1]
		if look == 0 {
			look = bytes[1] - bytes[0] - quiet
		}
		if look <= 0 {
			t.Fatalf("%v: the first look sends %d bytes", method, look)
		}
		for k := 2; k < last; k++ {
			want := quiet
			if k%difalt.CheckEvery == 0 {
				want += look
			}
			if sent := bytes[k+1] - bytes[k]; sent != want {
				t.Errorf("%v: iteration %d sends %d bytes, want %d", method, k, sent, want)
			}
		}
	}
}
