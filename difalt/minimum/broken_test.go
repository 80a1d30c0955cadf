package minimum

import (
	"context"
	"errors"
	"math"
	"testing"
)

var errBroken = errors.New("the network is broken")

// A breaking network fails at one sum, or from it on.
type breaking struct {
	together
	left int
	once bool
}

func (b *breaking) Sum(ctx context.Context, rows [][]float64) error {
	if b.left--; b.left < 0 && !(b.once && b.left < -1) {
		return errBroken
	}
	return b.together.Sum(ctx, rows)
}

// A network that fails at any sum of a check ends it with that error: at a minimum, where noise may have made
// the weakest direction, and at a saddle point.
func TestNetworkBreaks(t *testing.T) {
	for name, c := range map[string]struct {
		size  float64 // of the weakest direction
		noise float64
		sums  int // at least
	}{
		"clear":      {1, .01, 2},
		"suspicious": {.05, .5, 4},
		"no signal":  {0, 1, 4},
	} {
		tasks, u, _ := setting(12, func(int) float64 { return c.size }, c.noise)
		const most = 1000
		n := 0
		for ; n < most; n++ {
			net := &breaking{left: n / 2, once: n%2 == 0}
			s, err := Check(t.Context(), net, tasks, u, Options{Seed: 1})
			if net.left >= 0 { // the check needs no more sums
				if err != nil || math.IsNaN(s.ParametersPerSample) {
					t.Errorf("%s: %+v, %v", name, s, err)
				}
				break
			}
			if !errors.Is(err, errBroken) {
				t.Errorf("%s: sum %d fails: %+v, %v", name, n/2, s, err)
			}
		}
		if n/2 < c.sums || n == most {
			t.Errorf("%s: %d sums", name, n/2)
		}
	}
}
