package fit

import (
	"context"
	"fmt"
	"math"

	"github.com/difalt/difalt/cmd/difalt/internal/text"
	"github.com/difalt/difalt/cmd/difalt/model"
)

// columns returns the column of every feature, and whether it is one of its levels.
func (d *design) columns() (column []int, isLevel []bool) {
	schema := d.t.Schema()
	for k, name := range schema.Columns {
		levels, coded := schema.Levels(name)
		n := 1
		if coded {
			n = len(levels)
		}
		for range n {
			column, isLevel = append(column, k), append(isLevel, coded)
		}
	}
	return column, isLevel
}

// findIDs returns the features that look like numbers of rows: whole numbers, different in all rows of
// every node, and as far apart as at most twice as many numbers without gaps as there are rows, whose deviations are given.
func (d *design) findIDs(ctx context.Context, deviation []float64) (list []int, err error) {
	k := len(d.Center)
	repeated := d.Zeros(k)
	x := make([]float64, k)
	for g := range repeated {
		seen := make([]map[float64]bool, k)
		for j := range k {
			seen[j] = map[float64]bool{}
		}
		d.eachTraining(d.layout[g], func(i int) {
			for j, v := range d.t.X(x, i) {
				if seen[j] == nil {
					continue
				}
				if v != math.Trunc(v) || seen[j][v] || math.Abs(v) > 1e15 { // NaN is not its whole part
					seen[j], repeated[g][j] = nil, 1
					continue
				}
				seen[j][v] = true
			}
		})
	}
	sum, err := d.Sum(ctx, repeated)
	if err != nil {
		return nil, err
	}
	for j, n := range sum {
		if n == 0 && d.total >= 20 && deviation[j]*math.Sqrt(12) < 2*float64(d.total) {
			list = append(list, j)
		}
	}
	return list, nil
}

// transformNotes say what takes the place of columns, or why nothing was looked for.
func (d *design) transformNotes(c *Config) (list sentences) {
	kinds := map[string][]string{}
	for _, t := range d.Transforms {
		name := fmt.Sprintf("%q", d.t.Features()[t.Feature])
		if t.Kind != model.Logarithmic {
			name += fmt.Sprintf(" (%s to %s)", text.Short(t.Knots[0]), text.Short(t.Knots[len(t.Knots)-1]))
		}
		kinds[t.Kind] = append(kinds[t.Kind], name)
	}
	say := func(kind, words string) { list.when(kinds[kind] != nil, words, text.List(kinds[kind])) }
	say(model.Curved, "Columns of which the effect is a curve, and straight beyond its knots: %s.")
	say(model.LogCurved, "Columns of which the effect is a curve of the logarithm: %s.")
	say(model.Clipped, "Columns that are clipped, since far values have less effect than a straight line says: %s.")
	say(model.Logarithmic, "Columns that count by their logarithm: %s.")
	if c.Curves == nil {
		list.when(d.owners, "All columns count as they are: between owners nothing is told by which curves could be found. --curve COLUMN makes the effect of a column a curve.")
		list.when(!d.owners && len(d.t.Features()) > mostTransformed,
			"All columns count as they are: of more than %d features curves are not looked for. --curve COLUMN makes the effect of a column a curve.", mostTransformed)
	}
	return list
}
