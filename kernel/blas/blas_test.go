package blas_test

import (
	"strings"
	"testing"

	"github.com/difalt/difalt/kernel/blas"
	"github.com/difalt/difalt/kernel/internal/tiertest"
)

func of(rows, cols, stride int, data []float64) blas.Matrix {
	return blas.Matrix{Rows: rows, Cols: cols, Stride: stride, Data: data}
}

// Every argument that does not fit is refused before memory is touched.
func TestPanics(t *testing.T) {
	const d, n, r = 8, 3, 2
	x := make([]float64, 64)
	of := func(rows, cols int) blas.Matrix { return of(rows, cols, max(rows, 1), x) }
	// stride returns a with a stride that is too small, and short with too few entries.
	stride := func(a blas.Matrix) blas.Matrix {
		a.Stride--
		return a
	}
	short := func(a blas.Matrix) blas.Matrix {
		a.Data = a.Data[:(a.Cols-1)*a.Stride+a.Rows-1]
		return a
	}
	for name, f := range map[string]func(){
		"GemmTN, stride of a":  func() { blas.GemmTN(stride(of(d, n)), of(d, r), of(n, r)) },
		"GemmTN, short of a":   func() { blas.GemmTN(short(of(d, n)), of(d, r), of(n, r)) },
		"GemmTN, rows of a":    func() { blas.GemmTN(of(d+1, n), of(d, r), of(n, r)) },
		"GemmTN, columns of a": func() { blas.GemmTN(of(d, n+1), of(d, r), of(n, r)) },
		"GemmTN, stride of b":  func() { blas.GemmTN(of(d, n), stride(of(d, r)), of(n, r)) },
		"GemmTN, short of b":   func() { blas.GemmTN(of(d, n), short(of(d, r)), of(n, r)) },
		"GemmTN, rows of b":    func() { blas.GemmTN(of(d, n), of(d+1, r), of(n, r)) },
		"GemmTN, columns of b": func() { blas.GemmTN(of(d, n), of(d, r+1), of(n, r)) },
		"GemmTN, stride of c":  func() { blas.GemmTN(of(d, n), of(d, r), stride(of(n, r))) },
		"GemmTN, short of c":   func() { blas.GemmTN(of(d, n), of(d, r), short(of(n, r))) },
		"GemmTN, rows of c":    func() { blas.GemmTN(of(d, n), of(d, r), of(n+1, r)) },
		"GemmTN, columns of c": func() { blas.GemmTN(of(d, n), of(d, r), of(n, r+1)) },
		"GemmTN, d < 0":        func() { blas.GemmTN(of(-1, n), of(-1, r), of(n, r)) },
		"GemmTN, n < 0":        func() { blas.GemmTN(of(d, -1), of(d, r), of(-1, r)) },
		"GemmTN, r < 0":        func() { blas.GemmTN(of(d, n), of(d, -1), of(n, -1)) },
		"GemmNT, stride of a":  func() { blas.GemmNT(stride(of(d, n)), of(r, n), of(d, r)) },
		"GemmNT, short of a":   func() { blas.GemmNT(short(of(d, n)), of(r, n), of(d, r)) },
		"GemmNT, rows of a":    func() { blas.GemmNT(of(d+1, n), of(r, n), of(d, r)) },
		"GemmNT, columns of a": func() { blas.GemmNT(of(d, n+1), of(r, n), of(d, r)) },
		"GemmNT, stride of b":  func() { blas.GemmNT(of(d, n), stride(of(r, n)), of(d, r)) },
		"GemmNT, short of b":   func() { blas.GemmNT(of(d, n), short(of(r, n)), of(d, r)) },
		"GemmNT, rows of b":    func() { blas.GemmNT(of(d, n), of(r+1, n), of(d, r)) },
		"GemmNT, columns of b": func() { blas.GemmNT(of(d, n), of(r, n+1), of(d, r)) },
		"GemmNT, stride of c":  func() { blas.GemmNT(of(d, n), of(r, n), stride(of(d, r))) },
		"GemmNT, short of c":   func() { blas.GemmNT(of(d, n), of(r, n), short(of(d, r))) },
		"GemmNT, rows of c":    func() { blas.GemmNT(of(d, n), of(r, n), of(d+1, r)) },
		"GemmNT, columns of c": func() { blas.GemmNT(of(d, n), of(r, n), of(d, r+1)) },
		"GemmNT, d < 0":        func() { blas.GemmNT(of(-1, n), of(r, n), of(-1, r)) },
		"GemmNT, n < 0":        func() { blas.GemmNT(of(d, -1), of(r, -1), of(d, r)) },
		"GemmNT, r < 0":        func() { blas.GemmNT(of(d, n), of(-1, n), of(d, -1)) },
		"GemmNN, stride of a":  func() { blas.GemmNN(stride(of(d, n)), of(n, r), of(d, r)) },
		"GemmNN, short of a":   func() { blas.GemmNN(short(of(d, n)), of(n, r), of(d, r)) },
		"GemmNN, rows of a":    func() { blas.GemmNN(of(d+1, n), of(n, r), of(d, r)) },
		"GemmNN, columns of a": func() { blas.GemmNN(of(d, n+1), of(n, r), of(d, r)) },
		"GemmNN, stride of b":  func() { blas.GemmNN(of(d, n), stride(of(n, r)), of(d, r)) },
		"GemmNN, short of b":   func() { blas.GemmNN(of(d, n), short(of(n, r)), of(d, r)) },
		"GemmNN, rows of b":    func() { blas.GemmNN(of(d, n), of(n+1, r), of(d, r)) },
		"GemmNN, columns of b": func() { blas.GemmNN(of(d, n), of(n, r+1), of(d, r)) },
		"GemmNN, stride of c":  func() { blas.GemmNN(of(d, n), of(n, r), stride(of(d, r))) },
		"GemmNN, short of c":   func() { blas.GemmNN(of(d, n), of(n, r), short(of(d, r))) },
		"GemmNN, rows of c":    func() { blas.GemmNN(of(d, n), of(n, r), of(d+1, r)) },
		"GemmNN, columns of c": func() { blas.GemmNN(of(d, n), of(n, r), of(d, r+1)) },
		"GemmNN, d < 0":        func() { blas.GemmNN(of(-1, n), of(n, r), of(-1, r)) },
		"GemmNN, n < 0":        func() { blas.GemmNN(of(d, -1), of(-1, r), of(d, r)) },
		"GemmNN, r < 0":        func() { blas.GemmNN(of(d, n), of(n, -1), of(d, -1)) },
		"Syrk, stride of a":    func() { blas.Syrk(stride(of(d, r)), of(r, r)) },
		"Syrk, short of a":     func() { blas.Syrk(short(of(d, r)), of(r, r)) },
		"Syrk, columns of a":   func() { blas.Syrk(of(d, r+1), of(r, r)) },
		"Syrk, stride of c":    func() { blas.Syrk(of(d, r), stride(of(r, r))) },
		"Syrk, short of c":     func() { blas.Syrk(of(d, r), short(of(r, r))) },
		"Syrk, rows of c":      func() { blas.Syrk(of(d, r), of(r+1, r)) },
		"Syrk, columns of c":   func() { blas.Syrk(of(d, r), of(r, r+1)) },
		"Syrk, d < 0":          func() { blas.Syrk(of(-1, r), of(r, r)) },
		"Syrk, r < 0":          func() { blas.Syrk(of(d, -1), of(-1, -1)) },
		"GemmTN, padding of a": func() { blas.GemmTN(of(d-1, n), of(d-1, r), of(n, r)) },
		"GemmNT, padding of c": func() { blas.GemmNT(of(d-1, n), of(r, n), of(d-1, r)) },
		"GemvN, n < 0":         func() { blas.GemvN(of(d, -1), x, x) },
		"GemvN, d < 0":         func() { blas.GemvN(of(-1, n), x, x) },
		"GemvN, stride":        func() { blas.GemvN(stride(of(d, n)), x, x) },
		"GemvN, padding":       func() { blas.GemvN(of(d-1, n), x, x) },
		"GemvN, short a":       func() { blas.GemvN(short(of(d, n)), x, x) },
		"GemvN, x":             func() { blas.GemvN(of(d, n), x[:n-1], x) },
		"GemvN, y":             func() { blas.GemvN(of(d, n), x, x[:d-1]) },
		"Residual, n < 0":      func() { blas.Residual(of(-1, r), x, x, x) },
		"Residual, r < 0":      func() { blas.Residual(of(n, -1), x, x, x) },
		"Residual, stride":     func() { blas.Residual(stride(of(n, r)), x, x, x) },
		"Residual, short a":    func() { blas.Residual(short(of(n, r)), x, x, x) },
		"Residual, x":          func() { blas.Residual(of(n, r), x[:r-1], x, x) },
		"Residual, y":          func() { blas.Residual(of(n, r), x, x[:n-1], x) },
		"Residual, e":          func() { blas.Residual(of(n, r), x, x, x[:n-1]) },
		"Trsm, rows of r":      func() { blas.Trsm(of(r+1, r), x, of(d, r)) },
		"Trsm, columns of r":   func() { blas.Trsm(of(r, r+1), x, of(d, r)) },
		"Trsm, d < 0":          func() { blas.Trsm(of(r, r), x, of(-1, r)) },
		"Trsm, r < 0":          func() { blas.Trsm(of(-1, -1), x, of(d, -1)) },
		"Trsm, stride of r":    func() { blas.Trsm(stride(of(r, r)), x, of(d, r)) },
		"Trsm, stride of b":    func() { blas.Trsm(of(r, r), x, stride(of(d, r))) },
		"Trsm, short r":        func() { blas.Trsm(short(of(r, r)), x, of(d, r)) },
		"Trsm, short b":        func() { blas.Trsm(of(r, r), x, short(of(d, r))) },
		"Trsm, inv":            func() { blas.Trsm(of(r, r), x[:r-1], of(d, r)) },
		"Geqrf, wide":          func() { blas.Geqrf(of(r, n), of(n, n), x) },
		"Geqrf, n < 0":         func() { blas.Geqrf(of(n, -1), of(-1, -1), x) },
		"Geqrf, rows of r":     func() { blas.Geqrf(of(n, r), of(r+1, r), x) },
		"Geqrf, columns of r":  func() { blas.Geqrf(of(n, r), of(r, r+1), x) },
		"Geqrf, stride of a":   func() { blas.Geqrf(stride(of(n, r)), of(r, r), x) },
		"Geqrf, stride of r":   func() { blas.Geqrf(of(n, r), stride(of(r, r)), x) },
		"Geqrf, short a":       func() { blas.Geqrf(short(of(n, r)), of(r, r), x) },
		"Geqrf, short r":       func() { blas.Geqrf(of(n, r), short(of(r, r)), x) },
		"Geqrf, h":             func() { blas.Geqrf(of(n, r), of(r, r), x[:r-1]) },
		"Orgqr, wide":          func() { blas.Orgqr(of(r, n), x) },
		"Orgqr, n < 0":         func() { blas.Orgqr(of(n, -1), x) },
		"Orgqr, stride":        func() { blas.Orgqr(stride(of(n, r)), x) },
		"Orgqr, short a":       func() { blas.Orgqr(short(of(n, r)), x) },
		"Orgqr, h":             func() { blas.Orgqr(of(n, r), x[:r-1]) },
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
	for i := range x {
		x[i], z[i] = float64(i%7), float64(i%11)
	}
	tiertest.Each(t, func(t *testing.T) {
		for name, f := range map[string]func(){
			"GemmTN":   func() { blas.GemmTN(of(40, 30, 40, x), of(40, 4, 40, z), of(30, 4, 30, y)) },
			"GemmNT":   func() { blas.GemmNT(of(40, 8, 40, x), of(4, 8, 4, z), of(40, 4, 40, y)) },
			"GemmNN":   func() { blas.GemmNN(of(40, 5, 40, z), of(5, 7, 5, x), of(40, 7, 40, y)) },
			"GemvN":    func() { blas.GemvN(of(40, 30, 40, x), z, y) },
			"Residual": func() { blas.Residual(of(30, 4, 30, x), z, z, y) },
			"Geqrf":    func() { blas.Geqrf(of(30, 4, 30, y), of(4, 4, 4, x[:16]), z) },
			"Orgqr":    func() { blas.Orgqr(of(30, 4, 30, y), z) },
			"Syrk":     func() { blas.Syrk(of(30, 4, 30, y), of(4, 4, 4, x[:16])) },
			"Trsm":     func() { blas.Trsm(of(4, 4, 4, x[:16]), z, of(30, 4, 30, y)) },
		} {
			if n := testing.AllocsPerRun(5, f); n != 0 {
				t.Errorf("%s: %g allocations", name, n)
			}
		}
	})
}

func TestVectors(t *testing.T) {
	y := []float64{1, 2, 3}
	blas.Axpy(2, []float64{1, -1}, y)
	if y[0] != 3 || y[1] != 0 || y[2] != 3 {
		t.Errorf("Axpy: %v", y)
	}
	if got := blas.Dot([]float64{1, 2}, y[1:]); got != 6 {
		t.Errorf("Dot: %v, want 6", got)
	}
}
