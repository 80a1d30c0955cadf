package mixed

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/difalt/difalt/internal/check"
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

// surelyHeldOut returns how many of the held-out rows of a victim are in every table of so many rows whose
// errors by pooled ridge are those that a listener has heard, as sums of 15 digits or as rounded ones.
func surelyHeldOut(t *testing.T, held int, o Options) (sure, tables int) {
	t.Helper()
	victim, own := flagged(uint64(held), "v", 60, held), flagged(1, "a", 60, 30)
	f, all := listenAmong(t, []Input{victim}, own, o)
	heard := totalsOf(all, "errors of methods")[0].others()[scoreSize:] // of pooled ridge
	rows, squares, sum, spread := heard[5], heard[6]*scoreUnit(6), heard[8], heard[9]
	if int(rows) != held {
		return 0, 0
	}
	mean, design, row := f.baselines[0].m.mean, f.plain.design, make([]float64, 2)
	var values, errors [cells]float64
	for c := range cells {
		design.Apply(row, []float64{float64(c % 2)})
		values[c] = f.rows.raw.Standardize(float64(c / 2))
		errors[c] = square(values[c] - mean[0] - mean[1]*row[1])
	}
	slack := 1e-9
	if o.Disclosure.LeastLevel != Off {
		slack = squares * math.Sqrt(2/rows) / errorSteps
	}
	least, numbers := slices.Repeat([]int{held}, cells), make([]int, cells)
	var count func(c, left int, e, s, q float64)
	count = func(c, left int, e, s, q float64) {
		if c == cells-1 {
			numbers[c] = left
			n := float64(left)
			e, s, q = e+n*errors[c], s+n*values[c], q+n*values[c]*values[c]
			if o.Disclosure.LeastLevel != Off {
				s, q = coarsened(s, math.Sqrt(q)), coarsened(q, q*math.Sqrt(2/rows))
			}
			if math.Abs(e-squares) > slack || math.Abs(s-sum) > 1e-9 || math.Abs(q-spread) > 1e-9 {
				return
			}
			tables++
			for k, n := range numbers {
				least[k] = min(least[k], n)
			}
			return
		}
		for n := range left + 1 {
			numbers[c] = n
			v := float64(n)
			count(c+1, left-n, e+v*errors[c], s+v*values[c], q+v*values[c]*values[c])
		}
	}
	count(0, held, 0, 0, 0)
	for _, n := range least {
		sure += n
	}
	return sure, tables
}

// Held-out rows are in sums of errors alone. With 15 digits one or two tables have errors that add up to
// them; owners round the sums, and add none of few rows.
func TestHeldOutRows(t *testing.T) {
	for held, want := range map[int]int{5: 2, 12: 8} {
		sure, tables := surelyHeldOut(t, held, open)
		check.FailIf(t, tables < 1 || tables > 2 ||
			sure < want, "%d rows, without rules: %d are in each of %d tables", held, sure, tables)
		sure, tables = surelyHeldOut(t, held, Options{})
		t.Logf("%d rows: %d are in each of %d tables", held, sure, tables)
		check.FailIf(t, held < leastHeldOut && tables > 0, "%d rows have errors in totals", held)
		check.FailIf(t, held >= leastHeldOut && tables < 20, "%d rows: %d are in each of %d tables", held, sure, tables)
	}
}
