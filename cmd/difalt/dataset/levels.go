package dataset

import (
	"fmt"
	"math"
	"slices"
)

// maxLevels bounds the levels of a categorical column. Each level is a feature.
const maxLevels = 10_000

// levels are those of a categorical column, numbered as they come.
type levels struct {
	names
	column string
	fixed  bool // other levels are refused
	others bool // or have the code newLevel
}

// newLevel is the code of all levels that a schema does not contain.
const newLevel = -1

// code returns the number of a level.
func (l *levels) code(name string) (k int, err error) {
	_, known := l.index[name]
	switch {
	case known || !l.fixed && len(l.list) < maxLevels:
		if k, err = l.of(name); err != nil {
			err = fmt.Errorf("the level %w", err)
		}
	case l.fixed && l.others:
		return newLevel, nil
	case l.fixed:
		err = fmt.Errorf("the level %.60q is not known: it may be %s", name, quoted(l.list))
	default:
		err = fmt.Errorf("%.60q is the level number %d: is it a column of numbers or of names?", name, maxLevels+1)
	}
	return k, err
}

// sorted returns the levels in order, and the place of every code among them.
func (l *levels) sorted() (list []string, place []int) {
	list, place = slices.Clone(l.list), make([]int, len(l.list))
	if !l.fixed {
		slices.Sort(list)
	}
	for j, name := range list {
		place[l.index[name]] = j
	}
	return list, place
}

// expand turns the stored columns at the start of x into features that fill x: a number is one, a level as
// many as its column has.
func expand(x []float64, widths []int) {
	end := len(x)
	// From the back: features of a column never start before the column is stored.
	for s, width := range slices.Backward(widths) {
		v := x[s]
		if width == 0 {
			end--
			x[end] = v
			continue
		}
		end -= width
		for j := range width {
			switch {
			case math.IsNaN(v):
				x[end+j] = v
			case v == float64(j):
				x[end+j] = 1
			default:
				x[end+j] = 0
			}
		}
	}
}
