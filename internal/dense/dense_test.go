package dense_test

import (
	"fmt"
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
	stride := func(a blas64.GeneralCols) blas64.GeneralCols { // too small
		a.Stride--
		return a
	}
	short := func(a blas64.GeneralCols) blas64.GeneralCols { // of entries
		a.Data = a.Data[:(a.Cols-1)*a.Stride+a.Rows-1]
		return a
	}
	faults := map[string]func(a blas64.GeneralCols) blas64.GeneralCols{
		"stride": stride, "short": short,
		"rows":    func(a blas64.GeneralCols) blas64.GeneralCols { return of(a.Rows+1, a.Cols) },
		"columns": func(a blas64.GeneralCols) blas64.GeneralCols { return of(a.Rows, a.Cols+1) },
	}
	refused := func(name string, f func()) {
		defer func() {
			if msg, ok := recover().(string); !ok || !strings.HasPrefix(msg, "dense: ") {
				t.Errorf("%s: panic %q, want a message of the package", name, msg)
			}
		}()
		f()
	}
	for name, product := range map[string]struct {
		f    func(dst, a, b blas64.GeneralCols)
		dims func(d, n, r int) [3]blas64.GeneralCols // that fit
	}{
		"MulTN":    {dense.MulTN, func(d, n, r int) [3]blas64.GeneralCols { return [3]blas64.GeneralCols{of(n, r), of(d, n), of(d, r)} }},
		"AddMulNT": {dense.AddMulNT, func(d, n, r int) [3]blas64.GeneralCols { return [3]blas64.GeneralCols{of(d, r), of(d, n), of(r, n)} }},
		"MulNN":    {dense.MulNN, func(d, n, r int) [3]blas64.GeneralCols { return [3]blas64.GeneralCols{of(d, r), of(d, n), of(n, r)} }},
	} {
		call := func(m [3]blas64.GeneralCols) { product.f(m[0], m[1], m[2]) }
		call(product.dims(d, n, r))
		for fault, change := range faults {
			for k := range 3 {
				m := product.dims(d, n, r)
				m[k] = change(m[k])
				refused(fmt.Sprintf("%s, operand %d: %s", name, k, fault), func() { call(m) })
			}
		}
		for k, m := range [][3]blas64.GeneralCols{product.dims(-1, n, r), product.dims(d, -1, r), product.dims(d, n, -1)} {
			refused(fmt.Sprintf("%s, negative size %d", name, k), func() { call(m) })
		}
	}
	for name, f := range map[string]func(){
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
		refused(name, f)
	}
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
			combined := padded(rng, d, cols)
			dense.MulNN(combined, b, w)
			same(t, "MulNN", combined, func(i, j int) (sum float64) {
				for k := range 2 {
					sum += at(b, i, k) * at(w, k, j)
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
