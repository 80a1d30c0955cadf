package lsq

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/difalt/difalt/internal/tiertest"
	"gonum.org/v1/gonum/blas/blas64"
)

// triangle returns a decomposition with the given columns of R.
func triangle(null float64, columns ...[]float64) *decomposition {
	n := len(columns)
	d := &decomposition{
		m: n, c: n, rank: n, null: null, order: make([]int, n), ldr: n, r: make([]float64, n*n), ld: n, q: make([]float64, n*(n+1)),
		v: make([]float64, n), w: make([]float64, 2*n), work: make([]float64, 2*n),
	}
	for j, column := range columns {
		d.order[j] = j
		copy(d.r[j*n:], column)
	}
	return d
}

// The estimate chooses the sign that makes a solution larger: here the other sign gives zero, and no
// null direction.
func TestHiddenChoosesSigns(t *testing.T) {
	if k := triangle(1e-10, []float64{1}, []float64{1, 1e-12}).hidden(0); k < 0 {
		t.Error("no null direction in [1 1; 0 1e-12], where 1e-10 counts as null")
	}
	if k := triangle(1e-10, []float64{1}, []float64{0, 1e-6}).hidden(0); k >= 0 {
		t.Errorf("column %d of diag(1, 1e-6) is null, where 1e-10 counts as null", k)
	}
}

// A column is set apart if no more than 2 sqrt(rank) times null is lost.
func TestRetireLosesOnlyNull(t *testing.T) {
	const null = 1e-10
	for _, c := range []struct {
		left float64 // of the column
		want bool
	}{{2 * null, true}, {4 * null, false}, {30 * null, false}} {
		if got := triangle(null, []float64{1}, []float64{0.5, c.left}).retire(1); got != c.want {
			t.Errorf("%g of a column is left, %g is null: retired %v, want %v", c.left, null, got, c.want)
		}
	}
}

// The norm of what is left of a column that has all but cancelled is computed again: a rounding error
// of 1e-8 in place of zero would come before a column of 1e-9, and end the factorisation.
func TestNormsAfterCancellation(t *testing.T) {
	const n = 8
	rng := rand.New(rand.NewPCG(41, 42))
	for range 50 {
		a := blas64.GeneralCols{Rows: n, Cols: 3, Stride: n, Data: make([]float64, 3*n)}
		for i := range n {
			a.Data[i] = rng.NormFloat64()
			a.Data[n+i], a.Data[2*n+i] = a.Data[i], 1e-9*rng.NormFloat64()
		}
		ws := NewWorkspace(n, 3)
		d := ws.decomposition(n, 3)
		d.pivoted(tolerance(n, 3), func() { d.load(a, make([]float64, n), 1, 1, 0) })
		if d.rank != 2 {
			t.Errorf("rank %d of columns x, x and 1e-9 z, want 2", d.rank)
		}
	}
}

// Squares that underflow partly do not cost digits.
func TestSquaresUnderflow(t *testing.T) {
	const n, r = 9, 3
	rng := rand.New(rand.NewPCG(43, 44))
	a := blas64.GeneralCols{Rows: n, Cols: r, Stride: n, Data: make([]float64, n*r)}
	y, want, got := make([]float64, n), make([]float64, r), make([]float64, r)
	for i := range a.Data {
		a.Data[i] = rng.NormFloat64()
	}
	for i := range y {
		y[i] = rng.NormFloat64()
		a.Data[(r-1)*n+i] *= 0x1p-20 // so that the squares of the last pivot underflow first
	}
	Solve(want, a, y, 0, nil)
	tiertest.Each(t, func(t *testing.T) {
		for down := 400; down <= 620; down += 5 {
			small, rhs := a, make([]float64, n)
			small.Data = make([]float64, n*r)
			for i, v := range a.Data {
				small.Data[i] = math.Ldexp(v, -down)
			}
			for i, v := range y {
				rhs[i] = math.Ldexp(v, 210-down)
			}
			if status := Solve(got, small, rhs, 0, nil); status != OK {
				t.Errorf("A times 2^-%d: status %v", down, status)
			}
			for j, v := range got {
				if w := math.Ldexp(want[j], 210); !(math.Abs(v-w) <= 1e-13*math.Abs(w)) {
					t.Errorf("A times 2^-%d: b[%d] = %g, want %g", down, j, v, w)
				}
			}
		}
	})
}
