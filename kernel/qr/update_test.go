package qr_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/difalt/difalt/internal/check"
	"github.com/difalt/difalt/internal/tiertest"
	"github.com/difalt/difalt/kernel/qr"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"
)

// entries are kinds of m x n matrices.
var entries = map[string]func(rng *rand.Rand, i, j int) float64{
	"Gaussian": func(rng *rand.Rand, _, _ int) float64 { return rng.NormFloat64() },
	"integers": func(rng *rand.Rand, _, _ int) float64 { return float64(rng.IntN(5) - 2) },
	"graded columns": func(rng *rand.Rand, _, j int) float64 {
		return rng.NormFloat64() * math.Pow(10, float64(-5*j))
	},
	"graded rows": func(rng *rand.Rand, i, _ int) float64 {
		return rng.NormFloat64() * math.Pow(10, float64(-3*i%40))
	},
	"equal columns":   func(rng *rand.Rand, i, j int) float64 { return float64(i%7 + j%2) },
	"zero columns":    func(rng *rand.Rand, i, j int) float64 { return float64(j%2) * rng.NormFloat64() },
	"zeros":           func(*rand.Rand, int, int) float64 { return 0 },
	"huge":            func(rng *rand.Rand, _, _ int) float64 { return 1e299 * rng.Float64() },
	"small":           func(rng *rand.Rand, _, _ int) float64 { return 1e-290 * rng.NormFloat64() },
	"trailing zeros":  func(rng *rand.Rand, i, j int) float64 { return float64(max(0, 1+j-i)) },
	"one-hot, levels": func(rng *rand.Rand, i, j int) float64 { return map[bool]float64{true: 1}[i%(j+2) == 0] },
}

// R and any sequence of updates satisfy R'R = A'A to the rounding of each column, and R is upper triangular
// without negative diagonal entries: that determines it where A has full rank. Memory between columns and
// rows stays as it was.
func TestR(t *testing.T) {
	tiertest.Each(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(91, 92))
		for name, entry := range entries {
			for _, shape := range [][2]int{
				{0, 3}, {1, 1}, {1, 4}, {3, 3}, {4, 7}, {9, 1}, {21, 13}, {30, 2}, {40, 40}, {200, 5}, {131, 33},
			} {
				m, n := shape[0], shape[1]
				a := make([]float64, m*n) // by rows
				for i := range m {
					for j := range n {
						a[i*n+j] = entry(rng, i, j)
					}
				}
				t.Run(fmt.Sprintf("%s/%dx%d", name, m, n), func(t *testing.T) {
					checkTriangle(t, a, m, n, triangleOf(t, a, m, n))
					checkTriangle(t, a, m, n, updates(rng, a, m, n))
				})
			}
		}
	})
}

// triangleOf computes R with gaps between the columns of both entries.
func triangleOf(t *testing.T, a []float64, m, n int) []float64 {
	lda, ldr := m+2, n+3
	columns := slices.Repeat([]float64{untouched}, lda*(n-1)+m)
	for i := range m {
		for j := range n {
			columns[j*lda+i] = a[i*n+j]
		}
	}
	before, r := slices.Clone(columns), slices.Repeat([]float64{untouched}, ldr*(n-1)+n)
	qr.R(of(m, n, lda, columns), of(n, n, ldr, r), nil)
	for i, v := range columns {
		if math.Float64bits(v) != math.Float64bits(before[i]) {
			t.Fatalf("a[%d] was written", i)
		}
	}
	compact := make([]float64, n*n)
	for j := range n {
		copy(compact[j*n:][:n], r[j*ldr:])
		if end := j*ldr + n; end < len(r) && !isUntouched(r[end]) {
			t.Fatalf("r[%d] is padding and was written", end)
		}
	}
	return compact
}

// updates computes R from batches of rows with gaps, and leaves what is below the diagonal alone.
func updates(rng *rand.Rand, a []float64, m, n int) []float64 {
	r := slices.Repeat([]float64{untouched}, n*n)
	for j := range n {
		clear(r[j*n:][:j+1])
	}
	ws := qr.NewWorkspace(n + rng.IntN(3))
	for i := 0; i < m; {
		rows := min(1+rng.IntN(2*n+4), m-i)
		ld := n + rng.IntN(3)
		data := slices.Repeat([]float64{untouched}, (rows-1)*ld+n)
		for k := range rows {
			copy(data[k*ld:][:n], a[(i+k)*n:])
		}
		before := slices.Clone(data)
		qr.Update(of(n, n, n, r), blas64.General{Rows: rows, Cols: n, Stride: ld, Data: data}, ws)
		for k, v := range data {
			if math.Float64bits(v) != math.Float64bits(before[k]) {
				panic("the rows were written")
			}
		}
		i += rows
	}
	for j := range n {
		for i := j + 1; i < n; i++ {
			if !isUntouched(r[j*n+i]) {
				panic("an entry below the diagonal was written")
			}
			r[j*n+i] = 0
		}
	}
	return r
}

func checkTriangle(t *testing.T, a []float64, m, n int, r []float64) {
	t.Helper()
	norms, most := make([]float64, n), 0.0
	for _, v := range a {
		most = max(most, math.Abs(v))
	}
	if most == 0 {
		most = 1
	}
	x := mat.NewDense(max(m, 1), n, nil)
	for i := range m {
		for j := range n {
			x.Set(i, j, a[i*n+j]/most) // so that squares are numbers
			norms[j] = math.Hypot(norms[j], a[i*n+j]/most)
		}
	}
	tri := mat.NewDense(n, n, nil)
	for j := range n {
		for i := range n {
			v := r[j*n+i]
			if i > j && v != 0 || i == j && !(v >= 0) {
				t.Fatalf("R(%d, %d) = %g", i, j, v)
			}
			tri.Set(i, j, v/most)
		}
	}
	var want, got mat.Dense
	want.Mul(x.T(), x)
	got.Mul(tri.T(), tri)
	for i := range n {
		for j := range n {
			if e := math.Abs(got.At(i, j) - want.At(i, j)); !(e <= 20*float64(m+n)*eps*norms[i]*norms[j]+1e-300) {
				t.Fatalf("(R'R)(%d, %d) is off by %g of %g", i, j, e, norms[i]*norms[j])
			}
		}
	}
}

// R is the R of Factor.
func TestRAsFactor(t *testing.T) {
	rng := rand.New(rand.NewPCG(93, 94))
	for _, n := range []int{1, 2, 13, 60} {
		f := newFactorisation(2*n+3, n, 2*n+3, n, func(int, int) float64 { return rng.NormFloat64() })
		r := make([]float64, n*n)
		qr.R(of(f.m, n, f.lda, f.in), of(n, n, n, r), nil)
		f.factor(nil)
		for i, v := range r {
			if !(math.Abs(v-f.r[i]) <= 1e-13*float64(n)) {
				t.Fatalf("%d columns: %g, by Factor %g", n, v, f.r[i])
			}
		}
	}
}

// Rows without columns have an R without entries.
func TestRWithoutColumns(t *testing.T) {
	for _, ws := range []*qr.Workspace{nil, qr.NewWorkspace(0), qr.NewWorkspace(3)} {
		qr.R(of(3, 0, 3, nil), of(0, 0, 1, nil), ws)
		qr.Update(of(0, 0, 1, nil), blas64.General{Rows: 3, Stride: 1, Data: make([]float64, 2)}, ws)
	}
}

// A triangle with negative diagonal entries gets positive ones, and nothing is allocated.
func TestUpdateSigns(t *testing.T) {
	r := []float64{-2, 0, 3, -1} // by columns
	rows := []float64{0, 0}
	qr.Update(of(2, 2, 2, r), blas64.General{Rows: 1, Cols: 2, Stride: 2, Data: rows}, nil)
	if !slices.Equal(r, []float64{2, 0, -3, 1}) {
		t.Errorf("R = %v", r)
	}
	work := qr.NewWorkspace(2)
	if n := check.Allocations(5, func() {
		qr.Update(of(2, 2, 2, r), blas64.General{Rows: 1, Cols: 2, Stride: 2, Data: rows}, work)
		qr.R(of(2, 2, 2, rows2[:]), of(2, 2, 2, r), work)
	}); n != 0 {
		t.Errorf("%d allocations", n)
	}
}

var rows2 [4]float64

// NaN and Inf show in R.
func TestRNotFinite(t *testing.T) {
	for _, bad := range []float64{math.NaN(), math.Inf(1)} {
		for at := range 12 {
			a := []float64{1, 2, 3, 4, 5, 7, 7, 8, 9, 1, 2, 0}
			a[at] = bad
			r := make([]float64, 9)
			qr.R(of(4, 3, 4, a), of(3, 3, 3, r), nil)
			if !slices.ContainsFunc(r, func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) }) {
				t.Errorf("%v at %d: R = %v", bad, at, r)
			}
		}
	}
}

func TestRPanics(t *testing.T) {
	good := func() blas64.GeneralCols { return of(2, 2, 2, make([]float64, 4)) }
	rows := blas64.General{Rows: 1, Cols: 2, Stride: 2, Data: make([]float64, 2)}
	for name, f := range map[string]func(){
		"rows":        func() { qr.R(of(-1, 2, 2, nil), good(), nil) },
		"columns":     func() { qr.R(of(3, 1, 3, make([]float64, 3)), good(), nil) },
		"r":           func() { qr.R(good(), of(2, 1, 2, make([]float64, 2)), nil) },
		"short a":     func() { qr.R(of(3, 2, 3, make([]float64, 5)), good(), nil) },
		"short r":     func() { qr.R(good(), of(2, 2, 2, make([]float64, 3)), nil) },
		"huge stride": func() { qr.R(of(1, 2, math.MaxInt, make([]float64, 4)), good(), nil) },
		"wrapping": func() {
			qr.R(of(1, 5, math.MaxInt/2+1, make([]float64, 9)), of(5, 5, 5, make([]float64, 25)), nil)
		},
		"Factor, stride": func() { qr.Factor(of(2, 2, math.MaxInt, make([]float64, 4)), good(), nil) },
		"work":           func() { qr.R(good(), good(), new(qr.Workspace)) },
		"Update, r":      func() { qr.Update(of(1, 1, 1, make([]float64, 1)), rows, nil) },
		"Update, rows": func() {
			qr.Update(good(), blas64.General{Rows: 2, Cols: 2, Stride: 2, Data: make([]float64, 3)}, nil)
		},
		"Update, stride": func() {
			qr.Update(good(), blas64.General{Rows: 2, Cols: 2, Stride: 1, Data: make([]float64, 9)}, nil)
		},
		"Update, -1":     func() { qr.Update(good(), blas64.General{Rows: -1, Cols: 2, Stride: 2}, nil) },
		"small work":     func() { qr.R(good(), good(), qr.NewWorkspace(1)) },
		"length":         func() { qr.WorkLen(-3) },
		"huge length":    func() { qr.WorkLen(math.MaxInt/2 + 1) },
		"workspace":      func() { qr.NewWorkspace(-1) },
		"huge workspace": func() { qr.NewWorkspace(math.MaxInt/2 + 1) },
		"Update, work":   func() { qr.Update(good(), rows, new(qr.Workspace)) },
		"Update, huge": func() {
			qr.Update(good(), blas64.General{Rows: math.MaxInt/2 + 1, Cols: 2, Stride: 4, Data: make([]float64, 9)},
				nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				msg, _ := recover().(string)
				if len(msg) < 4 || msg[:4] != "qr: " {
					t.Errorf("panic %q", msg)
				}
			}()
			f()
		})
	}
}
