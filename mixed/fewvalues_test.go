package mixed

import (
	"math"
	"slices"
	"testing"

	"github.com/difalt/difalt/internal/check"
)

// A tableReader goes through all tables of rows of some kinds, whole numbers of each, that have given sums.
type tableReader struct {
	kinds  [][]float64 // what a row of a kind adds to the sums; to the first one it adds 1
	lowest [][]float64 // the least and the most that a row of this kind or a later one adds
	most   [][]float64
	left   []float64
	now    []int
	least  []int // rows of a kind in all tables
	tables int
	steps  int
}

// newTableReader returns a reader of the numbers of rows of kinds.
func newTableReader(kinds [][]float64, sums []float64) *tableReader {
	r := &tableReader{kinds: kinds, left: slices.Clone(sums), now: make([]int, len(kinds))}
	r.least = slices.Repeat([]int{math.MaxInt}, len(kinds))
	r.lowest, r.most = make([][]float64, len(kinds)), make([][]float64, len(kinds))
	for k := range slices.Backward(kinds) {
		r.lowest[k], r.most[k] = slices.Clone(kinds[k]), slices.Clone(kinds[k])
		for j := range sums {
			if k+1 < len(kinds) {
				r.lowest[k][j] = min(kinds[k][j], r.lowest[k+1][j])
				r.most[k][j] = max(kinds[k][j], r.most[k+1][j])
			}
		}
	}
	return r
}

// read goes through the numbers of rows of kinds from one on.
func (r *tableReader) read(at int) {
	const near = 1e-6
	r.steps++
	rows := r.left[0]
	if at == len(r.kinds) {
		for _, v := range r.left {
			if math.Abs(v) > near {
				return
			}
		}
		r.tables++
		for k, n := range r.now {
			r.least[k] = min(r.least[k], n)
		}
		return
	}
	for j, v := range r.left {
		if v > rows*r.most[at][j]+near || v < rows*r.lowest[at][j]-near {
			return
		}
	}
	for ; r.left[0] > -near; r.now[at]++ {
		r.read(at + 1)
		for j, v := range r.kinds[at] {
			r.left[j] -= v
		}
	}
	for j, v := range r.kinds[at] {
		r.left[j] += float64(r.now[at]) * v
	}
	r.now[at] = 0
}

// Columns of three values have fewer sums for each kind of row than those of two. Somebody who goes through
// all tables with the sums of products of others reads rows that at most one other equals.
func TestRowsOfThreeValues(t *testing.T) {
	for rules, o := range map[bool]Options{false: open, true: {}} {
		o.NoCurves = true
		read, asked, trained := 0, 0, 0
		for _, rows := range []int{10, 12, 16, 20} {
			for seed := range uint64(5) {
				list := []*Data{flags(500*seed+uint64(rows), "v", 2, rows), flags(7, "a", 2, 60, 60)}
				for _, d := range list {
					for i := range d.Targets {
						d.Values[0][i] += float64((3*i + int(d.Targets[i])) % 2) // 0, 1 and 2
					}
				}
				victim, own := list[0], list[1]
				f, heard := listen(t, victim, own, o)
				if f.plain == nil || len(f.baselines) == 0 || f.plain.p != 3 {
					continue
				}
				trained++
				sums, n := sumsOfFlags(f, heard, own)
				totals := []float64{n, sums[0][0] /* a^2 */, sums[0][1], sums[0][2], sums[1][1], sums[1][2], sums[2][2]}
				d, products := f.plain.design, totalsOf(heard, "X'X")[0].others()
				totals = append(totals, d.Scale[0]*products[1]+d.Center[0]*products[0])
				var kinds [][]float64
				for kind := range 12 {
					a, b, y := float64(kind%3), float64(kind/3%2), float64(kind/6)
					kinds = append(kinds, []float64{1, a * a, a * b, a * y, b, b * y, y, a})
				}
				r := newTableReader(kinds, totals)
				r.read(0)
				truth := make([]int, 12)
				for i, y := range victim.Targets {
					truth[int(victim.Values[0][i])+3*int(victim.Values[1][i])+6*int(y)]++
				}
				check.FailIf(t, r.tables == 0, "%d rows, rules %v: no table has the sums %v", rows, rules, totals)
				for k, n := range truth {
					if n > 0 && n < rareKind {
						asked += n
						read += min(n, r.least[k])
					}
				}
			}
		}
		t.Logf("rules %v: %d trainings, %d of %d rows are read", rules, trained, read, asked)
		check.FailIf(t, trained < 10 || rules && read > 0 || !rules && 8*read < asked,
			"rules %v: %d trainings, %d of %d rows are read", rules, trained, read, asked)
	}
}
