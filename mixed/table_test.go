package mixed

import (
	"math"
	"testing"

	"github.com/difalt/difalt/internal/check"
)

// Check names the first fault of a table in memory, and finds none in a table with missing values and levels.
func TestFaultsOfData(t *testing.T) {
	for name, c := range map[string]struct {
		change func(d *Data)
		want   string
	}{
		"none":            {func(*Data) {}, ""},
		"names":           {func(d *Data) { d.Names = d.Names[:1] }, "1 names, 2 columns and 2 lists of levels"},
		"lists of levels": {func(d *Data) { d.Levels = d.Levels[:1] }, "2 names, 2 columns and 1 lists of levels"},
		"targets":         {func(d *Data) { d.Targets = d.Targets[:2] }, "3 rows and 2 targets or weights"},
		"weights":         {func(d *Data) { d.Weighting = []float64{1} }, "3 rows and 1 targets or weights"},
		"task below":      {func(d *Data) { d.TaskOf[1] = -1 }, "row 2 is of task -1: the table has 2"},
		"task beyond":     {func(d *Data) { d.TaskOf[2] = 2 }, "row 3 is of task 2: the table has 2"},
		"values":          {func(d *Data) { d.Values[1] = d.Values[1][:1] }, `column "kind" has 1 values`},
		"level below":     {func(d *Data) { d.Values[1][0] = -1 }, `row 1, column "kind": level -1: it has 2 levels`},
		"level beyond":    {func(d *Data) { d.Values[1][1] = 2 }, `row 2, column "kind": level 2: it has 2 levels`},
		"half a level":    {func(d *Data) { d.Values[1][1] = .5 }, `row 2, column "kind": level 0.5: it has 2 levels`},
		"task twice":      {func(d *Data) { d.TaskNames[1] = "p" }, `array "task": entry 1 is "p", which`},
		"column twice":    {func(d *Data) { d.Names[1], d.Levels[1] = "a", nil }, `array "feature": entry 1 is "a"`},
		"column of a level": {func(d *Data) { d.Names[0] = "kind=u" },
			`array "feature": entry 1 is "kind=u", which is there twice`},
		"no levels": {func(d *Data) {
			d.Levels[1], d.Values[1] = []string{}, []float64{math.NaN(), math.NaN(), math.NaN()}
		}, `no levels for column "kind"`},
	} {
		d := &Data{Names: []string{"a", "kind"}, Levels: [][]string{nil, {"u", "v"}}, TaskNames: []string{"p", "q"},
			Values: [][]float64{{1, math.NaN(), 3}, {0, 1, math.NaN()}}, TaskOf: []int{0, 0, 1},
			Targets: []float64{1, 2, 3}}
		c.change(d)
		if err := d.Check(); c.want == "" {
			check.FailIf(t, err != nil, "%s: %v", name, err)
		} else {
			check.Error(t, err, c.want)
		}
	}
}
