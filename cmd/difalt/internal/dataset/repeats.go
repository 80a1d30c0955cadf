package dataset

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"github.com/difalt/difalt/cmd/difalt/internal/text"
)

// fewValues bounds the distinct values of columns of numbers that are compared as groupings.
const fewValues = 1000

// remarkRepeats names columns that determine each other, also the task and the target. It returns those that
// repeat the target.
func (r *reader) remarkRepeats(profiles []*profile, say func(string, ...any)) (target []string) {
	t := r.t
	if t.Rows() <= fewRows {
		return nil
	}
	groups := map[uint64][]string{}
	var order []uint64
	add := func(key uint64, name string) {
		if groups[key] == nil {
			order = append(order, key)
		}
		groups[key] = append(groups[key], name)
	}
	if r.o.Task != "" && len(t.tasks.list) > 1 {
		if key, ok := groupKey(t.Rows(), func(i int) float64 { return float64(t.Task(i)) }); ok {
			add(key, r.o.Task)
		}
	}
	for j, name := range t.schema.Columns {
		if key, ok := groupKey(t.Rows(), func(i int) float64 { return t.x.row(i)[j] }); ok {
			add(key, name)
		}
	}
	for _, key := range order {
		if len(groups[key]) > 1 {
			say("These columns determine each other: %s. One of them is enough.", text.Names(groups[key]))
		}
	}
	for _, list := range t.proportional(profiles) {
		if list[0] == r.o.Target && t.HasTarget() {
			target = list[1:]
			say("The target repeats other columns, up to a factor and an offset: %s.", text.Names(target))
		} else if !slices.ContainsFunc(order, func(key uint64) bool { return isSubset(list, groups[key]) }) {
			say("These columns are the same up to a factor and an offset: %s. One of them is enough.", text.Names(list))
		}
	}
	return target
}

func isSubset(list, of []string) bool {
	return !slices.ContainsFunc(list, func(s string) bool { return !slices.Contains(of, s) })
}

// groupKey returns a hash of the groups into which a column divides the rows: columns with equal groups have
// equal keys. Columns with one value, or with fewer than two rows a value on average, have no key.
func groupKey(rows int, value func(row int) float64) (key uint64, ok bool) {
	seen := map[float64]int{}
	h := uint64(14695981039346656037)
	for i := range rows {
		v := value(i)
		if math.IsNaN(v) {
			v = math.Inf(1)
		}
		k, known := seen[v]
		if !known {
			if k = len(seen); k >= fewValues {
				return 0, false
			}
			seen[v] = k
		}
		h = (bits.RotateLeft64(h, 5) ^ uint64(k)) * 0x9e3779b97f4a7c15
	}
	return h, len(seen) > 1 && 2*len(seen) <= rows
}

// proportional returns lists of columns of numbers that agree up to a factor and an offset. The target is the
// first of its list.
func (t *Table) proportional(profiles []*profile) (lists [][]string) {
	value := func(j, i int) float64 {
		if j == len(profiles)-1 {
			return t.Y(i)
		}
		return t.x.row(i)[j]
	}
	place := func(j, i int) float64 { p := profiles[j]; return (value(j, i) - p.least) / (p.most - p.least) }
	alike := func(j, k int) bool { // k is a multiple of j, plus an offset
		down := place(k, profiles[j].leastRow) > .5
		for i := range t.Rows() {
			a, b := place(j, i), place(k, i)
			if down {
				b = 1 - b
			}
			if math.IsNaN(a) != math.IsNaN(b) || math.Abs(a-b) > 1e-9 {
				return false
			}
		}
		return true
	}
	first := map[[3]int64][]int{}
	at := map[int]int{} // the list of a column
	for j := len(profiles) - 1; j >= 0; j-- {
		p := profiles[j]
		if p == nil || p.sample.distinct < 3 || !(p.most > p.least) {
			continue
		}
		var key [3]int64
		for k := range key {
			a := place(j, (k*2+1)*(t.Rows()-1)/7)
			key[k] = int64(math.Round(1e6 * math.Abs(2*a-1)))
		}
		same := slices.IndexFunc(first[key], func(k int) bool { return alike(k, j) })
		if same < 0 {
			first[key] = append(first[key], j)
			continue
		}
		k := first[key][same]
		if _, ok := at[k]; !ok {
			at[k] = len(lists)
			lists = append(lists, []string{profiles[k].name})
		}
		lists[at[k]] = append(lists[at[k]], p.name)
	}
	return lists
}

// A remark reports that a table holds rows twice if they are at least one in repeatedShare of its rows.
// Columns of numbers with few values repeat by themselves.
const repeatedShare = 10

// remarkRows counts rows that occur twice, if there are many, with equal numbers in a column that has many
// of them.
func (r *reader) remarkRows(profiles []*profile, say func(string, ...any)) {
	t := r.t
	hasMany := func(p *profile) bool { return p != nil && 4*p.sample.distinct > p.sample.size }
	if t.Rows() <= fewRows || !slices.ContainsFunc(profiles, hasMany) {
		return
	}
	hashes := make([]uint64, t.Rows())
	for i := range hashes {
		h := uint64(t.Task(i))
		add := func(v float64) { h = (bits.RotateLeft64(h, 5) ^ math.Float64bits(v)) * 0x9e3779b97f4a7c15 }
		for _, v := range t.x.row(i) {
			add(v)
		}
		if t.HasTarget() {
			add(t.Y(i))
		}
		hashes[i] = h
	}
	slices.Sort(hashes)
	twice := 0
	for i := range hashes[1:] {
		if hashes[i] == hashes[i+1] {
			twice++
		}
	}
	if twice*repeatedShare >= t.Rows() {
		say("%s occur in the table before, with the same task and the same numbers: was a part pasted twice?",
			text.Plural(twice, "row"))
	}
}

// remarkOrder names columns of numbers that rise or fall with the target in all rows, besides those that are
// named already: they may be made from it.
func (r *reader) remarkOrder(profiles []*profile, named []string, say func(string, ...any)) {
	t, target := r.t, profiles[len(profiles)-1]
	if target == nil || r.o.Schema != nil || t.Rows() <= fewRows || target.sample.distinct <= fewRows {
		return
	}
	var columns []int
	for j, p := range profiles[:len(profiles)-1] {
		if p != nil && p.rows == t.Rows() && p.sample.distinct > fewRows && !slices.Contains(named, p.name) {
			columns = append(columns, j)
		}
	}
	// Few rows are enough for nearly all columns.
	for _, rows := range []int{min(t.Rows(), 3*fewRows), t.Rows()} {
		order := t.byTarget(rows)
		columns = slices.DeleteFunc(columns, func(j int) bool { return !t.follows(order, j) })
		if len(columns) == 0 {
			return
		}
	}
	var list []string
	for _, j := range columns {
		list = append(list, profiles[j].name)
	}
	say("These columns rise or fall with the target in all rows: %s. Leave out what is made from the target.",
		text.Names(list))
}

// byTarget returns the first rows of the table in the order of their targets.
func (t *Table) byTarget(rows int) []int32 {
	order := make([]int32, rows)
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int { return cmp.Compare(t.Y(int(a)), t.Y(int(b))) })
	return order
}

// follows reports whether column j rises, or falls, in the given order of rows, the order of the target.
// Rows with equal targets do not count.
func (t *Table) follows(order []int32, j int) bool {
	rises, falls := true, true
	for k := range order[1:] {
		a, b := order[k], order[k+1]
		if t.Y(int(a)) == t.Y(int(b)) {
			continue
		}
		before, after := t.x.row(int(a))[j], t.x.row(int(b))[j]
		rises = rises && before <= after
		falls = falls && before >= after
		if !rises && !falls {
			return false
		}
	}
	return true
}
