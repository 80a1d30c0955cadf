package blas_test

import (
	"strings"
	"testing"

	"github.com/difalt/difalt/kernel/blas"
	"github.com/difalt/difalt/kernel/internal/conformance"
)

func TestConformance(t *testing.T) {
	conformance.Sample(t, conformance.Ops{
		MulBasis:        blas.MulBasis,
		MulBasis32:      blas.MulBasis32,
		PackBasis:       blas.PackBasis,
		MulPacked:       blas.MulPacked,
		MulPacked32:     blas.MulPacked32,
		Residual:        blas.Residual,
		MulTransposed:   blas.MulTransposed,
		MulTransposed32: blas.MulTransposed32,
		RankUpdate:      blas.RankUpdate,
		Factor:          blas.Factor,
		FormQ:           blas.FormQ,
		Gram:            blas.Gram,
		SolveUpper:      blas.SolveUpper,
		Combine:         blas.Combine,
	})
}

func TestStride(t *testing.T) {
	for d := range 2000 {
		p, s := blas.Pad(d), blas.Stride(d)
		if p < d || p >= d+8 || p%8 != 0 {
			t.Errorf("Pad(%d) = %d", d, p)
		}
		if s < p || s > p+8 || s%8 != 0 || s > 0 && s%512 == 0 {
			t.Errorf("Stride(%d) = %d", d, s)
		}
	}
}

// Every argument that does not fit is refused before memory is touched.
func TestPanics(t *testing.T) {
	x := make([]float64, 64)
	x32 := make([]float32, 64)
	const d, n, r = 8, 3, 2
	p := make([]float64, blas.PackedLen(d, r))
	for name, f := range map[string]func(){
		"MulBasis, n":        func() { blas.MulBasis(x, n, x, d, x, d, -1, d, r, 0) },
		"MulBasis, d":        func() { blas.MulBasis(x, n, x, d, x, d, n, -1, r, 0) },
		"MulBasis, r":        func() { blas.MulBasis(x, n, x, d, x, d, n, d, -1, 0) },
		"MulBasis, lda":      func() { blas.MulBasis(x, n-1, x, d, x, d, n, d, r, 0) },
		"MulBasis, ldx":      func() { blas.MulBasis(x, n, x, d-1, x, d, n, d, r, 0) },
		"MulBasis, padding":  func() { blas.MulBasis(x, n, x, d, x, d, n, d+1, r, 0) },
		"MulBasis, ldu":      func() { blas.MulBasis(x, n, x, d, x, d-1, n, d, r, 0) },
		"MulBasis, a":        func() { blas.MulBasis(x[:n*r-1], n, x, d, x, d, n, d, r, 0) },
		"MulBasis, x":        func() { blas.MulBasis(x, n, x[:n*d-1], d, x, d, n, d, r, 0) },
		"MulBasis, u":        func() { blas.MulBasis(x, n, x, d, x[:d*r-1], d, n, d, r, 0) },
		"MulBasis32, x":      func() { blas.MulBasis32(x, n, x32[:n*d-1], d, x, d, n, d, r, 0) },
		"MulBasis32, ldx":    func() { blas.MulBasis32(x, n, x32, d-1, x, d, n, d, r, 0) },
		"PackBasis, d":       func() { blas.PackBasis(p, x, d, -1, r) },
		"PackBasis, r":       func() { blas.PackBasis(p, x, d, d, -1) },
		"PackBasis, ldu":     func() { blas.PackBasis(p, x, d-1, d, r) },
		"PackBasis, u":       func() { blas.PackBasis(p, x[:d*r-1], d, d, r) },
		"PackBasis, p":       func() { blas.PackBasis(p[:len(p)-1], x, d, d, r) },
		"MulPacked, n":       func() { blas.MulPacked(x, n, x, d, p, -1, d, r, 0) },
		"MulPacked, r":       func() { blas.MulPacked(x, n, x, d, p, n, d, -1, 0) },
		"MulPacked, lda":     func() { blas.MulPacked(x, n-1, x, d, p, n, d, r, 0) },
		"MulPacked, ldx":     func() { blas.MulPacked(x, n, x, d-1, p, n, d, r, 0) },
		"MulPacked, a":       func() { blas.MulPacked(x[:n*r-1], n, x, d, p, n, d, r, 0) },
		"MulPacked, x":       func() { blas.MulPacked(x, n, x[:n*d-1], d, p, n, d, r, 0) },
		"MulPacked, p":       func() { blas.MulPacked(x, n, x, d, p[:len(p)-1], n, d, r, 0) },
		"MulPacked32, x":     func() { blas.MulPacked32(x, n, x32[:n*d-1], d, p, n, d, r, 0) },
		"MulPacked32, p":     func() { blas.MulPacked32(x, n, x32, d, p[:len(p)-1], n, d, r, 0) },
		"Residual, n":        func() { blas.Residual(x, x, n, x, x, -1, r) },
		"Residual, r":        func() { blas.Residual(x, x, n, x, x, n, -1) },
		"Residual, lda":      func() { blas.Residual(x, x, n-1, x, x, n, r) },
		"Residual, a":        func() { blas.Residual(x, x[:n*r-1], n, x, x, n, r) },
		"Residual, b":        func() { blas.Residual(x, x, n, x[:r-1], x, n, r) },
		"Residual, y":        func() { blas.Residual(x, x, n, x, x[:n-1], n, r) },
		"Residual, e":        func() { blas.Residual(x[:n-1], x, n, x, x, n, r) },
		"MulTransposed, n":   func() { blas.MulTransposed(x, x, d, x, -1, d, 0) },
		"MulTransposed, d":   func() { blas.MulTransposed(x, x, d, x, n, -1, 0) },
		"MulTransposed, ldx": func() { blas.MulTransposed(x, x, d-1, x, n, d, 0) },
		"MulTransposed, v":   func() { blas.MulTransposed(x[:d-1], x, d, x, n, d, 0) },
		"MulTransposed, x":   func() { blas.MulTransposed(x, x[:n*d-1], d, x, n, d, 0) },
		"MulTransposed, e":   func() { blas.MulTransposed(x, x, d, x[:n-1], n, d, 0) },
		"MulTransposed32, x": func() { blas.MulTransposed32(x, x32[:n*d-1], d, x, n, d, 0) },
		"RankUpdate, m":      func() { blas.RankUpdate(x, d, x, d, x, r, -1, d, r) },
		"RankUpdate, d":      func() { blas.RankUpdate(x, d, x, d, x, r, n, -1, r) },
		"RankUpdate, r":      func() { blas.RankUpdate(x, d, x, d, x, r, n, d, -1) },
		"RankUpdate, ldg":    func() { blas.RankUpdate(x, d-1, x, d, x, r, n, d, r) },
		"RankUpdate, ldv":    func() { blas.RankUpdate(x, d, x, d-1, x, r, n, d, r) },
		"RankUpdate, ldb":    func() { blas.RankUpdate(x, d, x, d, x, r-1, n, d, r) },
		"RankUpdate, g":      func() { blas.RankUpdate(x[:d*r-1], d, x, d, x, r, n, d, r) },
		"RankUpdate, v":      func() { blas.RankUpdate(x, d, x[:d*n-1], d, x, r, n, d, r) },
		"RankUpdate, b":      func() { blas.RankUpdate(x, d, x, d, x[:r*n-1], r, n, d, r) },
		"Factor, m":          func() { blas.Factor(x, 1, -1, 0, 0, x, 1, x) },
		"Factor, n":          func() { blas.Factor(x, 1, 1, -1, 0, x, 1, x) },
		"Factor, p":          func() { blas.Factor(x, 4, 4, 2, 3, x, 3, x) },
		"Factor, p < 0":      func() { blas.Factor(x, 4, 4, 2, -1, x, 3, x) },
		"Factor, lda":        func() { blas.Factor(x, 3, 4, 2, 2, x, 2, x) },
		"Factor, ldr":        func() { blas.Factor(x, 4, 4, 2, 2, x, 1, x) },
		"Factor, a":          func() { blas.Factor(x[:7], 4, 4, 2, 2, x, 2, x) },
		"Factor, r":          func() { blas.Factor(x, 4, 4, 2, 2, x[:3], 2, x) },
		"Factor, h":          func() { blas.Factor(x, 4, 4, 2, 2, x, 2, x[:1]) },
		"Gram, m":            func() { blas.Gram(x, 2, x, 4, -1, 2) },
		"Gram, n":            func() { blas.Gram(x, 2, x, 4, 4, -1) },
		"Gram, lda":          func() { blas.Gram(x, 2, x, 3, 4, 2) },
		"Gram, lds":          func() { blas.Gram(x, 1, x, 4, 4, 2) },
		"Gram, a":            func() { blas.Gram(x, 2, x[:7], 4, 4, 2) },
		"Gram, s":            func() { blas.Gram(x[:3], 2, x, 4, 4, 2) },
		"SolveUpper, m":      func() { blas.SolveUpper(x, 4, x, 2, x, -1, 2) },
		"SolveUpper, n":      func() { blas.SolveUpper(x, 4, x, 2, x, 4, -1) },
		"SolveUpper, lda":    func() { blas.SolveUpper(x, 3, x, 2, x, 4, 2) },
		"SolveUpper, ldr":    func() { blas.SolveUpper(x, 4, x, 1, x, 4, 2) },
		"SolveUpper, a":      func() { blas.SolveUpper(x[:7], 4, x, 2, x, 4, 2) },
		"SolveUpper, r":      func() { blas.SolveUpper(x, 4, x[:3], 2, x, 4, 2) },
		"SolveUpper, inv":    func() { blas.SolveUpper(x, 4, x, 2, x[:1], 4, 2) },
		"FormQ, m":           func() { blas.FormQ(x, 1, -1, 0, x) },
		"FormQ, n":           func() { blas.FormQ(x, 4, 4, -1, x) },
		"FormQ, n > m":       func() { blas.FormQ(x, 4, 2, 3, x) },
		"FormQ, lda":         func() { blas.FormQ(x, 3, 4, 2, x) },
		"FormQ, a":           func() { blas.FormQ(x[:7], 4, 4, 2, x) },
		"FormQ, h":           func() { blas.FormQ(x, 4, 4, 2, x[:1]) },
		"Combine, m":         func() { blas.Combine(x, d, x, n, x, d, -1, n, d) },
		"Combine, n":         func() { blas.Combine(x, d, x, n, x, d, r, -1, d) },
		"Combine, cols":      func() { blas.Combine(x, d, x, n, x, d, r, n, -1) },
		"Combine, ldc":       func() { blas.Combine(x, d-1, x, n, x, d, r, n, d) },
		"Combine, ldw":       func() { blas.Combine(x, d, x, n-1, x, d, r, n, d) },
		"Combine, ldz":       func() { blas.Combine(x, d, x, n, x, d-1, r, n, d) },
		"Combine, c":         func() { blas.Combine(x[:r*d-1], d, x, n, x, d, r, n, d) },
		"Combine, w":         func() { blas.Combine(x, d, x[:r*n-1], n, x, d, r, n, d) },
		"Combine, z":         func() { blas.Combine(x, d, x, n, x[:n*d-1], d, r, n, d) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if msg, ok := recover().(string); !ok || !strings.HasPrefix(msg, "blas: ") {
					t.Errorf("panic %q, want a message of the package", msg)
				}
			}()
			f()
		})
	}
}

func TestDoesNotAllocate(t *testing.T) {
	x, y, z := make([]float64, 4096), make([]float64, 4096), make([]float64, 4096)
	x32 := make([]float32, 4096)
	for i := range x {
		x[i], x32[i], z[i] = float64(i%7), float32(i%5), float64(i%11)
	}
	conformance.EachTier(t, func(t *testing.T) {
		for name, f := range map[string]func(){
			"MulBasis":        func() { blas.MulBasis(y, 30, x, 40, z, 40, 30, 40, 4, 0) },
			"MulBasis32":      func() { blas.MulBasis32(y, 30, x32, 40, z, 40, 30, 40, 4, 0) },
			"Residual":        func() { blas.Residual(y, x, 30, z, z, 30, 4) },
			"MulTransposed":   func() { blas.MulTransposed(y, x, 40, z, 30, 40, 0) },
			"MulTransposed32": func() { blas.MulTransposed32(y, x32, 40, z, 30, 40, 0) },
			"RankUpdate":      func() { blas.RankUpdate(y, 40, x, 40, z, 4, 8, 40, 4) },
			"Factor":          func() { blas.Factor(y, 30, 30, 4, 4, x[:16], 4, z) },
			"Gram":            func() { blas.Gram(x[:16], 4, y, 30, 30, 4) },
			"SolveUpper":      func() { blas.SolveUpper(y, 30, x[:16], 4, z, 30, 4) },
			"FormQ":           func() { blas.FormQ(y, 30, 30, 4, z) },
			"Combine":         func() { blas.Combine(y, 40, x, 5, z, 40, 7, 5, 40) },
		} {
			if n := testing.AllocsPerRun(5, f); n != 0 {
				t.Errorf("%s: %g allocations", name, n)
			}
		}
	})
}
