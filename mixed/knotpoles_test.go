package mixed

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/difalt/difalt/internal/check"
	"github.com/difalt/difalt/internal/dense"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// tailTable returns a table where so many rows of the first task, and one row of each of so many others,
// lie in a tail of the first column; and the two numbers of the latter. Tasks have different sizes.
func tailTable(together, alone int) (d *Data, wanted [][]float64) {
	d = drawn(141, "v", 2, 50, 20, 35, 75, 28, 44, 60, 24, 30, 90)
	for i := range d.Values[0] {
		d.Values[0][i] = max(min(d.Values[0][i], 5), -5)
	}
	tail := 0
	for i, k := range d.TaskOf {
		first := i == 0 || d.TaskOf[i-1] != k
		switch {
		case k == 0 && i < together:
		case k > 0 && k <= alone && first:
			wanted = append(wanted, []float64{0, d.Values[1][i]})
		default:
			continue
		}
		d.Values[0][i] = 6.5 + float64(7*tail%31)/10 // up to 9.5
		if tail++; k > 0 {
			wanted[len(wanted)-1][0] = d.Values[0][i]
		}
	}
	return d, wanted
}

// knotsBefore are rows that move the knots of the first column: all but the first and the last two are just
// before the tail, which has one interval.
func knotsBefore() *Data {
	d := drawn(2, "a", 2, slices.Repeat([]int{400}, 60)...)
	n := d.Rows()
	places := []float64{5.4, 5.6, 5.8, 6.0, 6.2, 6.4, 9.6, 10}
	for i := range d.Values[0] {
		share := 7 * (float64(i) + .5) / float64(n) // of the rows, between knots
		k := int(share)
		d.Values[0][i] = places[k] + (share-float64(k))*(places[k+1]-places[k])
	}
	return d
}

// A knotScan has the strengths and the directions of knotPolesRead: the constant, and beside it a share of
// a column.
type knotScan struct {
	strengths, shares []float64
	features          []int // of the shares
	from              []int // places of what is agreed on in all that is heard, the first without deviations
}

func newKnotScan(tasks int) *knotScan {
	s := &knotScan{shares: []float64{0, .04, -.04, .2, -.2}, features: []int{0, 0, 0, 1, 1}}
	for k := range tasks + 3 {
		s.strengths = append(s.strengths, math.Pow(2, -.5-.5*float64(k)))
	}
	s.from = make([]int, 1+len(s.shares)*len(s.strengths))
	return s
}

// steer sets the loadings of the next direction.
func (s *knotScan) steer(w []float64, times int, d *Design) {
	if times > 0 {
		at := (times - 1) / len(s.strengths)
		strength, j := s.strengths[(times-1)%len(s.strengths)], s.features[at]
		w[0] = strength * (1 + s.shares[at]*d.Center[j])
		w[1+j] = strength * s.shares[at] * d.Scale[j]
	}
}

// rows returns the columns of the rows in the tasks of all poles; NaN where a task has several.
func (s *knotScan) rows(l *steerer, tasks int) (list [][]float64) {
	d, p := l.fit.curved.design, l.fit.curved.p
	local := localFunctions(d, 5.35)
	if len(local) == 0 {
		return nil
	}
	lines := func(k int) (list []float64) { // of the local functions, times every column
		g := make([]float64, p*p)
		dense.Unpack(g, p, l.heard[s.from[k]+1].others())
		dense.Mirror(p, g)
		for _, f := range local {
			line := make([]float64, p)
			for i, v := range f {
				floats.AddScaled(line, v, g[i*p:][:p])
			}
			list = append(list, line...)
		}
		return list
	}
	without, n := lines(0), len(s.strengths)
	var scans [][]tailTask
	for at := range s.shares {
		var values [][]float64
		for k := range n {
			v := lines(1 + at*n + k)
			values = append(values, floats.SubTo(v, without, v))
		}
		scans = append(scans, tasksOfPoles(s.strengths, values, tasks, local))
	}
	for _, task := range scans[0] {
		row := make([]float64, 2)
		for at := 1; at < len(s.shares); at += 2 {
			up, down := task.like(scans[at]), task.like(scans[at+1]) // (1 +- share x)^2
			row[s.features[at]] = (up - down) / (4 * s.shares[at])
		}
		list = append(list, row)
	}
	return list
}

// knotPolesRead counts the rows, alone in their task in a tail of a column, whose columns a center reads.
// Rows that it makes up put knots before the tail, so that functions of the curve are 0 in all other rows.
// Strengths along a direction tell the tasks with such rows apart by their poles.
func knotPolesRead(t *testing.T, together, alone int, o Options) (right, asked int) {
	rank, times, tasks := 1, 0, alone+min(together, 1)
	o.Rank, o.CommonNoise = &rank, true
	victim, wanted := tailTable(together, alone)
	scan, l := newKnotScan(tasks), &steerer{}
	l.lie = func(f *fitter, name string, v []float64) {
		if f.curved == nil || times == len(scan.from) {
			return
		}
		w := f.curved.steersTo(name, v)
		if w == nil {
			return
		}
		scan.steer(w, times, f.curved.design)
		scan.from[times] = len(l.heard) + 1
		times++
	}
	l.add = func(_ *fitter, name string, v []float64) {
		if strings.HasPrefix(name, "X'V^-1 X") {
			clear(v) // so that the total is the part of the other owner, to all digits
		}
	}
	_, err := l.trainBeside(t, Input{Table: victim}, Input{Table: knotsBefore()}, o)
	if l.fit.curved == nil {
		return 0, len(wanted)
	}
	check.FailIf(t, times < len(scan.from), "only %d strengths were steered: %v", times, err)
	for _, row := range scan.rows(l, tasks) {
		near := func(w []float64) bool { return math.Abs(w[0]-row[0])+math.Abs(w[1]-row[1]) < .05 }
		if slices.ContainsFunc(wanted, near) {
			right++
		}
	}
	return right, len(wanted)
}

// localFunctions returns the combinations of the columns of a design that are functions of the first
// column, and 0 up to a place.
func localFunctions(d *Design, place float64) (list [][]float64) {
	p := d.Width()
	var own []int
	for j, c := range d.Columns() {
		if j == 0 || c.Feature == 0 {
			own = append(own, j)
		}
	}
	n, row := len(own), make([]float64, p)
	products, v := make([]float64, n*n), make([]float64, n)
	for _, x := range steps(-6, place) {
		d.Apply(row, []float64{x, 0})
		for i, j := range own {
			v[i] = row[j]
		}
		addOuter(products, 1, v)
	}
	for _, b := range nullSpace(products, n, 1e-13) {
		f := make([]float64, p)
		for i, j := range own {
			f[j] = b[i]
		}
		list = append(list, f)
	}
	return list
}

// A tailTask has the sums of a task at a pole: of local functions times the direction, and the square of
// these.
type tailTask struct {
	functions []float64 // of length 1
	square    float64
}

// like returns the square at the pole of another direction whose functions are the same, over its own; NaN
// for none.
func (t *tailTask) like(list []tailTask) float64 {
	for _, other := range list {
		if 1-math.Abs(floats.Dot(t.functions, other.functions)) < 1e-6 {
			return other.square / t.square
		}
	}
	return math.NaN()
}

// polesOf returns the poles of values that are sums of a/(c(k) - pole) in each of their columns; nil where
// it finds none. They are the zeros of the polynomial in c that makes polynomials of lower degree of all
// columns.
func polesOf(c []float64, values *mat.Dense, poles int) []complex128 {
	n, size := values.Dims()
	power := func(m int) []float64 {
		list := make([]float64, n)
		for k, v := range c {
			list[k] = math.Pow(v, float64(m))
		}
		return list
	}
	lower := mat.NewDense(n, poles, nil)
	for m := range poles {
		lower.SetCol(m, power(m))
	}
	var qr mat.QR
	qr.Factorize(lower)
	var q mat.Dense
	qr.QTo(&q)
	rest := q.Slice(0, n, poles, n).T() // what polynomials of lower degree do not explain
	left, right := mat.NewDense((n-poles)*size, poles, nil), mat.NewVecDense((n-poles)*size, nil)
	for m := range poles + 1 {
		scale := power(m)
		var scaled, off mat.Dense
		scaled.Apply(func(k, _ int, v float64) float64 { return scale[k] * v }, values)
		off.Mul(rest, &scaled)
		for i := range (n - poles) * size {
			if v := off.At(i/size, i%size); m < poles {
				left.Set(i, m, v)
			} else {
				right.SetVec(i, -v)
			}
		}
	}
	var b mat.VecDense
	if b.SolveVec(left, right) != nil {
		return nil
	}
	companion := mat.NewDense(poles, poles, nil)
	for m := range poles {
		companion.Set(m, poles-1, -b.AtVec(m))
		if m > 0 {
			companion.Set(m, m-1, 1)
		}
	}
	var eigen mat.Eigen
	if !eigen.Factorize(companion, mat.EigenNone) {
		return nil
	}
	return eigen.Values(nil)
}

// tasksOfPoles returns the tasks whose sums, over 1/strength^2 + pole, are the given values: of local
// functions times the direction, and of that times all columns.
func tasksOfPoles(strengths []float64, values [][]float64, tasks int, local [][]float64) (list []tailTask) {
	n, unit := len(strengths), square(strengths[len(strengths)/2])
	c := make([]float64, n)
	for k, s := range strengths {
		c[k] = unit / square(s)
	}
	all := mat.NewDense(n, len(values[0]), slices.Concat(values...))
	factors := mat.NewDense(n, tasks, nil)
	for t, pole := range polesOf(c, all, tasks) {
		for k := range n {
			factors.Set(k, t, 1/(c[k]-real(pole)))
		}
	}
	var residues mat.Dense
	if residues.Solve(factors, all) != nil {
		return nil
	}
	p := len(values[0]) / len(local)
	for t := range tasks {
		task, most := tailTask{}, 0.0
		for a := range local {
			var sums []float64
			for _, f := range local {
				sums = append(sums, floats.Dot(f, residues.RawRowView(t)[a*p:][:p]))
			}
			task.square += sums[a]
			if sums[a] > most {
				task.functions, most = sums, sums[a]
			}
		}
		if most > 0 {
			floats.Scale(1/floats.Norm(task.functions, 2), task.functions)
			list = append(list, task)
		}
	}
	return list
}

// A center that moves knots and then steers strengths reads the rows of a tail that are alone in their
// task, all columns but the target, if the tail has as many rows as the rule about curves needs. Nobody
// needs a flag of these rows then. Only strict rules keep them: they allow no curves. docs/privacy.md has
// the numbers.
func TestKnotsAndStrengthsSteered(t *testing.T) {
	const alone = 3
	for name, c := range map[string]struct {
		o        Options
		together int // rows of the tail in one task
		reads    bool
	}{
		"without rules, tail of 3":  {open, 0, true},
		"without rules, tail of 12": {open, 9, true},
		"default rules, tail of 3":  {Options{}, 0, false},
		"default rules, tail of 12": {Options{}, 9, true},
		"strict rules, tail of 12":  {strictly, 9, false},
	} {
		right, asked := knotPolesRead(t, c.together, alone, c.o)
		t.Logf("%s: %d of %d rows are read", name, right, asked)
		wrong := asked != alone || c.reads != (right == asked) || !c.reads && right > 0
		check.FailIf(t, wrong, "%s: %d of %d rows are read", name, right, asked)
	}
}
