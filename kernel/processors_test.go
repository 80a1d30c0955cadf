package kernel_test

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/difalt/difalt/internal/tiertest"
	"github.com/difalt/difalt/internal/tile"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/kernel/lsq"
	"github.com/difalt/difalt/kernel/qr"
	"gonum.org/v1/gonum/blas/blas64"
)

// TestSameBitsOnProcessors: steps, and what packages lsq and qr compute, have the hashes of testdata/bits.txt
// on every processor with FMA, but on the tiers that a line names.
func TestSameBitsOnProcessors(t *testing.T) {
	tiertest.Hashes(t, "testdata/bits.txt", func() map[string]string {
		use(t, tile.Active().String())
		all := map[string]string{}
		for name, hash := range bitsOf {
			h := &bitsHash{rand.New(rand.NewPCG(71, 72)), nil}
			for range 100 {
				hash(h)
			}
			f := fnv.New64a()
			f.Write(h.results)
			all[name] = fmt.Sprintf("%016x", f.Sum64())
		}
		return all
	})
}

// A bitsHash draws operands and collects results.
type bitsHash struct {
	*rand.Rand
	results []byte
}

// number returns a random number that all processors compute.
func (h *bitsHash) number() float64 { return 2*h.Float64() - 1 }

func (h *bitsHash) matrix(m, n int) blas64.GeneralCols {
	a := blas64.GeneralCols{Rows: m, Cols: n, Stride: max(m, 1), Data: h.vector(m * n)}
	return a
}

func (h *bitsHash) vector(n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = h.number()
	}
	return x
}

// add adds results to the hash. All NaN are one.
func (h *bitsHash) add(numbers ...float64) {
	for _, v := range numbers {
		if v != v {
			v = math.NaN()
		}
		h.results = binary.LittleEndian.AppendUint64(h.results, math.Float64bits(v))
	}
}

// bitsOf are the computations of a hash, each with one of 100 random shapes.
var bitsOf = map[string]func(h *bitsHash){
	"step": func(h *bitsHash) {
		h.step(kernel.Float64, h.IntN(20), 40+h.IntN(60), 1+h.IntN(150), 1+h.IntN(20), 0)
	},
	"step float32": func(h *bitsHash) {
		h.step(kernel.Float32, h.IntN(20), 1+h.IntN(60), 1+h.IntN(150), 1+h.IntN(20), 0)
	},
	"step ridge": func(h *bitsHash) {
		h.step(kernel.Float64, h.IntN(20), 1+h.IntN(60), 65+h.IntN(100), 1+h.IntN(9), .3)
	},
	"step tiny":       func(h *bitsHash) { h.tiny(0) },
	"step tiny ridge": func(h *bitsHash) { h.tiny(.3) },
	"step long": func(h *bitsHash) {
		if h.IntN(10) == 0 { // they take as long as all others
			h.step(kernel.Storage(h.IntN(2)), 2, 20+h.IntN(30), 1000+h.IntN(700), 1+h.IntN(18), 0)
		}
	},
	"step shared": func(h *bitsHash) {
		if h.IntN(50) == 0 { // of 4 MiB
			h.step(kernel.Float64, 0, 160+h.IntN(40), 4500, 1+h.IntN(6), 0)
		}
	},
	"step few samples": func(h *bitsHash) {
		r := 2 + h.IntN(10)
		h.step(kernel.Float64, 10, r-1, 10+h.IntN(100), r, 0)
	},
	"step deficient": func(h *bitsHash) { h.deficient() },
	"Gram product": func(h *bitsHash) {
		d, r := 1+h.IntN(100), 1+h.IntN(9)
		tasks := h.tasks(kernel.Storage(h.IntN(2)), 5, 30, d)
		u, g := h.basis(d, r), kernel.NewBasis(d, r)
		tasks.GramProduct(g, u, nil)
		h.add(g.Data()...)
	},
	"Compressed": func(h *bitsHash) {
		d := 1 + h.IntN(12)
		tasks := h.tasks(kernel.Storage(h.IntN(2)), 3, 90, d).Compressed()
		row := make([]float64, d)
		for task := range tasks.Len() {
			h.add(tasks.Y(task)...)
			for i := range tasks.Y(task) {
				h.add(tasks.Row(row, task, i)...)
			}
		}
	},
	"lsq": func(h *bitsHash) {
		n, r := 1+h.IntN(50), 1+h.IntN(20)
		b := make([]float64, r)
		result := lsq.Solve(b, h.matrix(n, r), h.vector(n), lsq.Options{Ridge: h.Float64() * float64(h.IntN(2))}, nil)
		h.add(b...)
		h.add(float64(result.Status), float64(result.Rank), result.SquaredResidual)
	},
	"lsq batch": func(h *bitsHash) {
		n, r := 1+h.IntN(50), 1+h.IntN(10)
		a, batch := h.matrix(n, r), make(lsq.Batch, 3)
		for i := range batch {
			batch[i] = lsq.Problem{A: a, Y: h.vector(n), B: make([]float64, r)}
		}
		batch.Solve(lsq.Options{}, nil)
		for _, p := range batch {
			h.add(p.B...)
			h.add(p.Result.SquaredResidual)
		}
	},
	"lsq in units": func(h *bitsHash) {
		n, r := 20+h.IntN(30), 2+h.IntN(9)
		a, b := h.matrix(n, r), make([]float64, r)
		for i := range n {
			a.Data[i] *= 0x1p-90
		}
		h.add(lsq.Solve(b, a, h.vector(n), lsq.Options{}, nil).SquaredResidual)
		h.add(b...)
	},
	"lsq deficient": func(h *bitsHash) {
		n, r := 1+h.IntN(30), 2+h.IntN(9)
		a, b := h.matrix(n, r), make([]float64, r)
		copy(a.Data[n:][:n], a.Data)
		h.add(lsq.Solve(b, a, h.vector(n), lsq.Options{}, nil).SquaredResidual)
		h.add(b...)
	},
	"lsq singular values": func(h *bitsHash) {
		n, r := 20+h.IntN(20), 14+h.IntN(5)
		a, b := h.matrix(n, r), make([]float64, r)
		for k := range a.Data { // singular values fall to rounding without a gap
			a.Data[k] = 1 / float64(1+k%n+k/n)
		}
		h.add(lsq.Solve(b, a, h.vector(n), lsq.Options{}, nil).SquaredResidual)
		h.add(b...)
	},
	"lsq close columns": func(h *bitsHash) { // independent, which the inverse of R shows
		n, r := 10+h.IntN(30), 5+h.IntN(4)
		a, b := h.matrix(n, r), make([]float64, r)
		for j := 1; j < r; j++ {
			for i := range n {
				a.Data[j*n+i] = a.Data[i] + 0x1p-17*a.Data[j*n+i]
			}
		}
		h.add(lsq.Solve(b, a, h.vector(n), lsq.Options{}, nil).SquaredResidual)
		h.add(b...)
	},
	"qr": func(h *bitsHash) {
		n := 1 + h.IntN(20)
		h.factor(h.matrix(n+h.IntN(200), n))
	},
	"qr orthogonal": func(h *bitsHash) {
		n := 1 + h.IntN(12)
		a := h.matrix(n+300+h.IntN(200), n)
		h.factor(a)
		h.factor(a)
	},
	"qr dependent": func(h *bitsHash) {
		n := 2 + h.IntN(12)
		a := h.matrix(n+h.IntN(100), n)
		copy(a.Data[a.Rows:][:a.Rows], a.Data)
		h.factor(a)
	},
	"qr update": func(h *bitsHash) {
		n := 1 + h.IntN(20)
		r := h.square(n)
		qr.R(h.matrix(1+h.IntN(100), n), r, nil)
		h.add(r.Data...)
		m := 1 + h.IntN(100)
		qr.Update(r, blas64.General{Rows: m, Cols: n, Stride: n, Data: h.vector(m * n)}, nil)
		h.add(r.Data...)
	},
}

func (h *bitsHash) square(n int) blas64.GeneralCols {
	return blas64.GeneralCols{Rows: n, Cols: n, Stride: n, Data: make([]float64, n*n)}
}

func (h *bitsHash) factor(a blas64.GeneralCols) {
	r := h.square(a.Cols)
	qr.Factor(a, r, nil)
	h.add(r.Data...)
	h.add(a.Data...)
}

// basis returns a basis whose columns are nearly orthogonal.
func (h *bitsHash) basis(d, r int) *kernel.Basis {
	u := kernel.NewBasis(d, r)
	for j := range r {
		copy(u.Col(j), h.vector(d))
		if d >= r {
			u.Col(j)[j] += 4
		}
	}
	return u
}

// tasks returns tasks of up to n samples each.
func (h *bitsHash) tasks(storage kernel.Storage, count, n, d int) *kernel.Tasks {
	samples := make([]int, count)
	for t := range samples {
		samples[t] = n - h.IntN(n/4+1)
	}
	b := kernel.NewBuilder(d, samples, storage)
	for t := range samples {
		for i := range samples[t] {
			b.SetRow(t, i, h.vector(d), h.number())
		}
	}
	return b.Tasks()
}

func (h *bitsHash) step(storage kernel.Storage, count, n, d, r int, ridge float64) {
	h.stepOf(h.tasks(storage, count+1, n, d), r, ridge)
}

// stepOf adds the results of a step, and the objective at other coefficients.
func (h *bitsHash) stepOf(tasks *kernel.Tasks, r int, ridge float64) {
	g, u := kernel.NewGroup(tasks, r), h.basis(tasks.Features(), r)
	g.Step(u, ridge, nil)
	h.add(g.Objective)
	h.add(g.B...)
	h.add(g.Grad.Data()...)
	for _, s := range g.Status {
		h.add(float64(s))
	}
}

// tiny takes a step of tasks in lanes, in numbers that fill no block.
func (h *bitsHash) tiny(ridge float64) {
	r := 1 + h.IntN(8)
	n := r + 2 + h.IntN(20)
	h.step(kernel.Float64, 8+h.IntN(40), n, max(1, min(1+h.IntN(64), 1024/n)), r, ridge)
}

// deficient takes a step of tasks of which some have dependent columns.
func (h *bitsHash) deficient() {
	d, r, n := 2+h.IntN(100), 1+h.IntN(6), 10+h.IntN(30)
	b := kernel.NewBuilder(d, []int{n, n, n, n}, kernel.Float64)
	for t := range 4 {
		first := h.vector(d)
		for i := range n {
			row := h.vector(d)
			if t%2 == 0 { // one direction
				copy(row, first)
			}
			b.SetRow(t, i, row, h.number())
		}
	}
	h.stepOf(b.Tasks(), r, 0)
}
