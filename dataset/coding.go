package dataset

import (
	"fmt"
	"math"
	"slices"
	"strings"
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
		one[rank[int(v)]] = 1
	}
}

// levels numbers the levels of a categorical column as they come.
type levels struct {
	column string
	names  []string
	code   map[string]int
	fixed  bool // other levels are refused
}

func newLevels(column string, known []string) *levels {
	l := &levels{column: column, code: map[string]int{}, fixed: known != nil}
	for _, name := range known {
		l.code[name] = len(l.names)
		l.names = append(l.names, name)
	}
	return l
}

// of returns the code of a level, which may alias memory that changes.
func (l *levels) of(name []byte) (int, error) {
	if k, ok := l.code[string(name)]; ok {
		return k, nil
	}
	if l.fixed {
		return 0, fmt.Errorf("column %q: the level %q is not known: it may be %s", l.column, clip(string(name)), quoted(l.names))
	}
	if err := checkName(string(name)); err != nil {
		return 0, fmt.Errorf("column %q: the level %w", l.column, err)
	}
	if len(l.names) == maxLevels {
		return 0, fmt.Errorf("column %q: %q is the level number %d: is it a column of numbers or of names?", l.column, clip(string(name)), maxLevels+1)
	}
	k := len(l.names)
	l.names = append(l.names, string(name))
	l.code[l.names[k]] = k
	return k, nil
}

// sorted returns the levels in order, and the place of every code among them.
func (l *levels) sorted() (names []string, rank []int32) {
	names = slices.Clone(l.names)
	if !l.fixed {
		slices.SortFunc(names, strings.Compare)
	}
	rank = make([]int32, len(names))
	for j, name := range names {
		rank[l.code[name]] = int32(j)
	}
	return names, rank
}
