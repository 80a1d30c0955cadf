package blas_test

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/difalt/difalt/internal/longtest"
	"github.com/difalt/difalt/kernel/blas"
	gblas "gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/lapack"
	reference "gonum.org/v1/gonum/lapack/gonum"
)

// bidiagonals are kinds of bidiagonal matrices: they make the diagonal d and the entries e beside it of
// normal numbers. Values are close or far apart, fall or rise, and are zero.
var bidiagonals = []struct {
	name string
	make func(rng *rand.Rand, d, e []float64)
}{
	{"normal", func(*rand.Rand, []float64, []float64) {}},
	{"falling", func(_ *rand.Rand, d, e []float64) { graded(d, e, -0.5) }},
	{"rising", func(_ *rand.Rand, d, e []float64) { graded(d, e, 0.5) }},
	{"of units", func(rng *rand.Rand, d, e []float64) {
		for i := range d {
			d[i] *= math.Pow(10, 30*rng.Float64()-15)
			e[i] *= math.Pow(10, 30*rng.Float64()-15)
		}
	}},
	{"nearly diagonal", func(_ *rand.Rand, d, e []float64) {
		for i := range e {
			e[i] *= 1e-8
		}
	}},
	{"of ones", func(_ *rand.Rand, d, e []float64) { constant(d, e, 1) }},
	{"of ones and twos", func(_ *rand.Rand, d, e []float64) { constant(d, e, 2) }},
	{"with zeros", func(rng *rand.Rand, d, e []float64) {
		for i := range d {
			d[i] *= float64(min(rng.IntN(4), 1))
			e[i] *= float64(min(rng.IntN(4), 1))
		}
	}},
	{"small", func(_ *rand.Rand, d, e []float64) {
		for i := range d {
			d[i], e[i] = d[i]*0x1p-1000, e[i]*0x1p-1000
		}
	}},
	{"large", func(_ *rand.Rand, d, e []float64) {
		for i := range d {
			d[i], e[i] = d[i]*0x1p1000, e[i]*0x1p1000
		}
	}},
}

func graded(d, e []float64, power float64) {
	for i := range d {
		by := math.Pow(10, power*float64(i))
		d[i], e[i] = d[i]*by, e[i]*by
	}
}

func constant(d, e []float64, beside float64) {
	for i := range d {
		d[i], e[i] = 1, beside
	}
}

// randomBidiagonal returns a matrix of a kind, and its name.
func randomBidiagonal(rng *rand.Rand, n int) (d, e []float64, name string) {
	d, e = make([]float64, n), make([]float64, n)
	for i := range d {
		d[i], e[i] = rng.NormFloat64(), rng.NormFloat64()
	}
	kind := pick(rng, bidiagonals)
	kind.make(rng, d, e)
	return d, e[:n-1], kind.name
}

func valuesOf(l lapack.Float64, d, e []float64) (values []float64, ok bool) {
	n := len(d)
	values, e = slices.Clone(d), slices.Clone(e)
	ok = l.(interface {
		Dbdsqr(ul gblas.Uplo, n, ncvt, nru, ncc int, d, e, vt []float64, ldvt int, u []float64, ldu int, c []float64,
			ldc int, work []float64) bool
	}).Dbdsqr(gblas.Upper, n, 0, 0, 0, values, e, nil, 1, nil, 1, nil, 1, make([]float64, 4*n))
	return values, ok
}

// Singular values of bidiagonal matrices have almost full relative precision, the smallest ones too.
func TestBidiagonalValues(t *testing.T) {
	rng := rand.New(rand.NewPCG(71, 72))
	for range 150 {
		n := 1 + rng.IntN(9)
		d, e, name := randomBidiagonal(rng, n)
		want, _ := exactSVD(n, n, func(i, j int) float64 {
			switch j {
			case i:
				return d[i]
			case i + 1:
				return e[i]
			}
			return 0
		})
		got, ok := valuesOf(blas.Lapack{}, d, e)
		if err := closeTo(got, want, 1e-14); err != nil || !ok {
			t.Errorf("%s, order %d: %v, ok %t", name, n, err, ok)
		}
	}
}

// Larger ones have gonum's values, whose errors are some times 1e-14.
func TestBidiagonalValuesAsGonum(t *testing.T) {
	trials := 3000
	if longtest.Enabled() {
		trials = 100_000
	}
	rng := rand.New(rand.NewPCG(73, 74))
	for range trials {
		n := 1 + rng.IntN(60)
		d, e, name := randomBidiagonal(rng, n)
		got, ok := valuesOf(blas.Lapack{}, d, e)
		want, wantOK := valuesOf(reference.Implementation{}, d, e)
		if err := closeTo(got, want, 2e-13); err != nil || !ok || !wantOK {
			t.Errorf("%s, order %d: %v, ok %t", name, n, err, ok)
		}
	}
}

// closeTo compares values in descending order. Those far below the rounding of the largest one count
// as zero.
func closeTo(got, want []float64, bound float64) error {
	if !slices.IsSortedFunc(got, func(x, y float64) int {
		if x < y || x != x || y != y {
			return 1
		}
		return 0
	}) {
		return fmt.Errorf("values %v", got)
	}
	for i, w := range want {
		if !(math.Abs(got[i]-w) <= bound*w+1e-80*want[0]) {
			return fmt.Errorf("value %d is %g, want %g: off by %.1g of it", i, got[i], w, math.Abs(got[i]-w)/w)
		}
	}
	return nil
}

// exactSVD returns the singular values of an m x n matrix, m >= n, descending, and its left singular vectors.
// It rotates pairs of columns, with numbers of 300 bits, until they are orthogonal (Hestenes 1958).
func exactSVD(m, n int, entry func(i, j int) float64) (values []float64, left [][]float64) {
	number := func() *big.Float { return new(big.Float).SetPrec(300) }
	columns := make([][]*big.Float, n)
	for j := range columns {
		for i := range m {
			columns[j] = append(columns[j], number().SetFloat64(entry(i, j)))
		}
	}
	product := func(x, y []*big.Float) *big.Float {
		sum, term := number(), number()
		for i := range x {
			sum.Add(sum, term.Mul(x[i], y[i]))
		}
		return sum
	}
	var largest *big.Float
	one, two := number().SetInt64(1), number().SetInt64(2)
	for rotated := true; rotated; {
		rotated = false
		for i := range n {
			for j := i + 1; j < n; j++ {
				x, y := columns[i], columns[j]
				xx, yy, xy := product(x, x), product(y, y), product(x, y)
				if largest == nil || xx.Cmp(largest) > 0 {
					largest = xx
				}
				least := number().SetMantExp(largest, -500) // rounding, where columns are dependent
				square := number().Mul(xy, xy)
				bound := number().SetMantExp(number().Mul(xx, yy), -200)
				if xx.Cmp(least) <= 0 || yy.Cmp(least) <= 0 || square.Cmp(bound) <= 0 {
					continue
				}
				rotated = true
				zeta := number().Quo(number().Sub(yy, xx), number().Mul(two, xy))
				root := number().Sqrt(number().Add(one, number().Mul(zeta, zeta)))
				tangent := number().Quo(one, root.Add(root, number().Abs(zeta)))
				if zeta.Sign() < 0 {
					tangent.Neg(tangent)
				}
				c := number().Quo(one, number().Sqrt(number().Add(one, number().Mul(tangent, tangent))))
				s := number().Mul(c, tangent)
				for k := range x {
					a, b := x[k], y[k]
					x[k] = number().Sub(number().Mul(c, a), number().Mul(s, b))
					y[k] = number().Add(number().Mul(s, a), number().Mul(c, b))
				}
			}
		}
	}
	lengths := make([]*big.Float, n)
	order := make([]int, n)
	for j, x := range columns {
		order[j], lengths[j] = j, number().Sqrt(product(x, x))
	}
	slices.SortFunc(order, func(i, j int) int { return lengths[j].Cmp(lengths[i]) })
	for _, j := range order {
		value, _ := lengths[j].Float64()
		vector := make([]float64, m)
		for i, v := range columns[j] {
			if lengths[j].Sign() != 0 {
				vector[i], _ = number().Quo(v, lengths[j]).Float64()
			}
		}
		values, left = append(values, value), append(left, vector)
	}
	return values, left
}
