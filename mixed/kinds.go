package mixed

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

const (
	rareKind  = 3    // own rows of a kind, below which they are rows that a total may show
	mostFlags = 8    // columns of two values and the target, of which tables are searched
	walkSteps = 2000 // of a search for another table
)

// A flagTable counts rows of columns of two values by their kind: bit j is set where column j has its larger
// value. Sums of products tell how many rows have it, for every column and every pair.
type flagTable struct {
	columns int
	counts  []int
}

// certain returns the kinds of fewer than rareKind rows of which no other table with equal sums of products
// is found that lacks them.
func (t *flagTable) certain() (list []int) {
	for kind, n := range t.counts {
		if n > 0 && n < rareKind && !t.without(kind) {
			list = append(list, kind)
		}
	}
	return list
}

// without looks for a table without a kind that has equal sums of products. A step adds 1 to every second one
// of the eight kinds that differ in three columns, and subtracts 1 from the others: that changes no sum, and
// leads to all tables of equal sums. A walk of such steps goes through tables of negative numbers until there
// are none; it takes the best step at a kind that has a wrong number, or at times any.
func (t *flagTable) without(kind int) bool {
	const atRandom = 5 // one of so many steps
	w := &flagWalk{slices.Clone(t.counts), kind}
	random := rand.New(rand.NewPCG(uint64(kind), uint64(t.columns)))
	cubes := t.cubes()
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
		if len(cubes) == 0 {
			return false
		}
		at, change := wrong[random.IntN(len(wrong))], 1
		if w.counts[at] > 0 {
			change = -1
		}
		best := cubes[random.IntN(len(cubes))]
		if random.IntN(atRandom) > 0 {
			best = slices.MinFunc(cubes, func(a, b [8]int) int {
				return cmp.Compare(w.wrongAfter(at, change, a), w.wrongAfter(at, change, b))
			})
		}
		w.step(at, change, best)
	}
	return false
}

// cubes returns the eight sets of columns that are within three columns, for all three columns: the set of an
// even number of columns are before the others.
func (t *flagTable) cubes() (list [][8]int) {
	for a := range t.columns {
		for b := range a {
			for c := range b {
				x, y, z := 1<<a, 1<<b, 1<<c
				list = append(list, [8]int{0, x | y, x | z, y | z, x, y, z, x | y | z})
			}
		}
	}
	return list
}

// A flagWalk is at numbers of rows of every kind, some of them wrong: negative, or not 0 for a kind.
type flagWalk struct {
	counts  []int
	without int
}

// wrong returns how wrong the number of rows of a kind is.
func (w *flagWalk) wrong(kind int) int {
	if kind == w.without {
		return max(w.counts[kind], -w.counts[kind])
	}
	return max(-w.counts[kind], 0)
}

// step changes the number of a kind, and those of seven others.
func (w *flagWalk) step(kind, change int, cube [8]int) {
	for i, columns := range cube {
		if i == len(cube)/2 {
			change = -change
		}
		w.counts[kind^columns] += change
	}
}

// wrongAfter returns how wrong the numbers of eight kinds are after a step, less how wrong they are before.
func (w *flagWalk) wrongAfter(kind, change int, cube [8]int) (sum int) {
	for _, columns := range cube {
		sum -= w.wrong(kind ^ columns)
	}
	w.step(kind, change, cube)
	for _, columns := range cube {
		sum += w.wrong(kind ^ columns)
	}
	w.step(kind, -change, cube)
	return sum
}

// leaveKinds leaves out own rows of rare kinds that sums of products determine, where all columns and the
// target have two values, and returns their number. These are sums over all own rows and, in tables of few
// tasks, over the rows of each task: members may know these sums, too.
func (g *guard) leaveKinds() (left int) {
	kinds, columns := g.kinds()
	if columns == 0 {
		return 0
	}
	sets := [][]int32{g.counted()}
	if len(g.rows.list) <= g.LeastSmall {
		for _, k := range g.rows.list {
			if !g.left[k] {
				sets = append(sets, g.rows.of(k))
			}
		}
	}
	for _, set := range sets {
		for again := true; again; {
			again = false
			t := &flagTable{columns, make([]int, 1<<columns)}
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
// and the number of these columns. It is 0 where one of them has more than two values, or they are too many.
func (g *guard) kinds() (list []int, columns int) {
	target := g.pairOfTarget()
	if !target.two() {
		return nil, 0
	}
	var varying []int
	pairs := g.pairs()
	for j := range pairs {
		switch p := &pairs[j]; {
		case p.two():
			varying = append(varying, j)
		case !p.constant():
			return nil, 0
		}
	}
	if columns = len(varying) + 1; columns > mostFlags {
		return nil, 0
	}
	list = make([]int, g.rows.in.Table.Rows())
	read := g.rows.reader()
	for _, i := range g.counted() {
		x := read(int(i))
		for at, j := range varying {
			if math.IsNaN(x[j]) {
				return nil, 0
			}
			if x[j] == pairs[j].high {
				list[i] |= 1 << at
			}
		}
		if g.rows.in.Table.Y(int(i)) == target.high {
			list[i] |= 1 << len(varying)
		}
	}
	return list, columns
}
