package blas_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/difalt/difalt/kernel/blas"
	"github.com/difalt/difalt/kernel/internal/tiertest"
)

func of(rows, cols, stride int, data []float64) blas.ColumnMajor {
	return blas.ColumnMajor{Rows: rows, Cols: cols, Stride: stride, Data: data}
}

// Every argument that does not fit is refused before memory is touched.
func TestPanics(t *testing.T) {
	const d, n, r = 8, 3, 2
	x := make([]float64, 64)
	of := func(rows, cols int) blas.ColumnMajor { return of(rows, cols, max(rows, 1), x) }
	// stride returns a with a stride that is too small, and short with too few entries.
	stride := func(a blas.ColumnMajor) blas.ColumnMajor {
		a.Stride--
		return a
	}
	short := func(a blas.ColumnMajor) blas.ColumnMajor {
		a.Data = a.Data[:(a.Cols-1)*a.Stride+a.Rows-1]
		return a
	}
	for name, f := range map[string]func(){
		"MulTN, stride of a":         func() { blas.MulTN(of(n, r), stride(of(d, n)), of(d, r)) },
		"MulTN, short of a":          func() { blas.MulTN(of(n, r), short(of(d, n)), of(d, r)) },
		"MulTN, rows of a":           func() { blas.MulTN(of(n, r), of(d+1, n), of(d, r)) },
		"MulTN, columns of a":        func() { blas.MulTN(of(n, r), of(d, n+1), of(d, r)) },
		"MulTN, stride of b":         func() { blas.MulTN(of(n, r), of(d, n), stride(of(d, r))) },
		"MulTN, short of b":          func() { blas.MulTN(of(n, r), of(d, n), short(of(d, r))) },
		"MulTN, rows of b":           func() { blas.MulTN(of(n, r), of(d, n), of(d+1, r)) },
		"MulTN, columns of b":        func() { blas.MulTN(of(n, r), of(d, n), of(d, r+1)) },
		"MulTN, stride of c":         func() { blas.MulTN(stride(of(n, r)), of(d, n), of(d, r)) },
		"MulTN, short of c":          func() { blas.MulTN(short(of(n, r)), of(d, n), of(d, r)) },
		"MulTN, rows of c":           func() { blas.MulTN(of(n+1, r), of(d, n), of(d, r)) },
		"MulTN, columns of c":        func() { blas.MulTN(of(n, r+1), of(d, n), of(d, r)) },
		"MulTN, d < 0":               func() { blas.MulTN(of(n, r), of(-1, n), of(-1, r)) },
		"MulTN, n < 0":               func() { blas.MulTN(of(-1, r), of(d, -1), of(d, r)) },
		"MulTN, r < 0":               func() { blas.MulTN(of(n, -1), of(d, n), of(d, -1)) },
		"AddMulNT, stride of a":      func() { blas.AddMulNT(of(d, r), stride(of(d, n)), of(r, n)) },
		"AddMulNT, short of a":       func() { blas.AddMulNT(of(d, r), short(of(d, n)), of(r, n)) },
		"AddMulNT, rows of a":        func() { blas.AddMulNT(of(d, r), of(d+1, n), of(r, n)) },
		"AddMulNT, columns of a":     func() { blas.AddMulNT(of(d, r), of(d, n+1), of(r, n)) },
		"AddMulNT, stride of b":      func() { blas.AddMulNT(of(d, r), of(d, n), stride(of(r, n))) },
		"AddMulNT, short of b":       func() { blas.AddMulNT(of(d, r), of(d, n), short(of(r, n))) },
		"AddMulNT, rows of b":        func() { blas.AddMulNT(of(d, r), of(d, n), of(r+1, n)) },
		"AddMulNT, columns of b":     func() { blas.AddMulNT(of(d, r), of(d, n), of(r, n+1)) },
		"AddMulNT, stride of c":      func() { blas.AddMulNT(stride(of(d, r)), of(d, n), of(r, n)) },
		"AddMulNT, short of c":       func() { blas.AddMulNT(short(of(d, r)), of(d, n), of(r, n)) },
		"AddMulNT, rows of c":        func() { blas.AddMulNT(of(d+1, r), of(d, n), of(r, n)) },
		"AddMulNT, columns of c":     func() { blas.AddMulNT(of(d, r+1), of(d, n), of(r, n)) },
		"AddMulNT, d < 0":            func() { blas.AddMulNT(of(-1, r), of(-1, n), of(r, n)) },
		"AddMulNT, n < 0":            func() { blas.AddMulNT(of(d, r), of(d, -1), of(r, -1)) },
		"AddMulNT, r < 0":            func() { blas.AddMulNT(of(d, -1), of(d, n), of(-1, n)) },
		"MulNN, stride of a":         func() { blas.MulNN(of(d, r), stride(of(d, n)), of(n, r)) },
		"MulNN, short of a":          func() { blas.MulNN(of(d, r), short(of(d, n)), of(n, r)) },
		"MulNN, rows of a":           func() { blas.MulNN(of(d, r), of(d+1, n), of(n, r)) },
		"MulNN, columns of a":        func() { blas.MulNN(of(d, r), of(d, n+1), of(n, r)) },
		"MulNN, stride of b":         func() { blas.MulNN(of(d, r), of(d, n), stride(of(n, r))) },
		"MulNN, short of b":          func() { blas.MulNN(of(d, r), of(d, n), short(of(n, r))) },
		"MulNN, rows of b":           func() { blas.MulNN(of(d, r), of(d, n), of(n+1, r)) },
		"MulNN, columns of b":        func() { blas.MulNN(of(d, r), of(d, n), of(n, r+1)) },
		"MulNN, stride of c":         func() { blas.MulNN(stride(of(d, r)), of(d, n), of(n, r)) },
		"MulNN, short of c":          func() { blas.MulNN(short(of(d, r)), of(d, n), of(n, r)) },
		"MulNN, rows of c":           func() { blas.MulNN(of(d+1, r), of(d, n), of(n, r)) },
		"MulNN, columns of c":        func() { blas.MulNN(of(d, r+1), of(d, n), of(n, r)) },
		"MulNN, d < 0":               func() { blas.MulNN(of(-1, r), of(-1, n), of(n, r)) },
		"MulNN, n < 0":               func() { blas.MulNN(of(d, r), of(d, -1), of(-1, r)) },
		"MulNN, r < 0":               func() { blas.MulNN(of(d, -1), of(d, n), of(n, -1)) },
		"MulVec, n < 0":              func() { blas.MulVec(x, of(d, -1), x) },
		"MulVec, d < 0":              func() { blas.MulVec(x, of(-1, n), x) },
		"MulVec, stride":             func() { blas.MulVec(x, stride(of(d, n)), x) },
		"MulVec, short a":            func() { blas.MulVec(x, short(of(d, n)), x) },
		"MulVec, x":                  func() { blas.MulVec(x, of(d, n), x[:n-1]) },
		"MulVec, y":                  func() { blas.MulVec(x[:d-1], of(d, n), x) },
		"SumDifferences, d < 0":      func() { blas.SumDifferences(x, of(-1, n), 0, nil, nil) },
		"SumDifferences, stride":     func() { blas.SumDifferences(x, stride(of(d, n)), 0, nil, nil) },
		"SumDifferences, padding":    func() { blas.SumDifferences(x, of(d-1, n), 0, nil, nil) },
		"SumDifferences, short a":    func() { blas.SumDifferences(x, short(of(d, n)), 0, nil, nil) },
		"SumDifferences, own":        func() { blas.SumDifferences(x, of(d, n), n, nil, nil) },
		"SumDifferences, own < 0":    func() { blas.SumDifferences(x, of(d, n), -1, nil, nil) },
		"SumDifferences, column":     func() { blas.SumDifferences(x, of(d, n), 0, []int{1, n}, x) },
		"SumDifferences, column < 0": func() { blas.SumDifferences(x, of(d, n), 0, []int{-1}, x) },
		"SumDifferences, w":          func() { blas.SumDifferences(x, of(d, n), 0, []int{1, 1}, x[:1]) },
		"SumDifferences, dst":        func() { blas.SumDifferences(x[:d-1], of(d, n), 0, nil, nil) },
		"Dot, y":                     func() { blas.Dot(x, x[1:]) },
		"Axpy, y":                    func() { blas.Axpy(1, x, x[1:]) },
		"Residual, n < 0":            func() { blas.Residual(x, of(-1, r), x, x) },
		"Residual, r < 0":            func() { blas.Residual(x, of(n, -1), x, x) },
		"Residual, stride":           func() { blas.Residual(x, stride(of(n, r)), x, x) },
		"Residual, short a":          func() { blas.Residual(x, short(of(n, r)), x, x) },
		"Residual, x":                func() { blas.Residual(x, of(n, r), x[:r-1], x) },
		"Residual, y":                func() { blas.Residual(x, of(n, r), x, x[:n-1]) },
		"Residual, e":                func() { blas.Residual(x[:n-1], of(n, r), x, x) },
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
			"MulTN":    func() { blas.MulTN(of(30, 4, 30, y), of(40, 30, 40, x), of(40, 4, 40, z)) },
			"AddMulNT": func() { blas.AddMulNT(of(40, 4, 40, y), of(40, 8, 40, x), of(4, 8, 4, z)) },
			"MulNN":    func() { blas.MulNN(of(40, 7, 40, y), of(40, 5, 40, z), of(5, 7, 5, x)) },
			"MulVec":   func() { blas.MulVec(y, of(40, 30, 40, x), z) },
			"Residual": func() { blas.Residual(y, of(30, 4, 30, x), z, z) },
		} {
			if n := testing.AllocsPerRun(5, f); n != 0 {
				t.Errorf("%s: %g allocations", name, n)
			}
		}
	})
}

// Products take matrices of any number of rows, and neither read nor write what is between columns.
func TestUnpadded(t *testing.T) {
	const most, cols, gap = 20, 3, 2
	rng := rand.New(rand.NewPCG(21, 22))
	tiertest.Each(t, func(t *testing.T) {
		for d := range most {
			matrix := func(cols int) *rowMajor { return random(rng, cols, d, gap) } // whose rows are columns here
			columns := func(m *rowMajor) blas.ColumnMajor { return of(m.cols, m.rows, m.stride, m.data) }
			a, b, c, w := matrix(cols), matrix(2), matrix(2), random(rng, cols, 2, 0)
			product, v := random(rng, 2, cols, 0), make([]float64, d)
			blas.MulTN(columns(product), columns(a), columns(b))
			sum := c.clone()
			blas.AddMulNT(columns(sum), columns(a), columns(w))
			blas.MulVec(v, columns(a), product.data[:cols])
			if sum.unguarded() {
				t.Errorf("d = %d: wrote between columns", d)
			}
			for j := range 2 {
				for i := range cols {
					var want exact
					for k := range d {
						want.add(a.at(i, k), b.at(j, k))
					}
					if !want.near(product.at(j, i), d) {
						t.Errorf("MulTN, d = %d: entry (%d, %d) is %v, want %v", d, i, j, product.at(j, i), want.hi)
					}
				}
				for k := range d {
					var want exact
					want.add(1, c.at(j, k))
					for i := range cols {
						want.add(a.at(i, k), w.at(i, j))
					}
					if !want.near(sum.at(j, k), cols) {
						t.Errorf("AddMulNT, d = %d: entry (%d, %d) is %v, want %v", d, k, j, sum.at(j, k), want.hi)
					}
				}
			}
			for k := range d {
				var want exact
				for i := range cols {
					want.add(a.at(i, k), product.at(0, i))
				}
				if !want.near(v[k], cols) {
					t.Errorf("MulVec, d = %d: entry %d is %v, want %v", d, k, v[k], want.hi)
				}
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
