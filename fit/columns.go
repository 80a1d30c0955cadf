package fit

import (
	"context"
	"math"
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
// every node, in a range of at most twice as many as there are rows.
func (d *design) findIDs(ctx context.Context) (list []int, err error) {
	k := len(d.Center)
	repeated, ends := d.Zeros(k), d.Zeros(2*k)
	x := make([]float64, k)
	for g := range repeated {
		seen := make([]map[float64]bool, k)
		for j := range k {
			seen[j] = map[float64]bool{}
			ends[g][j], ends[g][k+j] = -math.MaxFloat64, -math.MaxFloat64
		}
		d.eachTraining(d.layout[g], func(i int) {
			for j, v := range d.t.X(x, i) {
				if seen[j] == nil {
					continue
				}
				if v != math.Trunc(v) || seen[j][v] || math.Abs(v) > 1e15 { // NaN is not its whole part
					seen[j], repeated[g][j] = nil, 1
					ends[g][j], ends[g][k+j] = 0, 0
					continue
				}
				seen[j][v] = true
				ends[g][j], ends[g][k+j] = max(ends[g][j], v), max(ends[g][k+j], -v)
			}
		})
	}
	sum, err := d.Sum(ctx, repeated)
	if err != nil {
		return nil, err
	}
	most, err := d.Max(ctx, ends)
	if err != nil {
		return nil, err
	}
	for j, n := range sum {
		if n == 0 && d.total >= 20 && most[j]+most[k+j] < 2*float64(d.total) {
			list = append(list, j)
		}
	}
	return list, nil
}
