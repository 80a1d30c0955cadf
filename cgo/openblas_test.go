//go:build openblas

package openblas

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/difalt/difalt/internal/steptest"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// problem returns tasks of the given numbers of samples with guard words after
// every output.
func problem(rows []int, d, r, pad int, single bool, seed uint64) *Tasks {
	rnd := rand.New(rand.NewPCG(seed, 1))
	s := &Tasks{Ldx: d + pad, U: blas64.GeneralCols{Rows: d, Cols: r, Stride: d + pad}, Fit: Rows{Count: rows}}
	total := 0
	for _, n := range rows {
		s.Fit.First = append(s.Fit.First, total)
		s.MaxRows = max(s.MaxRows, n)
		total += n
	}
	s.Gradient = s.Fit
	s.Y = normals(rnd, total)
	s.U.Data = normals(rnd, s.U.Stride*r)
	x := normals(rnd, total*s.Ldx)
	s.X64 = x
	if single {
		s.X64, s.X32 = nil, make([]float32, len(x))
		for i, v := range x {
			s.X32[i] = float32(v)
		}
	}
	s.B = guarded(len(rows) * r)
	s.Grad = blas64.GeneralCols{Rows: d, Cols: r, Stride: d + 2*pad, Data: guarded((d + 2*pad) * r)}
	clear(s.Grad.Data)
	s.Work = guarded(WorkLen(s.MaxRows, s.Ldx, r))
	return s
}

func normals(rnd *rand.Rand, n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = rnd.NormFloat64()
	}
	return x
}

const guard = 1234.5

// guarded returns n NaN with a guard word behind them.
func guarded(n int) []float64 {
	x := make([]float64, n+1)
	for i := range x {
		x[i] = math.NaN()
	}
	x[n] = guard
	return x[:n]
}

// x returns samples first to first+n as a dense matrix.
func (s *Tasks) x(first, n int) *mat.Dense {
	m := mat.NewDense(n, s.U.Rows, nil)
	m.Apply(func(i, k int, _ float64) float64 {
		at := (first+i)*s.Ldx + k
		if s.X32 != nil {
			return float64(s.X32[at])
		}
		return s.X64[at]
	}, m)
	return m
}

// reference computes the coefficients of all tasks, by rows, the gradient and the objective with dense
// matrices.
func reference(s *Tasks) (b mat.Matrix, grad *mat.Dense, objective float64) {
	of := func(rows Rows) (x []*mat.Dense, y [][]float64) {
		for t := range s.Fit.Count {
			var m *mat.Dense
			first, n := rows.First[t], rows.Count[t]
			if n > 0 {
				m = s.x(first, n)
			}
			x, y = append(x, m), append(y, s.Y[first:][:n])
		}
		return x, y
	}
	u := mat.NewDense(s.U.Cols, s.U.Stride, s.U.Data).Slice(0, s.U.Cols, 0, s.U.Rows).T()
	fitX, fitY := of(s.Fit)
	gradX, gradY := of(s.Gradient)
	want := steptest.New(u, s.Ridge, fitX, fitY, gradX, gradY)
	return want.B.T(), want.Grad, want.Objective
}

func TestStep(t *testing.T) {
	for _, c := range []struct {
		name   string
		rows   []int
		d, r   int
		pad    int
		single bool
		ridge  float64
		split  bool
	}{
		{name: "one sample, one feature", rows: []int{1}, d: 1, r: 1},
		{name: "paper", rows: slices.Repeat([]int{30}, 21), d: 60, r: 4, pad: 4},
		{name: "ragged", rows: []int{9, 40, 17, 5, 31, 12, 8, 30, 6}, d: 33, r: 5, pad: 7},
		{name: "blocked", rows: []int{150, 170}, d: 90, r: 70, pad: 6},
		{name: "square", rows: []int{40, 40}, d: 40, r: 12},
		{name: "float32", rows: []int{30, 20, 25}, d: 50, r: 6, pad: 6, single: true},
		{name: "ridge", rows: []int{30, 20, 3, 25}, d: 50, r: 6, pad: 6, ridge: 0.5},
		{name: "split", rows: []int{30, 20, 25}, d: 50, r: 6, pad: 6, split: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := problem(c.rows, c.d, c.r, c.pad, c.single, 7)
			s.Ridge = c.ridge
			if c.split {
				s.Fit.Count, s.Gradient = halves(s.Fit)
			}
			next := s.Step(0, len(c.rows))
			if next != len(c.rows) {
				t.Fatalf("stopped at task %d of %d", next, len(c.rows))
			}
			b, grad, want := reference(s)
			yy := floats.Dot(s.Y, s.Y)
			near(t, "objective", s.Objective, want, yy)
			size := mat.Norm(b, 2)
			for i := range c.rows {
				for j := range s.U.Cols {
					near(t, "b", s.B[i*s.U.Cols+j], b.At(i, j), size)
				}
			}
			size = mat.Norm(grad, 2) + 1e-6*yy // it is zero where n_t = r
			for j := range s.U.Cols {
				for k := range s.U.Rows {
					near(t, "gradient", s.Grad.Data[j*s.Grad.Stride+k], grad.At(k, j), size)
				}
				for k := s.U.Rows; k < s.Grad.Stride; k++ {
					near(t, "padding of the gradient", s.Grad.Data[j*s.Grad.Stride+k], 0, 0)
				}
			}
			for name, x := range map[string][]float64{"B": s.B, "Grad": s.Grad.Data, "Work": s.Work} {
				if x[:len(x)+1][len(x)] != guard {
					t.Errorf("wrote beyond %s", name)
				}
			}
		})
	}
}

// halves gives the first samples of every task to the least squares and the rest
// to the gradient; task 1 has none left for that.
func halves(all Rows) (fit []int, gradient Rows) {
	for t, n := range all.Count {
		k := (n + 1) / 2
		if t == 1 {
			k = n
		}
		fit = append(fit, k)
		gradient.First = append(gradient.First, all.First[t]+k)
		gradient.Count = append(gradient.Count, n-k)
	}
	return fit, gradient
}

// near holds got to want within rounding on well-conditioned tasks.
func near(t *testing.T, what string, got, want, size float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 1e-10*size) {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

// TestStepStops checks that tasks for package lsq are left alone, and that the
// tasks before them are complete.
func TestStepStops(t *testing.T) {
	for _, c := range []struct {
		name  string
		spoil func(s *Tasks)
	}{
		{"fewer samples than columns", func(s *Tasks) { s.Fit.Count[2] = s.U.Cols - 1 }},
		{"no samples", func(s *Tasks) { s.Fit.Count[2] = 0 }},
		{"dependent columns", func(s *Tasks) {
			for i := range s.Fit.Count[2] {
				copy(s.X64[(s.Fit.First[2]+i)*s.Ldx:][:s.U.Rows], s.X64[s.Fit.First[2]*s.Ldx:])
			}
		}},
		{"NaN in y", func(s *Tasks) { s.Y[s.Fit.First[2]+1] = math.NaN() }},
		{"infinite x", func(s *Tasks) { s.X64[s.Fit.First[2]*s.Ldx] = math.Inf(1) }},
		{"overflow", func(s *Tasks) { s.X64[s.Fit.First[2]*s.Ldx] = 1e200 }},
		{"zero y", func(s *Tasks) { clear(s.Y[s.Fit.First[2]:][:s.Fit.Count[2]]) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := problem([]int{20, 20, 20, 20}, 30, 4, 2, false, 3)
			c.spoil(s)
			next := s.Step(0, 4)
			if next != 2 {
				t.Fatalf("stopped at task %d, want 2", next)
			}
			done := *s
			done.Fit.Count = s.Fit.Count[:2]
			_, grad, want := reference(&done)
			near(t, "objective", s.Objective, want, want)
			near(t, "gradient", s.Grad.Data[0], grad.At(0, 0), mat.Norm(grad, 2))
			if next = s.Step(3, 4); next != 4 {
				t.Errorf("task 3 stopped at %d", next)
			}
		})
	}
}

// The rows of all tasks are checked by the first call, and not once more after every task that is
// left to package lsq.
func TestStepChecksRowsOnce(t *testing.T) {
	panicOf := func(s *Tasks, lo, hi int) (msg any) {
		defer func() { msg = recover() }()
		s.Step(lo, hi)
		return nil
	}
	s := problem([]int{20, 2, 20, 20}, 30, 4, 2, false, 3)
	s.Fit.Count = slices.Clone(s.Fit.Count)
	s.Fit.Count[3] = 21
	if got := panicOf(s, 0, 4); got != badShape {
		t.Errorf("a task with more samples than MaxRows: panic %v", got)
	}
	s.Fit.Count[3] = 20
	if next := s.Step(0, 4); next != 1 {
		t.Fatalf("stopped at task %d, want 1", next)
	}
	s.Fit.Count[1] = 21 // is not looked at again
	if got := panicOf(s, 2, 4); got != nil || s.lo != 0 || s.hi != 4 {
		t.Errorf("panic %v; tasks %d to %d are known to be right, want 0 to 4", got, s.lo, s.hi)
	}
	if got := panicOf(s, 0, 5); got != short {
		t.Errorf("beyond the last task: panic %v", got)
	}
}

// Neither the diagonal of R nor b shows that these are singular to rounding, by either factorisation.
func TestStepStopsAtHiddenDependence(t *testing.T) {
	for _, r := range []int{47, 60} {
		s := problem([]int{2 * r, 2 * r}, r, r, 0, false, 5)
		clear(s.U.Data)
		for j := range r {
			s.U.Data[j*s.U.Stride+j] = 1
		}
		for i := range 2 * r {
			row := s.X64[(s.Fit.First[1]+i)*s.Ldx:][:r]
			clear(row)
			for j := i; j < r; j++ {
				row[j] = -1
			}
			if i < r {
				row[i] = 1
			}
			s.Y[s.Fit.First[1]+i] = row[0]
		}
		if next := s.Step(0, 2); next != 1 {
			t.Errorf("rank %d: stopped at task %d, want 1", r, next)
		}
	}
}

func TestStepDoesNotAllocate(t *testing.T) {
	s := problem(slices.Repeat([]int{30}, 21), 60, 4, 4, false, 7)
	if n := testing.AllocsPerRun(20, func() { s.Step(0, 21) }); n != 0 {
		t.Errorf("%v allocations a step", n)
	}
}

// Steps at the same time hold OpenBLAS to one thread, and the last one gives back what
// the program had before.
func TestStepRestoresThreads(t *testing.T) {
	before := threads()
	defer setThreads(before)
	setThreads(3)
	if threads() != 3 {
		t.Skipf("this OpenBLAS has at most %d threads", threads())
	}
	var g sync.WaitGroup
	for range 4 {
		g.Go(func() {
			s := problem([]int{30, 30}, 60, 4, 4, false, 7)
			for range 200 {
				s.Step(0, 2)
			}
		})
	}
	g.Wait()
	if n := threads(); n != 3 {
		t.Errorf("%d threads after the steps, 3 before", n)
	}
	single.begin()
	single.begin()
	if n := threads(); n != 1 {
		t.Errorf("%d threads while a step runs", n)
	}
	single.end()
	if n := threads(); n != 1 {
		t.Errorf("%d threads while another step runs", n)
	}
	single.end()
	if n := threads(); n != 3 {
		t.Errorf("%d threads afterwards, 3 before", n)
	}
}

func TestVersion(t *testing.T) {
	if v := Version(); !strings.Contains(v, "OpenBLAS") {
		t.Errorf("Version() = %q", v)
	}
}
