package mixed

import (
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/difalt/difalt/internal/fault"
)

// All items are counted once, in one order, and the first error is returned.
func TestSumParts(t *testing.T) {
	for _, n := range []int{0, 1, 15, 100} {
		var first []float64
		for _, workers := range []int{0, 1, 5} {
			odd := errors.New("odd")
			if _, err := sumParts(workers, n, 0, func([]float64, int, int) error { return odd }); err != odd && n > 0 {
				t.Errorf("%d items, %d workers: the error is %v", n, workers, err)
			}
			sum, err := sumParts(workers, n, 2, func(part []float64, from, to int) error {
				for k := from; k < to; k++ {
					part[0]++
					part[1] += 1 / float64(k+1)
				}
				return nil
			})
			if first == nil {
				first = sum
			}
			if sum[0] != float64(n) || !slices.Equal(sum, first) || err != nil {
				t.Errorf("%d items, %d workers: %v, %v, want %d and %v", n, workers, sum, err, n, first)
			}
		}
	}
}

// A panic in a range reaches the caller, for any number of workers, and so does one of an owner whose table
// panics, while the others of the process end. The panic has the stack of its goroutine.
func TestPanicsReachTheCaller(t *testing.T) {
	panics := func(f func()) (p *fault.Panic) {
		defer func() { p = fault.Of(recover()) }()
		f()
		return nil
	}
	expect := func(p *fault.Panic, value string) {
		if p == nil || p.Value != value || !strings.Contains(string(p.Stack), "reduce_test.go") {
			t.Errorf("%+v, want a panic with %q", p, value)
		}
	}
	for _, workers := range []int{1, 4} {
		p := panics(func() {
			_, _ = sumParts(workers, 50, 1, func(_ []float64, from, _ int) error {
				if from > 20 {
					panic("odd range")
				}
				return nil
			})
		})
		expect(p, "odd range")
	}
	list := cut(clinics(t), 3)
	table := &breaking{Table: list[1].Table}
	table.left.Store(1500)
	list[1].Table = table
	expect(panics(func() { _, _, _ = Together(t.Context(), list, network("path", 3), open) }), "odd table")
}

// A breaking panics after some reads.
type breaking struct {
	Table
	left atomic.Int64
}

func (o *breaking) X(dst []float64, row int) []float64 {
	if o.left.Add(-1) < 0 {
		panic("odd table")
	}
	return o.Table.X(dst, row)
}
