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
	column string
	names  names
	fixed  bool // other levels are refused
	others bool // or have the code newLevel
}

// newLevel is the code of all levels that a schema does not contain.
const newLevel = -1

// of returns the code of a level.
func (l *levels) of(name string) (int, error) {
	k, known := l.names.index[name]
	switch {
	case known:
		return k, nil
	case l.fixed && l.others:
		return newLevel, nil
	case l.fixed:
		return 0, fmt.Errorf("column %q: the level %q is not known: it may be %s", l.column, clip(name), quoted(l.names.list))
	case len(l.names.list) == maxLevels:
		return 0, fmt.Errorf("column %q: %q is the level number %d: is it a column of numbers or of names?", l.column, clip(name), maxLevels+1)
	}
	k, err := l.names.of(name)
	if err != nil {
		return 0, fmt.Errorf("column %q: the level %w", l.column, err)
	}
	return k, nil
}

// sorted returns the levels in order, and the rank of every code among them.
func (l *levels) sorted() (list []string, rank []int32) {
	list = slices.Clone(l.names.list)
	if !l.fixed {
		slices.Sort(list)
	}
	rank = make([]int32, len(list))
	for j, name := range list {
		rank[l.names.index[name]] = int32(j)
	}
	return list, rank
}

// expand turns the stored columns at the start of x into features that fill x: a number is one, the code
// of a level as many as ranks has places for it.
func expand(x []float64, ranks [][]int32) {
	end := len(x)
	// From the back: features of a column never start before the column is stored.
	for s, rank := range slices.Backward(ranks) {
		v := x[s]
		if rank == nil {
			end--
			x[end] = v
			continue
		}
		end -= len(rank)
		for j := range rank {
			switch {
			case math.IsNaN(v):
				x[end+j] = v
			case v != newLevel && int(rank[int(v)]) == j:
				x[end+j] = 1
			default:
				x[end+j] = 0
			}
		}
	}
}
