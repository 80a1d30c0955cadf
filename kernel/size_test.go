package kernel_test

import (
	"math"
	"math/big"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/difalt/difalt/kernel"
)

// scaledTasks returns random tasks whose features and responses are multiplied by
// powers of two, and the largest absolute values and the sums of squares before that.
func scaledTasks(storage kernel.Storage, xExp, yExp int) (tasks *kernel.Tasks, maxX, maxY, sumX, sumY float64) {
	rng := rand.New(rand.NewPCG(8, 8))
	const d = 11
	samples := []int{7, 0, 30, 1}
	b := kernel.NewBuilder(d, samples, storage)
	xx, yy := new(big.Float).SetPrec(200), new(big.Float).SetPrec(200)
	add := func(sum *big.Float, v float64) {
		w := new(big.Float).SetPrec(200).SetFloat64(v)
		sum.Add(sum, w.Mul(w, w))
	}
	row := make([]float64, d)
	for t, n := range samples {
		for i := range n {
			for k := range row {
				v := float64(float32(rng.NormFloat64()))
				maxX = max(maxX, math.Abs(v))
				add(xx, v)
				row[k] = math.Ldexp(v, xExp)
			}
			y := 10 * rng.NormFloat64()
			maxY = max(maxY, math.Abs(y))
			add(yy, y)
			b.SetRow(t, i, row, math.Ldexp(y, yExp))
		}
	}
	sumX, _ = xx.Float64()
	sumY, _ = yy.Float64()
	return b.Tasks(), maxX, maxY, sumX, sumY
}

// near reports whether two sums are equal to rounding, or both infinite.
func near(x, want float64) bool { return x == want || math.Abs(x-want) <= 1e-13*want }

// TestSize checks both measures against sums in high precision, with features and
// responses whose squares overflow and underflow, of float32 in their own range.
func TestSize(t *testing.T) {
	for _, c := range []struct {
		storage    kernel.Storage
		xExp, yExp int
	}{
		{kernel.Float64, 0, 0}, {kernel.Float64, 400, -400}, {kernel.Float64, 900, -900}, {kernel.Float64, -900, 900}, {kernel.Float64, 700, 1000},
		{kernel.Float32, 0, 0}, {kernel.Float32, 100, 900}, {kernel.Float32, -90, -900},
	} {
		tasks, maxX, maxY, sumX, sumY := scaledTasks(c.storage, c.xExp, c.yExp)
		x, y := tasks.MaxAbs()
		if x != math.Ldexp(maxX, c.xExp) || y != math.Ldexp(maxY, c.yExp) {
			t.Errorf("%v: MaxAbs() = %g, %g, want %g, %g", c, x, y, math.Ldexp(maxX, c.xExp), math.Ldexp(maxY, c.yExp))
		}
		sumX, sumY = math.Ldexp(sumX, 2*c.xExp), math.Ldexp(sumY, 2*c.yExp)
		x, y = tasks.SquareSums()
		if !near(x, sumX) || !near(y, sumY) {
			t.Errorf("%v: SquareSums = %v, %v, want %v, %v", c, x, y, sumX, sumY)
		}
		// What is known of the features serves other responses, which count for themselves.
		double := make([]float64, tasks.TotalSamples())
		for i := range double {
			double[i] = 2
		}
		other := tasks.WithResponses(double)
		if ox, oy := other.SquareSums(); ox != x || oy != 4*float64(len(double)) {
			t.Errorf("%v: SquareSums = %v, %v with responses of 2, want %v, %v", c, ox, oy, x, 4*len(double))
		}
		// Parts have parts of it, and nothing else.
		var partX, partY, largestX float64
		for p := range 3 {
			part := tasks.Part(p, 3)
			x, y := part.SquareSums()
			partX, partY = partX+x, partY+y
			x, _ = part.MaxAbs()
			largestX = max(largestX, x)
		}
		if !near(partX, sumX) || !near(partY, sumY) || largestX != math.Ldexp(maxX, c.xExp) {
			t.Errorf("%v: the parts have %v, %v, %v", c, partX, partY, largestX)
		}
	}
}

func TestSizeOfNothingAndNaN(t *testing.T) {
	for _, storage := range []kernel.Storage{kernel.Float64, kernel.Float32} {
		if x, y := kernel.NewBuilder(3, []int{0}, storage).Tasks().MaxAbs(); x != 0 || y != 0 {
			t.Errorf("%v: MaxAbs() = %v, %v without samples", storage, x, y)
		}
		b := kernel.NewBuilder(3, []int{1, 1}, storage)
		b.SetRow(0, 0, []float64{1, math.NaN(), math.Inf(1)}, 2)
		b.SetRow(1, 0, []float64{1, 2, -5}, -3)
		if x, y := b.Tasks().MaxAbs(); !math.IsNaN(x) || y != 3 {
			t.Errorf("%v: MaxAbs() = %v, %v, want NaN, 3", storage, x, y)
		}
	}
}

// TestSizeIsSharedBetweenGoroutines asks many views at once for what one pass finds.
func TestSizeIsSharedBetweenGoroutines(t *testing.T) {
	tasks, maxX, _, _, _ := scaledTasks(kernel.Float64, 0, 0)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			v := tasks.WithResponses(make([]float64, tasks.TotalSamples()))
			if x, y := v.MaxAbs(); x != maxX || y != 0 {
				t.Errorf("MaxAbs() = %g, %g, want %g, 0", x, y, maxX)
			}
		})
	}
	wg.Wait()
}
