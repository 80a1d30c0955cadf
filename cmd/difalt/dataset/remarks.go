package dataset

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"regexp"
	"slices"
	"strings"

	"github.com/difalt/difalt/cmd/difalt/internal/text"
	"github.com/difalt/difalt/mixed"
)

// A profile describes the values of a column of numbers. Places are rows of the table.
type profile struct {
	rows               int // with a value
	least, most        float64
	leastRow, mostRow  int
	atLeast, atMost    int     // rows with these values
	second, secondLast float64 // the least but one, and the greatest but one
	whole              bool
	sample             []float64 // sorted
	name               string
}

// add adds the value of a row.
func (p *profile) add(v float64, row int) {
	if math.IsNaN(v) {
		return
	}
	switch p.rows++; {
	case v < p.least:
		p.second, p.least, p.leastRow, p.atLeast = p.least, v, row, 0
	case v > p.least && v < p.second:
		p.second = v
	}
	switch {
	case v > p.most:
		p.secondLast, p.most, p.mostRow, p.atMost = p.most, v, row, 0
	case v < p.most && v > p.secondLast:
		p.secondLast = v
	}
	if v == p.least {
		p.atLeast++
	}
	if v == p.most {
		p.atMost++
	}
	p.whole = p.whole && v == math.Trunc(v)
}

// Quantiles are estimated from a sample of this size.
const sampled = 2000

// profiles returns a profile for every column, nil where it has no numbers. The last profile is of the
// target, nil without one.
func (t *Table) profiles() []*profile {
	list := make([]*profile, len(t.schema.Columns)+1)
	for j, name := range t.schema.Columns {
		if t.widths == nil || t.widths[j] == 0 {
			list[j] = newProfile(name)
		}
	}
	target := newProfile("")
	if t.target {
		list[len(list)-1] = target
	}
	step := (t.Rows() + sampled - 1) / sampled
	for i := range t.Rows() {
		row := t.x.row(i)
		for j, v := range row {
			if p := list[j]; p != nil {
				p.add(v, i)
				if i%step == 0 && !math.IsNaN(v) {
					p.sample = append(p.sample, v)
				}
			}
		}
		if t.target {
			target.add(t.y[i], i)
			if i%step == 0 {
				target.sample = append(target.sample, t.y[i])
			}
		}
	}
	for _, p := range list {
		if p != nil {
			slices.Sort(p.sample)
		}
	}
	return list
}

func newProfile(name string) *profile {
	inf := math.Inf(1)
	return &profile{least: inf, second: inf, most: -inf, secondLast: -inf, whole: true, name: name}
}

// remark looks for values that look wrong in the table that was read.
func (r *reader) remark() {
	t := r.t
	profiles := t.profiles()
	if p := profiles[len(profiles)-1]; p != nil {
		p.name = r.o.Target
	}
	say := func(format string, args ...any) { t.remarks = append(t.remarks, fmt.Sprintf(format, args...)) }
	r.remarkNotation(profiles, say)
	r.remarkNumbers(profiles, say)
	r.remarkTasks(say)
	t.remarks = append(t.remarks, AlikeLevels(&t.schema)...)
	r.remarkRepeats(profiles, say)
}

// remarkNotation names columns whose cells may have marks between thousands, or are codes with leading zeros.
func (r *reader) remarkNotation(profiles []*profile, say func(string, ...any)) {
	mark := cmp.Or(r.o.Decimal, '.')
	var thousands, zeros []string
	example := ""
	for j, p := range profiles {
		slot := featureSlot + j
		if p == nil {
			continue
		}
		if j == len(profiles)-1 {
			slot = targetSlot
		}
		n := &r.notations[slot]
		if !n.decimal && n.marked > 0 && n.marked*2 >= p.rows && r.delimiter != ',' {
			thousands = append(thousands, p.name)
		}
		if n.zeros != "" && !n.dates {
			zeros = append(zeros, p.name)
			example = cmp.Or(example, n.zeros)
		}
	}
	if thousands != nil {
		say("All numbers of %s have three digits after the %s: if it stands between thousands, 46%c668 was read "+
			"as 46.668, not as 46668. "+
			"Remove it then.", text.Names(thousands), map[rune]string{'.': "point", ',': "comma"}[mark], mark)
	}
	if zeros != nil {
		list := text.ShellWord(strings.Join(zeros, ","))
		say("Cells of %s have leading zeros, such as %s: if they are codes, use --categorical %s or --drop %s.",
			text.Names(zeros), example, list, list)
	}
}

// codeName is the form of names of columns that hold codes rather than amounts.
var codeName = regexp.MustCompile(`(?i)(^|[_. -])(id|ids|uid|uuid|code|zip|zipcode|plz|` +
	`postcode|postal|postalcode|ssn|isbn|phone|tel|fips|iban)$|[a-z](ID|Id|Code)$`)

const (
	codeDigits = 7   // of whole numbers of equal length that look like codes
	farSpans   = 100 // spans of the middle 98 % of the values from the median to an outlier
	fewRows    = 20  // columns with fewer rows get no remark
)

// remarkNumbers names columns of codes and of row numbers, marks of missing values, and outliers.
func (r *reader) remarkNumbers(profiles []*profile, say func(string, ...any)) {
	t := r.t
	starts := t.places.starts(t.Rows())
	var rows, codes []string
	for j, p := range profiles {
		if p == nil || p.rows == 0 {
			continue
		}
		if v, n, ok := p.sentinel(); ok {
			say("Column %q has %s %v, far from all its other values: if that marks a missing value, use --na %v.",
				text.Visible(p.name),
				text.Plural(n, "cell"), v, v)
		} else if row, ok := p.outlier(); ok {
			v := p.least
			if row == p.mostRow {
				v = p.most
			}
			say("The value %v of %q (%s) is more than %d times as far from the median as nearly all others: "+
				"is it right?", v,
				text.Visible(p.name), t.Place(row), farSpans)
		}
		if j == len(profiles)-1 || !p.whole || p.rows <= fewRows {
			continue
		}
		notation := &r.notations[featureSlot+j]
		switch {
		case notation.dates: // days may well follow each other
		case notation.zeros != "" || p.distinct() <= fewRows: // named already, or amounts
		case p.equalLengths():
			codes = append(codes, p.name)
		case p.rows == t.Rows() && t.numbersRows(j, starts):
			rows = append(rows, p.name)
		case codeName.MatchString(p.name):
			codes = append(codes, p.name)
		}
	}
	if rows != nil {
		say("Whole numbers that are all different, as row numbers are: %s. Use --drop %s unless their order has "+
			"a meaning.",
			text.Names(rows), text.ShellWord(strings.Join(rows, ",")))
	}
	if codes != nil {
		list := text.ShellWord(strings.Join(codes, ","))
		say("Whole numbers that look like codes, not amounts: %s. Use --categorical %s or --drop %s unless their "+
			"size has a meaning.",
			text.Names(codes), list, list)
	}
}

// distinct estimates the number of different values from the sample.
func (p *profile) distinct() int { return len(slices.Compact(slices.Clone(p.sample))) }

// equalLengths reports whether all values are whole numbers with one number of digits, at least codeDigits.
func (p *profile) equalLengths() bool {
	digits := func(v float64) int { return len(fmt.Sprintf("%.0f", v)) }
	return p.least > 0 && digits(p.least) >= codeDigits && digits(p.least) == digits(p.most) &&
		p.distinct()*2 > len(p.sample)
}

// sentinel returns the value at an end of the column, and its rows, that looks like a mark of missing values:
// of nines, and farther from the other values than these from each other.
func (p *profile) sentinel() (v float64, rows int, ok bool) {
	if p.rows-p.atLeast > 2 && isNines(p.least) && p.second-p.least > p.most-p.second {
		return p.least, p.atLeast, true
	}
	if p.rows-p.atMost > 2 && isNines(p.most) && p.most-p.secondLast > p.secondLast-p.least {
		return p.most, p.atMost, true
	}
	return 0, 0, false
}

// isNines reports whether a number is one of 99, 999, ... and their negatives, or -9 or -1 followed by zeros
// alone.
func isNines(v float64) bool {
	s := fmt.Sprintf("%g", math.Abs(v))
	return len(s) <= 9 && strings.Trim(s, "9") == "" && (len(s) > 1 || v < 0)
}

// outlier returns the row of the farthest value, where it is beyond all proportion.
func (p *profile) outlier() (row int, ok bool) {
	n := len(p.sample)
	if p.rows <= fewRows || n <= fewRows {
		return 0, false
	}
	trim := max(n/50, 1)
	median, span := p.sample[n/2], p.sample[n-1-trim]-p.sample[trim]
	up, down := p.most-median, median-p.least
	if !(span > 0) || max(up, down) < farSpans*span {
		return 0, false
	}
	if up > down {
		return p.mostRow, p.atMost == 1
	}
	return p.leastRow, p.atLeast == 1
}

// totalName is the form of names of rows that sum up others.
var totalName = regexp.MustCompile(`(?i)^(grand |sub)?-?(total|totals|sum|all|overall|` +
	`gesamt|summe|insgesamt|average|mean)$`)

// remarkTasks names tasks that are totals of others, and names that may stand for missing tasks.
func (r *reader) remarkTasks(say func(string, ...any)) {
	t := r.t
	if r.o.Task == "" {
		return
	}
	rows, first := make([]int, len(t.tasks.list)), make([]int, len(t.tasks.list))
	sum := 0.0
	for i, k := range t.task {
		if rows[k]++; rows[k] == 1 {
			first[k] = i
		}
		if t.target {
			sum += t.y[i]
		}
	}
	var totals, gone []string
	spelling, alike := map[string]string{}, []string(nil)
	for k, name := range t.tasks.list {
		isTotal := totalName.MatchString(name) && len(rows) > 2
		if t.target && rows[k] == 1 && t.Rows() > 3 {
			y := t.y[first[k]]
			isTotal = isTotal || y != 0 && math.Abs(sum-2*y) <= 1e-9*math.Abs(y)
		}
		if isTotal {
			totals = append(totals, fmt.Sprintf("%q (%s)", text.Visible(name), t.Place(first[k])))
		}
		if isMissing(name) {
			gone = append(gone, name)
		}
		if other, twice := spelling[spelled(name)]; twice {
			alike = append(alike, fmt.Sprintf("%q and %q", text.Visible(other), text.Visible(name)))
		} else {
			spelling[spelled(name)] = name
		}
	}
	if totals != nil {
		say("These tasks look like totals of the other rows: %s. Leave their rows out.", text.List(totals))
	}
	if gone != nil {
		say("There is a task with the name %s: if that marks a missing name, use --na %s.", text.Names(gone),
			text.ShellWord(strings.Join(gone, ",")))
	}
	if alike != nil {
		say("Names of tasks that differ in their spelling alone are different tasks: %s.", text.List(alike))
	}
}

// AlikeLevels returns sentences on the levels of a schema that differ in their spelling alone.
func AlikeLevels(s *mixed.Schema) (list []string) {
	for _, c := range s.Categories {
		spelling, alike := map[string]string{}, []string(nil)
		for _, level := range c.Levels {
			if other, twice := spelling[spelled(level)]; twice {
				alike = append(alike, fmt.Sprintf("%q and %q", text.Visible(other), text.Visible(level)))
			} else {
				spelling[spelled(level)] = level
			}
		}
		if alike != nil {
			list = append(list, fmt.Sprintf("Levels of %s that differ in their spelling alone are different "+
				"levels: %s.", text.Visible(c.Column), text.List(alike)))
		}
	}
	return list
}

// Spelling finds names that differ from a name of a list in their spelling alone: in case, in blanks, in
// leading zeros, or as 1 and 1.0.
type Spelling map[string]string

// NewSpelling returns the spellings of names.
func NewSpelling(names []string) Spelling {
	s := Spelling{}
	for _, name := range names {
		s[spelled(name)] = name
	}
	return s
}

// Other returns a name of the list in another spelling.
func (s Spelling) Other(name string) (other string, ok bool) {
	other, ok = s[spelled(name)]
	return other, ok && other != name
}

// spelled returns the common spelling of names that differ in case, blanks, leading zeros or as 1 and 1.0.
func spelled(name string) string {
	s := strings.ToLower(strings.Join(strings.Fields(name), " "))
	s = strings.TrimSuffix(s, ".0")
	end := strings.LastIndexFunc(s, func(r rune) bool { return r < '0' || r > '9' }) + 1
	return s[:end] + strings.TrimLeft(s[end:], "0")
}

// fewValues bounds the distinct values of columns of numbers that are compared as groupings.
const fewValues = 1000

// remarkRepeats names columns that determine each other, also the task and the target.
func (r *reader) remarkRepeats(profiles []*profile, say func(string, ...any)) {
	t := r.t
	if t.Rows() <= fewRows {
		return
	}
	groups := map[uint64][]string{}
	var order []uint64
	add := func(key uint64, name string) {
		if groups[key] == nil {
			order = append(order, key)
		}
		groups[key] = append(groups[key], name)
	}
	code := newGrouping(t.Rows())
	if r.o.Task != "" && len(t.tasks.list) > 1 {
		if key, ok := code.key(func(i int) float64 { return float64(t.task[i]) }); ok {
			add(key, r.o.Task)
		}
	}
	for j, name := range t.schema.Columns {
		if key, ok := code.key(func(i int) float64 { return t.x.row(i)[j] }); ok {
			add(key, name)
		}
	}
	for _, key := range order {
		if len(groups[key]) > 1 {
			say("These columns determine each other: %s. One of them is enough.", text.Names(groups[key]))
		}
	}
	for _, list := range t.proportional(profiles) {
		if list[0] == r.o.Target && t.target {
			say("The target repeats other columns, up to a factor and an offset: %s.", text.Names(list[1:]))
		} else if !slices.ContainsFunc(order, func(key uint64) bool { return isSubset(list, groups[key]) }) {
			say("These columns are the same up to a factor and an offset: %s. One of them is enough.", text.Names(list))
		}
	}
}

func isSubset(list, of []string) bool {
	return !slices.ContainsFunc(list, func(s string) bool { return !slices.Contains(of, s) })
}

// A grouping finds columns that divide the rows into equal groups.
type grouping struct {
	rows int
	seen map[float64]int
}

func newGrouping(rows int) *grouping { return &grouping{rows: rows} }

// key returns a hash of the groups into which a column divides the rows: columns with equal groups have equal
// keys. Columns with one value, or with fewer than two rows a value on average, have no key.
func (g *grouping) key(value func(row int) float64) (key uint64, ok bool) {
	g.seen = map[float64]int{}
	h := uint64(14695981039346656037)
	for i := range g.rows {
		v := value(i)
		if math.IsNaN(v) {
			v = math.Inf(1)
		}
		k, known := g.seen[v]
		if !known {
			if k = len(g.seen); k >= fewValues {
				return 0, false
			}
			g.seen[v] = k
		}
		h = (bits.RotateLeft64(h, 5) ^ uint64(k)) * 0x9e3779b97f4a7c15
	}
	return h, len(g.seen) > 1 && 2*len(g.seen) <= g.rows
}

// proportional returns lists of columns of numbers that agree up to a factor and an offset. The target is the
// first of its list.
func (t *Table) proportional(profiles []*profile) (lists [][]string) {
	value := func(j, i int) float64 {
		if j == len(profiles)-1 {
			return t.y[i]
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
		if p == nil || p.distinct() < 3 || !(p.most > p.least) {
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
