package mixed

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/difalt/difalt/internal/check"
	"github.com/difalt/difalt/internal/dense"
	"gonum.org/v1/gonum/floats"
)

// A flag and a target from 0 to 4: the ten rows that there are.
const (
	mostTarget = 4
	cells      = 2 * (mostTarget + 1)
)

// flagged returns a table of a task with a flag and a target, of which the last rows are held out.
func flagged(seed uint64, name string, rows, held int) Input {
	r := rand.New(rand.NewPCG(seed, 81))
	in := Input{Table: &Data{Names: []string{"flag"}}, HeldOut: make([]bool, rows+held)}
	for i := range in.HeldOut {
		flag := float64(r.IntN(2))
		y := math.Round(min(max(1+1.5*flag+r.NormFloat64(), 0), mostTarget))
		check.Done(in.Table.(*Data).Append(name, y, flag))
		in.HeldOut[i] = i >= rows
	}
	return in
}

// A heldOutAttack reads held-out rows of a victim of one task from the errors of methods. The listener knows
// the products of the task, so that it can compute the coefficients of all baselines.
type heldOutAttack struct {
	rows, sum, spread float64 // of held-out rows: their number, the sums of targets and of their squares
	squares           []float64
	values            [cells]float64   // targets of the kinds of rows, standardised
	errors            [][cells]float64 // squared errors of every baseline
	slack             float64          // of squares, as a share
	rounds            bool             // sums of targets are rounded
	least, numbers    [cells]int       // rows of every kind: in all tables so far, and in the next one
	tables            int
}

// newHeldOutAttack returns the attack of a listener on what it has heard; nil where no errors were added.
func newHeldOutAttack(f *fitter, all []heardTotal, own Input, rules bool) *heldOutAttack {
	heard := totalsOf(all, "errors of methods")[0].others()
	if heard[5] == 0 {
		return nil
	}
	a := &heldOutAttack{rows: heard[5], sum: heard[scoreSize+8], spread: heard[scoreSize+9], slack: 1e-12,
		rounds: rules}
	if rules { // by the model, and by the difference from it
		a.slack = 1.5 / (2 * errorSteps)
	}
	x, pooled := make([]float64, 2), f.baselines[0]
	task := &taskData{G: make([]float64, 4), C: slices.Clone(pooled.m.h), YY: 1e9}
	dense.Unpack(task.G, 2, totalsOf(all, "X'X")[0].others())
	dense.Mirror(2, task.G)
	task.Rows = int(math.Round(task.G[0]))
	floats.Scale(pooled.q.noise, task.C)
	read := f.rows.reader()
	for i, out := range own.HeldOut {
		if !out {
			f.plain.design.Apply(x, read(i))
			floats.AddScaled(task.C, -f.rows.standardized(i, false), x)
		}
	}
	for i, m := range f.baselines {
		theta := []float64{task.C[0] / task.G[0], 0} // the mean of the task
		if m.s != nil {
			var s solver
			check.Done(s.Set(m.m.prior, task))
			s.Coefficients(theta, make([]float64, 4), m.m.mean, m.m.c)
		}
		a.squares = append(a.squares, heard[(1+i)*scoreSize+6]*scoreUnit(6))
		var errors [cells]float64
		for kind := range errors {
			f.plain.design.Apply(x, []float64{float64(kind % 2)})
			a.values[kind] = f.rows.raw.Standardize(float64(kind / 2))
			errors[kind] = square(a.values[kind] - floats.Dot(theta, x))
		}
		a.errors = append(a.errors, errors)
	}
	for kind := range a.least {
		a.least[kind] = int(a.rows)
	}
	return a
}

// try counts the tables of the remaining rows, of the kinds from one on, whose sums are those heard.
func (a *heldOutAttack) try(kind, left int) {
	from := 0
	if kind == cells-1 {
		from = left
	}
	for n := from; n <= left; n++ {
		if a.numbers[kind] = n; kind < cells-1 {
			a.try(kind+1, left-n)
		} else if a.fits() {
			a.tables++
			for k, n := range a.numbers {
				a.least[k] = min(a.least[k], n)
			}
		}
	}
}

// fits reports whether a table has the sums heard.
func (a *heldOutAttack) fits() bool {
	sum, spread := 0.0, 0.0
	for kind, n := range a.numbers {
		sum += float64(n) * a.values[kind]
		spread += float64(n) * square(a.values[kind])
	}
	if a.rounds {
		sum, spread = coarsened(sum, math.Sqrt(spread)), coarsened(spread, spread*math.Sqrt(2/a.rows))
	}
	if math.Abs(sum-a.sum) > 1e-9 || math.Abs(spread-a.spread) > 1e-9 {
		return false
	}
	for i, squares := range a.squares {
		e := 0.0
		for kind, n := range a.numbers {
			e += float64(n) * a.errors[i][kind]
		}
		if math.Abs(e-squares) > a.slack*squares {
			return false
		}
	}
	return true
}

// Held-out rows are in sums of errors alone. With 15 digits few tables have errors that add up to them;
// owners round the sums, and add none of few rows. Then no row is certain that is the only one of its kind.
// Of kinds with several rows, some rows are certain.
func TestHeldOutRows(t *testing.T) {
	for rules, o := range map[bool]Options{false: open, true: {}} {
		certain, alone, certainAlone, asked := 0, 0, 0, 0
		for _, held := range []int{5, 12, 13, 16} {
			for seed := range uint64(3) {
				victim, own := flagged(1000*seed+uint64(held), "v", 60, held), flagged(1, "a", 60, 30)
				f, all := listenAmong(t, []Input{victim}, own, o)
				a := newHeldOutAttack(f, all, own, rules)
				if (a == nil) != (rules && held < leastHeldOut) {
					t.Fatalf("%d rows, rules %v: errors are in totals: %v", held, rules, a != nil)
				}
				if a == nil {
					continue
				}
				a.try(0, held)
				var truth [cells]int
				for i, out := range victim.HeldOut {
					d := victim.Table.(*Data)
					if out {
						truth[int(d.Values[0][i])+2*int(d.Targets[i])]++
					}
				}
				check.FailIf(t, a.tables == 0, "%d rows, rules %v: the truth is not among the tables", held, rules)
				asked += held
				for kind, n := range a.least {
					certain += n
					if truth[kind] == 1 {
						alone++
						certainAlone += min(n, 1)
					}
				}
			}
		}
		t.Logf("rules %v: %d of %d rows are certain, and %d of %d of a kind of their own", rules, certain, asked,
			certainAlone, alone)
		check.FailIf(t, alone < 15 || rules && certainAlone > 0 || !rules && 3*certainAlone < alone,
			"rules %v: %d of %d rows are certain, and %d of %d of a kind of their own", rules, certain, asked,
			certainAlone, alone)
	}
}
