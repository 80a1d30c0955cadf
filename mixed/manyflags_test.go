package mixed

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/difalt/difalt/internal/check"
)

// A flagSearch finds the tables of flags with given sums of products, column by column: rows that are alike
// in the columns so far are one group, and a column takes some rows of each.
type flagSearch struct {
	sums  [][]int // of the products of the constant and the flags
	steps int     // left
	found [][]flagGroup
}

// A flagGroup is rows with equal flags: bit j of them is column j, and bit 0 the constant.
type flagGroup struct {
	flags uint32
	rows  int
}

// mostTables bounds the number of tables that a search keeps.
const mostTables = 2000

// extend adds the columns from one on. It reports whether the search has come to its end.
func (s *flagSearch) extend(groups []flagGroup, column int) bool {
	if column == len(s.sums) {
		s.found = append(s.found, groups)
		return len(s.found) < mostTables
	}
	left := slices.Clone(s.sums[column][:column]) // sums of the products that are not reached yet
	most := make([][]int, len(groups)+1)          // that the groups from one on can add
	most[len(groups)] = make([]int, column)
	for k := len(groups) - 1; k >= 0; k-- {
		most[k] = slices.Clone(most[k+1])
		for j := range column {
			most[k][j] += groups[k].rows * int(groups[k].flags>>j&1)
		}
	}
	taken := make([]int, len(groups))
	var take func(at int) bool
	take = func(at int) bool {
		if s.steps--; s.steps < 0 {
			return false
		}
		for j, n := range left {
			if n < 0 || n > most[at][j] {
				return true
			}
		}
		if at == len(groups) {
			var next []flagGroup
			for k, g := range groups {
				if n := taken[k]; n > 0 {
					next = append(next, flagGroup{g.flags | 1<<column, n})
				}
				if n := g.rows - taken[k]; n > 0 {
					next = append(next, flagGroup{g.flags, n})
				}
			}
			return s.extend(next, column+1)
		}
		add := func(n int) {
			taken[at] += n
			for j := range left {
				left[j] -= n * int(groups[at].flags>>j&1)
			}
		}
		more := true
		for more && taken[at] <= groups[at].rows {
			more = take(at + 1)
			add(1)
		}
		add(-taken[at])
		return more
	}
	return take(0)
}

// certainRows returns the numbers of rows with each pattern of flags that all tables with given sums of
// products have; nil where the search does not end.
func certainRows(sums [][]int) map[uint32]int {
	s := &flagSearch{sums: sums, steps: 20_000_000}
	if end := s.extend([]flagGroup{{1, sums[0][0]}}, 1); !end || len(s.found) == 0 {
		return nil
	}
	certain := map[uint32]int{}
	for _, g := range s.found[0] {
		certain[g.flags] = g.rows
	}
	for _, table := range s.found[1:] {
		for flags, n := range certain {
			at := slices.IndexFunc(table, func(g flagGroup) bool { return g.flags == flags })
			if at < 0 {
				delete(certain, flags)
			} else {
				certain[flags] = min(n, table[at].rows)
			}
		}
	}
	return certain
}

// manyFlags is the number of flags of a row, the target among them. The rule about few values does not
// search so many combinations. It is the number of columns with the constant, too.
const manyFlags = 16

// flagRows returns a table of rows of flags, the target among them.
func flagRows(seed uint64, name string, rows ...int) *Data {
	r := rand.New(rand.NewPCG(seed, 31))
	d := drawn(seed, name, manyFlags-1, rows...)
	for i := range d.Targets {
		for j := range manyFlags - 1 {
			d.Values[j][i] = float64(r.IntN(2))
		}
		d.Targets[i] = float64(r.IntN(2))
	}
	return d
}

// readFlagRows counts the rows of others that follow from their sums of products.
func readFlagRows(t *testing.T, rows int, o Options) (right int) {
	victim, own := flagRows(uint64(rows), "v", rows), flagRows(2, "a", 60, 60)
	f, heard := listen(t, victim, own, o)
	if f.plain == nil || len(f.baselines) == 0 || f.plain.p != manyFlags || len(totalsOf(heard, "X'X")) == 0 {
		return 0
	}
	moments, n := rawMoments(f, heard, own), manyFlags+1
	sums := make([][]int, n)
	order := []int{0}
	for j := range manyFlags - 1 {
		order = append(order, 1+slices.Index(f.rows.schema.Features(), fmt.Sprint("x", j)))
	}
	order = append(order, manyFlags)
	for i, a := range order {
		for k, b := range order {
			v := moments[min(a, b)*n+max(a, b)]
			if i == manyFlags && k == manyFlags {
				v = moments[manyFlags] // the target is its square
			}
			sums[i] = append(sums[i], int(math.Round(v)))
		}
	}
	certain := certainRows(sums)
	for i := range victim.Rows() {
		flags := uint32(1)
		for j := range manyFlags - 1 {
			flags |= uint32(victim.Values[j][i]) << (1 + j)
		}
		flags |= uint32(victim.Targets[i]) << manyFlags
		if certain[flags] > 0 {
			certain[flags]--
			right++
		}
	}
	return right
}

// Few rows of many flags follow from their sums of products, where these are more rows than columns: no
// combination of columns shows one of them alone, and the rule about few values does not search so many
// combinations. The rule about rows for each column leaves no such table: two rows for each are enough
// here, and three are the default.
func TestRowsOfManyFlags(t *testing.T) {
	const rows = 20 // 1.25 for each column
	for least, reads := range map[int]bool{Off: true, 1: true, 2: false, 0: false} {
		read := readFlagRows(t, rows, Options{NoCurves: true, Disclosure: Disclosure{LeastRows: least}})
		t.Logf("--least-rows %d: %d of %d rows are read", least, read, rows)
		check.FailIf(t, reads != (read == rows) || !reads && read > 0, "--least-rows %d: %d of %d rows are read", least,
			read, rows)
	}
}
