package blas_test

import (
	"encoding/binary"
	"fmt"
	"hash"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/difalt/difalt/internal/tiertest"
	"github.com/difalt/difalt/kernel/blas"
	"gonum.org/v1/gonum/mat"
)

// TestSameBitsOnProcessors: results have the hashes of testdata/bits.txt on every processor with FMA, but on
// the tiers that a line names.
func TestSameBitsOnProcessors(t *testing.T) { tiertest.Hashes(t, "testdata/bits.txt", hashes) }

// hashes returns the hash of the results of each routine.
func hashes() map[string]string {
	all := map[string]string{}
	hashesOfReal(all, singles(blas.Implementation{}))
	hashesOfReal(all, doubles(blas.Implementation{}))
	hashesOfComplex(all, complex64s(blas.Implementation{}))
	hashesOfComplex(all, complex128s(blas.Implementation{}))
	hashesOfLapack(all)
	hashesOfMat(all)
	return all
}

// A bitsHash is the hash of results. All NaN are one.
type bitsHash struct{ hash.Hash64 }

func newBitsHash() bitsHash { return bitsHash{fnv.New64a()} }

func (h bitsHash) add(v float64) {
	if v != v {
		v = math.NaN()
	}
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], math.Float64bits(v))
	h.Write(b[:])
}

func (h bitsHash) String() string { return fmt.Sprintf("%016x", h.Sum64()) }

// rounded returns a number with the bits that every processor computes: the logarithms of package math, with
// which random numbers are made, differ in the last one.
func rounded(v float64) float64 { return float64(float32(v)) }

// variants are the increments and sizes with which a routine is hashed, apart from each other.
var variants = []struct {
	name  string
	sizes []int
	inc   int
	calls int
}{
	{"small", []int{3, 7}, 1, 50},
	{"", []int{20, 40, 90}, 1, 60},
	{"strided", []int{7, 40, 60}, 2, 40},
}

func hashesOfReal[T real](all map[string]string, f *api[T]) {
	for _, o := range operations[T]() {
		for _, v := range variants {
			rng, h, inc := rand.New(rand.NewPCG(91, 92)), newBitsHash(), 0
			for i := range v.calls {
				s := randomSettings(rng)
				size := func() int { return 1 + rng.IntN(v.sizes[rng.IntN(len(v.sizes))]) }
				s.m, s.n, s.k = size(), size(), size()
				if i == 0 && v.name == "" { // several blocks
					s.m, s.n, s.k, s.alpha = 60, 50, 300, 1
				}
				of, _ := o.shapes(&s, func() int {
					inc = v.inc
					return v.inc
				})
				h.addAll(realResult(rng, f, o, s, of))
			}
			if v.inc == 1 || inc != 0 { // matrices have no increments
				all[strings.TrimSpace(fmt.Sprintf("%T %s %s", T(0), o.name, v.name))] = h.String()
			}
		}
	}
}

func (h bitsHash) addAll(x []float64) {
	for _, v := range x {
		h.add(v)
	}
}

// realResult returns the result of an operation on random operands of some shapes.
func realResult[T real](rng *rand.Rand, f *api[T], o operation[T], s settings, of [3]shape) (result []float64) {
	var x [3]view[T]
	for p, sh := range of {
		stride, entries := max(sh.cols, 1), sh.rows*sh.cols
		if sh.inc != 0 {
			stride, entries = sh.inc, sh.rows*sh.inc
		}
		x[p] = view[T]{make([]T, max(entries, 1)), stride}
		for i := range x[p].data {
			x[p].data[i] = T(rounded(rng.NormFloat64()))
		}
		if p == 0 && sh.rows == sh.cols && sh.inc == 0 {
			for i := range sh.rows {
				x[p].data[i*(stride+1)] += T(sh.rows)
			}
		}
	}
	o.call(f, s, x)
	for _, v := range x[2].data {
		result = append(result, float64(v))
	}
	return result
}

func hashesOfComplex[T complexNumber](all map[string]string, ours complexAPI[T]) {
	for _, r := range complexRoutines[T]() {
		for name, least := range map[string]int{"small": 0, "": 12} {
			rng, h := rand.New(rand.NewPCG(93, 94)), newBitsHash()
			for range 30 {
				s := randomCall(rng, &r, sizesFrom(rng, least))
				for _, x := range [][]T{s.a, s.b, s.c} {
					for i, v := range x {
						re, im := parts(v)
						x[i] = T(complex(rounded(re), rounded(im)))
					}
				}
				if s.m*s.n*s.k > 40_000 { // takes long on an emulated processor
					continue
				}
				got, panicked := s.outcome(ours, &r)
				if panicked != "" {
					panic(r.name + ": " + panicked)
				}
				for _, v := range got {
					re, im := parts(v)
					h.add(re)
					h.add(im)
				}
			}
			all[strings.TrimSpace(fmt.Sprintf("%T %s %s", T(0), r.name, name))] = h.String()
		}
	}
}

// hashesOfLapack takes the shapes of TestAsGonum.
func hashesOfLapack(all map[string]string) {
	defer restore()()
	blas.Use()
	for name, r := range routines {
		rng, h := rand.New(rand.NewPCG(95, 96)), newBitsHash()
		for range 40 {
			s := randomSettings(rng)
			s.m, s.n, s.k = 1+s.m%60, 1+s.n%60, 1+s.k%60
			operands := r.operands(rng, &s, func() int { return 0 })
			for _, m := range operands {
				for i, v := range m.data {
					m.data[i] = rounded(v)
				}
			}
			x, values, _ := trial{operands, s, blas.Lapack{}}.outcome(r.call)
			for _, m := range x {
				h.addAll(m.data)
			}
			h.addAll(values)
		}
		all["lapack "+name] = h.String()
	}
}

// hashesOfMat takes calls of package mat, of matrices with three to 50 rows and columns, and of tiny ones
// with one to three.
func hashesOfMat(all map[string]string) {
	defer restore()()
	blas.Use()
	for name, f := range callsOfMat {
		all["mat "+name] = hashOfMat(f, 30, 3, 50)
		all["mat tiny "+name] = hashOfMat(f, 200, 1, 3)
	}
}

// hashOfMat returns the hash of what a call computes of some matrices, with at least and at most some rows
// and columns.
func hashOfMat(f func(a *mat.Dense) []mat.Matrix, matrices, least, most int) string {
	rng, h := rand.New(rand.NewPCG(97, 98)), newBitsHash()
	for range matrices {
		m, n := least+rng.IntN(most-least+1), least+rng.IntN(most-least+1)
		if rng.IntN(2) == 0 { // tall or square
			m, n = max(m, n), min(m, n)
		}
		a := mat.NewDense(m, n, nil)
		for i := range m {
			for j := range n {
				a.Set(i, j, 2*rng.Float64()-1)
			}
		}
		for _, x := range f(a) {
			rows, columns := x.Dims()
			for i := range rows {
				for j := range columns {
					h.add(x.At(i, j))
				}
			}
		}
	}
	return h.String()
}

// callsOfMat return what they compute of a matrix.
var callsOfMat = map[string]func(a *mat.Dense) []mat.Matrix{
	"SVD, vectors": func(a *mat.Dense) []mat.Matrix {
		var d mat.SVD
		var u, v mat.Dense
		d.Factorize(a, mat.SVDThin)
		d.UTo(&u)
		d.VTo(&v)
		values := d.Values(nil)
		return []mat.Matrix{&u, &v, mat.NewVecDense(len(values), values)}
	},
	"SVD, values": func(a *mat.Dense) []mat.Matrix {
		var d mat.SVD
		d.Factorize(a, mat.SVDNone)
		values := d.Values(nil)
		return []mat.Matrix{mat.NewVecDense(len(values), values)}
	},
	"EigenSym": func(a *mat.Dense) []mat.Matrix {
		var d mat.EigenSym
		var v mat.Dense
		d.Factorize(gramOf(a), true)
		d.VectorsTo(&v)
		values := d.Values(nil)
		return []mat.Matrix{&v, mat.NewVecDense(len(values), values)}
	},
	"EigenSym, values": func(a *mat.Dense) []mat.Matrix {
		var d mat.EigenSym
		d.Factorize(gramOf(a), false)
		values := d.Values(nil)
		return []mat.Matrix{mat.NewVecDense(len(values), values)}
	},
	"Eigen": func(a *mat.Dense) []mat.Matrix {
		var d mat.Eigen
		var v mat.CDense
		rows, columns := a.Dims()
		n := min(rows, columns)
		d.Factorize(a.Slice(0, n, 0, n), mat.EigenRight)
		d.VectorsTo(&v)
		out := mat.NewDense(2*n, n, nil)
		for i := range n {
			for j := range n {
				re, im := parts(v.At(i, j))
				out.Set(i, j, re)
				out.Set(n+i, j, im)
			}
		}
		return []mat.Matrix{out}
	},
	"QR": func(a *mat.Dense) []mat.Matrix {
		var d mat.QR
		var q, r mat.Dense
		if m, n := a.Dims(); m < n {
			a = mat.DenseCopyOf(a.T())
		}
		d.Factorize(a)
		d.QTo(&q)
		d.RTo(&r)
		return []mat.Matrix{&q, &r}
	},
	"LQ": func(a *mat.Dense) []mat.Matrix {
		var d mat.LQ
		var q, l mat.Dense
		if m, n := a.Dims(); m > n {
			a = mat.DenseCopyOf(a.T())
		}
		d.Factorize(a)
		d.QTo(&q)
		d.LTo(&l)
		return []mat.Matrix{&q, &l}
	},
	"Solve": func(a *mat.Dense) []mat.Matrix {
		var x mat.Dense
		rows, columns := a.Dims()
		_ = x.Solve(a, a.Slice(0, rows, 0, min(2, columns)))
		return []mat.Matrix{&x}
	},
	"Inverse": func(a *mat.Dense) []mat.Matrix {
		var x, y mat.Dense
		_ = x.Inverse(gramOf(a))
		_, n := a.Dims()
		if rows, _ := a.Dims(); rows >= n {
			_ = y.Inverse(a.Slice(0, n, 0, n))
			return []mat.Matrix{&x, &y}
		}
		return []mat.Matrix{&x}
	},
	"SymRankK": func(a *mat.Dense) []mat.Matrix {
		rows, columns := a.Dims()
		var out []mat.Matrix
		for k := 1; k <= min(columns, 6); k++ {
			few := a.Slice(0, rows, 0, k)
			wide := mat.NewSymDense(rows, nil)
			wide.SymRankK(gramOf(mat.DenseCopyOf(a.T())), .5, few)
			out = append(out, wide)
		}
		return out
	},
	"Cholesky": func(a *mat.Dense) []mat.Matrix {
		var c mat.Cholesky
		var inverse mat.SymDense
		c.Factorize(gramOf(a))
		_ = c.InverseTo(&inverse)
		return []mat.Matrix{&inverse, mat.NewVecDense(1, []float64{c.Cond()})}
	},
}

// gramOf returns A'A with more on the diagonal.
func gramOf(a *mat.Dense) *mat.SymDense {
	_, n := a.Dims()
	g := mat.NewSymDense(n, nil)
	g.SymOuterK(1, a.T())
	for i := range n {
		g.SetSym(i, i, g.At(i, i)+1)
	}
	return g
}
