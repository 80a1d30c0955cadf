package blas_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/difalt/difalt/internal/tiertest"
	"github.com/difalt/difalt/kernel/blas"
)

// Dgeqp3 takes the largest of the columns that are left: no column of R is longer behind a row than its
// diagonal, also where the norms of columns lose all their digits: equal columns, low rank, sizes that decay.
func TestPivotedQR(t *testing.T) {
	decaying := func(i, j int) float64 { // Kahan's matrix: norms differ in their last digits
		if i > j {
			return 0
		}
		v := math.Pow(.6, float64(i)) // the sine, to the power of the row
		if i < j {
			v *= -.8
		}
		return v
	}
	tiertest.Each(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(21, 22))
		for _, shape := range [][2]int{{1, 1}, {1, 5}, {5, 1}, {9, 9}, {40, 33}, {33, 70}, {130, 70}, {70, 200}} {
			m, n := shape[0], shape[1]
			low := random(rng, m, max(1, min(m, n)/3), 0)
			cases := map[string]*rowMajor{
				"random": random(rng, m, n, 3), "low rank": low.times(random(rng, low.cols, n, 0)),
				"equal columns": random(rng, m, n, 0), "decaying": random(rng, m, n, 0), "units": random(rng, m, n, 1),
				"zero": random(rng, m, n, 0),
			}
			for i := range m {
				for j := range n {
					at := func(name string) *float64 { return &cases[name].data[i*cases[name].stride+j] }
					*at("equal columns") = *at("random") * float64(1+j%3)
					*at("decaying") = decaying(i, j)
					*at("units") *= math.Pow(10, float64(j%7*40-120))
					*at("zero") = 0
				}
			}
			for name, a := range cases {
				checkPivoted(t, name, a)
			}
		}
	})
}

// checkPivoted checks the factors of Dgeqp3 for a matrix.
func checkPivoted(t *testing.T, name string, a *rowMajor) {
	t.Helper()
	m, n := a.rows, a.cols
	k := min(m, n)
	order, tau, work := make([]int, n), make([]float64, k), make([]float64, 3*n+1)
	for j := range order {
		order[j] = -1
	}
	qr := a.clone()
	blas.Lapack{}.Dgeqp3(m, n, qr.data, qr.stride, order, tau, work, len(work))
	moved, seen := a.clone(), make([]bool, n)
	for j, p := range order {
		if p < 0 || p >= n || seen[p] {
			t.Fatalf("%s, %d x %d: %v is no permutation", name, m, n, order)
		}
		seen[p] = true
		for i := range m {
			moved.data[i*moved.stride+j] = a.data[i*a.stride+p]
		}
	}
	r := qr.triangle(0)
	q := reflected(qr, 0, m, tau)
	if off := q.transposed().times(q).off(identity(m)); off > 1e-12 {
		t.Errorf("%s, %d x %d: Q is off an orthogonal matrix by %g", name, m, n, off)
	}
	product := q.times(r)
	for j := range n {
		size, off := 0.0, 0.0
		for i := range m {
			size = math.Hypot(size, moved.data[i*moved.stride+j])
			off = math.Hypot(off, product.data[i*product.stride+j]-moved.data[i*moved.stride+j])
		}
		if off > 1e-13*float64(m)*size {
			t.Errorf("%s, %d x %d: column %d of A P is off by %g of %g", name, m, n, j, off, size)
		}
	}
	first := math.Abs(r.data[0])
	for i := range k {
		diagonal := math.Abs(r.data[i*(r.stride+1)])
		for j := i + 1; j < n; j++ {
			size := 0.0
			for row := i; row <= min(j, m-1); row++ {
				size = math.Hypot(size, r.data[row*r.stride+j])
			}
			if size > diagonal*(1+1e-7)+first*1e-14 {
				t.Errorf("%s, %d x %d: column %d has the norm %g behind row %d, whose pivot is %g",
					name, m, n, j, size, i, diagonal)
				return
			}
		}
	}
}
