package qr_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/difalt/difalt/internal/dense"
	"github.com/difalt/difalt/internal/tiertest"
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

func newFactorisation(m, n, lda, ldr int, f func(i, j int) float64) *factorisation {
	q := &factorisation{m: m, n: n, lda: lda, ldr: ldr}
	q.a, q.r = make([]float64, lda*n+3), make([]float64, ldr*n+3)
	for _, x := range [][]float64{q.a, q.r} {
		for i := range x {
			x[i] = untouched
		}
	}
	for j := range n {
		for i := range m {
			q.a[j*lda+i] = f(i, j)
		}
	}
	q.in = append([]float64(nil), q.a...)
	return q
}

func of(rows, cols, stride int, data []float64) blas64.GeneralCols {
	return blas64.GeneralCols{Rows: rows, Cols: cols, Stride: stride, Data: data}
}

// matrices returns the arguments of Factor.
func (q *factorisation) matrices(work []float64) (a, r blas64.GeneralCols, w []float64) {
	return of(q.m, q.n, q.lda, q.a), of(q.n, q.n, q.ldr, q.r), work
}

func (q *factorisation) factor() {
	qr.Factor(q.matrices(make([]float64, qr.WorkLen(q.n))))
}

// check holds the result to Q'Q = I, QR = A, and R upper triangular without
// negative diagonal entries: that determines Q and R where A has full rank.
func (q *factorisation) check(t *testing.T) {
	t.Helper()
	for j := range q.n {
		for i := range q.ldr {
			v := q.r[j*q.ldr+i]
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
			if v := dense.Dot(qj, q.a[k*q.lda:][:q.m]); !(math.Abs(v-want) <= tol) {
				t.Errorf("q_%d'q_%d = %g", k, j, v)
			}
		}
		column := q.in[j*q.lda:][:q.m]
		norm, off := math.Sqrt(dense.Dot(column, column)), 0.0
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

// The nodes' bases may be dependent, or zero, and Q must be orthonormal still.
func TestFactor(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for name, f := range map[string]func(i, j int) float64{
		"random":       func(i, j int) float64 { return rng.NormFloat64() },
		"zero":         func(i, j int) float64 { return 0 },
		"equal":        func(i, j int) float64 { return math.Sin(float64(i)) },
		"zero column":  func(i, j int) float64 { return math.Sin(float64(i*(j+1))) * float64(min(j%3, 1)) },
		"orthonormal":  func(i, j int) float64 { return float64(1 - min(max(i-j, j-i), 1)) },
		"negative":     func(i, j int) float64 { return -float64(1 - min(max(i-j, j-i), 1)) },
		"dependent":    func(i, j int) float64 { return math.Sin(float64(i)) + float64(j*i) },
		"mixed scales": func(i, j int) float64 { return math.Ldexp(math.Cos(float64(i*j+1)), 60*(j%3)-30*(i%4)) },
		"large":        func(i, j int) float64 { return 1e140 * math.Cos(float64(i*j+1)) },
		"small":        func(i, j int) float64 { return 1e-140 * math.Cos(float64(i*j+1)) },
	} {
		t.Run(name, func(t *testing.T) {
			tiertest.Each(t, func(t *testing.T) {
				for _, c := range [][2]int{
					{0, 0}, {1, 0}, {1, 1}, {2, 1}, {2, 2}, {3, 2}, {4, 4}, {5, 4}, {9, 8}, {7, 7}, {30, 4}, {31, 5}, {40, 6}, {6, 6},
					{16, 16}, {17, 16}, {33, 17}, {64, 33}, {70, 70}, {100, 10}, {100, 17}, {600, 4}, {512, 3}, {2048, 16}, {130, 64},
				} {
					q := newFactorisation(c[0], c[1], max(c[0]+rng.IntN(9), 1), max(c[1]+rng.IntN(3), 1), f)
					q.factor()
					if q.check(t); t.Failed() {
						t.Fatalf("%d x %d", c[0], c[1])
					}
				}
			})
		})
	}
}

// What the columns have beyond the first is so small that its squares underflow, in
// part (to 1e-154) or altogether. Before it is scaled up, 1e-160 gave NaN and 1e-170 nothing.
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
			q.factor()
			q.check(t)
			if got, want := q.r[1*n+1], tiny*math.Sqrt(m-1); !(math.Abs(got-want) <= 1e-14*want) {
				t.Errorf("R(1, 1) is %g, want %g", got, want)
			}
		}
	})
}

// Columns of one length and with one angle between them, on both sides of the line
// between the two ways to factor: the results agree, but for how far apart the
// matrices are, and both are factors.
func TestFactorNearlyOrthogonal(t *testing.T) {
	tiertest.Each(t, func(t *testing.T) {
		for _, c := range [][2]int{{40, 2}, {31, 5}, {100, 10}, {600, 4}, {130, 33}} {
			for _, scale := range []float64{1, 1e-49, 1e49} {
				m, n := c[0], c[1]
				both := [2]*factorisation{}
				for side := range both {
					// I + x 11' has the Gram matrix I + (2x + n x^2) 11'.
					cosine := (0.5 + 1e-10*float64(2*side-1)) / math.Sqrt(float64(n*(n-1)))
					cosine /= 1 - cosine // the diagonal is 1 + cosine
					x := (math.Sqrt(1+float64(n)*cosine) - 1) / float64(n)
					q := newFactorisation(m, n, m+1, n, func(i, j int) float64 {
						v := 0.0
						for k := range n { // discrete cosines are orthonormal
							e := math.Sqrt(2/float64(m)) * math.Cos(math.Pi*(float64(i)+0.5)*float64(k+1)/float64(m))
							if k == j {
								v += e
							}
							v += x * e
						}
						return v * scale
					})
					q.factor()
					q.check(t)
					both[side] = q
				}
				for i, v := range both[0].a {
					if math.Abs(both[1].a[i]-v) > 1e-9 {
						t.Fatalf("%v times %g: entry %d of Q is %g and %g", c, scale, i, v, both[1].a[i])
					}
				}
			}
		}
	})
}

// A matrix that is orthonormal already comes back, to rounding, with R = I: nodes
// that agree stay where they are.
func TestFactorOfQ(t *testing.T) {
	tiertest.Each(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(3, 1))
		q := newFactorisation(100, 10, 104, 10, func(i, j int) float64 { return rng.NormFloat64() })
		q.factor()
		again := newFactorisation(100, 10, 104, 10, func(i, j int) float64 { return q.a[j*q.lda+i] })
		again.factor()
		again.check(t)
		for i, v := range q.a {
			if math.Abs(again.a[i]-v) > 1e-14 {
				t.Fatalf("entry %d moved from %g to %g", i, v, again.a[i])
			}
		}
	})
}

// Equal matrices have equal factors, to the bit, wherever they are in memory.
func TestFactorIsReproducible(t *testing.T) {
	tiertest.Each(t, func(t *testing.T) {
		value := func(i, j int) float64 { return math.Sin(float64(i*i + 7*j)) }
		for _, c := range [][2]int{{30, 4}, {101, 10}, {65, 33}} {
			want := newFactorisation(c[0], c[1], c[0], c[1], value)
			want.factor()
			for shift := range 8 {
				q := newFactorisation(c[0], c[1], c[0], c[1], value)
				memory := make([]float64, len(q.a)+8)
				copy(memory[shift:], q.a)
				q.a = memory[shift:][:len(q.a)]
				q.factor()
				if !slices.Equal(q.a[:c[0]*c[1]], want.a[:c[0]*c[1]]) || !slices.Equal(q.r[:c[1]*c[1]], want.r[:c[1]*c[1]]) {
					t.Fatalf("%v: Q or R depends on the address", c)
				}
			}
		}
	})
}

func TestFactorNotFinite(t *testing.T) {
	tiertest.Each(t, func(t *testing.T) {
		for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
			for name, f := range map[string]func(i, j int) float64{
				"far from orthogonal": func(i, j int) float64 { return math.Cos(float64(i*j + i)) },
				"orthonormal":         func(i, j int) float64 { return float64(1 - min(max(i-j, j-i), 1)) },
			} {
				q := newFactorisation(50, 4, 50, 4, func(i, j int) float64 {
					if i == 33 && j == 2 {
						return bad
					}
					return f(i, j)
				})
				q.factor()
				if v := q.a[2*q.lda+33]; !math.IsNaN(v) {
					t.Errorf("%s: %g became %g", name, bad, v)
				}
			}
		}
	})
}

func TestFactorDoesNotAllocate(t *testing.T) {
	q := newFactorisation(100, 10, 104, 10, func(i, j int) float64 { return math.Sin(float64(i + j*j)) })
	work := make([]float64, qr.WorkLen(10))
	if n := testing.AllocsPerRun(20, func() { qr.Factor(q.matrices(work)) }); n != 0 {
		t.Errorf("%g allocations", n)
	}
}

// Without work Factor allocates it, and computes the same.
func TestFactorWithoutWork(t *testing.T) {
	f := func(i, j int) float64 { return math.Sin(float64(3*i + i*j*j)) } // far from orthogonal
	p, q := newFactorisation(40, 6, 40, 6, f), newFactorisation(40, 6, 40, 6, f)
	p.factor()
	qr.Factor(q.matrices(nil))
	if !slices.Equal(p.a[:240], q.a[:240]) || p.r[35] != q.r[35] {
		t.Error("other bits without work")
	}
	qr.Factor(of(3, 0, 3, nil), of(0, 0, 1, nil), nil)
}

func TestFactorPanics(t *testing.T) {
	x := make([]float64, 16)
	for name, f := range map[string]func(){
		"m < n":      func() { qr.Factor(of(1, 2, 4, x), of(2, 2, 2, x), x) },
		"n < 0":      func() { qr.Factor(of(1, -1, 4, x), of(-1, -1, 2, x), x) },
		"short work": func() { qr.Factor(of(4, 2, 4, x), of(2, 2, 2, x[8:]), x[15:]) },
		"short a":    func() { qr.Factor(of(4, 2, 4, x[:7]), of(2, 2, 2, x[8:]), x[12:]) },
		"short r":    func() { qr.Factor(of(4, 2, 4, x[:8]), of(2, 2, 2, x[8:11]), x[12:]) },
		"lda":        func() { qr.Factor(of(4, 2, 3, x[:8]), of(2, 2, 2, x[8:]), x[12:]) },
		"ldr":        func() { qr.Factor(of(4, 2, 4, x[:8]), of(2, 2, 1, x[8:]), x[12:]) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if msg, ok := recover().(string); !ok {
					t.Errorf("panic %q, want a constant message", msg)
				}
			}()
			f()
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
		q.factor()
		q.check(t)
	})
}
