package mixed

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/difalt/difalt/internal/check"
	"gonum.org/v1/gonum/mat"
)

// agesFrom returns a table of ages in whole years from one to another one, with a flag and a target.
func agesFrom(seed uint64, name string, from, to float64, rows int) *Data {
	r := rand.New(rand.NewPCG(seed, 72))
	d := drawn(seed, name, 2, rows)
	d.Names = []string{"age", "flag"}
	for i := range d.Targets {
		age, flag := math.Round(from+(to-from)*r.Float64()), float64(r.IntN(2))
		d.Values[0][i], d.Values[1][i], d.Targets[i] = age, flag, math.Round(age/10+2*flag+r.NormFloat64())
	}
	return d
}

// readTogether counts the rows with given ages, one row each, that follow from several trainings by linear
// equations: every training has other functions of the ages. The unknowns are, for every age from 0 on, the
// number of rows, and the sums of their flags and targets.
func readTogether(list []*rowReader, victim *Data, ages int, rare []float64) (right int) {
	const rounding = 1e-13
	var left, sums []float64
	for _, r := range list {
		functions := make([][]float64, ages)
		for age := range functions {
			functions[age] = r.functions(float64(age), 1)
		}
		p, flag := r.design.Width(), 1+r.flag
		for i, j := range r.columns {
			for age := range functions {
				left = append(left, functions[age][i])
			}
			flags := r.design.Scale[r.flag]*r.products[flag*p+j] + r.design.Center[r.flag]*r.products[j]
			sums = append(sums, r.products[j], flags, r.targets[j])
		}
	}
	equations := len(sums) / 3
	var svd mat.SVD
	if !svd.Factorize(mat.NewDense(equations, ages, left), mat.SVDThin) {
		return 0
	}
	var found mat.Dense
	svd.SolveTo(&found, mat.NewDense(equations, 3, sums), svd.Rank(rounding))
	for i, age := range victim.Values[0] {
		if !slices.Contains(rare, age) {
			continue
		}
		off := 0.0
		for j, v := range []float64{1, victim.Values[1][i], victim.Targets[i]} {
			off = max(off, math.Abs(found.At(int(age), j)-v))
		}
		if off < .4 {
			right++
		}
	}
	return right
}

// A member that takes part again and again, with other rows of its own, moves the knots of curves. The sums
// of the other owners' rows are then of ever more functions. So it reads the rows whose age no other row has,
// if numbers are exact; with -short, of the smaller table.
func TestTrainingsAddUp(t *testing.T) {
	const ages = 60
	rare := []float64{13, 27, 33, 41}
	for _, c := range []struct {
		rows, trainings int
		rules, reads    bool
	}{{3000, 15, false, true}, {3000, 15, true, false}, {20000, 25, false, true}, {20000, 25, true, false}} {
		o := open
		if c.rules {
			o = Options{}
		}
		if testing.Short() && c.rows > 3000 {
			continue
		}
		victim, seen := agesFrom(3, "v", 0, ages-1, c.rows), map[float64]bool{}
		for i, age := range victim.Values[0] {
			if slices.Contains(rare, age) && seen[age] {
				victim.Values[0][i] += 2
			}
			seen[age] = true
		}
		var list []*rowReader
		for k := range c.trainings {
			r := rand.New(rand.NewPCG(uint64(k), 73))
			from := float64(r.IntN(ages / 2))
			own := agesFrom(uint64(100+k), "a", from, min(from+float64(10+r.IntN(ages/2)), ages), 6000)
			f, heard := listen(t, victim, own, o)
			if reader := newRowReader(f, heard, own); reader != nil {
				list = append(list, reader)
			}
		}
		right := readTogether(list, victim, ages, rare)
		t.Logf("%d rows, rules %v, %d trainings: %d of %d rows are read", c.rows, c.rules, c.trainings, right,
			len(rare))
		check.FailIf(t, c.reads && right < len(rare) || !c.reads && right > 0,
			"%d rows, rules %v, %d trainings: %d of %d rows are read", c.rows, c.rules, c.trainings, right, len(rare))
	}
}
