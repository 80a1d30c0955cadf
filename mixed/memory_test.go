package mixed

import (
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/difalt/difalt/internal/check"
)

// A reader that reads ahead returns what it returns row by row, whatever the number of rows and the place of
// the features.
func TestReaderReadsAhead(t *testing.T) {
	random := rand.New(rand.NewPCG(4, 5))
	for _, features := range []int{1, 3, 200, 5000} {
		table := drawing{tasks: 1, rows: 3*rowsAhead + 1, features: features, noise: 1}.table(t, 2)
		for _, places := range [][]place{nil, {{features - 1, -1}, {-1, -1}, {0, -1}}} {
			r := &rows{in: &Input{Table: table}, features: features, places: places}
			ahead, one := r.newReader(), r.newReader()
			for _, n := range []int{0, 1, rowsAhead - 1, rowsAhead, rowsAhead + 1, 2*rowsAhead + 5} {
				var list []int32
				for range n {
					list = append(list, int32(random.IntN(table.Rows())))
				}
				next := 0
				ahead.each(list, func(at int, x []float64) {
					same := slices.Equal(x, one.one(int(list[at])))
					check.FailIf(t, at != next || !same,
						"%d features, row %d of %d: place %d, %v", features, next, n, at, same)
					next++
				})
				check.FailIf(t, next != n, "%d of %d rows", next, n)
			}
		}
	}
}

// Tasks that were forgotten are computed again to the same bits: tasks of products and tasks of rows, with
// weights of rows, and for the logarithm of the target, too.
func TestForgottenTasks(t *testing.T) {
	table := drawing{tasks: 20, rows: 6, features: 3, mean: []float64{9, 1, 1}, levels: 1, noise: .5}.table(t, 1)
	for i := range 40 { // more rows than a curve has columns
		add(t, table, fmt.Sprintf("t%02d", i%2), 50+float64(i%7), float64(i%3), float64(i%5), float64(i))
	}
	for i := range table.Targets {
		table.Targets[i] += 100 // its logarithm is looked at
	}
	f := &fitter{in: &Input{Table: table}}
	check.Done(f.read(t.Context()))
	check.FailIf(t, !f.rows.compares || f.curved == nil, "the logarithm is not compared, or there are no curves")
	bounds := make([]float64, table.Rows())
	for i := range bounds {
		bounds[i] = 1 / float64(1+i%3)
	}
	bounded := check.OK(newBoundedStats(t.Context(), f.rows, f.curved.design, 1, bounds))
	logarithm := check.OK(newStats(t.Context(), f.rows, f.curved.design, 1)).withLogarithm()
	for name, s := range map[string]*stats{
		"plain": f.plain, "curved": f.curved, "bounded": bounded, "logarithm": logarithm,
	} {
		products, kept := 0, check.OK(s.meanPosterior(t.Context(), s.tasks, s.start()))
		for _, packed := range s.packed {
			if len(packed) > 0 {
				products++
			}
		}
		all := len(s.tasks.own)
		if part := products > 0 && products < all; part != (s.p > 6) {
			t.Errorf("%s: %d of %d tasks have products, of %d columns", name, products, all, s.p)
		}
		for _, how := range []string{"forgotten", "held again"} {
			if how == "forgotten" {
				s.forget()
			} else {
				check.Done(s.hold(t.Context()))
			}
			for _, k := range s.tasks.own {
				check.FailIf(t, s.isHeld(k) != (how == "held again"), "%s, %s: task %d", name, how, k)
			}
			again := check.OK(s.meanPosterior(t.Context(), s.tasks, s.start()))
			same := kept.evidence == again.evidence && slices.Equal(kept.m, again.m) && slices.Equal(kept.h, again.h)
			check.FailIf(t, !same, "%s, %s: the evidence is %v, before %v", name, how, again.evidence, kept.evidence)
		}
	}
}

// The live memory of a fit is at most a few times the table's numbers at every stage, and less at its end,
// whatever the shape of the table and the options: the memory of the fit that held-out rows judge is free in
// the fit to all rows. Small tables may take 32 MiB.
func TestLiveMemory(t *testing.T) {
	for name, c := range map[string]struct {
		drawing
		o         Options
		most, end float64
	}{
		"many rows a task": {drawing{tasks: 40, rows: 300, features: 20, levels: 1, noise: 1}, Options{}, 1.2, .3},
		"many tasks":       {drawing{tasks: 700, rows: 24, features: 12, levels: 1, noise: 1}, Options{}, 4.5, .8},
		"common noise": {drawing{tasks: 700, rows: 24, features: 12, levels: 1, noise: 1},
			Options{CommonNoise: true, NoCurves: true}, .8, .8},
		"narrow": {drawing{tasks: 1000, rows: 50, features: 2, levels: 1, noise: 1}, Options{}, 2, 1},
		"few rows a task": {drawing{tasks: 220, rows: 6, features: 210, levels: 1, noise: 1},
			Options{NoCurves: true}, 2.85, 2.3},
		"few rows": {drawing{tasks: 12, rows: 20, features: 1500, levels: 1, noise: 1}, Options{}, 2.85, 2.8},
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && c.tasks > 100 {
				t.Skip("skipped with -short")
			}
			table := c.table(t, 3)
			held := holdOut(table)
			c.o.Workers = 2 // each has memory of its own
			numbers := 8 * float64(table.Rows()*(c.features+1))
			before, most, stage := live(), 0.0, ""
			c.o.Refit = true
			c.o.Progress = func(p Progress) {
				if now := live() - before; now > most {
					most, stage = now, p.Stage
				}
			}
			m, report := fitted(t, table, c.o, held...)
			end := live() - before
			t.Logf("%.3f times the table at most, %.3f at the end", most/numbers, end/numbers)
			check.FailIf(t, most > c.most*numbers, "%.2f times the table, in stage %q", most/numbers, stage)
			check.FailIf(t, end > c.end*numbers, "%.2f times the table at the end", end/numbers)
			runtime.KeepAlive(m)
			runtime.KeepAlive(report)
		})
	}
}

// live returns the bytes that are in use, without those of pools, which outlive one collection.
func live() float64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

// Rows are selected in their place, in any order, and the others are not lost before.
func TestSelected(t *testing.T) {
	random := rand.New(rand.NewPCG(8, 9))
	for range 200 {
		n, f := 1+random.IntN(9), 1+random.IntN(3)
		x := make([]float64, n*f)
		for i := range x {
			x[i] = float64(i)
		}
		rows := random.Perm(n)[:random.IntN(n+1)]
		got := selected(x, rows, f)
		check.FailIf(t, len(got) != len(rows)*f, "%d numbers of %d rows", len(got), len(rows))
		for i, v := range got {
			check.FailIf(t, v != float64(rows[i/f]*f+i%f), "row %d of %v is that of %v", i/f, rows, v)
		}
	}
}

// A training between owners ends without the matrices of the model and of the simpler methods; the errors of
// the tasks still follow.
func TestOwnersFreeMatrices(t *testing.T) {
	_, report, err := Together(t.Context(), cut(clinics(t), 3), network("path", 3), Options{})
	check.Done(err)
	check.FailIf(t, len(report.owned) != 3, "%d owners", len(report.owned))
	for i, owner := range report.owned {
		for _, m := range owner.shared.methods {
			if m.m != nil && (m.m.m != nil || m.m.c != nil) || m.s != nil && m.s.total != nil {
				t.Errorf("owner %d: %s holds matrices", i, m.name)
			}
		}
	}
	check.OK(report.OwnFits(t.Context()))
}

// To save a model of many tasks of few rows takes less memory than its covariances, which are written row
// by row. Here the buffers of the arrays take most of it.
func TestSaveTakesLittleMemory(t *testing.T) {
	table := drawing{tasks: 2000, rows: 5, features: 30, levels: 1, noise: 1}.table(t, 6)
	m, _ := fitted(t, table, Options{NoCurves: true, CommonNoise: true})
	numbers := m.p.Tasks.numbers()
	check.FailIf(t, m.p.Tasks.Strengths == nil || numbers < 2000*5*30, "covariances of %d numbers", numbers)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	check.Done(m.Save(io.Discard))
	runtime.ReadMemStats(&after)
	got := float64(after.TotalAlloc-before.TotalAlloc) / float64(8*numbers)
	t.Logf("%.3f times the covariances", got)
	check.FailIf(t, got > .8, "%.3f times the covariances were allocated", got)
}
