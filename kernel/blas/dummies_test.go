package blas_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/difalt/difalt/internal/tiertest"
	"github.com/difalt/difalt/kernel/blas"
	gblas "gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/lapack"
	reference "gonum.org/v1/gonum/lapack/gonum"
	"gonum.org/v1/gonum/mat"
)

// dummies returns a design whose first columns are the dummy variables of some levels, in turn, and the
// others random: reflectors of its QR factors end with zeros, not all at the same row.
func dummies(rng *rand.Rand, m, n, levels int) *rowMajor {
	a := random(rng, m, n, 0)
	for i := range m {
		clear(a.data[i*n:][:levels])
		a.data[i*n+i%levels] = 1
	}
	return a
}

// transposed returns the transpose of a matrix.
func (m *rowMajor) transposed() *rowMajor {
	t := &rowMajor{m.cols, m.rows, m.rows, make([]float64, m.rows*m.cols)}
	for i := range m.rows {
		for j := range m.cols {
			t.data[j*t.stride+i] = m.data[i*m.stride+j]
		}
	}
	return t
}

// times returns the product of two matrices, by sums in order.
func (m *rowMajor) times(b *rowMajor) *rowMajor {
	c := &rowMajor{m.rows, b.cols, b.cols, make([]float64, m.rows*b.cols)}
	for i := range m.rows {
		sums := c.data[i*c.stride:][:b.cols]
		for k, v := range m.data[i*m.stride:][:m.cols] {
			for j, w := range b.data[k*b.stride:][:b.cols] {
				sums[j] += v * w
			}
		}
	}
	return c
}

// off returns the largest difference of two matrices, relative to the largest entry of the second; infinity
// for NaN.
func (m *rowMajor) off(b *rowMajor) float64 {
	worst, size := 0.0, 0.0
	for i := range m.rows {
		for j := range m.cols {
			v, w := m.data[i*m.stride+j], b.data[i*b.stride+j]
			if math.IsNaN(v) || math.IsNaN(w) {
				return math.Inf(1)
			}
			worst, size = max(worst, math.Abs(v-w)), max(size, math.Abs(w))
		}
	}
	return worst / max(size, 0x1p-1000)
}

func identity(n int) *rowMajor {
	c := &rowMajor{n, n, n, make([]float64, n*n)}
	for i := range n {
		c.data[i*(n+1)] = 1
	}
	return c
}

// reflected returns the product H(0) H(1) ... of the reflectors in the columns of a, from row first on below
// the diagonal, of order n: each applied alone, from the definition. H(j) changes the rows and columns from j
// + first on alone, since the product of the others is the unit matrix elsewhere.
func reflected(a *rowMajor, first, n int, tau []float64) *rowMajor {
	q := identity(n)
	for j := len(tau) - 1; j >= 0; j-- {
		from := j + first
		v, w := make([]float64, n), make([]float64, n-from)
		v[from] = 1
		for i := from + 1; i < n; i++ {
			v[i] = a.data[i*a.stride+j]
		}
		for i := from; i < n; i++ {
			for k, x := range q.data[i*n+from:][:n-from] {
				w[k] += v[i] * x
			}
		}
		for i := from; i < n; i++ {
			row, factor := q.data[i*n+from:][:n-from], tau[j]*v[i]
			for k, x := range w {
				row[k] -= factor * x
			}
		}
	}
	return q
}

// part returns the first rows and columns of a matrix.
func (m *rowMajor) part(rows, cols int) *rowMajor { return &rowMajor{rows, cols, m.stride, m.data} }

// triangle returns a copy with zeros below the diagonal, or below the one that is lower by some rows.
func (m *rowMajor) triangle(lower int) *rowMajor {
	c := m.clone()
	for i := range m.rows {
		clear(c.data[i*c.stride:][:max(0, min(i-lower, m.cols))])
	}
	return c
}

// Reflectors with zeros at their ends are applied in blocks as one after the other. gonum v0.17 drops rows of
// them, which makes solutions wrong in the third digit.
func TestDummyVariables(t *testing.T) {
	shapes := [][3]int{{101, 40, 20}, {101, 34, 4}, {201, 140, 20}, {177, 135, 7}}
	tiertest.Each(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(91, 92))
		for _, s := range shapes {
			a := dummies(rng, s[0], s[1], s[2])
			for _, l := range []lapack.Float64{blas.Lapack{}} {
				for name, off := range reflectorErrors(rng, l.(blas.Lapack), a) {
					if !(off <= 1e-12) {
						t.Errorf("%v: %s is off by %.2g", s, name, off)
					}
				}
			}
		}
	})
}

// reflectorErrors returns the relative errors of routines with reflectors on a tall matrix.
func reflectorErrors(rng *rand.Rand, l blas.Lapack, a *rowMajor) map[string]float64 {
	m, n := a.rows, a.cols
	errs := map[string]float64{}
	work := make([]float64, 1000*(m+n)+m*n)
	tau := make([]float64, n)
	qr := a.clone()
	l.Dgeqrf(m, n, qr.data, qr.stride, tau, work, len(work))
	q := reflected(qr, 0, m, tau)
	errs["Dgeqrf"] = q.part(m, n).times(qr.part(n, n).triangle(0)).off(a)
	for _, store := range []lapack.StoreV{lapack.ColumnWise, lapack.RowWise} {
		k, v := 20, qr
		if store == lapack.RowWise {
			v = qr.transposed()
		}
		tri, unit := identity(k), &rowMajor{m, k, k, make([]float64, m*k)}
		l.Dlarft(lapack.Forward, store, m, k, v.data, v.stride, tau, tri.data, k)
		for i := range m {
			for j := range min(i, k) {
				unit.data[i*k+j] = qr.data[i*n+j]
			}
			if i < k {
				unit.data[i*k+i] = 1
			}
		}
		h, product := reflected(qr, 0, m, tau[:k]), unit.times(tri).times(unit.transposed())
		for i, v := range product.data {
			h.data[i] += v
		}
		errs[fmt.Sprintf("Dlarft %c", store)] = h.off(identity(m))
	}
	for _, c := range []int{1, 37} {
		for _, tA := range transposes {
			op := q
			if tA == gblas.Trans {
				op = q.transposed()
			}
			x := random(rng, m, c, 0)
			y := x.clone()
			l.Dormqr(gblas.Left, tA, m, c, n, qr.data, qr.stride, tau, y.data, y.stride, work, len(work))
			errs[fmt.Sprintf("Dormqr L%c %d", tA, c)] = y.off(op.times(x))
			x = random(rng, c, m, 0)
			y = x.clone()
			l.Dormqr(gblas.Right, tA, c, m, n, qr.data, qr.stride, tau, y.data, y.stride, work, len(work))
			errs[fmt.Sprintf("Dormqr R%c %d", tA, c)] = y.off(x.times(op))
		}
	}
	for _, cols := range []int{n, m} {
		full := random(rng, m, cols, 0)
		for i := range m {
			copy(full.data[i*cols:], qr.data[i*n:][:n])
		}
		l.Dorgqr(m, cols, n, full.data, full.stride, tau, work, len(work))
		errs[fmt.Sprintf("Dorgqr %d", cols)] = full.off(q.part(m, cols))
	}

	wide := a.transposed()
	lq := wide.clone()
	l.Dgelqf(n, m, lq.data, lq.stride, tau, work, len(work))
	q = reflected(lq.transposed(), 0, m, tau).transposed()
	low := lq.part(n, n).transposed().triangle(0).transposed()
	errs["Dgelqf"] = low.times(q.part(n, m)).off(wide)
	for _, c := range []int{1, 37} {
		for _, tA := range transposes {
			op := q
			if tA == gblas.Trans {
				op = q.transposed()
			}
			x := random(rng, m, c, 0)
			y := x.clone()
			l.Dormlq(gblas.Left, tA, m, c, n, lq.data, lq.stride, tau, y.data, y.stride, work, len(work))
			errs[fmt.Sprintf("Dormlq L%c %d", tA, c)] = y.off(op.times(x))
			x = random(rng, c, m, 0)
			y = x.clone()
			l.Dormlq(gblas.Right, tA, c, m, n, lq.data, lq.stride, tau, y.data, y.stride, work, len(work))
			errs[fmt.Sprintf("Dormlq R%c %d", tA, c)] = y.off(x.times(op))
		}
	}
	for _, rows := range []int{n, m} {
		full := random(rng, rows, m, 0)
		copy(full.data, lq.data)
		l.Dorglq(rows, m, n, full.data, full.stride, tau, work, len(work))
		errs[fmt.Sprintf("Dorglq %d", rows)] = full.off(q.part(rows, m))
	}
	driverErrors(rng, l, a, errs)
	return errs
}

// gonum's own fault is what the tests above look for: they would see it.
func TestDummyVariablesOfGonum(t *testing.T) {
	a := dummies(rand.New(rand.NewPCG(91, 92)), 101, 40, 20)
	b := a.times(random(rand.New(rand.NewPCG(93, 94)), 40, 3, 0))
	work := make([]float64, 10000)
	var l reference.Implementation
	l.Dgels(gblas.NoTrans, 101, 40, 3, a.clone().data, 40, b.clone().data, 3, work, len(work))
	qr, tau := a.clone(), make([]float64, 40)
	l.Dgeqrf(101, 40, qr.data, 40, tau, work, len(work))
	y := b.clone()
	l.Dormqr(gblas.Left, gblas.Trans, 101, 3, 40, qr.data, 40, tau, y.data, 3, work, len(work))
	if off := y.off(reflected(qr, 0, 101, tau).transposed().times(b)); off < 1e-6 {
		t.Errorf("gonum applies these reflectors to %.2g: its Dlarft has been mended, and ours is needed no more", off)
	}
}

// Solutions of package mat with dummy variables are right on every tier.
func TestSolveWithDummies(t *testing.T) {
	defer restore()()
	blas.Use()
	tiertest.Each(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(95, 96))
		shapes := [][3]int{{101, 40, 20}, {101, 34, 4}, {1001, 40, 20}, {601, 200, 20}}
		if testing.Short() { // Q is square: the larger ones are most of the work
			shapes = shapes[:2]
		}
		for _, s := range shapes {
			a := dummies(rng, s[0], s[1], s[2])
			var b, x mat.VecDense
			ones := mat.NewVecDense(s[1], nil)
			for i := range s[1] {
				ones.SetVec(i, 1)
			}
			b.MulVec(a.dense(), ones)
			if err := x.SolveVec(a.dense(), &b); err != nil {
				t.Fatal(err)
			}
			for i := range s[1] {
				if off := math.Abs(x.AtVec(i) - 1); !(off <= 1e-11) {
					t.Fatalf("%v: coefficient %d is off by %g", s, i, off)
				}
			}
			var lq mat.LQ
			lq.Factorize(a.dense().T())
			var q, l, product mat.Dense
			lq.QTo(&q)
			lq.LTo(&l)
			product.Mul(&l, &q)
			if off := furthest(&product, mat.DenseCopyOf(a.dense().T())); !(off <= 1e-11) {
				t.Fatalf("%v: LQ - A is %g", s, off)
			}
			if off := orthonormal(&q); !(off <= 1e-11) {
				t.Fatalf("%v: Q'Q - I is %g", s, off)
			}
		}
	})
}
