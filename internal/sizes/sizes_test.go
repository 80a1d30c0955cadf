package sizes

import (
	"math"
	"testing"

	"github.com/difalt/difalt/kernel"
)

func TestSizes(t *testing.T) {
	for name, c := range map[string]struct{ extra, largest, squares float64 }{
		"finite": {-7, 7, 1 + 4 + 9 + 49}, "NaN": {math.NaN(), math.NaN(), math.NaN()},
		"infinite": {math.Inf(-1), math.Inf(1), math.Inf(1)},
	} {
		for _, storage := range []kernel.Storage{kernel.Float64, kernel.Float32} {
			t.Run(name+"/"+storage.String(), func(t *testing.T) {
				b := kernel.NewBuilder(2, []int{1, 0, 1}, storage)
				b.SetRow(0, 0, []float64{1, c.extra}, 5)
				b.SetRow(2, 0, []float64{-3, 2}, -12)
				k := b.Tasks()
				x, y := Largest(k)
				xx, yy := Squares(k)
				for i, v := range []struct{ got, want float64 }{{x, c.largest}, {y, 12}, {xx, c.squares}, {yy, 169}} {
					if v.got != v.want && !(math.IsNaN(v.got) && math.IsNaN(v.want)) {
						t.Errorf("number %d is %v, want %v", i, v.got, v.want)
					}
				}
			})
		}
	}
	b := kernel.NewBuilder(2, []int{1, 0, 2}, kernel.Float64)
	b.SetRow(0, 0, []float64{1, 7}, 5)
	b.SetRow(2, 0, []float64{-3, 2}, -12)
	b.SetRow(2, 1, []float64{4, 5}, -12)
	k := b.Tasks()
	for task, want := range []float64{25, 0, 13.5} {
		if got := MeanSquare(k, task); got != want {
			t.Errorf("the mean square of task %d is %v, want %v", task, got, want)
		}
	}
	if x, y := Largest(kernel.NewBuilder(3, []int{0}, kernel.Float64).Tasks()); x != 0 || y != 0 {
		t.Errorf("%v and %v without samples", x, y)
	}
}
