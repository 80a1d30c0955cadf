package lsq_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/difalt/difalt/kernel/lsq"
)

// A workspace may serve smaller problems, and what an earlier one left in it does
// not matter.
func testWorkspaceReuse(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 1))
	ws := lsq.NewWorkspace(20, 6)
	for k := range 200 { // and solve takes none, which allocates one
		n, r := rng.IntN(21), 1+rng.IntN(6)
		p := random(rng, n, r)
		switch {
		case k%5 == 0 && n > 0:
			p.y[0] = math.NaN()
		case k%7 == 0 && n >= r && r > 1:
			p = ofRank(rng, n, r, r-1)
		}
		ridge := float64(k % 2)
		want, wantStatus := p.solve(t, ridge)
		b := make([]float64, r)
		status := lsq.Solve(b, p.matrix(), p.y, lsq.Options{Ridge: ridge}, ws).Status
		if status != wantStatus || !slices.Equal(b, want) {
			t.Errorf("n = %d, r = %d: %v, b = %v, with its own workspace %v, %v", n, r, status, b, wantStatus, want)
		}
	}
}

func TestSolveDoesNotAllocate(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 1))
	ws := lsq.NewWorkspace(30, 5)
	b := make([]float64, 5)
	for name, p := range map[string]problem{
		"full":            random(rng, 30, 5),
		"deficient":       ofRank(rng, 30, 5, 3),
		"underdetermined": random(rng, 3, 5),
		"huge":            random(rng, 30, 5).scaled(900, 900),
	} {
		for _, ridge := range []float64{0, 0.1} {
			if n := testing.AllocsPerRun(20, func() { lsq.Solve(b, p.matrix(), p.y, lsq.Options{Ridge: ridge}, ws) }); n != 0 {
				t.Errorf("%s, ridge %g: %g allocations", name, ridge, n)
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
