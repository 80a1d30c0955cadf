package mixed

import (
	"context"
	"math"
	"slices"
)

// A taskKinds divides the tasks of an owner into kinds by their sums of products of columns. Every total is a
// sum over tasks of a function of these sums, which all members know. Where the columns that vary within
// tasks have few values, the sums of a task have few values, too: totals determine how many tasks have each.
// Then they determine the sums of all columns and of the target over the tasks of one kind, whose sums are
// equal. These show the rows of few tasks as a level shows its rows.
type taskKinds struct {
	varying []int // columns that vary within tasks
	keyed   []int // varying, and the columns of few values that differ between tasks of one kind
	numbers bool  // other columns differ between tasks of one kind, too
}

// taskKinds returns the kinds of the own tasks in totals, nil where there are too many.
func (g *guard) taskKinds() *taskKinds {
	p, read := len(g.rows.stats), g.rows.reader()
	varies, first, values, weights := make([]bool, p), make([]float64, p), make([][]float64, p), []float64{}
	for _, k := range g.rows.list {
		for at, i := range g.kept(k) {
			x := read(int(i))
			if at == 0 {
				copy(first, x)
			}
			for j, v := range x {
				varies[j] = varies[j] || !same(v, first[j])
				addValue(&values[j], v)
			}
			addValue(&weights, g.rows.in.weight(int(i)))
		}
	}
	kinds, size := &taskKinds{}, len(weights)
	for _, varying := range []bool{true, false} {
		for j, list := range values {
			n := len(list)
			switch {
			case varies[j] != varying || n < 2:
			case n <= mostOfKinds && size*n <= mostKinds:
				kinds.keyed, size = append(kinds.keyed, j), size*n
			case varying:
				return nil
			default:
				kinds.numbers = true
			}
		}
		if varying {
			kinds.varying = slices.Clone(kinds.keyed)
		}
	}
	if len(kinds.varying) == 0 || len(weights) > mostOfKinds {
		return nil
	}
	return kinds
}

// kept returns the rows of a task that totals have: none of a task that is left out.
func (g *guard) kept(task int) (rows []int32) {
	if g.left[task] {
		return nil
	}
	for _, i := range g.rows.of(task) {
		if !g.out[i] {
			rows = append(rows, i)
		}
	}
	return rows
}

// addValue adds a value to a list of different ones, which ends beyond few.
func addValue(list *[]float64, v float64) {
	known := func(u float64) bool { return same(u, v) }
	if len(*list) <= mostOfKinds && !slices.ContainsFunc(*list, known) {
		*list = append(*list, v)
	}
}

// A valuePair is the values of two columns in a row.
type valuePair struct {
	columns [2]int
	values  [2]uint64 // their bits
}

// key returns a number for the kind of a task of rows: equal numbers of rows with each pair of values give
// equal keys. A column after the last one is the weight.
func (t *taskKinds) key(g *guard, rows []int32) (key uint64) {
	counts, bits, read := map[valuePair]uint64{}, make([]uint64, len(t.keyed)+1), g.rows.reader()
	for _, i := range rows {
		x := read(int(i))
		for c, j := range t.keyed {
			bits[c] = math.Float64bits(x[j])
			if math.IsNaN(x[j]) {
				bits[c] = math.Float64bits(math.NaN())
			}
		}
		bits[len(t.keyed)] = math.Float64bits(g.rows.in.weight(int(i)))
		for a := range bits {
			for b := range a + 1 {
				counts[valuePair{[2]int{a, b}, [2]uint64{bits[a], bits[b]}}]++
			}
		}
	}
	for pair, n := range counts { // in any order
		h := mix(mix(n, uint64(pair.columns[0])), uint64(pair.columns[1]))
		key += mix(mix(h, pair.values[0]), pair.values[1])
	}
	return key
}

// unlike returns the own tasks of rare kinds, whose sums show rows, and the columns that vary within tasks.
func (g *guard) unlike() (tasks, columns []int) {
	if g.LeastSmall == 0 {
		return nil, nil
	}
	kinds := g.taskKinds()
	if kinds == nil {
		return nil, nil
	}
	least := min(rareKind, g.leastOff())
	if kinds.numbers {
		least = g.leastOff()
	}
	keys, count := make([]uint64, len(g.left)), map[uint64]int{}
	for _, k := range g.rows.list {
		if rows := g.kept(k); len(rows) > 0 {
			keys[k] = kinds.key(g, rows)
			count[keys[k]]++
		}
	}
	for _, k := range g.rows.list {
		if n := count[keys[k]]; n > 0 && n < least && !g.left[k] {
			tasks = append(tasks, k)
		}
	}
	return tasks, kinds.varying
}

// leaveUnlike leaves out rows that a combination of columns shows among the rows of one of some tasks. It
// returns their number.
func (g *guard) leaveUnlike(ctx context.Context, tasks, columns []int) (left int, err error) {
	read := g.rows.reader()
	for _, k := range tasks {
		rows := g.kept(k)
		m := &matrix{len(rows), len(columns), func(dst []float64, i int) {
			x := read(int(rows[i]))
			for c, j := range columns {
				dst[c] = x[j]
			}
		}, g.weightsOf(rows)}
		list, err := m.exposed(ctx, 0)
		if err != nil {
			return left, err
		}
		for _, i := range list {
			g.out[rows[i]] = true
		}
		left += len(list)
	}
	return left, nil
}
