package blas

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	gblas "gonum.org/v1/gonum/blas"
	reference "gonum.org/v1/gonum/blas/gonum"
)

// TestOrdered: ordered has the bits of gonum on amd64, whose assembly rounds as it says.
func TestOrdered(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("gonum's assembly is amd64's")
	}
	rng, g := rand.New(rand.NewPCG(71, 72)), reference.Implementation{}
	calls := 3000
	if testing.Short() {
		calls = 1000
	}
	for range calls {
		m, n := 1+rng.IntN(19), 1+rng.IntN(19)
		incs := []int{1, 1, 2, 3, -1, -2}
		incX, incY := incs[rng.IntN(6)], incs[rng.IntN(6)]
		alpha, beta := []float64{1, -1, .7}[rng.IntN(3)], []float64{0, 1, -.3}[rng.IntN(3)]
		vector := func(n int) []float64 {
			x := make([]float64, 3*n)
			for i := range x {
				x[i] = math.Ldexp(rng.NormFloat64(), rng.IntN(9))
			}
			return x
		}
		x, y, a, most := vector(20), vector(20), vector(20*20), max(m, n)
		tA := []gblas.Transpose{gblas.NoTrans, gblas.Trans}[rng.IntN(2)]
		ul := []gblas.Uplo{gblas.Upper, gblas.Lower}[rng.IntN(2)]
		d := []gblas.Diag{gblas.Unit, gblas.NonUnit}[rng.IntN(2)]
		side := []gblas.Side{gblas.Left, gblas.Right}[rng.IntN(2)]
		rows, more := vector(6*19), vector(6*19)
		x32, y32, a32 := singlesOf(x), singlesOf(y), singlesOf(a)
		rows32, more32 := singlesOf(rows), singlesOf(more)
		for name, call := range map[string]func(f gblas.Float64, s gblas.Float32, o *results) float64{
			"dot": func(f gblas.Float64, s gblas.Float32, o *results) float64 {
				return f.Ddot(most, x, incX, o.y, incY)
			},
			"dot32": func(f gblas.Float64, s gblas.Float32, o *results) float64 {
				return float64(s.Sdot(most, x32, 2, o.y32, incY))
			},
			"axpy": func(f gblas.Float64, s gblas.Float32, o *results) float64 {
				f.Daxpy(most, alpha, x, incX, o.y, incY)
				s.Saxpy(most, float32(alpha), x32, incX, o.y32, incY)
				return 0
			},
			"nrm2": func(f gblas.Float64, s gblas.Float32, o *results) float64 {
				return f.Dnrm2(most, x, incX) + float64(s.Snrm2(most, x32, incX))
			},
			"ger": func(f gblas.Float64, s gblas.Float32, o *results) float64 {
				f.Dger(m, n, alpha, x, max(incX, 1), o.y, max(incY, 1), o.a, n+2)
				s.Sger(m, n, float32(alpha), x32, max(incX, 1), o.y32, max(incY, 1), o.a32, n+2)
				return 0
			},
			"gemv": func(f gblas.Float64, s gblas.Float32, o *results) float64 {
				f.Dgemv(tA, m, n, alpha, o.a, n+1, x, incX, beta, o.y, incY)
				return 0
			},
			"trsv": func(f gblas.Float64, s gblas.Float32, o *results) float64 {
				f.Dtrsv(ul, tA, d, m, o.a, m+1, o.y, incY)
				s.Strsv(ul, tA, d, m, o.a32, m+1, o.y32, incY)
				return 0
			},
			"trsm": func(f gblas.Float64, s gblas.Float32, o *results) float64 {
				f.Dtrsm(gblas.Left, ul, tA, d, 1+m%3, 1+n%6, alpha, rows, 6, o.a, 7)
				s.Strsm(gblas.Left, ul, tA, d, 1+m%3, 1+n%6, float32(alpha), rows32, 6, o.a32, 7)
				return 0
			},
			"trmm": func(f gblas.Float64, s gblas.Float32, o *results) float64 {
				f.Dtrmm(gblas.Left, ul, tA, d, 1+m%3, 1+n%6, alpha, rows, 6, o.a, 7)
				s.Strmm(gblas.Left, ul, tA, d, 1+m%3, 1+n%6, float32(alpha), rows32, 6, o.a32, 7)
				return 0
			},
			"trmv": func(f gblas.Float64, s gblas.Float32, o *results) float64 {
				f.Dtrmv(ul, tA, d, m, o.a, m+1, o.y, incY)
				s.Strmv(ul, gblas.Trans, d, m, o.a32, m+1, o.y32, incY)
				return 0
			},
			"symv": func(f gblas.Float64, s gblas.Float32, o *results) float64 {
				f.Dsymv(ul, m, alpha, o.a, m+1, x, incX, beta, o.y, incY)
				s.Ssymv(ul, m, float32(alpha), o.a32, m+1, x32, incX, float32(beta), o.y32, incY)
				return 0
			},
			"syrk": func(f gblas.Float64, s gblas.Float32, o *results) float64 {
				f.Dsyrk(ul, gblas.NoTrans, 1+m%6, n, alpha, rows, n, beta, o.a, 7)
				return 0
			},
			"syr2k": func(f gblas.Float64, s gblas.Float32, o *results) float64 {
				f.Dsyr2k(ul, gblas.NoTrans, 1+m%6, n, alpha, rows, n, more, n, beta, o.a, 7)
				s.Ssyr2k(ul, gblas.NoTrans, 1+m%6, n, float32(alpha), rows32, n, more32, n, float32(beta), o.a32, 7)
				return 0
			},
			"symm": func(f gblas.Float64, s gblas.Float32, o *results) float64 {
				f.Dsymm(side, ul, 1+m%6, 1+n%6, alpha, rows, 6, x, 6, beta, o.a, 7)
				s.Ssymm(side, ul, 1+m%6, 1+n%6, float32(alpha), rows32, 6, x32, 6, float32(beta), o.a32, 7)
				return 0
			},
		} {
			numbers := func(f gblas.Float64, s gblas.Float32) []float64 {
				o := &results{slices.Clone(y), slices.Clone(a), slices.Clone(y32), slices.Clone(a32)}
				return o.after(call(f, s, o))
			}
			got, want := numbers(ordered{}, ordered{}), numbers(g, g)
			for i, v := range got {
				if math.Float64bits(v) != math.Float64bits(want[i]) {
					t.Fatalf("%s %c of %d x %d, increments %d and %d, alpha %v, beta %v: result %d is %v, want %v",
						name, tA, m, n, incX, incY, alpha, beta, i, v, want[i])
				}
			}
		}
	}
}

// results are the operands that a routine overwrites, in both precisions.
type results struct {
	y, a     []float64
	y32, a32 []float32
}

// after returns a sum, and all operands, as numbers.
func (o *results) after(sum float64) []float64 {
	all := slices.Concat([]float64{sum}, o.y, o.a)
	for _, v := range slices.Concat(o.y32, o.a32) {
		all = append(all, float64(v))
	}
	return all
}

func singlesOf(x []float64) []float32 {
	s := make([]float32, len(x))
	for i, v := range x {
		s[i] = float32(v)
	}
	return s
}
