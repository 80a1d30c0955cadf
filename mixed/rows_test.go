package mixed

import (
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/difalt/difalt/internal/check"
)

// A named table counts how often the names of its features are asked for, which takes time for each of them.
type namedTable struct {
	*Data
	asked atomic.Int64
}

func (t *namedTable) Features() []string {
	t.asked.Add(1)
	return t.Data.Features()
}

// The names of all features are asked for as often whatever the number of columns of text is: a time for
// every column and every name of a level would grow with the square of the columns.
func TestNamesAreAskedForOnce(t *testing.T) {
	asked := func(columns int) int64 {
		r := rand.New(rand.NewPCG(1, 2))
		d := &Data{TaskNames: []string{"a", "b"}}
		for j := range columns {
			d.Names, d.Levels = append(d.Names, fmt.Sprint("c", j)), append(d.Levels, []string{"x", "y"})
			d.Values = append(d.Values, make([]float64, 40))
			for i := range d.Values[j] {
				d.Values[j][i] = float64(r.IntN(2))
			}
		}
		for i := range 40 {
			d.TaskOf, d.Targets = append(d.TaskOf, i%2), append(d.Targets, r.NormFloat64())
		}
		table := &namedTable{Data: d}
		m, _ := fitted(t, table, Options{NoCurves: true, Rank: new(int), CommonNoise: true})
		check.FailIf(t, len(m.Effects()) != 1+columns, "%d effects of %d columns", len(m.Effects()), columns)
		return table.asked.Load()
	}
	few, many := asked(4), asked(60)
	check.FailIf(t, few != many, "names are asked for %d times with 4 columns and %d with 60", few, many)
}
