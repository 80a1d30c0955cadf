package kernel_test

import (
	"fmt"
	"testing"

	"github.com/difalt/difalt/kernel"
)

// TestSweep checks that the parts of a sweep read every sample once: small whole
// numbers have one sum in any order. A sweep takes pairs of float32 for one number,
// which is 1 if they are 0 and 1.875, whose bits are the upper half of a 1.
func TestSweep(t *testing.T) {
	for _, storage := range []kernel.Storage{kernel.Float64, kernel.Float32} {
		for _, d := range []int{1, 7, 8, 40} {
			samples := []int{3, 1, 5, 11, 2}
			b := kernel.NewBuilder(d, samples, storage)
			row, want := make([]float64, d), 0.0
			for task, n := range samples {
				for i := range n {
					for j := range row {
						row[j] = float64(task + i*j%7)
						number := row[j]
						if storage == kernel.Float32 {
							number = float64(j % 2)
							row[j] = 1.875 * number
						}
						want += number
					}
					b.SetRow(task, i, row, 0)
				}
			}
			tasks := b.Tasks()
			for parts := 1; parts <= 9; parts++ {
				for _, four := range []bool{false, true} {
					t.Run(fmt.Sprintf("%v/d=%d/parts=%d/four=%v", storage, d, parts, four), func(t *testing.T) {
						got := 0.0
						for part := range parts {
							got += tasks.Sweep(part, parts, four)
						}
						if got != want {
							t.Errorf("the parts sum to %v, want %v", got, want)
						}
					})
				}
			}
		}
	}
}
