package blas_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/difalt/difalt/internal/longtest"
	"github.com/difalt/difalt/internal/tiertest"
	"github.com/difalt/difalt/kernel/blas"
	gblas "gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/lapack"
	lapackreference "gonum.org/v1/gonum/lapack/gonum"
)

// A trial is a call with random arguments, which both implementations get: matrices and vectors x, the latter
// as matrices of one column, and settings s of some routines.
type trial struct {
	x []*rowMajor
	s settings
	l lapack.Float64
}

type settings struct {
	m, n, k     int
	ul          gblas.Uplo
	side        gblas.Side
	tA, tB      gblas.Transpose
	diag        gblas.Diag
	norm        lapack.MatrixNorm
	alpha, beta float64
}

func randomSettings(rng *rand.Rand) settings {
	size := func() int { return 1 + rng.IntN([]int{5, 20, 70, 140}[rng.IntN(4)]) }
	return settings{size(), size(), size(), pick(rng, triangles), pick(rng, []gblas.Side{gblas.Left, gblas.Right}),
		pick(rng, []gblas.Transpose{gblas.NoTrans, gblas.Trans, gblas.ConjTrans}), pick(rng, transposes),
		pick(rng, diagonals),
		pick(rng, []lapack.MatrixNorm{lapack.MaxAbs, lapack.MaxColumnSum, lapack.MaxRowSum, lapack.Frobenius}),
		pick(rng, []float64{1, -1, 0, 0.7}), pick(rng, []float64{0, 1, -0.3})}
}

func pick[T any](rng *rand.Rand, all []T) T { return all[rng.IntN(len(all))] }

// order is the order of a triangle on a side.
func (s settings) order() int {
	if s.side == gblas.Left {
		return s.m
	}
	return s.n
}

// lengths are those of x and y of A x = y.
func (s settings) lengths() (x, y int) {
	if s.tA == gblas.NoTrans {
		return s.n, s.m
	}
	return s.m, s.n
}

// reflectorsOf sets the form of a product of reflectors and a matrix, and returns their length.
func (s *settings) reflectorsOf(rng *rand.Rand) (length int) {
	s.tA, length = s.tB, s.m
	if s.side == gblas.Right {
		length = s.n
	}
	s.k = min(s.k, length)
	return length
}

// reflectors returns the operands of a product of reflectors and a matrix, and its memory.
func (t *trial) reflectors() (q, c *rowMajor, tau, work []float64) {
	return t.x[0], t.x[1], make([]float64, t.s.k), make([]float64, 5000+64*(max(t.s.m, 0)+max(t.s.n, 0)+t.s.k))
}

// A routine has the shapes of its operands, and the call, which returns results beside the operands.
type routine struct {
	operands func(rng *rand.Rand, s *settings, gap func() int) []*rowMajor
	call     func(t *trial) []float64
}

// routines are the routines that this package computes itself, with those of other files.
var routines = map[string]routine{
	"Dpotrf": {func(rng *rand.Rand, s *settings, gap func() int) []*rowMajor {
		a := triangular(rng, s.n, gap())
		if s.k%4 == 0 { // not positive definite, from some row on
			a.data[(s.n/2)*(a.stride+1)] = -1
		}
		return []*rowMajor{a}
	}, func(t *trial) []float64 {
		if !t.l.Dpotrf(t.s.ul, t.s.n, t.x[0].data, t.x[0].stride) {
			clear(t.x[0].data) // the rest is for nobody to use
			return []float64{1}
		}
		return nil
	}},
	"Dgetrf": {func(rng *rand.Rand, s *settings, gap func() int) []*rowMajor {
		a := random(rng, s.m, s.n, gap())
		for i := range min(s.m, s.n) {
			a.data[i*(a.stride+1)] += float64(3 * (i % 5))
		}
		return []*rowMajor{a}
	}, func(t *trial) (results []float64) {
		pivots := make([]int, max(min(t.s.m, t.s.n), 0))
		t.l.Dgetrf(t.s.m, t.s.n, t.x[0].data, t.x[0].stride, pivots)
		for _, p := range pivots {
			results = append(results, float64(p))
		}
		return results
	}},
	"Dgeqrf": {func(rng *rand.Rand, s *settings, gap func() int) []*rowMajor {
		a := random(rng, s.m, s.n, gap())
		if s.k%3 == 0 { // columns of zeros, and tiny ones
			for i := range s.m {
				a.data[i*a.stride] *= 1e-200
				a.data[i*a.stride+s.n/2] = 0
			}
		}
		return []*rowMajor{a}
	}, func(t *trial) []float64 {
		tau, work := make([]float64, max(min(t.s.m, t.s.n), 0)), make([]float64, 64*max(t.s.n, 1))
		t.l.Dgeqrf(t.s.m, t.s.n, t.x[0].data, t.x[0].stride, tau, work, len(work))
		return tau
	}},
	"Dormqr": {func(rng *rand.Rand, s *settings, gap func() int) []*rowMajor {
		length := s.reflectorsOf(rng)
		return []*rowMajor{random(rng, length, s.k, gap()), random(rng, s.m, s.n, gap())}
	}, func(t *trial) []float64 {
		q, c, tau, work := t.reflectors()
		blas.Lapack{}.Dgeqrf(q.rows, t.s.k, q.data, q.stride, tau, work, len(work))
		t.l.Dormqr(t.s.side, t.s.tA, t.s.m, t.s.n, t.s.k, q.data, q.stride, tau, c.data, c.stride, work, len(work))
		return work[:1]
	}},
	"Dormlq": {func(rng *rand.Rand, s *settings, gap func() int) []*rowMajor {
		length := s.reflectorsOf(rng)
		return []*rowMajor{random(rng, s.k, length, gap()), random(rng, s.m, s.n, gap())}
	}, func(t *trial) []float64 {
		q, c, tau, work := t.reflectors()
		blas.Lapack{}.Dgelqf(t.s.k, q.cols, q.data, q.stride, tau, work, len(work))
		t.l.Dormlq(t.s.side, t.s.tA, t.s.m, t.s.n, t.s.k, q.data, q.stride, tau, c.data, c.stride, work, len(work))
		return work[:1]
	}},
	"Dgecon, Dpocon, Dtrcon": {func(rng *rand.Rand, s *settings, gap func() int) []*rowMajor {
		if s.k%8 > 2 {
			s.norm = pick(rng, []lapack.MatrixNorm{lapack.MaxColumnSum, lapack.MaxRowSum})
		}
		s.alpha = pick(rng, []float64{1, 0.7, 0, -1, 1e160, math.Inf(1), math.NaN()})
		a := triangular(rng, s.n, gap())
		diagonal := func(i int) *float64 { return &a.data[i*(a.stride+1)] }
		switch rng.IntN(9) {
		case 0:
			*diagonal(s.n / 2) = 0
		case 1:
			*diagonal(s.n / 2) = 1e-9
		case 2:
			a.data[(s.n-1)*a.stride] = math.NaN()
		case 3: // the inverse overflows
			for i := range s.n {
				*diagonal(i) = 1e-200
			}
		case 4:
			for i := range a.data {
				a.data[i] *= 1e160
			}
		}
		return []*rowMajor{a, random(rng, 1, 4*s.n, 0), random(rng, 1, s.n, 0)}
	}, func(t *trial) []float64 {
		a, work, integers := t.x[0], t.x[1].data, make([]int, len(t.x[2].data))
		defer clear(work)
		value := 0.0
		switch t.s.k % 3 {
		case 0:
			value = t.l.Dgecon(t.s.norm, t.s.n, a.data, a.stride, t.s.alpha, work, integers)
		case 1:
			if len(work) == 4*t.s.n {
				work = work[:3*t.s.n]
			}
			value = t.l.Dpocon(t.s.ul, t.s.n, a.data, a.stride, t.s.alpha, work, integers)
		default:
			value = t.l.Dtrcon(t.s.norm, t.s.ul, t.s.diag, t.s.n, a.data, a.stride, work, integers)
		}
		if math.IsInf(value, 1) { // 1 / |A^-1| overflows in gonum
			value = 1
		}
		fraction, exponent := math.Frexp(value)
		return []float64{float64(exponent) + float64(2*fraction)} // a logarithm, for its relative error
	}},
	"Dlansy": {func(rng *rand.Rand, s *settings, gap func() int) []*rowMajor {
		return []*rowMajor{random(rng, s.n, s.n, gap()), random(rng, 1, s.n, 0)}
	}, func(t *trial) []float64 {
		defer clear(t.x[1].data)
		return []float64{t.l.Dlansy(t.s.norm, t.s.ul, t.s.n, t.x[0].data, t.x[0].stride, t.x[1].data)}
	}},
	"Dsyev": {func(rng *rand.Rand, s *settings, gap func() int) []*rowMajor {
		return []*rowMajor{random(rng, s.n, s.n, gap()), random(rng, 1, s.n, 0), random(rng, 1, 40*s.n, 0)}
	}, func(t *trial) []float64 {
		a, w, work := t.x[0], t.x[1].data, t.x[2].data
		lwork := []int{len(work), len(work), 3*t.s.n - 2, -1, 40*t.s.n + 1}[t.s.k%5]
		ok := t.l.Dsyev(lapack.EVCompute, t.s.ul, t.s.n, a.data, a.stride, w, work, lwork)
		clear(work[1:])
		if lwork >= 0 {
			clear(a.data) // the signs of eigenvectors differ
		}
		return []float64{map[bool]float64{true: 1}[ok]}
	}},
	"Dgesvd": {func(rng *rand.Rand, s *settings, gap func() int) []*rowMajor {
		return []*rowMajor{random(rng, s.m, s.n, gap()), random(rng, 1, min(s.m, s.n), 0), random(rng, s.m, s.m, gap())}
	}, func(t *trial) []float64 {
		a, values, u := t.x[0], t.x[1].data, t.x[2]
		jobU := []lapack.SVDJob{lapack.SVDAll, lapack.SVDStore, lapack.SVDNone, 'X'}[t.s.k%4]
		least := max(3*min(t.s.m, t.s.n)+max(t.s.m, t.s.n), 5*min(t.s.m, t.s.n))
		work := make([]float64, max(1, least+t.s.k%3))
		lwork := []int{len(work), len(work), least, least - 1, len(work) + 1}[t.s.k/4%5]
		defer clear(a.data)
		defer clear(u.data) // the signs of vectors differ
		t.l.Dgesvd(jobU, lapack.SVDNone, t.s.m, t.s.n, a.data, a.stride, values, u.data, u.stride, nil, 1, work, lwork)
		return nil
	}},
}

// spoil makes an argument wrong: a setting, or the length or the stride of an operand.
func spoil[T real](rng *rand.Rand, s *settings, data *[]T, stride *int, cols int) {
	switch rng.IntN(6) {
	case 0:
		*data = (*data)[:len(*data)-1]
	case 1:
		*stride = cols - 1
	case 2:
		s.ul, s.tB = 'X', 'Y'
	case 3:
		s.tA, s.norm = 'Y', 'Z'
	case 4:
		s.diag, s.side = 'X', 'Y'
	case 5:
		s.n = -1
	}
}

// outcome runs a routine on copies of the operands.
func (t trial) outcome(call func(t *trial) []float64) (x []*rowMajor, results []float64, msg string) {
	x = make([]*rowMajor, len(t.x))
	for i, m := range t.x {
		x[i] = m.clone()
	}
	t.x = x
	defer func() {
		if p := recover(); p != nil {
			msg = fmt.Sprint(p)
		}
	}()
	return x, call(&t), ""
}

// Results are gonum's to rounding, and panics are gonum's, for random shapes, strides and settings; an
// operand that is too short by one entry, or a stride, is refused. Nothing is written between rows.
func TestAsGonum(t *testing.T) {
	trials := 150
	if longtest.Enabled() {
		trials = 3000
	}
	for name, r := range routines {
		t.Run(name, func(t *testing.T) {
			tiertest.Each(t, func(t *testing.T) {
				rng, differ := rand.New(rand.NewPCG(81, 82)), !tiled()
				for i := range trials {
					s := randomSettings(rng)
					operands := r.operands(rng, &s, func() int { return rng.IntN(4) * rng.IntN(2) })
					if i%4 == 3 {
						m := pick(rng, operands)
						spoil(rng, &s, &m.data, &m.stride, m.cols)
					}
					wantX, want, wantPanic := trial{operands, s, lapackreference.Implementation{}}.outcome(r.call)
					x, got, panicked := trial{operands, s, blas.Lapack{}}.outcome(r.call)
					if panicked != wantPanic {
						t.Fatalf("%+v: panic %q, want %q", s, panicked, wantPanic)
					}
					if wantPanic != "" {
						continue
					}
					for k, m := range x {
						if err := alike(m.data, wantX[k].data); err != nil {
							t.Fatalf("%+v: operand %d: %v", s, k, err)
						}
						differ = differ || !slices.EqualFunc(m.data, wantX[k].data, sameBit[float64])
					}
					if err := alike(got, want); err != nil {
						t.Fatalf("%+v: results: %v", s, err)
					}
					differ = differ || !slices.EqualFunc(got, want, sameBit[float64])
				}
				if !differ {
					t.Error("all bits are gonum's: the tiles compute nothing")
				}
			})
		})
	}
}

// alike returns an error if numbers differ by more than rounding, or a guard was written.
func alike(got, want []float64) error {
	size := 1.0
	for _, v := range want {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			size = max(size, math.Abs(v))
		}
	}
	for i, w := range want {
		same := math.Float64bits(got[i]) == math.Float64bits(w) || w != w && got[i] != got[i] && !guarded(w)
		if !same && !(math.Abs(got[i]-w) <= 1e-9*size) {
			return fmt.Errorf("entry %d is %v, gonum's is %v", i, got[i], w)
		}
	}
	return nil
}

var diagonals = []gblas.Diag{gblas.NonUnit, gblas.Unit}

// triangular returns a matrix whose triangles are well-conditioned, also with ones on the diagonal.
func triangular(rng *rand.Rand, n, gap int) *rowMajor {
	a := random(rng, n, n, gap)
	for i := range n {
		for j := range n {
			a.data[i*a.stride+j] /= float64(n)
		}
		a.data[i*(a.stride+1)] += 2
	}
	return a
}
