package blas_test

import (
	"math/rand/v2"
	"testing"

	"github.com/difalt/difalt/internal/tiertest"
	"github.com/difalt/difalt/kernel/blas"
)

// TestGebrd: Q B P' is the reduced matrix, tall, square or wide, with one panel and with many. Matrices have
// dependent columns, zeros, and numbers whose squares overflow or underflow.
func TestGebrd(t *testing.T) {
	tiertest.Each(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(75, 76))
		for _, shape := range [][2]int{{1, 1}, {1, 4}, {4, 1}, {63, 63}, {64, 64}, {65, 64}, {70, 90}, {90, 70},
			{66, 131}, {200, 65}, {131, 131}} {
			m, n := shape[0], shape[1]
			for name, of := range map[string]func(a *rowMajor){
				"normal": func(*rowMajor) {},
				"zero":   func(a *rowMajor) { a.multiplyBy(0) },
				"huge":   func(a *rowMajor) { a.multiplyBy(0x1p700) },
				"tiny":   func(a *rowMajor) { a.multiplyBy(0x1p-1000) },
				"dependent": func(a *rowMajor) {
					for i := range m {
						for j := n / 2; j < n; j++ {
							a.data[i*a.stride+j] = a.data[i*a.stride+j/2]
						}
					}
				},
			} {
				a := random(rng, m, n, 3)
				of(a)
				if err := checkReduction(a); err != "" {
					t.Errorf("%s, %d x %d: %s", name, m, n, err)
				}
			}
		}
	})
}

// multiplyBy multiplies all entries by a number.
func (m *rowMajor) multiplyBy(by float64) {
	for i := range m.rows {
		for j := range m.cols {
			m.data[i*m.stride+j] *= by
		}
	}
}

func checkReduction(a *rowMajor) string {
	m, n, k := a.rows, a.cols, min(a.rows, a.cols)
	d, e, tauQ, tauP := make([]float64, k), make([]float64, k), make([]float64, k), make([]float64, k)
	b, work := a.clone(), make([]float64, 64*(m+n))
	blas.Lapack{}.Dgebrd(m, n, b.data, b.stride, d, e[:k-1], tauQ, tauP, work, len(work))
	if b.unguarded() {
		return "wrote between rows"
	}
	b = b.part(m, n)
	var q, p *rowMajor
	bidiagonal := &rowMajor{k, k, k, make([]float64, k*k)}
	for i, v := range d {
		bidiagonal.data[i*(k+1)] = v
	}
	for i, v := range e[:k-1] {
		if m >= n {
			bidiagonal.data[i*(k+1)+1] = v
		} else {
			bidiagonal.data[i*(k+1)+k] = v
		}
	}
	if m >= n {
		q, p = reflected(b, 0, m, tauQ), reflected(b.part(n, n).transposed(), 1, n, tauP[:k-1])
	} else {
		q, p = reflected(b.part(m, m), 1, m, tauQ[:k-1]), reflected(b.transposed(), 0, n, tauP)
	}
	if off := q.part(m, k).times(bidiagonal).times(p.part(n, k).transposed()).off(a); !(off <= 1e-13) {
		return "Q B P' is off"
	}
	return ""
}
