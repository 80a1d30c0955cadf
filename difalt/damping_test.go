package difalt

import (
	"math"
	"testing"

	"github.com/difalt/difalt/kernel"
)

// TestDamping iterates on e <- (1 - factor h) e for a slow and a fast direction.
// The best fixed factor contracts by (fast - slow)/(fast + slow) an iteration; the
// damping, which knows neither, may take half as many iterations again.
func TestDamping(t *testing.T) {
	const slowest = 0.186
	for _, fast := range []float64{1.0, 2.77, 6, 20} {
		last, next := kernel.NewBasis(2, 1), kernel.NewBasis(2, 1)
		d := newDamping(len(last.Data()))
		copy(last.Col(0), []float64{1, 0.3})
		rate := (fast - slowest) / (fast + slowest)
		if fast < 2-slowest {
			rate = 1 - slowest // the factor is at most 1
		}
		limit := int(1.5*math.Log(1e-10)/math.Log(rate)) + 10
		k := 0
		for ; math.Hypot(last.Col(0)[0], last.Col(0)[1]) > 1e-10 && k <= limit; k++ {
			next.Col(0)[0] = (1 - d.factor*slowest) * last.Col(0)[0]
			next.Col(0)[1] = (1 - d.factor*fast) * last.Col(0)[1]
			d.observe(last, next)
			last, next = next, last
		}
		if k > limit {
			t.Errorf("fast direction %v: not at 1e-10 after %d iterations, factor %v", fast, limit, d.factor)
		}
		if fast < 1.5 && d.factor != 1 {
			t.Errorf("fast direction %v: factor %v, though the full step is right", fast, d.factor)
		}
	}
}
