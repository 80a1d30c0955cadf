package dense_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/difalt/difalt/internal/dense"
	"github.com/difalt/difalt/internal/tiertest"
	"gonum.org/v1/gonum/blas/blas64"
)

func of(rows, cols, stride int, data []float64) blas64.GeneralCols {
	return blas64.GeneralCols{Rows: rows, Cols: cols, Stride: stride, Data: data}
}

// Every argument that does not fit is refused before memory is touched.
func TestPanics(t *testing.T) {
	const d, n, r = 8, 3, 2
	x := make([]float64, 64)
	of := func(rows, cols int) blas64.GeneralCols { return of(rows, cols, max(rows, 1), x) }
	// stride returns a with a stride that is too small, and short with too few entries.
	stride := func(a blas64.GeneralCols) blas64.GeneralCols {
		a.Stride--
		return a
	}
	short := func(a blas64.GeneralCols) blas64.GeneralCols {
		a.Data = a.Data[:(a.Cols-1)*a.Stride+a.Rows-1]
		return a
	}
	for name, f := range map[string]func(){
		"MulTN, stride of a":         func() { dense.MulTN(of(n, r), stride(of(d, n)), of(d, r)) },
		"MulTN, short of a":          func() { dense.MulTN(of(n, r), short(of(d, n)), of(d, r)) },
		"MulTN, rows of a":           func() { dense.MulTN(of(n, r), of(d+1, n), of(d, r)) },
		"MulTN, columns of a":        func() { dense.MulTN(of(n, r), of(d, n+1), of(d, r)) },
		"MulTN, stride of b":         func() { dense.MulTN(of(n, r), of(d, n), stride(of(d, r))) },
		"MulTN, short of b":          func() { dense.MulTN(of(n, r), of(d, n), short(of(d, r))) },
		"MulTN, rows of b":           func() { dense.MulTN(of(n, r), of(d, n), of(d+1, r)) },
		"MulTN, columns of b":        func() { dense.MulTN(of(n, r), of(d, n), of(d, r+1)) },
		"MulTN, stride of c":         func() { dense.MulTN(stride(of(n, r)), of(d, n), of(d, r)) },
		"MulTN, short of c":          func() { dense.MulTN(short(of(n, r)), of(d, n), of(d, r)) },
		"MulTN, rows of c":           func() { dense.MulTN(of(n+1, r), of(d, n), of(d, r)) },
		"MulTN, columns of c":        func() { dense.MulTN(of(n, r+1), of(d, n), of(d, r)) },
		"MulTN, d < 0":               func() { dense.MulTN(of(n, r), of(-1, n), of(-1, r)) },
		"MulTN, n < 0":               func() { dense.MulTN(of(-1, r), of(d, -1), of(d, r)) },
		"MulTN, r < 0":               func() { dense.MulTN(of(n, -1), of(d, n), of(d, -1)) },
		"AddMulNT, stride of a":      func() { dense.AddMulNT(of(d, r), stride(of(d, n)), of(r, n)) },
		"AddMulNT, short of a":       func() { dense.AddMulNT(of(d, r), short(of(d, n)), of(r, n)) },
		"AddMulNT, rows of a":        func() { dense.AddMulNT(of(d, r), of(d+1, n), of(r, n)) },
		"AddMulNT, columns of a":     func() { dense.AddMulNT(of(d, r), of(d, n+1), of(r, n)) },
		"AddMulNT, stride of b":      func() { dense.AddMulNT(of(d, r), of(d, n), stride(of(r, n))) },
		"AddMulNT, short of b":       func() { dense.AddMulNT(of(d, r), of(d, n), short(of(r, n))) },
		"AddMulNT, rows of b":        func() { dense.AddMulNT(of(d, r), of(d, n), of(r+1, n)) },
		"AddMulNT, columns of b":     func() { dense.AddMulNT(of(d, r), of(d, n), of(r, n+1)) },
		"AddMulNT, stride of c":      func() { dense.AddMulNT(stride(of(d, r)), of(d, n), of(r, n)) },
		"AddMulNT, short of c":       func() { dense.AddMulNT(short(of(d, r)), of(d, n), of(r, n)) },
		"AddMulNT, rows of c":        func() { dense.AddMulNT(of(d+1, r), of(d, n), of(r, n)) },
		"AddMulNT, columns of c":     func() { dense.AddMulNT(of(d, r+1), of(d, n), of(r, n)) },
		"AddMulNT, d < 0":            func() { dense.AddMulNT(of(-1, r), of(-1, n), of(r, n)) },
		"AddMulNT, n < 0":            func() { dense.AddMulNT(of(d, r), of(d, -1), of(r, -1)) },
		"AddMulNT, r < 0":            func() { dense.AddMulNT(of(d, -1), of(d, n), of(-1, n)) },
		"MulNN, stride of a":         func() { dense.MulNN(of(d, r), stride(of(d, n)), of(n, r)) },
		"MulNN, short of a":          func() { dense.MulNN(of(d, r), short(of(d, n)), of(n, r)) },
		"MulNN, rows of a":           func() { dense.MulNN(of(d, r), of(d+1, n), of(n, r)) },
		"MulNN, columns of a":        func() { dense.MulNN(of(d, r), of(d, n+1), of(n, r)) },
		"MulNN, stride of b":         func() { dense.MulNN(of(d, r), of(d, n), stride(of(n, r))) },
		"MulNN, short of b":          func() { dense.MulNN(of(d, r), of(d, n), short(of(n, r))) },
		"MulNN, rows of b":           func() { dense.MulNN(of(d, r), of(d, n), of(n+1, r)) },
		"MulNN, columns of b":        func() { dense.MulNN(of(d, r), of(d, n), of(n, r+1)) },
		"MulNN, stride of c":         func() { dense.MulNN(stride(of(d, r)), of(d, n), of(n, r)) },
		"MulNN, short of c":          func() { dense.MulNN(short(of(d, r)), of(d, n), of(n, r)) },
		"MulNN, rows of c":           func() { dense.MulNN(of(d+1, r), of(d, n), of(n, r)) },
		"MulNN, columns of c":        func() { dense.MulNN(of(d, r+1), of(d, n), of(n, r)) },
		"MulNN, d < 0":               func() { dense.MulNN(of(-1, r), of(-1, n), of(n, r)) },
		"MulNN, n < 0":               func() { dense.MulNN(of(d, r), of(d, -1), of(-1, r)) },
		"MulNN, r < 0":               func() { dense.MulNN(of(d, -1), of(d, n), of(n, -1)) },
		"SumDifferences, d < 0":      func() { dense.SumDifferences(x, of(-1, n), 0, nil, nil) },
		"SumDifferences, stride":     func() { dense.SumDifferences(x, stride(of(d, n)), 0, nil, nil) },
		"SumDifferences, padding":    func() { dense.SumDifferences(x, of(d-1, n), 0, nil, nil) },
		"SumDifferences, short a":    func() { dense.SumDifferences(x, short(of(d, n)), 0, nil, nil) },
		"SumDifferences, own":        func() { dense.SumDifferences(x, of(d, n), n, nil, nil) },
		"SumDifferences, own < 0":    func() { dense.SumDifferences(x, of(d, n), -1, nil, nil) },
		"SumDifferences, column":     func() { dense.SumDifferences(x, of(d, n), 0, []int{1, n}, x) },
		"SumDifferences, column < 0": func() { dense.SumDifferences(x, of(d, n), 0, []int{-1}, x) },
		"SumDifferences, w":          func() { dense.SumDifferences(x, of(d, n), 0, []int{1, 1}, x[:1]) },
		"SumDifferences, dst":        func() { dense.SumDifferences(x[:d-1], of(d, n), 0, nil, nil) },
		"Dot, y":                     func() { dense.Dot(x, x[1:]) },
		"Axpy, y":                    func() { dense.Axpy(1, x, x[1:]) },
		"Residual, n < 0":            func() { dense.Residual(x, of(-1, r), x, x) },
		"Residual, r < 0":            func() { dense.Residual(x, of(n, -1), x, x) },
		"Residual, stride":           func() { dense.Residual(x, stride(of(n, r)), x, x) },
		"Residual, short a":          func() { dense.Residual(x, short(of(n, r)), x, x) },
		"Residual, x":                func() { dense.Residual(x, of(n, r), x[:r-1], x) },
		"Residual, y":                func() { dense.Residual(x, of(n, r), x, x[:n-1]) },
		"Residual, e":                func() { dense.Residual(x[:n-1], of(n, r), x, x) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if msg, ok := recover().(string); !ok || !strings.HasPrefix(msg, "dense: ") {
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
			"MulTN":    func() { dense.MulTN(of(30, 4, 30, y), of(40, 30, 40, x), of(40, 4, 40, z)) },
			"AddMulNT": func() { dense.AddMulNT(of(40, 4, 40, y), of(40, 8, 40, x), of(4, 8, 4, z)) },
			"MulNN":    func() { dense.MulNN(of(40, 7, 40, y), of(40, 5, 40, z), of(5, 7, 5, x)) },
			"Residual": func() { dense.Residual(y, of(30, 4, 30, x), z, z) },
		} {
			if n := testing.AllocsPerRun(5, f); n != 0 {
				t.Errorf("%s: %g allocations", name, n)
			}
		}
	})
}

// A padded matrix has gap entries of NaN behind each column: an operation that reads them returns NaN.
func padded(rng *rand.Rand, rows, cols int) blas64.GeneralCols {
	const gap = 2
	m := of(rows, cols, rows+gap, make([]float64, (rows+gap)*cols))
	for i := range m.Data {
		m.Data[i] = math.NaN()
		if i%m.Stride < rows {
			m.Data[i] = rng.NormFloat64()
		}
	}
	return m
}

// Products take matrices of any number of rows, and neither read nor write the entries between columns.
func TestUnpadded(t *testing.T) {
	const most, cols = 20, 3
	rng := rand.New(rand.NewPCG(21, 22))
	at := func(m blas64.GeneralCols, i, j int) float64 { return m.Data[j*m.Stride+i] }
	// same compares m with the definition of its entries.
	same := func(t *testing.T, name string, m blas64.GeneralCols, entry func(i, j int) float64) {
		for k, v := range m.Data {
			i, j := k%m.Stride, k/m.Stride
			if i >= m.Rows {
				if !math.IsNaN(v) {
					t.Errorf("%s, %d rows: wrote %v behind column %d", name, m.Rows, v, j)
				}
			} else if want := entry(i, j); !(math.Abs(v-want) <= 1e-13*(1+math.Abs(want))) {
				t.Errorf("%s, %d rows: entry (%d, %d) is %v, want %v", name, m.Rows, i, j, v, want)
			}
		}
	}
	tiertest.Each(t, func(t *testing.T) {
		for d := range most {
			a, b, c, w := padded(rng, d, cols), padded(rng, d, 2), padded(rng, d, 2), padded(rng, 2, cols)
			product, sum := padded(rng, cols, 2), c
			sum.Data = slices.Clone(c.Data)
			dense.MulTN(product, a, b)
			same(t, "MulTN", product, func(i, j int) (sum float64) {
				for k := range d {
					sum += at(a, k, i) * at(b, k, j)
				}
				return sum
			})
			dense.AddMulNT(sum, a, w)
			same(t, "AddMulNT", sum, func(i, j int) float64 {
				sum := at(c, i, j)
				for k := range cols {
					sum += at(a, i, k) * at(w, j, k)
				}
				return sum
			})
		}
	})
}

func TestVectors(t *testing.T) {
	y := []float64{1, 2, 3}
	dense.Axpy(2, []float64{1, -1}, y)
	if y[0] != 3 || y[1] != 0 || y[2] != 3 {
		t.Errorf("Axpy: %v", y)
	}
	if got := dense.Dot([]float64{1, 2}, y[1:]); got != 6 {
		t.Errorf("Dot: %v, want 6", got)
	}
}
