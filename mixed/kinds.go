package mixed

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

const (
	// A total may show the own rows of a kind if there are fewer than rareKind.
	rareKind = 3
	// Tables are searched if no column, nor the target, has more than mostOfKinds values, and if there are
	// at most mostKinds combinations of these.
	mostOfKinds = 4
	mostKinds   = 256
	// walkSteps is the number of steps of a search for another table.
	walkSteps = 2000
)

// A kindTable counts rows by their kind, the values of some columns. Some sums over the rows follow from sums
// of products. A kind is a number whose digits are the places of its values; the digit of the first column is
// the lowest.
type kindTable struct {
	columns []kindColumn
	counts  []int
	steps   [][]kindStep // that change a kind; nil: not listed yet
}

// A kindColumn is a column of few values, increasing.
type kindColumn struct {
	values []float64
	even   bool // sums are of the values, and not of functions of them
	size   int  // of the digits of earlier columns
}

// A kindStep changes the numbers of rows of some kinds, and no sum.
type kindStep []kindChange

type kindChange struct{ kind, rows int }

// certain returns the kinds of fewer than rareKind rows that every table found with equal sums of products
// has.
func (t *kindTable) certain() (list []int) {
	for kind, n := range t.counts {
		if n > 0 && n < rareKind && !t.without(kind) {
			list = append(list, kind)
		}
	}
	return list
}

// without looks for a table without a kind that has equal sums of products. A walk of steps that change no
// sum goes through tables of negative numbers, and ends at a table of positive ones. It takes the best step
// at a kind that has a wrong number, or at times any.
func (t *kindTable) without(kind int) bool {
	const atRandom = 5 // steps; one of them is any
	w := &kindWalk{slices.Clone(t.counts), kind}
	random := rand.New(rand.NewPCG(uint64(kind), uint64(len(t.columns))))
	for range walkSteps {
		var wrong []int
		for k := range w.counts {
			if w.wrong(k) > 0 {
				wrong = append(wrong, k)
			}
		}
		if len(wrong) == 0 {
			return true
		}
		at, direction := wrong[random.IntN(len(wrong))], 1
		steps := t.stepsAt(at)
		if len(steps) == 0 {
			return false
		}
		if w.counts[at] > 0 {
			direction = -1
		}
		best := steps[random.IntN(len(steps))]
		if random.IntN(atRandom) > 0 {
			best = slices.MinFunc(steps, func(a, b kindStep) int {
				return cmp.Compare(w.wrongAfter(direction, a), w.wrongAfter(direction, b))
			})
		}
		w.step(direction, best)
	}
	return false
}

// stepsAt returns the steps that add rows of a kind. A difference in each of three columns changes no product
// of two columns; nor does, where values are equally spaced, a second difference in one column and a first
// one in another, or a third one.
func (t *kindTable) stepsAt(kind int) []kindStep {
	if t.steps == nil {
		t.steps = make([][]kindStep, len(t.counts))
	}
	if t.steps[kind] != nil {
		return t.steps[kind]
	}
	t.steps[kind] = []kindStep{}
	of := func(differences ...kindStep) {
		step := kindStep{{kind, 1}}
		for _, difference := range differences {
			step = step.times(difference, kind)
		}
		t.steps[kind] = append(t.steps[kind], step)
	}
	first, second := make([][]kindStep, len(t.columns)), make([][]kindStep, len(t.columns))
	for j := range t.columns {
		first[j], second[j] = t.differences(kind, j, 1), t.differences(kind, j, 2)
		for _, third := range t.differences(kind, j, 3) {
			of(third)
		}
	}
	for a := range first {
		for b := range first {
			for _, x := range second[a] {
				for _, y := range first[b] {
					if a != b {
						of(x, y)
					}
				}
			}
			for c := range min(a, b) {
				if b >= a {
					continue
				}
				for _, x := range first[a] {
					for _, y := range first[b] {
						for _, z := range first[c] {
							of(x, y, z)
						}
					}
				}
			}
		}
	}
	return t.steps[kind]
}

// times returns a step by one difference from a kind in place of every change of a step.
func (s kindStep) times(difference kindStep, kind int) (out kindStep) {
	for _, change := range s {
		for _, d := range difference {
			out = append(out, kindChange{change.kind + d.kind - kind, change.rows * d.rows})
		}
	}
	return out
}

// differences returns the differences of an order of the values of a column that a kind is in. The kind has a
// positive number of rows in them. First differences are of any two values. Differences of a higher order are
// of equally spaced values; they are left out where sums are of functions of the values.
func (t *kindTable) differences(kind, column, order int) (list []kindStep) {
	c := &t.columns[column]
	own := kind / c.size % len(c.values)
	weights := [][]int{1: {1, -1}, 2: {1, -2, 1}, 3: {1, -3, 3, -1}}[order]
	if order > 1 && !c.even {
		return nil
	}
	add := func(places []int) {
		at := slices.Index(places, own)
		if at < 0 {
			return
		}
		sign := 1
		if weights[at] < 0 {
			sign = -1
		}
		var step kindStep
		for k, place := range places {
			step = append(step, kindChange{kind + (place-own)*c.size, sign * weights[k]})
		}
		list = append(list, step)
	}
	for from := range c.values {
		for to := range from {
			if places := c.between(to, from, order); places != nil {
				add(places)
			}
		}
	}
	return list
}

// between returns the places of order + 1 equally spaced values from one to another, nil where a value is
// missing.
func (c *kindColumn) between(from, to, order int) []int {
	const near = 1e-9
	places, gap := []int{from}, (c.values[to]-c.values[from])/float64(order)
	for k := 1; k < order; k++ {
		want := c.values[from] + float64(float64(k)*gap)
		at, _ := slices.BinarySearch(c.values, want-float64(near*gap))
		if at >= to || math.Abs(c.values[at]-want) > near*gap {
			return nil
		}
		places = append(places, at)
	}
	return append(places, to)
}

// A kindWalk is at numbers of rows of every kind, some of them wrong: negative, or not 0 for a kind.
type kindWalk struct {
	counts  []int
	without int
}

// wrong returns how wrong the number of rows of a kind is.
func (w *kindWalk) wrong(kind int) int {
	if kind == w.without {
		return max(w.counts[kind], -w.counts[kind])
	}
	return max(-w.counts[kind], 0)
}

// step changes the numbers of rows by a step, in a direction.
func (w *kindWalk) step(direction int, step kindStep) {
	for _, c := range step {
		w.counts[c.kind] += direction * c.rows
	}
}

// wrongAfter returns how wrong the numbers of the kinds of a step are after it, less how wrong they are
// before.
func (w *kindWalk) wrongAfter(direction int, step kindStep) (sum int) {
	for _, c := range step {
		sum -= w.wrong(c.kind)
	}
	w.step(direction, step)
	for _, c := range step {
		sum += w.wrong(c.kind)
	}
	w.step(-direction, step)
	return sum
}

// leaveKinds leaves out own rows of rare kinds that sums of products determine, where all columns and the
// target have few values, and returns their number. These are sums over all own rows, and over the rows of
// each task in told: members may know the sums of such a task. If log, sums are of logarithms of the target.
func (g *guard) leaveKinds(told []int, log bool) (left int) {
	kinds, columns := g.kinds()
	if kinds == nil {
		return 0
	}
	sets := [][]int32{g.counted()}
	for _, k := range told {
		if !g.left[k] {
			sets = append(sets, g.rows.of(k))
		}
	}
	last := &columns[len(columns)-1]
	last.even = !log
	t := &kindTable{columns: columns}
	for _, set := range sets {
		for again := true; again; {
			again = false
			t.counts = make([]int, last.size*len(last.values))
			for _, i := range set {
				if !g.out[i] {
					t.counts[kinds[i]]++
				}
			}
			certain := t.certain()
			for _, i := range set {
				if !g.out[i] && slices.Contains(certain, kinds[i]) {
					g.out[i] = true
					left++
					again = true
				}
			}
		}
	}
	return left
}

// kinds returns the kind of every row of the table, by the columns that vary and the target, the last one,
// and these columns. It is nil where there are too many kinds, or where a value is missing.
func (g *guard) kinds() (list []int, columns []kindColumn) {
	var varying []int
	rows := g.counted()
	values := g.fewValues(rows)
	if values == nil {
		return nil, nil
	}
	size := 1
	for j, v := range values {
		if len(v) < 2 {
			continue
		}
		if size*len(v) > mostKinds {
			return nil, nil
		}
		varying, columns = append(varying, j), append(columns, kindColumn{v, true, size})
		size *= len(v)
	}
	if len(varying) == 0 || varying[len(varying)-1] != len(values)-1 {
		return nil, nil // the target has one value
	}
	list = make([]int, g.rows.in.Table.Rows())
	read := g.rows.reader()
	for _, i := range rows {
		x, y := read(int(i)), g.rows.in.Table.Y(int(i))
		for k, j := range varying {
			v := y
			if j < len(x) {
				v = x[j]
			}
			at, _ := slices.BinarySearch(values[j], v)
			list[i] += at * columns[k].size
		}
	}
	return list, columns
}

// fewValues returns the increasing values in own rows of every column of all owners, and of the target as the
// last one. It is nil where one of them has more than mostOfKinds values, or is missing.
func (g *guard) fewValues(rows []int32) [][]float64 {
	read, p := g.rows.reader(), len(g.rows.stats)
	values := make([][]float64, p+1)
	for _, i := range rows {
		x := read(int(i))
		for j := range values {
			v := g.rows.in.Table.Y(int(i))
			if j < p {
				v = x[j]
			}
			at, found := slices.BinarySearch(values[j], v)
			switch {
			case found && !math.IsNaN(v):
			case math.IsNaN(v) || len(values[j]) == mostOfKinds:
				return nil
			default:
				values[j] = slices.Insert(values[j], at, v)
			}
		}
	}
	return values
}
