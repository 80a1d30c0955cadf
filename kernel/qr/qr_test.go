package qr_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/difalt/difalt/internal/check"
	"github.com/difalt/difalt/internal/tiertest"
	"github.com/difalt/difalt/internal/tile"
	"github.com/difalt/difalt/kernel/qr"
	"gonum.org/v1/gonum/blas/blas64"
)

const eps = 0x1p-52

// untouched fills the memory that Factor must neither read nor write.
var untouched = math.Float64frombits(0x7ff8dead_beefcafe)

func isUntouched(v float64) bool { return math.Float64bits(v) == math.Float64bits(untouched) }

// A factorisation is the input and the output of Factor, by columns.
type factorisation struct {
	m, n, lda, ldr int
	in, a, r       []float64
}

// newFactorisation returns one that ends with its last entry.
func newFactorisation(m, n, lda, ldr int, f func(i, j int) float64) *factorisation {
	q := &factorisation{m: m, n: n, lda: lda, ldr: ldr}
	q.a = slices.Repeat([]float64{untouched}, max(lda*(n-1)+m, 0))
	q.r = slices.Repeat([]float64{untouched}, max(ldr*(n-1)+n, 0))
	for j := range n {
		for i := range m {
			q.a[j*lda+i] = f(i, j)
		}
	}
	q.in = slices.Clone(q.a)
	return q
}

func of(rows, cols, stride int, data []float64) blas64.GeneralCols {
	return blas64.GeneralCols{Rows: rows, Cols: cols, Stride: stride, Data: data}
}

func (q *factorisation) factor(work []float64) {
	qr.Factor(of(q.m, q.n, q.lda, q.a), of(q.n, q.n, q.ldr, q.r), work)
}

// check holds the result to Q'Q = I, QR = A, and R upper triangular without
// negative diagonal entries: that determines Q and R where A has full rank.
func (q *factorisation) check(t *testing.T) {
	t.Helper()
	for j := range q.n {
		for i, v := range q.r[j*q.ldr:][:min(q.ldr, len(q.r)-j*q.ldr)] {
			if (i >= q.n) != isUntouched(v) || i > j && i < q.n && v != 0 {
				t.Fatalf("R(%d, %d) = %g", i, j, v)
			}
			if i == j && !(v >= 0) {
				t.Errorf("R(%d, %d) = %g is negative", i, j, v)
			}
		}
	}
	for i, v := range q.in {
		if isUntouched(v) != isUntouched(q.a[i]) {
			t.Fatalf("a[%d] is padding and was written", i)
		}
	}
	tol := 8 * float64(q.n+2) * (math.Sqrt(float64(q.m)) + 8) * eps
	for j := range q.n {
		qj := q.a[j*q.lda:][:q.m]
		for k := range j + 1 {
			want := 0.0
			if k == j {
				want = 1
			}
			if v := tile.Dot(qj, q.a[k*q.lda:][:q.m]); !(math.Abs(v-want) <= tol) {
				t.Errorf("q_%d'q_%d = %g", k, j, v)
			}
		}
		column := q.in[j*q.lda:][:q.m]
		norm, off := math.Sqrt(tile.Dot(column, column)), 0.0
		for i := range column {
			s := 0.0
			for k := range j + 1 {
				s += q.a[k*q.lda+i] * q.r[j*q.ldr+k]
			}
			off = math.Hypot(off, s-column[i])
		}
		if !(off <= tol*norm) {
			t.Errorf("column %d of QR - A has norm %g, that of A %g", j, off, norm)
		}
	}
}

// diagonal is 1 on the diagonal and 0 elsewhere.
func diagonal(i, j int) float64 { return float64(1 - min(max(i-j, j-i), 1)) }

// equalAngles gives columns of one length with one cosine between all of them.
func equalAngles(cosine func(n int) float64) func(m, n int) func(i, j int) float64 {
	return func(m, n int) func(i, j int) float64 {
		// I + x 11' has the Gram matrix I + (2x + n x^2) 11'.
		ratio := cosine(n) / (1 - cosine(n))
		x := (math.Sqrt(1+float64(n)*ratio) - 1) / float64(n)
		return func(i, j int) (v float64) {
			for k := range n { // discrete cosines are orthonormal
				v += (x + diagonal(k, j)) * math.Sqrt(2/float64(m)) * math.Cos(
					math.Pi*(float64(i)+0.5)*float64(k+1)/float64(m))
			}
			return v
		}
	}
}

// gate is the cosine at which n columns count as nearly orthogonal, and others do not.
func gate(n int) float64 { return 0.5 / math.Sqrt(float64(max(n*(n-1), 1))) }

// matrices are by their names: nearly orthogonal ones, which are factored at once, those far from dependent,
// which are factored twice, and others. The nodes' bases may be dependent, or zero, and Q must be orthonormal
// still.
func matrices() map[string]func(m, n int) func(i, j int) float64 {
	rng := rand.New(rand.NewPCG(1, 1))
	all := map[string]func(m, n int) func(i, j int) float64{
		"below the gate": equalAngles(func(n int) float64 { return gate(n) * (1 - 1e-10) }),
		"above the gate": equalAngles(func(n int) float64 { return gate(n) * (1 + 1e-10) }),
		"sines of 1e-4":  equalAngles(func(int) float64 { return 1 - .9e-8 }),
		"sines of 2e-4":  equalAngles(func(int) float64 { return 1 - 2e-8 }),
		"sines of 1e-6":  equalAngles(func(int) float64 { return 1 - 1e-12 }),
	}
	for name, f := range map[string]func(i, j int) float64{
		"random":       func(i, j int) float64 { return rng.NormFloat64() },
		"zero":         func(i, j int) float64 { return 0 },
		"equal":        func(i, j int) float64 { return math.Sin(float64(i)) },
		"zero column":  func(i, j int) float64 { return math.Sin(float64(i*(j+1))) * float64(min(j%3, 1)) },
		"orthonormal":  diagonal,
		"negative":     func(i, j int) float64 { return -diagonal(i, j) },
		"dependent":    func(i, j int) float64 { return math.Sin(float64(i)) + float64(j*i) },
		"mixed scales": func(i, j int) float64 { return math.Ldexp(math.Cos(float64(i*j+1)), 60*(j%3)-30*(i%4)) },
		"large":        func(i, j int) float64 { return 1e140 * math.Cos(float64(i*j+1)) },
		"small":        func(i, j int) float64 { return 1e-140 * math.Cos(float64(i*j+1)) },
		"long":         func(i, j int) float64 { return 1e49 * (rng.NormFloat64() + 20*diagonal(i, j)) },
		"short":        func(i, j int) float64 { return 1e-49 * rng.NormFloat64() },
	} {
		all[name] = func(int, int) func(i, j int) float64 { return f }
	}
	return all
}

// The factors are right, and have the same bits at the edge of memory that nobody may touch, with the
// caller's work, which allocates nothing, and without.
func TestFactor(t *testing.T) {
	const most = 130 * 70
	for name, matrix := range matrices() {
		t.Run(name, func(t *testing.T) {
			tiertest.Each(t, func(t *testing.T) {
				rng := rand.New(rand.NewPCG(2, 1))
				a, r, work := tiertest.Edge(t, 2*most), tiertest.Edge(t, most), tiertest.Edge(t, most)
				for k, c := range [][2]int{
					{0, 0}, {1, 0}, {1, 1}, {2, 1}, {2, 2}, {3, 2}, {4, 4}, {5, 4}, {9, 8}, {7, 7}, {30, 4}, {31, 5},
					{40, 6}, {6, 6},
					{16, 16}, {17, 16}, {33, 17}, {64, 33}, {70, 70}, {100, 10}, {100, 17}, {600, 4}, {512, 3},
					{600, 16}, {130, 64},
				} {
					m, n, front := c[0], c[1], k%3 == 0
					q := newFactorisation(m, n, max(m+rng.IntN(9), 1), max(n+rng.IntN(3), 1), matrix(m, n))
					p := &factorisation{m, n, q.lda, q.ldr, q.in, a(q.a, front), r(q.r, front)}
					q.factor(nil)
					w := work(make([]float64, qr.WorkLen(n)), front)
					p.factor(w)
					if !slices.EqualFunc(p.a, q.a, sameBits) || !slices.EqualFunc(p.r, q.r, sameBits) {
						t.Errorf("%d x %d: other bits elsewhere", m, n)
					}
					if n := check.Allocations(1, func() { p.factor(w) }); n != 0 {
						t.Errorf("%d allocations", n)
					}
					if q.check(t); t.Failed() {
						t.Fatalf("%d x %d", m, n)
					}
				}
			})
		})
	}
}

func sameBits(v, w float64) bool { return math.Float64bits(v) == math.Float64bits(w) }

// What the columns have beyond the first is so small that its squares underflow, in
// part (to 1e-154) or altogether.
func TestFactorTinyRemainder(t *testing.T) {
	tiertest.Each(t, func(t *testing.T) {
		for _, tiny := range []float64{1e-130, 1e-150, 1e-155, 1e-160, 1e-170, 1e-250, 1e-300} {
			const m, n = 20, 4
			// Exactly e_0, and multiples of tiny times 1, -1, ... in other rows.
			q := newFactorisation(m, n, m, n, func(i, j int) float64 {
				switch {
				case i == 0:
					return 1
				case j > 0 && i>>(j-1)&1 == 0:
					return tiny
				case j > 0:
					return -tiny
				}
				return 0
			})
			q.factor(nil)
			q.check(t)
			if got, want := q.r[1*n+1], tiny*math.Sqrt(m-1); !(math.Abs(got-want) <= 1e-14*want) {
				t.Errorf("R(1, 1) is %g, want %g", got, want)
			}
		}
	})
}

func TestFactorNotFinite(t *testing.T) {
	tiertest.Each(t, func(t *testing.T) {
		for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
			for name, f := range map[string]func(i, j int) float64{
				"far from orthogonal": func(i, j int) float64 { return math.Cos(float64(i*j + i)) },
				"orthonormal":         diagonal,
			} {
				q := newFactorisation(50, 4, 50, 4, func(i, j int) float64 {
					if i == 33 && j == 2 {
						return bad
					}
					return f(i, j)
				})
				q.factor(nil)
				if v := q.a[2*q.lda+33]; !math.IsNaN(v) {
					t.Errorf("%s: %g became %g", name, bad, v)
				}
			}
		}
	})
}

func TestFactorPanics(t *testing.T) {
	x, work := make([]float64, 16), make([]float64, qr.WorkLen(2))
	for name, c := range map[string]struct {
		a, r blas64.GeneralCols
		work []float64
		want string
	}{
		"m < n":      {of(1, 2, 4, x), of(2, 2, 2, x), work, "qr: need a of m x n and r of n x n, m >= n >= 0"},
		"n < 0":      {of(1, -1, 4, x), of(-1, -1, 2, x), work, "qr: need a of m x n and r of n x n, m >= n >= 0"},
		"rows of r":  {of(4, 2, 4, x), of(3, 2, 3, x), work, "qr: need a of m x n and r of n x n, m >= n >= 0"},
		"columns":    {of(4, 2, 4, x), of(2, 3, 2, x), work, "qr: need a of m x n and r of n x n, m >= n >= 0"},
		"short a":    {of(4, 2, 4, x[:7]), of(2, 2, 2, x[8:]), work, "qr: slice or stride too short"},
		"short r":    {of(4, 2, 4, x[:8]), of(2, 2, 2, x[8:11]), work, "qr: slice or stride too short"},
		"lda":        {of(4, 2, 3, x[:8]), of(2, 2, 2, x[8:]), work, "qr: slice or stride too short"},
		"ldr":        {of(4, 2, 4, x[:8]), of(2, 2, 1, x[8:]), work, "qr: slice or stride too short"},
		"short work": {of(4, 2, 4, x[:8]), of(2, 2, 2, x[8:]), work[1:], "qr: work too short"},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if got := recover(); got != c.want {
					t.Errorf("panic %v, want %s", got, c.want)
				}
			}()
			qr.Factor(c.a, c.r, c.work)
		})
	}
}

// FuzzFactor factors matrices of small integers, scaled by columns.
func FuzzFactor(f *testing.F) {
	f.Add(uint8(30), uint8(4), []byte{1, 2, 3, 5, 8, 13, 0xfe})
	f.Add(uint8(0), uint8(0), []byte{})
	f.Add(uint8(9), uint8(9), []byte{1, 1})
	f.Add(uint8(5), uint8(3), []byte{0, 0, 0, 0, 0, 0, 1})
	f.Fuzz(func(t *testing.T, rows, cols uint8, data []byte) {
		n := int(cols) % 33
		m := n + int(rows)%100
		q := newFactorisation(m, n, m+1, n+1, func(i, j int) float64 {
			if len(data) == 0 {
				return 0
			}
			k := j*m + i
			scale := int(int8(data[j%len(data)])) / 4
			return math.Ldexp(float64(int8(data[k%len(data)])+int8(k/len(data))), scale)
		})
		q.factor(nil)
		q.check(t)
	})
}
