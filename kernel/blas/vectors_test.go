package blas_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/difalt/difalt/internal/tiertest"
	"github.com/difalt/difalt/kernel/blas"
	gblas "gonum.org/v1/gonum/blas"
	reference "gonum.org/v1/gonum/blas/gonum"
)

// A vectorCall has the operands of a routine of vectors, which returns a number or changes them.
type vectorCall[T any] struct {
	n, incX, incY int
	x, y          []T
}

func (c vectorCall[T]) clone() vectorCall[T] {
	c.x, c.y = slices.Clone(c.x), slices.Clone(c.y)
	return c
}

// vectorsOfReals returns routines of vectors that compute with real numbers.
func vectorsOfReals(f gblas.Float64, s gblas.Float32) (map[string]func(c vectorCall[float64]) float64, map[string]func(
	c vectorCall[float32]) float64) {
	return map[string]func(c vectorCall[float64]) float64{
			"iamax": func(c vectorCall[float64]) float64 { return float64(f.Idamax(c.n, c.x, c.incX)) },
			"rot":   func(c vectorCall[float64]) float64 { f.Drot(c.n, c.x, c.incX, c.y, c.incY, .6, -.8); return 0 },
			"swap":  func(c vectorCall[float64]) float64 { f.Dswap(c.n, c.x, c.incX, c.y, c.incY); return 0 },
			"dot":   func(c vectorCall[float64]) float64 { return f.Ddot(c.n, c.x, c.incX, c.y, c.incY) },
			"nrm2":  func(c vectorCall[float64]) float64 { return f.Dnrm2(c.n, c.x, c.incX) },
			"asum":  func(c vectorCall[float64]) float64 { return f.Dasum(c.n, c.x, c.incX) },
			"copy":  func(c vectorCall[float64]) float64 { f.Dcopy(c.n, c.x, c.incX, c.y, c.incY); return 0 },
			"scal":  func(c vectorCall[float64]) float64 { f.Dscal(c.n, -3, c.x, c.incX); return 0 },
			"axpy":  func(c vectorCall[float64]) float64 { f.Daxpy(c.n, -3, c.x, c.incX, c.y, c.incY); return 0 },
			"rotm": func(c vectorCall[float64]) float64 {
				p := gblas.DrotmParams{Flag: flagOf(c.n), H: [4]float64{.5, -2, 3, .25}}
				f.Drotm(c.n, c.x, c.incX, c.y, c.incY, p)
				return 0
			},
		}, map[string]func(c vectorCall[float32]) float64{
			"iamax": func(c vectorCall[float32]) float64 { return float64(s.Isamax(c.n, c.x, c.incX)) },
			"rot":   func(c vectorCall[float32]) float64 { s.Srot(c.n, c.x, c.incX, c.y, c.incY, .6, -.8); return 0 },
			"swap":  func(c vectorCall[float32]) float64 { s.Sswap(c.n, c.x, c.incX, c.y, c.incY); return 0 },
			"nrm2":  func(c vectorCall[float32]) float64 { return float64(s.Snrm2(c.n, c.x, c.incX)) },
			"asum":  func(c vectorCall[float32]) float64 { return float64(s.Sasum(c.n, c.x, c.incX)) },
			"copy":  func(c vectorCall[float32]) float64 { s.Scopy(c.n, c.x, c.incX, c.y, c.incY); return 0 },
			"scal":  func(c vectorCall[float32]) float64 { s.Sscal(c.n, -3, c.x, c.incX); return 0 },
			"axpy":  func(c vectorCall[float32]) float64 { s.Saxpy(c.n, -3, c.x, c.incX, c.y, c.incY); return 0 },
			"rotm": func(c vectorCall[float32]) float64 {
				p := gblas.SrotmParams{Flag: flagOf(c.n), H: [4]float32{.5, -2, 3, .25}}
				s.Srotm(c.n, c.x, c.incX, c.y, c.incY, p)
				return 0
			},
		}
}

// flagOf returns a form of modified rotations.
func flagOf(k int) gblas.Flag {
	return []gblas.Flag{gblas.Identity, gblas.Rescaling, gblas.OffDiagonal, gblas.Diagonal}[k%4]
}

// vectorsOfComplex returns routines of vectors that compute with complex numbers. Complex results are two.
func vectorsOfComplex(f gblas.Complex128,
	s gblas.Complex64) (map[string]func(c vectorCall[complex128]) float64, map[string]func(
	c vectorCall[complex64]) float64) {
	const alpha = .5 - .25i
	store := func(c vectorCall[complex128], v complex128) float64 { c.y[0] = v; return 0 }
	store64 := func(c vectorCall[complex64], v complex64) float64 { c.y[0] = v; return 0 }
	return map[string]func(c vectorCall[complex128]) float64{
			"axpy":  func(c vectorCall[complex128]) float64 { f.Zaxpy(c.n, alpha, c.x, c.incX, c.y, c.incY); return 0 },
			"dotu":  func(c vectorCall[complex128]) float64 { return store(c, f.Zdotu(c.n, c.x, c.incX, c.y, c.incY)) },
			"dotc":  func(c vectorCall[complex128]) float64 { return store(c, f.Zdotc(c.n, c.x, c.incX, c.y, c.incY)) },
			"scal":  func(c vectorCall[complex128]) float64 { f.Zscal(c.n, alpha, c.x, c.incX); return 0 },
			"dscal": func(c vectorCall[complex128]) float64 { f.Zdscal(c.n, -3, c.x, c.incX); return 0 },
			"zero": func(c vectorCall[complex128]) float64 {
				f.Zscal(c.n, 0, c.x, c.incX)
				f.Zdscal(c.n, 0, c.y, c.incY)
				return 0
			},
			"nrm2": func(c vectorCall[complex128]) float64 { return f.Dznrm2(c.n, c.x, c.incX) },
			"asum": func(c vectorCall[complex128]) float64 { return f.Dzasum(c.n, c.x, c.incX) },
			"swap": func(c vectorCall[complex128]) float64 { f.Zswap(c.n, c.x, c.incX, c.y, c.incY); return 0 },
		}, map[string]func(c vectorCall[complex64]) float64{
			"axpy": func(c vectorCall[complex64]) float64 { s.Caxpy(c.n, alpha, c.x, c.incX, c.y, c.incY); return 0 },
			"dotu": func(c vectorCall[complex64]) float64 {
				return store64(c, s.Cdotu(c.n, c.x, c.incX, c.y, c.incY))
			},
			"dotc": func(c vectorCall[complex64]) float64 {
				return store64(c, s.Cdotc(c.n, c.x, c.incX, c.y, c.incY))
			},
			"scal":  func(c vectorCall[complex64]) float64 { s.Cscal(c.n, alpha, c.x, c.incX); return 0 },
			"sscal": func(c vectorCall[complex64]) float64 { s.Csscal(c.n, -3, c.x, c.incX); return 0 },
			"nrm2":  func(c vectorCall[complex64]) float64 { return float64(s.Scnrm2(c.n, c.x, c.incX)) },
			"asum":  func(c vectorCall[complex64]) float64 { return float64(s.Scasum(c.n, c.x, c.incX)) },
			"swap":  func(c vectorCall[complex64]) float64 { s.Cswap(c.n, c.x, c.incX, c.y, c.incY); return 0 },
		}
}

// notFinite is the number of special values before those that are finite and not 0.
const notFinite = 4

// Routines of vectors have gonum's results to rounding, and gonum's panics, for any lengths, increments and
// special values, and write nothing else.
func TestVectorsAsGonum(t *testing.T) {
	special := []float64{math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1), 5e-324, 1e300, math.MaxFloat64}
	tiertest.Each(t, func(t *testing.T) {
		d, s := vectorsOfReals(blas.Implementation{}, blas.Implementation{})
		wantD, wantS := vectorsOfReals(reference.Implementation{}, reference.Implementation{})
		z, c := vectorsOfComplex(blas.Implementation{}, blas.Implementation{})
		wantZ, wantC := vectorsOfComplex(reference.Implementation{}, reference.Implementation{})
		compareVectors(t, d, wantD, 1e-13, special, func(re, _ float64) float64 { return re })
		compareVectors(t, s, wantS, 1e-5, special[:notFinite], func(re, _ float64) float32 { return float32(re) })
		compareVectors(t, z, wantZ, 1e-13, special, func(re, im float64) complex128 { return complex(re, im) })
		compareVectors(t, c, wantC, 1e-5, special[:notFinite], func(re, im float64) complex64 {
			return complex(float32(re), float32(im))
		})
	})
}

// compareVectors calls routines with random operands, whose entries number makes.
func compareVectors[T any](
	t *testing.T, ours, gonums map[string]func(c vectorCall[T]) float64, tolerance float64, special []float64,
	number func(re, im float64) T,
) {
	for name, call := range ours {
		rng := rand.New(rand.NewPCG(75, 76))
		for i := range argumentSets() {
			c := vectorCall[T]{n: rng.IntN(pick(rng, []int{4, 40, 300})), incX: pick(rng, []int{1, 1, 1, 2, 3, -1, 0}),
				incY: pick(rng, []int{1, 1, 1, -2, 3})}
			value := rng.NormFloat64
			if i%3 == 2 { // equal values too
				value = func() float64 { return float64(rng.IntN(3) - 1) }
			}
			huge := rng.IntN(2) // the vector that may have huge entries: such terms of both would cancel
			for j, v := range []*[]T{&c.x, &c.y} {
				*v = make([]T, max(3*c.n-rng.IntN(2)*rng.IntN(3), 1))
				for k := range *v {
					(*v)[k] = number(value(), value())
				}
				if own := special[:notFinite]; i%4 == 3 {
					if j == huge {
						own = special
					}
					(*v)[rng.IntN(len(*v))] = number(pick(rng, own), 1)
				}
			}
			got, want := c.clone(), c.clone()
			var result, expected float64
			panicked, wantPanic := panicOf(func() { result = call(got) }),
				panicOf(func() { expected = gonums[name](want) })
			what := fmt.Sprintf("%s of %T: %d numbers, increments %d and %d", name, c.x, c.n, c.incX, c.incY)
			if fmt.Sprint(panicked) != fmt.Sprint(wantPanic) {
				t.Fatalf("%s: panic %v, want %v", what, panicked, wantPanic)
			}
			if wantPanic != nil {
				continue
			}
			numbers, others := append(realsOf(got.x), append(realsOf(got.y), result)...),
				append(realsOf(want.x), append(realsOf(want.y), expected)...)
			if at := firstUnlike(numbers, others, tolerance); at >= 0 {
				t.Fatalf("%s: number %d is %v, gonum's is %v", what, at, numbers[at], others[at])
			}
		}
	}
}

// realsOf returns numbers, or the parts of complex numbers.
func realsOf[T any](x []T) (all []float64) {
	for _, v := range x {
		switch v := any(v).(type) {
		case float64:
			all = append(all, v)
		case float32:
			all = append(all, float64(v))
		case complex128:
			re, im := parts(v)
			all = append(all, re, im)
		case complex64:
			re, im := parts(v)
			all = append(all, re, im)
		}
	}
	return all
}
