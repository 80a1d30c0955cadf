package blas

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	gblas "gonum.org/v1/gonum/blas"
	reference "gonum.org/v1/gonum/blas/gonum"
)

// complexMatrices are routines of complex matrices.
type complexMatrices interface {
	gblas.Complex128
	gblas.Complex64
}

// A complexCase holds the arguments of a routine of complex matrices.
type complexCase struct {
	m, n, k     int
	side        gblas.Side
	ul          gblas.Uplo
	op          gblas.Transpose
	diag        gblas.Diag
	alpha, beta complex128
	a, b        []complex128
	a32, b32    []complex64
}

// complexStride is the distance of rows of the matrices of a complexCase.
const complexStride = 10

func (s *complexCase) symmetric() gblas.Transpose {
	if s.op == gblas.ConjTrans {
		return gblas.Trans
	}
	return s.op
}

func (s *complexCase) hermitian() gblas.Transpose {
	if s.op == gblas.Trans {
		return gblas.ConjTrans
	}
	return s.op
}

// complexCalls are the routines in complex128 and complex64, which change c and c32.
var complexCalls = map[string]func(f complexMatrices, s *complexCase, c []complex128, c32 []complex64){
	"hemm": func(f complexMatrices, s *complexCase, c []complex128, c32 []complex64) {
		f.Zhemm(s.side, s.ul, s.m, s.n, s.alpha, s.a, complexStride, s.b, complexStride, s.beta, c, complexStride)
		f.Chemm(s.side, s.ul, s.m, s.n, complex64(s.alpha), s.a32, complexStride, s.b32, complexStride,
			complex64(s.beta), c32, complexStride)
	},
	"symm": func(f complexMatrices, s *complexCase, c []complex128, c32 []complex64) {
		f.Zsymm(s.side, s.ul, s.m, s.n, s.alpha, s.a, complexStride, s.b, complexStride, s.beta, c, complexStride)
		f.Csymm(s.side, s.ul, s.m, s.n, complex64(s.alpha), s.a32, complexStride, s.b32, complexStride,
			complex64(s.beta), c32, complexStride)
	},
	"herk": func(f complexMatrices, s *complexCase, c []complex128, c32 []complex64) {
		f.Zherk(s.ul, s.hermitian(), s.n, s.k, real(s.alpha), s.a, complexStride, real(s.beta), c, complexStride)
		f.Cherk(s.ul, s.hermitian(), s.n, s.k, float32(real(s.alpha)), s.a32, complexStride, float32(real(s.beta)),
			c32, complexStride)
	},
	"syrk": func(f complexMatrices, s *complexCase, c []complex128, c32 []complex64) {
		f.Zsyrk(s.ul, s.symmetric(), s.n, s.k, s.alpha, s.a, complexStride, s.beta, c, complexStride)
		f.Csyrk(s.ul, s.symmetric(), s.n, s.k, complex64(s.alpha), s.a32, complexStride, complex64(s.beta), c32,
			complexStride)
	},
	"her2k": func(f complexMatrices, s *complexCase, c []complex128, c32 []complex64) {
		f.Zher2k(s.ul, s.hermitian(), s.n, s.k, s.alpha, s.a, complexStride, s.b, complexStride, real(s.beta), c,
			complexStride)
		f.Cher2k(s.ul, s.hermitian(), s.n, s.k, complex64(s.alpha), s.a32, complexStride, s.b32, complexStride,
			float32(real(s.beta)), c32, complexStride)
	},
	"syr2k": func(f complexMatrices, s *complexCase, c []complex128, c32 []complex64) {
		f.Zsyr2k(s.ul, s.symmetric(), s.n, s.k, s.alpha, s.a, complexStride, s.b, complexStride, s.beta, c,
			complexStride)
		f.Csyr2k(s.ul, s.symmetric(), s.n, s.k, complex64(s.alpha), s.a32, complexStride, s.b32, complexStride,
			complex64(s.beta), c32, complexStride)
	},
	"trmm": func(f complexMatrices, s *complexCase, c []complex128, c32 []complex64) {
		f.Ztrmm(s.side, s.ul, s.op, s.diag, s.m, s.n, s.alpha, s.a, complexStride, c, complexStride)
		if s.side == gblas.Left || s.op == gblas.NoTrans { // others are sums that depend on addresses
			f.Ctrmm(s.side, s.ul, s.op, s.diag, s.m, s.n, complex64(s.alpha), s.a32, complexStride, c32, complexStride)
		}
	},
	"trsm": func(f complexMatrices, s *complexCase, c []complex128, c32 []complex64) {
		f.Ztrsm(s.side, s.ul, s.op, s.diag, s.m, s.n, s.alpha, s.a, complexStride, c, complexStride)
		if s.side == gblas.Left || s.op == gblas.NoTrans {
			f.Ctrsm(s.side, s.ul, s.op, s.diag, s.m, s.n, complex64(s.alpha), s.a32, complexStride, c32, complexStride)
		}
	},
}

// TestOrderedProducts: products and systems of complex matrices have the bits of gonum on amd64.
func TestOrderedProducts(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("gonum's assembly is amd64's")
	}
	rng := rand.New(rand.NewPCG(75, 76))
	for range 3000 {
		s := complexCase{m: 1 + rng.IntN(9), n: 1 + rng.IntN(9), k: 1 + rng.IntN(7)}
		s.side = []gblas.Side{gblas.Left, gblas.Right}[rng.IntN(2)]
		s.ul = []gblas.Uplo{gblas.Upper, gblas.Lower}[rng.IntN(2)]
		s.op = []gblas.Transpose{gblas.NoTrans, gblas.Trans, gblas.ConjTrans}[rng.IntN(3)]
		s.diag = []gblas.Diag{gblas.Unit, gblas.NonUnit}[rng.IntN(2)]
		s.alpha = []complex128{1, 1i, .7 - .2i}[rng.IntN(3)]
		s.beta = []complex128{0, 1, -.3 + .5i}[rng.IntN(3)]
		random := func() (x []complex128, x32 []complex64) {
			for range complexStride * complexStride {
				v := complex(rng.NormFloat64(), rng.NormFloat64())
				if rng.IntN(12) == 0 {
					v = 0
				}
				x, x32 = append(x, v), append(x32, complex64(v))
			}
			return x, x32
		}
		s.a, s.a32 = random()
		s.b, s.b32 = random()
		c, c32 := random()
		for i := range complexStride { // pivots
			if v := s.a[i*(complexStride+1)]; v == 0 {
				s.a[i*(complexStride+1)], s.a32[i*(complexStride+1)] = 1i, 1i
			}
		}
		for name, call := range complexCalls {
			got, want, got32, want32 := slices.Clone(c), slices.Clone(c), slices.Clone(c32), slices.Clone(c32)
			call(ordered{}, &s, got, got32)
			call(reference.Implementation{}, &s, want, want32)
			for i := range c {
				if got[i] != want[i] || got32[i] != want32[i] {
					t.Fatalf("%s %c %c %c %c of %d x %d x %d, alpha %v, beta %v: entry %d is %v and %v, want "+
						"%v and %v", name,
						s.side, s.ul, s.op, s.diag, s.m, s.n, s.k, s.alpha, s.beta, i, got[i], got32[i], want[i],
						want32[i])
				}
			}
		}
	}
}
