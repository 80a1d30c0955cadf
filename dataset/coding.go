package dataset

import (
	"fmt"
	"math"
	"slices"
)

// maxLevels bounds the levels of a categorical column, each of which is a feature.
const maxLevels = 10_000

// A coding turns a stored column into features: a number is one, and the code of a
// level as many as there are levels.
type coding struct {
	rank []int32 // feature of every code, nil for a column of numbers
}

// expand turns the stored columns at the start of x into features that fill x.
func expand(x []float64, columns []coding) {
	end := len(x)
	// From the back: features of a column never start before the column is stored.
	for s := len(columns) - 1; s >= 0; s-- {
		v, rank := x[s], columns[s].rank
		if rank == nil {
			end--
			x[end] = v
			continue
		}
		end -= len(rank)
		one := x[end:][:len(rank)]
		if math.IsNaN(v) {
			for j := range one {
				one[j] = v
			}
			continue
		}
		clear(one)
		if v != newLevel {
			one[rank[int(v)]] = 1
		}
	}
}

// levels are those of a categorical column, numbered as they come.
type levels struct {
	column string
	names  names
	fixed  bool // other levels are refused
	others bool // or have the code newLevel
}

// newLevel is the code of all levels that a schema does not have.
const newLevel = -1

func newLevels(column string, given []string, others bool) *levels {
	l := &levels{column: column, fixed: given != nil, others: others}
	for _, name := range given {
		l.names.number(name)
	}
	return l
}

// of returns the code of a level, which may alias memory that changes.
func (l *levels) of(name []byte) (int, error) {
	if k, ok := l.names.find(name); ok {
		return k, nil
	}
	if l.fixed && l.others {
		return newLevel, nil
	}
	if l.fixed {
		return 0, fmt.Errorf("column %q: the level %q is not known: it may be %s", l.column, clip(string(name)), quoted(l.names.list))
	}
	if err := checkName(string(name)); err != nil {
		return 0, fmt.Errorf("column %q: the level %w", l.column, err)
	}
	if len(l.names.list) == maxLevels {
		return 0, fmt.Errorf("column %q: %q is the level number %d: is it a column of numbers or of names?", l.column, clip(string(name)), maxLevels+1)
	}
	return l.names.number(string(name)), nil
}

// sorted returns the levels in order, and the place of every code among them.
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
