package lsq_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/difalt/difalt/kernel/lsq"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
)

func of(rows, cols, stride int, data []float64) blas64.GeneralCols {
	return blas64.GeneralCols{Rows: rows, Cols: cols, Stride: stride, Data: data}
}

// Statuses, ranks, solutions and residuals of small problems, by hand.
func TestSolve(t *testing.T) {
	nan := math.NaN()
	for name, c := range map[string]struct {
		n, stride int
		a, y      []float64 // of two columns
		o         lsq.Options
		b         []float64
		want      lsq.Result
	}{
		"line": {3, 4, []float64{1, 1, 1, nan, 0, 1, 2}, []float64{1, 3, 6}, lsq.Options{},
			[]float64{5. / 6, 2.5}, lsq.Result{Rank: 2, SquaredResidual: 1. / 6}},
		"ridge": {2, 2, []float64{1, 0, 0, 1}, []float64{2, 4}, lsq.Options{Ridge: 1},
			[]float64{1, 2}, lsq.Result{Rank: 2, SquaredResidual: 5}},
		"one equation": {1, 1, []float64{3, 4}, []float64{25}, lsq.Options{},
			[]float64{3, 4}, lsq.Result{Status: lsq.Underdetermined, Rank: 1}},
		"equal columns": {2, 2, []float64{1, 2, 1, 2}, []float64{2, 5}, lsq.Options{},
			[]float64{1.2, 1.2}, lsq.Result{Status: lsq.RankDeficient, Rank: 1, SquaredResidual: .2}},
		"tolerance": {2, 2, []float64{1, 0, 0, 1e-3}, []float64{2, 3}, lsq.Options{Tolerance: 1e-2},
			[]float64{2, 0}, lsq.Result{Status: lsq.RankDeficient, Rank: 1, SquaredResidual: 9}},
		"above tolerance": {2, 2, []float64{1, 0, 0, 1e-3}, []float64{2, 3}, lsq.Options{Tolerance: 1e-4},
			[]float64{2, 3000}, lsq.Result{Rank: 2}},
		"least tolerance": {2, 2, []float64{1, 0, 0, 1e-16}, []float64{2, 3}, lsq.Options{Tolerance: 1e-20},
			[]float64{2, 0}, lsq.Result{Status: lsq.RankDeficient, Rank: 1, SquaredResidual: 9}},
		"no samples": {0, 1, []float64{nan, nan}, nil, lsq.Options{},
			[]float64{0, 0}, lsq.Result{Status: lsq.Underdetermined}},
		"NaN": {2, 2, []float64{1, 0, 0, nan}, []float64{2, 3}, lsq.Options{},
			[]float64{0, 0}, lsq.Result{Status: lsq.NotFinite, SquaredResidual: nan}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, ws := range []*lsq.Workspace{nil, lsq.NewWorkspace(9, 4)} {
				b := []float64{nan, nan, 7}
				got := lsq.Solve(b, of(c.n, 2, c.stride, c.a), c.y, c.o, ws)
				near := func(x, y float64) bool {
					return math.Abs(x-y) <= 1e-12*(1+math.Abs(y)) || math.IsNaN(x) && math.IsNaN(y)
				}
				if got.Status != c.want.Status || got.Rank != c.want.Rank || !near(got.SquaredResidual, c.want.SquaredResidual) {
					t.Errorf("%+v, want %+v", got, c.want)
				}
				if !near(b[0], c.b[0]) || !near(b[1], c.b[1]) || b[2] != 7 {
					t.Errorf("b = %v, want %v", b, c.b)
				}
			}
		})
	}
}

// A batch has the bits of its problems, with gaps between them, and allocates nothing.
func TestSolveBatch(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 1))
	const n, r, lda, batch = 11, 3, 13, 5
	stride, strideY := lda*r+2, n+4
	a, y := make([]float64, stride*batch), make([]float64, strideY*batch)
	for i := range a {
		a[i] = rng.NormFloat64()
	}
	for i := range y {
		y[i] = rng.NormFloat64()
	}
	copy(a[stride:][:n], a[stride+lda:][:n]) // problem 1 is deficient
	ws := lsq.NewWorkspace(n, r)
	b, results := make([]float64, batch*r), make([]lsq.Result, batch)
	for _, strideA := range []int{stride, 0} {
		for _, o := range []lsq.Options{{}, {Ridge: 1}} {
			solve := func(results []lsq.Result, ws *lsq.Workspace) {
				lsq.SolveBatch(b, a[:strideA*(batch-1)+(r-1)*lda+n], n, r, lda, strideA, y[:strideY*(batch-1)+n], strideY, batch, o, results, ws)
			}
			solve(results, nil)
			for k, got := range results {
				want := make([]float64, r)
				result := lsq.Solve(want, of(n, r, lda, a[k*strideA:]), y[k*strideY:], o, nil)
				if strideA > 0 && (result != got || !slices.Equal(b[k*r:][:r], want)) {
					t.Errorf("problem %d: %v, %+v, alone %v, %+v", k, b[k*r:][:r], got, want, result)
				}
			}
			if n := testing.AllocsPerRun(5, func() { solve(nil, ws) }); n != 0 {
				t.Errorf("%g allocations", n)
			}
		}
	}
	lsq.SolveBatch(nil, nil, n, r, lda, stride, nil, strideY, 0, lsq.Options{}, nil, nil) // no problem
	if status := results[1].Status; status != lsq.OK {
		t.Errorf("status %v with a ridge", status)
	}
}

// Several right-hand sides of one matrix have the results of each alone, to rounding: also where some are not
// finite or extreme, and where the matrix has no full rank.
func TestSolveRightHandSides(t *testing.T) {
	const sides = 6
	rng := rand.New(rand.NewPCG(14, 1))
	for name, c := range map[string]struct {
		n, r  int
		scale float64
	}{
		"tall": {40, 7, 1}, "square": {5, 5, 1}, "one": {9, 1, 1}, "deficient": {12, 6, 0}, "wide": {3, 5, 1}, "none": {0, 2, 1},
		"huge": {12, 5, 0x1p900}, "tiny": {12, 5, 0x1p-900},
	} {
		lda := max(c.n, 1)
		a, y := make([]float64, lda*c.r), make([]float64, sides*c.n)
		for i := range a {
			if a[i] = c.scale * rng.NormFloat64(); c.scale == 0 {
				a[i] = float64(i % lda / (1 + i/lda%2)) // columns of two kinds
			}
		}
		for i := range y {
			y[i] = rng.NormFloat64() * []float64{1, 1, 0x1p900, math.NaN(), 0, 1}[i/c.n]
		}
		for _, o := range []lsq.Options{{}, {Ridge: 2}, {Tolerance: 0.9}} {
			b, results := make([]float64, sides*c.r), make([]lsq.Result, sides)
			lsq.SolveBatch(b, a, c.n, c.r, lda, 0, y, c.n, sides, o, results, nil)
			for k, got := range results {
				want, bk := make([]float64, c.r), b[k*c.r:][:c.r]
				result := lsq.Solve(want, of(c.n, c.r, lda, a), y[k*c.n:], o, nil)
				e := math.Abs(got.SquaredResidual - result.SquaredResidual)
				if got.Status != result.Status || got.Rank != result.Rank || e > 1e-9*result.SquaredResidual && c.n > c.r ||
					!(floats.Distance(bk, want, 2) <= 1e-11*floats.Norm(want, 2)) {
					t.Errorf("%s, %+v, side %d: %v, %+v, alone %v, %+v", name, o, k, bk, got, want, result)
				}
			}
		}
	}
}

func TestPanics(t *testing.T) {
	one, two := []float64{1}, make([]float64, 2)
	ws := lsq.NewWorkspace(1, 1)
	for name, f := range map[string]func(){
		"n < 0":             func() { lsq.Solve(one, of(-1, 1, 1, one), one, lsq.Options{}, ws) },
		"r = 0":             func() { lsq.Solve(one, of(1, 0, 1, one), one, lsq.Options{}, ws) },
		"too many samples":  func() { lsq.Solve(one, of(2, 1, 2, two), two, lsq.Options{}, ws) },
		"too many columns":  func() { lsq.Solve(two, of(1, 2, 1, two), one, lsq.Options{}, ws) },
		"negative ridge":    func() { lsq.Solve(one, of(1, 1, 1, one), one, lsq.Options{Ridge: -1}, ws) },
		"NaN ridge":         func() { lsq.Solve(one, of(1, 1, 1, one), one, lsq.Options{Ridge: math.NaN()}, ws) },
		"infinite ridge":    func() { lsq.Solve(one, of(1, 1, 1, one), one, lsq.Options{Ridge: math.Inf(1)}, ws) },
		"short b":           func() { lsq.Solve(nil, of(1, 1, 1, one), one, lsq.Options{}, ws) },
		"short y":           func() { lsq.Solve(one, of(1, 1, 1, one), nil, lsq.Options{}, ws) },
		"short a":           func() { lsq.Solve(one, of(1, 1, 1, nil), one, lsq.Options{}, ws) },
		"stride":            func() { lsq.Solve(one, of(1, 1, 0, one), one, lsq.Options{}, ws) },
		"tolerance":         func() { lsq.Solve(one, of(1, 1, 1, one), one, lsq.Options{Tolerance: 2}, ws) },
		"NaN tolerance":     func() { lsq.Solve(one, of(1, 1, 1, one), one, lsq.Options{Tolerance: math.NaN()}, ws) },
		"batch, samples":    func() { lsq.SolveBatch(two, two, 2, 1, 2, 2, two, 2, 1, lsq.Options{}, nil, ws) },
		"batch, columns":    func() { lsq.SolveBatch(two, two, 1, 2, 1, 2, two, 1, 1, lsq.Options{}, nil, ws) },
		"batch of no lda":   func() { lsq.SolveBatch(one, nil, 0, 1, 0, 1, nil, 1, 1, lsq.Options{}, nil, ws) },
		"batch < 0":         func() { lsq.SolveBatch(one, one, 1, 1, 1, 1, one, 1, -1, lsq.Options{}, nil, ws) },
		"batch of short a":  func() { lsq.SolveBatch(two, one, 1, 1, 1, 1, two, 1, 2, lsq.Options{}, nil, ws) },
		"batch of short y":  func() { lsq.SolveBatch(two, two, 1, 1, 1, 1, one, 1, 2, lsq.Options{}, nil, ws) },
		"batch of short b":  func() { lsq.SolveBatch(one, two, 1, 1, 1, 1, two, 1, 2, lsq.Options{}, nil, ws) },
		"few results":       func() { lsq.SolveBatch(two, two, 1, 1, 1, 1, two, 1, 2, lsq.Options{}, make([]lsq.Result, 1), ws) },
		"workspace n < 0":   func() { lsq.NewWorkspace(-1, 1) },
		"workspace of no r": func() { lsq.NewWorkspace(1, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if msg, ok := recover().(string); !ok || !strings.HasPrefix(msg, "lsq: ") {
					t.Errorf("panic %v, want a message of the package", msg)
				}
			}()
			f()
		})
	}
}

func TestStatusString(t *testing.T) {
	for s, want := range map[lsq.Status]string{
		lsq.OK: "ok", lsq.RankDeficient: "rank deficient", lsq.Underdetermined: "underdetermined",
		lsq.NotFinite: "not finite", 9: "Status(9)",
	} {
		if s.String() != want {
			t.Errorf("%d: %q, want %q", s, s, want)
		}
	}
}
