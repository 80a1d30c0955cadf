package mixed

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"
)

// Where a column of an owner may be in another unit.
const (
	// otherUnit is the least distance from the mean of the other owners, in the smaller standard deviation.
	otherUnit = 10
	// otherFactor is the least ratio of the two means.
	otherFactor = 1.5
	// leastUnitRows is the least number of rows of the owner, and of all other owners.
	leastUnitRows = 10
	// The rows of the other owners may have two units if their mean is within ownSpread of their standard
	// deviations from the mean of this owner.
	ownSpread = 3
)

// A side is rows with a value of a column: the sum of their weights, their mean and their standard deviation.
type side struct{ weight, mean, sd float64 }

// noteUnits keeps a sentence about each column of this owner, the target included, whose unit may differ from
// the unit of all other owners. The sums of the other owners are the totals less the sums of this owner, so
// that the comparison takes no total.
func (r *rows) noteUnits(ctx context.Context, columns []*columnStat) error {
	if r.sums.Owners() == 1 {
		return nil
	}
	// The log of the target follows from the target.
	own, err := r.values(ctx, 4*len(columns), func(part []float64, j int, x, weight float64) {
		d := x - columns[j].mean
		p := part[4*j:][:4]
		p[0] += weight
		p[1] += float64(weight * d)
		p[2] += float64(weight * d * d)
		if x != 0 && x != 1 {
			p[3]++
		}
	})
	if err != nil {
		return err
	}
	for j, s := range columns {
		p := own[4*j:][:4]
		isMark := p[3] == 0
		if j == 1 || s.level || isMark || s.sd == 0 {
			continue
		}
		here := sideOf(p[0], p[1], p[2], s.mean)
		others := sideOf(s.weight-p[0], -p[1], float64(s.weight*s.sd*s.sd)-p[2], s.mean)
		if !here.isFar(others) {
			continue
		}
		name, write, unit := "the target", writeNumber, ""
		if j > 1 {
			column := r.schema.Features()[j-2]
			name = strconv.Quote(column)
			if slices.Contains(r.schema.Dates, column) {
				write, unit = writeDate, " days"
			}
		}
		const format = "The mean of %s is %s here and %s in the rows of all other owners, with standard " +
			"deviations of %.2g and %.2g%s: %s"
		question := "is it in the same unit and notation at all owners?"
		if here.isWithin(others) {
			question = "one of them may not have the same unit and notation as the rest."
		}
		said := fmt.Sprintf(format, name, write(here.mean), write(others.mean), here.sd, others.sd, unit, question)
		r.units = append(r.units, r.in.about(said))
	}
	return nil
}

// writeNumber returns four digits of a number.
func writeNumber(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) }

// writeDate returns the date of days since 1970-01-01.
func writeDate(days float64) string {
	return time.Unix(int64(math.Floor(days))*86400, 0).UTC().Format(time.DateOnly)
}

// sideOf returns a side from the sums of its weights, of the distances of its values from a center, and of
// their squares.
func sideOf(weight, distances, squares, center float64) side {
	mean := distances / weight
	return side{weight, center + mean, math.Sqrt(max(squares/weight-float64(mean*mean), 0))}
}

// isWithin reports whether the spread of the rows of o reaches the mean of s. Then o has two units, if its
// mean is far from the mean of s, and s may have one of them.
func (s side) isWithin(o side) bool { return math.Abs(s.mean-o.mean) <= ownSpread*o.sd }

// isFar reports whether the means of two sides are so far apart that their units may differ.
func (s side) isFar(o side) bool {
	small, large := min(math.Abs(s.mean), math.Abs(o.mean)), max(math.Abs(s.mean), math.Abs(o.mean))
	isOpposite := math.Signbit(s.mean) != math.Signbit(o.mean)
	return min(s.weight, o.weight) >= leastUnitRows && (isOpposite || large >= otherFactor*small) &&
		math.Abs(s.mean-o.mean) >= otherUnit*min(s.sd, o.sd)
}
