package lsq_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/difalt/difalt/internal/check"
	"github.com/difalt/difalt/internal/tiertest"
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
				if got.Status != c.want.Status || got.Rank != c.want.Rank ||
					!near(got.SquaredResidual, c.want.SquaredResidual) {
					t.Errorf("%+v, want %+v", got, c.want)
				}
				if !near(b[0], c.b[0]) || !near(b[1], c.b[1]) || b[2] != 7 {
					t.Errorf("b = %v, want %v", b, c.b)
				}
			}
		})
	}
}

// A batch of problems of different shapes and ridges has the bits of its problems alone, and allocates
// nothing.
func TestBatch(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 1))
	fill := func(v []float64) []float64 {
		for i := range v {
			v[i] = rng.NormFloat64()
		}
		return v
	}
	var batch lsq.Batch
	most := 0
	for range 60 {
		n, r := rng.IntN(30), 1+rng.IntN(9)
		most = max(most, n)
		stride := max(n, 1) + rng.IntN(3)
		p := lsq.Problem{
			A: of(n, r, stride, fill(make([]float64, (r-1)*stride+n))), Y: fill(make([]float64, n+rng.IntN(2))),
			B: make([]float64, r), Ridge: float64(rng.IntN(3)),
		}
		if r > 1 && n > 0 && rng.IntN(5) == 0 { // deficient
			copy(p.A.Data[stride:][:n], p.A.Data[:n])
		}
		batch = append(batch, p)
	}
	ws := lsq.NewWorkspace(most, 9)
	for _, o := range []lsq.Options{{}, {Ridge: 1}, {Tolerance: 1e-3}} {
		batch.Solve(o, nil)
		for k, p := range batch {
			want, alone := make([]float64, p.A.Cols), o
			alone.Ridge += p.Ridge
			result := lsq.Solve(want, p.A, p.Y, alone, nil)
			if result != p.Result || !slices.Equal(p.B, want) {
				t.Errorf("problem %d: %v, %+v, alone %v, %+v", k, p.B, p.Result, want, result)
			}
		}
		if n := check.Allocations(5, func() { batch.Solve(o, ws) }); n != 0 {
			t.Errorf("%d allocations", n)
		}
	}
	lsq.Batch(nil).Solve(lsq.Options{}, nil) // no problem
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
		"tall": {40, 7, 1}, "square": {5, 5, 1}, "one": {9, 1, 1}, "deficient": {12, 6, 0}, "wide": {3, 5, 1},
		"none": {0, 2, 1},
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
			batch := make(lsq.Batch, sides)
			for k := range batch {
				batch[k] = lsq.Problem{A: of(c.n, c.r, lda, a), Y: y[k*c.n:][:c.n], B: make([]float64, c.r)}
			}
			batch.Solve(o, nil)
			for k, p := range batch {
				got, bk, want := p.Result, p.B, make([]float64, c.r)
				result := lsq.Solve(want, of(c.n, c.r, lda, a), y[k*c.n:], o, nil)
				e := math.Abs(got.SquaredResidual - result.SquaredResidual)
				if got.Status != result.Status || got.Rank != result.Rank || e > 1e-9*result.SquaredResidual &&
					c.n > c.r ||
					!(floats.Distance(bk, want, 2) <= 1e-11*floats.Norm(want, 2)) {
					t.Errorf("%s, %+v, side %d: %v, %+v, alone %v, %+v", name, o, k, bk, got, want, result)
				}
			}
		}
	}
}

// panicsCases returns the cases of TestPanics.
func panicsCases() map[string]func() {
	one, two, three := []float64{1}, make([]float64, 2), make([]float64, 3)
	batch := func(p lsq.Problem) lsq.Batch { return lsq.Batch{p} }
	ws := lsq.NewWorkspace(1, 1)
	return map[string]func(){
		"n < 0":            func() { lsq.Solve(one, of(-1, 1, 1, one), one, lsq.Options{}, ws) },
		"r = 0":            func() { lsq.Solve(one, of(1, 0, 1, one), one, lsq.Options{}, ws) },
		"too many samples": func() { lsq.Solve(one, of(2, 1, 2, two), two, lsq.Options{}, ws) },
		"too many columns": func() { lsq.Solve(two, of(1, 2, 1, two), one, lsq.Options{}, ws) },
		"negative ridge":   func() { lsq.Solve(one, of(1, 1, 1, one), one, lsq.Options{Ridge: -1}, ws) },
		"NaN ridge":        func() { lsq.Solve(one, of(1, 1, 1, one), one, lsq.Options{Ridge: math.NaN()}, ws) },
		"infinite ridge":   func() { lsq.Solve(one, of(1, 1, 1, one), one, lsq.Options{Ridge: math.Inf(1)}, ws) },
		"short b":          func() { lsq.Solve(nil, of(1, 1, 1, one), one, lsq.Options{}, ws) },
		"short y":          func() { lsq.Solve(one, of(1, 1, 1, one), nil, lsq.Options{}, ws) },
		"short a":          func() { lsq.Solve(one, of(1, 1, 1, nil), one, lsq.Options{}, ws) },
		"stride":           func() { lsq.Solve(one, of(1, 1, 0, one), one, lsq.Options{}, ws) },
		"tolerance":        func() { lsq.Solve(one, of(1, 1, 1, one), one, lsq.Options{Tolerance: 2}, ws) },
		"NaN tolerance":    func() { lsq.Solve(one, of(1, 1, 1, one), one, lsq.Options{Tolerance: math.NaN()}, ws) },
		"batch, samples":   func() { batch(lsq.Problem{A: of(2, 1, 2, two), Y: two, B: one}).Solve(lsq.Options{}, ws) },
		"batch, columns":   func() { batch(lsq.Problem{A: of(1, 2, 1, two), Y: one, B: two}).Solve(lsq.Options{}, ws) },
		"batch of nothing": func() { batch(lsq.Problem{}).Solve(lsq.Options{}, ws) },
		"batch of short a": func() {
			batch(lsq.Problem{A: of(2, 1, 2, one), Y: two, B: one}).Solve(lsq.Options{}, nil)
		},
		"batch of short y": func() {
			batch(lsq.Problem{A: of(2, 1, 2, two), Y: one, B: one}).Solve(lsq.Options{}, nil)
		},
		"batch of short b": func() {
			batch(lsq.Problem{A: of(1, 2, 1, two), Y: one, B: one}).Solve(lsq.Options{}, nil)
		},
		"batch of ridge": func() {
			batch(lsq.Problem{A: of(1, 1, 1, one), Y: one, B: one, Ridge: -1}).Solve(lsq.Options{}, nil)
		},
		"both ridges": func() {
			batch(lsq.Problem{A: of(1, 1, 1, one), Y: one, B: one, Ridge: 1e308}).Solve(lsq.Options{Ridge: 1e308}, nil)
		},
		"batch, tolerance": func() {
			batch(lsq.Problem{A: of(1, 1, 1, one), Y: one, B: one}).Solve(lsq.Options{Tolerance: -1}, nil)
		},
		"batch, workspace": func() {
			batch(lsq.Problem{A: of(1, 1, 1, one), Y: one, B: one}).Solve(lsq.Options{}, new(lsq.Workspace))
		},
		"sides, workspace": func() {
			side := lsq.Problem{A: of(2, 1, 2, two), Y: two, B: one}
			lsq.Batch{side, side}.Solve(lsq.Options{}, ws)
		},
		"no workspace": func() { lsq.Solve(one, of(1, 1, 1, one), one, lsq.Options{}, new(lsq.Workspace)) },
		"huge n": func() {
			lsq.Solve(one, of(math.MaxInt/2+1, 1, math.MaxInt/2+1, one), one, lsq.Options{}, nil)
		},
		"huge r":            func() { lsq.Solve(one, of(0, math.MaxInt, 1, one), one, lsq.Options{}, nil) },
		"huge stride":       func() { lsq.Solve(two, of(1, 2, math.MaxInt, two), one, lsq.Options{}, nil) },
		"strides beyond":    func() { lsq.Solve(three, of(1, 3, math.MaxInt/2+1, three), one, lsq.Options{}, nil) },
		"huge workspace":    func() { lsq.NewWorkspace(math.MaxInt/2+1, math.MaxInt/2+1) },
		"largest workspace": func() { lsq.NewWorkspace(math.MaxInt, math.MaxInt) },
		"workspace n < 0":   func() { lsq.NewWorkspace(-1, 1) },
		"workspace of no r": func() { lsq.NewWorkspace(1, 0) },
	}
}

func TestPanics(t *testing.T) {
	for name, f := range panicsCases() {
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

// TestBatchChecksFirst: a batch whose last problem does not fit changes none of them.
func TestBatchChecksFirst(t *testing.T) {
	one, two := []float64{1}, []float64{1, 2}
	for name, c := range map[string]struct {
		last lsq.Problem
		rows int // of the workspace
	}{
		"shape":     {lsq.Problem{A: of(2, 1, 2, one), Y: two, B: []float64{5}}, 2},
		"workspace": {lsq.Problem{A: of(2, 1, 2, two), Y: two, B: []float64{5}}, 1},
	} {
		b := []float64{7}
		list := lsq.Batch{{A: of(1, 1, 1, one), Y: one, B: b}, c.last}
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			list.Solve(lsq.Options{}, lsq.NewWorkspace(c.rows, 1))
		}()
		if b[0] != 7 {
			t.Errorf("%s: the first problem was solved: %v", name, b)
		}
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

// Columns may be in any units: the solution is the solution of columns of one size, in their units, and so is
// the rank, unless the caller gives a tolerance.
func TestSolveUnitsOfColumns(t *testing.T) {
	tiertest.Each(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(71, 72))
		const n, r = 30, 4
		for _, exponents := range [][r]int{{}, {0, 0, 0, 60}, {60, 0, -60, 0}, {340, 0, 0, 0}, {0, 0, 0, -340},
			{300, -300, 150, -150}} {
			for kind := range 3 {
				const dependent, nearly = 1, 2
				a, y := make([]float64, n*r), make([]float64, n)
				for i := range a {
					a[i] = rng.NormFloat64()
				}
				for i := range y {
					y[i] = rng.NormFloat64()
					for j := 1; kind == nearly && j < r; j++ {
						a[j*n+i] = a[i] + 1e-5*a[j*n+i]
					}
					if kind == dependent {
						a[3*n+i] = a[i] - a[n+i]
					}
				}
				want, got := make([]float64, r), make([]float64, r)
				plain := lsq.Solve(want, of(n, r, n, a), y, lsq.Options{}, nil)
				for j, e := range exponents {
					for i := range n {
						a[j*n+i] = math.Ldexp(a[j*n+i], e)
					}
				}
				result := lsq.Solve(got, of(n, r, n, a), y, lsq.Options{}, nil)
				if kind == dependent {
					if result.Status != lsq.RankDeficient {
						t.Errorf("dependent columns times 2^%v: %v", exponents, result.Status)
					}
					continue
				}
				if result.Status != lsq.OK || result.Rank != r ||
					math.Abs(result.SquaredResidual-plain.SquaredResidual) > 1e-12*plain.SquaredResidual {
					t.Errorf("columns times 2^%v: %+v, want %+v", exponents, result, plain)
				}
				for j, e := range exponents {
					if v := math.Ldexp(want[j], -e); !(math.Abs(got[j]-v) <= 1e-12*math.Abs(v)) {
						t.Errorf("columns times 2^%v: b[%d] is %g, want %g", exponents, j, got[j], v)
					}
				}
			}
		}
	})
}

// A line through times in seconds since 1970, whose columns 1 and t are nearly parallel and of other sizes.
func TestSolveLineThroughTimes(t *testing.T) {
	const n, start = 500, 1426796400
	a, y, b := make([]float64, 2*n), make([]float64, n), make([]float64, 2)
	for i := range n {
		a[i], a[n+i], y[i] = 1, start+float64(i), 3+2*float64(i)
	}
	result := lsq.Solve(b, of(n, 2, n, a), y, lsq.Options{}, nil)
	if result.Status != lsq.OK || math.Abs(b[1]-2) > 1e-7 || math.Abs(b[0]-(3-2*start)) > 1e-7*start {
		t.Errorf("%v, %+v", b, result)
	}
	if result := lsq.Solve(b, of(n, 2, n, a), y, lsq.Options{Tolerance: 1e-12},
		nil); result.Status != lsq.RankDeficient {
		t.Errorf("with a tolerance in the units of the columns: %v", result.Status)
	}
}

// A column of zeros is null in any unit.
func TestSolveZeroColumnBesideOthers(t *testing.T) {
	b := make([]float64, 2)
	result := lsq.Solve(b, of(3, 2, 3, []float64{1e100, 2e100, 3e100, 0, 0, 0}), []float64{1, 2, 3}, lsq.Options{}, nil)
	if result.Status != lsq.RankDeficient || result.Rank != 1 || b[1] != 0 || math.Abs(b[0]-1e-100) > 1e-112 {
		t.Errorf("%v, %+v", b, result)
	}
}
