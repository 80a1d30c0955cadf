package blas_test

import (
	"math"
	"slices"
	"testing"

	"github.com/difalt/difalt/internal/tiertest"
	"github.com/difalt/difalt/kernel/blas"
)

// The norm and the sum of absolute values have no overflow on the way, and are NaN if an entry is.
func TestNorms32(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	for _, c := range []struct{ value, first, norm float32 }{
		{1e30, 1e30, 2e31}, {0x1p-140, 0x1p-140, 20 * 0x1p-140}, {3e38, 3e38, inf}, {0, 0, 0}, {1, -inf, inf}, {1, nan, nan}, {inf, nan, nan},
	} {
		x := slices.Repeat([]float32{c.value}, 400)
		x[0] = c.first
		got := blas.Implementation{}.Snrm2(400, x, 1)
		if !(math.Abs(float64(got-c.norm)) <= 1e-6*float64(c.norm)+1e-45 || got == c.norm || got != got && c.norm != c.norm) {
			t.Errorf("norm of %v and 399 times %v: %v, want %v", c.first, c.value, got, c.norm)
		}
		if sum := (blas.Implementation{}).Sasum(400, x, 1); (sum != sum) != (c.first != c.first) {
			t.Errorf("sum of |%v| and 399 times |%v|: %v", c.first, c.value, sum)
		}
	}
}

// NaN in a row of A makes that row of C NaN, infinity an infinity or NaN, and neither reaches another row.
func TestSgemmNotFinite(t *testing.T) {
	tiertest.Each(t, func(t *testing.T) {
		const m, n, k = 30, 40, 20
		a, b, c := slices.Repeat([]float32{1}, m*k), slices.Repeat([]float32{2}, k*n), make([]float32, m*n)
		a[3*k+5], a[4*k+6] = float32(math.NaN()), float32(math.Inf(-1))
		blas.Implementation{}.Sgemm('N', 'N', m, n, k, 1, a, k, b, n, 0, c, n)
		for i, v := range c {
			want := map[int]float32{3: float32(math.NaN()), 4: float32(math.Inf(-1))}[i/n]
			if want == 0 {
				want = 2 * k
			}
			if v != want && (v == v || want == want) {
				t.Fatalf("row %d is %v, want %v", i/n, v, want)
			}
		}
	})
}
