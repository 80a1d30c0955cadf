package masked

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/difalt/difalt/internal/mask"
)

// sumOf sums numbers as words, one of each node, with masks that cancel.
func sumOf(w *FixedPoint, v []float64, masks *rand.Rand) float64 {
	total := make([]uint64, digits)
	for _, x := range v {
		d, random := make([]uint64, digits), make([]uint64, digits)
		w.Add(d, []float64{x})
		for k := range random {
			random[k] = masks.Uint64()
		}
		mask.AddTo(d, random, digits)
		mask.AddTo(total, d, digits)
		mask.SubFrom(total, random, digits)
	}
	return w.number(total)
}

// exact returns the sum of numbers by arithmetic without rounding.
func exact(v []float64) *big.Float {
	sum := new(big.Float).SetPrec(3000)
	for _, x := range v {
		sum.Add(sum, new(big.Float).SetPrec(3000).SetFloat64(x))
	}
	return sum
}

// TestFixedPoint: sums are those of exact arithmetic to the last but one of 53 bits and a unit of 2^low a
// number, whatever the order of numbers and however they cancel.
func TestFixedPoint(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, nodes := range []int{2, 3, 8, 9, 100, 1000, 10000, 1 << 17} {
		w := NewFixedPoint(nodes)
		if nodes <= 1<<17 && w.low > -110 {
			t.Errorf("%d nodes: numbers are rounded to 2^%d", nodes, w.low)
		}
		for trial := range 300 {
			n := min(nodes, 50)
			v := make([]float64, n)
			for i := range v {
				e := w.low - 5 + rng.IntN(top-w.low+5) // over the whole range, or near one another
				if trial%2 == 0 {
					e = w.low + 60 + rng.IntN(5)
				}
				v[i] = math.Ldexp(rng.Float64()*2-1, e)
				if i > 0 && trial%3 == 0 { // cancels to few bits
					v[i] = -v[i-1] * (1 - 0x1p-40*rng.Float64())
				}
			}
			got := sumOf(w, v, rng)
			want := exact(v)
			size, _ := want.Float64()
			off, _ := new(big.Float).SetPrec(3000).Sub(want, big.NewFloat(got)).Float64()
			if most := float64(n)*math.Ldexp(1, w.low) + math.Abs(size)*0x1p-52; math.Abs(off) > most {
				t.Fatalf("%d nodes: %v, off by %v, at most %v", nodes, got, off, most)
			}
			if slices.Reverse(v); sumOf(w, v, rng) != got {
				t.Fatalf("%d nodes: %v, and another sum in reverse order", nodes, got)
			}
		}
		for _, x := range []float64{math.Nextafter(limit, 0), -math.Nextafter(limit, 0)} { // at all nodes
			d, total := make([]uint64, digits), make([]uint64, digits)
			w.Add(d, []float64{x})
			for range nodes {
				mask.AddTo(total, d, digits)
			}
			if got, want := w.number(total), x*float64(nodes); math.Abs(got-want) > math.Abs(want)*0x1p-52 {
				t.Errorf("%d nodes with %v have the sum %v, want %v", nodes, x, got, want)
			}
		}
	}
}

// TestCheck: numbers at the limits.
func TestCheck(t *testing.T) {
	w := NewFixedPoint(5)
	for x, fits := range map[float64]bool{
		0: true, 5e-324: true, -1: true, math.Nextafter(0x1p64, 0): true, -math.Nextafter(0x1p64, 0): true,
		0x1p64: false, -0x1p64: false, math.MaxFloat64: false, math.Inf(1): false, math.Inf(-1): false,
		math.NaN(): false,
	} {
		if err := w.Check([]float64{1, x}); (err == nil) != fits {
			t.Errorf("%v: %v", x, err)
		}
	}
}

// TestTotalOnly: the words of a sum depend on the total alone, not on the numbers, their signs or their
// digits.
func TestTotalOnly(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	w := NewFixedPoint(3)
	for range 1000 {
		// Multiples of 2^-40, so that sums are exact.
		total, part := math.Ldexp(float64(rng.Int64N(1<<50)-1<<49), -40),
			math.Ldexp(float64(rng.Int64N(1<<50)-1<<49), -40)
		want, got := make([]uint64, digits), make([]uint64, digits)
		w.Add(want, []float64{total})
		for _, x := range []float64{part, total - part, 0} {
			own := make([]uint64, digits)
			w.Add(own, []float64{x})
			mask.AddTo(got, own, digits)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%v and %v: the words of their sum are %x, those of %v are %x", part, total-part, got, total, want)
		}
	}
}

// TestNearest: a sum is the float64 nearest to the sum of the numbers, ties to even, and a power of two in
// all numbers is a power of two in the sum.
func TestNearest(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	w := NewFixedPoint(9)
	for range 3000 {
		v := make([]float64, 9)
		for i := range v {
			v[i] = math.Ldexp(float64(rng.Uint64()>>11), rng.IntN(8)-60)
			if rng.IntN(4) == 0 {
				v[i] = math.Ldexp(float64(rng.IntN(3)-1), -60) // makes ties, and breaks them
			}
		}
		want, _ := exact(v).Float64()
		if got := sumOf(w, v, rng); got != want {
			t.Fatalf("the sum of %v is %v, want %v", v, got, want)
		}
		for _, shift := range []int{-40, -7, 1, 33, 64} {
			scaled := slices.Clone(v)
			for i := range scaled {
				scaled[i] = math.Ldexp(v[i], shift)
			}
			if got := sumOf(w, scaled, rng); got != math.Ldexp(want, shift) {
				t.Fatalf("times 2^%d the sum of %v is %v, want %v", shift, v, got, math.Ldexp(want, shift))
			}
		}
	}
}
