package collective

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/difalt/difalt/internal/pads"
)

// sumIn adds numbers up in a window, as so many nodes do, with masks that cancel.
func sumIn(w *window, v []float64, masks *rand.Rand) float64 {
	total := make([]uint64, w.digits)
	for _, x := range v {
		d := make([]uint64, w.digits)
		w.add(d, []float64{x}, 0)
		pad := make([]uint64, w.digits)
		for k := range pad {
			pad[k] = masks.Uint64()
		}
		pads.AddTo(d, pad, w.digits)
		pads.AddTo(total, d, w.digits)
		pads.SubFrom(total, pad, w.digits)
	}
	return w.decode(total)
}

// exact returns the sum of numbers, each rounded to a multiple of 2^low, by arithmetic without
// rounding.
func exact(v []float64, low int) *big.Float {
	sum := new(big.Float).SetPrec(2000)
	for _, x := range v {
		scaled := new(big.Float).SetPrec(2000).SetMantExp(big.NewFloat(x), -low)
		sum.Add(sum, scaled)
	}
	return sum.SetMantExp(sum, low)
}

// TestWindow: sums are those of exact arithmetic, to the last but one of 53 bits, whatever the
// order of numbers and however they cancel; numbers below the window count as what they are
// rounded to.
func TestWindow(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, nodes := range []int{2, 3, 8, 9, 100, 1000, 10000, 1 << 17} {
		for _, w := range []window{newWindow(digits, top, nodes), newWindow(wideDigits, wideTop, nodes)} {
			for trial := range 300 {
				n := min(nodes, 50)
				v := make([]float64, n)
				for i := range v {
					// Magnitudes over the whole window, or near one another.
					e := w.low - 5 + rng.IntN(w.top-w.low+5)
					if trial%2 == 0 {
						e = w.low + 60 + rng.IntN(5)
					}
					v[i] = math.Ldexp(rng.Float64()*2-1, e)
					if i > 0 && trial%3 == 0 { // cancels to few bits
						v[i] = -v[i-1] * (1 + 0x1p-40*rng.NormFloat64())
						if math.Abs(v[i]) >= math.Ldexp(1, w.top) {
							v[i] = -v[i-1]
						}
					}
				}
				got := sumIn(&w, v, rng)
				want := exact(v, w.low)
				off := new(big.Float).SetPrec(2000).SetFloat64(got)
				off.Sub(off, want)
				size, _ := want.Float64()
				error, _ := off.Abs(off).Float64()
				// A unit of the window a number, and two roundings of the result.
				if most := float64(n)*math.Ldexp(1, w.low) + math.Abs(size)*0x1p-52; error > most {
					t.Fatalf("%d nodes, %d digits: %v, off by %v, at most %v", nodes, w.digits, got, error, most)
				}
				// In the other order: the same bits.
				for i, j := 0, n-1; i < j; i, j = i+1, j-1 {
					v[i], v[j] = v[j], v[i]
				}
				if again := sumIn(&w, v, rng); again != got {
					t.Fatalf("%d nodes: %v in one order, %v in the other", nodes, got, again)
				}
			}
			// As many of the largest as there are nodes, of either sign.
			largest := math.Nextafter(math.Ldexp(1, w.top), 0)
			for _, x := range []float64{largest, -largest} {
				d, total := make([]uint64, w.digits), make([]uint64, w.digits)
				w.add(d, []float64{x}, 0)
				for range nodes {
					pads.AddTo(total, d, w.digits)
				}
				if got, want := w.decode(total), x*float64(nodes); math.Abs(got-want) > math.Abs(want)*0x1p-52 {
					t.Errorf("%d nodes with %v have %v in all, want %v", nodes, x, got, want)
				}
			}
		}
	}
}

// TestWindowIntegers: sums of integers up to 2^53 are exact.
func TestWindowIntegers(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, nodes := range []int{2, 20, 5000} {
		w := newWindow(digits, top, nodes)
		for range 1000 {
			v, want := make([]float64, 20), int64(0)
			for i := range v {
				x := rng.Int64N(1<<48) >> rng.IntN(48)
				if rng.IntN(2) == 0 {
					x = -x
				}
				v[i], want = float64(x), want+x
			}
			if got := sumIn(&w, v, rng); got != float64(want) {
				t.Fatalf("%v, want %d", got, want)
			}
		}
	}
}

// TestVotes: a sum is right if and only if no number is too large and the largest has all its
// bits.
func TestVotes(t *testing.T) {
	w := newWindow(digits, top, 5)
	fine, tiny, huge := math.Ldexp(1, w.low+significandBits-1), math.Ldexp(0.99, w.low+significandBits-1), math.Ldexp(1, w.top)
	for _, x := range []struct {
		largest []float64
		want    bool
	}{
		{nil, true}, {[]float64{0, 0}, true}, {[]float64{fine, 0}, true}, {[]float64{tiny, fine, tiny}, true}, {[]float64{1, 0x1p55}, true},
		{[]float64{tiny, 0}, false}, {[]float64{1, huge}, false}, {[]float64{math.MaxFloat64}, false}, {[]float64{5e-324}, false},
	} {
		votes := make([]uint64, voteKinds)
		for _, v := range x.largest {
			own := make([]uint64, voteKinds)
			w.vote(own, v)
			pads.AddTo(votes, own, 1)
		}
		if got := fits(votes); got != x.want {
			t.Errorf("%v: %v", x.largest, got)
		}
	}
}

// TestTotalOnly: of numbers whose sums are the same the words of the sums are, too, whatever the
// numbers, their signs and their digits: nodes that see them learn nothing else.
func TestTotalOnly(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for _, w := range []window{newWindow(digits, top, 3), newWindow(wideDigits, wideTop, 3)} {
		for range 1000 {
			// Multiples of 2^-40, so that sums are exact.
			total, part := math.Ldexp(float64(rng.Int64N(1<<50)-1<<49), -40), math.Ldexp(float64(rng.Int64N(1<<50)-1<<49), -40)
			want, got := make([]uint64, w.digits), make([]uint64, w.digits)
			w.add(want, []float64{total}, 0)
			for _, x := range []float64{part, total - part, 0} {
				own := make([]uint64, w.digits)
				w.add(own, []float64{x}, 0)
				pads.AddTo(got, own, w.digits)
			}
			if !slices.Equal(got, want) {
				t.Fatalf("%v and %v: the words of their sum are %x, those of %v are %x", part, total-part, got, total, want)
			}
		}
	}
}

func BenchmarkAdd(b *testing.B) {
	w := newWindow(digits, top, 8)
	v := make([]float64, 1000)
	for k := range v {
		v[k] = float64(k) - 500.3
	}
	words := make([]uint64, len(v)*w.digits)
	for b.Loop() {
		w.add(words, v, 0)
	}
}
