package mixed

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/difalt/difalt/internal/check"
)

// strange returns the values of a column: of normal, heavy, rounded, rare, constant or huge numbers.
func strange(r *rand.Rand, kind int, n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		x := r.NormFloat64()
		switch kind {
		case 1:
			x = math.Exp(4 * x)
		case 2:
			x = math.Round(2 * x)
		case 3:
			if x = 0; r.IntN(25) == 0 {
				x = 1
			}
		case 4:
			x = 7
		case 5:
			x = 1e60 * x
		case 6:
			x = 1e8 + x
		case 7:
			x = float64(i)
		case 8:
			x = math.Pow(10, 12*x)
		case 9:
			if r.IntN(3) > 0 {
				x = math.NaN()
			}
		}
		out[i] = x
	}
	return out
}

// strangeTable returns a table of drawn shape, whose columns have strange values.
func strangeTable(seed uint64) Input {
	r := rand.New(rand.NewPCG(seed, 77))
	tasks, columns := 12+r.IntN(30), 1+r.IntN(8)
	d := &Data{}
	var taskOf []int
	for k := range tasks {
		d.TaskNames = append(d.TaskNames, fmt.Sprint("task ", k))
		n := 1 + r.IntN(30)
		if seed%5 == 0 {
			n = 1 + r.IntN(3)
		}
		for range n {
			taskOf = append(taskOf, k)
		}
	}
	for len(taskOf) < 12*tasks { // so that each of up to six owners has enough
		taskOf = append(taskOf, len(taskOf)%tasks)
	}
	d.TaskOf = taskOf
	effect := make([]float64, len(taskOf))
	level := strange(r, 0, tasks)
	for j := range columns {
		d.Names = append(d.Names, fmt.Sprint("x", j))
		kind := r.IntN(10)
		v := strange(r, kind, len(taskOf))
		d.Values = append(d.Values, v)
		for i, x := range v {
			if kind < 4 && kind != 1 {
				effect[i] += x * (1 + level[taskOf[i]]*float64(j%2))
			}
		}
	}
	noise := []float64{1, 1, 30, 1e-3, 0}[r.IntN(5)]
	unit := []float64{1, 1e-25, 1e12}[r.IntN(3)]
	for i, k := range taskOf {
		e := r.NormFloat64()
		if seed%7 == 0 {
			e *= math.Exp(level[k] * 2)
		}
		if seed%11 == 0 && i%50 == 0 {
			e *= 1e4
		}
		d.Targets = append(d.Targets, unit*(effect[i]+level[k]+noise*e))
	}
	if seed%3 == 0 {
		for range taskOf {
			d.Weighting = append(d.Weighting, math.Exp(6*r.NormFloat64()))
		}
	}
	var held []bool
	for i := range taskOf {
		held = append(held, i%5 == 2)
	}
	return Input{Table: d, HeldOut: held}
}

// Whatever the shape of tables and the sizes of their numbers, all totals fit into sums, and several owners
// have the predictions of one table. Rounding decides on the strengths of a model that fits its rows exactly:
// there owners have a model of their own.
func TestTogetherIsFitOnManyTables(t *testing.T) {
	compared, tables := 0, uint64(60)
	if testing.Short() {
		tables = 12
	}
	for seed := range tables {
		in := strangeTable(seed)
		check.Done(in.Table.(*Data).Check())
		alone := &fitter{in: &in}
		one, r, err := alone.fit(t.Context())
		if err != nil {
			t.Errorf("seed %d: %v", seed, err)
			continue
		}
		n := 3 + int(seed%4)
		m, _, err := Together(t.Context(), cut(in, n), network("exponential", n), open)
		if err != nil && strings.Contains(err.Error(), "held-out rows") {
			continue
		}
		if err != nil {
			t.Errorf("seed %d: %d owners: %v", seed, n, err)
			continue
		}
		check.FailIf(t, math.IsNaN(r.Scores[0].Train.RMSE), "seed %d: no error", seed)
		if alone.plain.bounds != nil { // rows far out count less, which several owners leave out
			continue
		}
		scale := one.Parameters().Target.Scale
		if one.Noise() < .01*scale { // the tenth digit decides on forms there, and other cuts of one table differ, too
			continue
		}
		compared++
		want, got, most := predictions(t, oneNoise(one), in), predictions(t, oneNoise(m), in), 0.0
		for i, v := range want {
			most = max(most, math.Abs(v-got[i])/max(scale, math.Abs(v)))
		}
		check.FailIf(t, !(most <= 1e-9), "seed %d: %d owners differ by %v; noise %v", seed, n, most, one.Noise()/scale)
	}
	check.FailIf(t, compared < int(tables)/3, "%d of %d tables have noise", compared, tables)
}
