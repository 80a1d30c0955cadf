package mixed

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/difalt/difalt/internal/check"
	"github.com/difalt/difalt/internal/dense"
	"gonum.org/v1/gonum/floats"
)

const (
	youngest, oldest = 20., 60.
	exactDigits      = 38 // binary digits of sums of products that rounding leaves
)

// ages returns a table of tasks with so many rows: an age in whole years, a flag, and a target of whole
// numbers.
func ages(seed uint64, name string, rows ...int) *Data {
	r := rand.New(rand.NewPCG(seed, 71))
	d := drawn(seed, name, 2, rows...)
	d.Names = []string{"age", "flag"}
	for i := range d.Targets {
		age := math.Round(min(max(40+9*r.NormFloat64(), youngest), oldest))
		flag := float64(r.IntN(2))
		d.Values[0][i], d.Values[1][i], d.Targets[i] = age, flag, math.Round(age/10+2*flag+r.NormFloat64())
	}
	return d
}

// A rowReader reads rows of tables of ages from the totals of a training.
type rowReader struct {
	design    *Design
	age, flag int       // features
	columns   []int     // of the design, which are functions of the age
	products  []float64 // X'X of others, p x p
	targets   []float64 // X'y of others, y as it is
	first     float64   // day, of which ages are counted; 0: they are ages
}

// newRowReader returns a reader of what a listener with a table has heard; nil without curves.
func newRowReader(f *fitter, heard []heardTotal, own *Data) *rowReader {
	list := totalsOf(heard, "X'X")
	if f.curved == nil || len(list) < 2 || len(f.baselines) == 0 {
		return nil
	}
	features, p := f.rows.schema.Features(), f.curved.p
	r := &rowReader{design: f.curved.design, products: make([]float64, p*p)}
	r.age, r.flag = slices.Index(features, "age"), slices.Index(features, "flag")
	dense.Unpack(r.products, p, list[1].others())
	dense.Mirror(p, r.products)
	for j, c := range r.design.Columns() {
		if c.Feature != r.flag {
			r.columns = append(r.columns, j)
		}
	}
	r.targets = othersTargets(f, list[1].others(), own)
	return r
}

// functions returns the columns that are functions of an age. Those of the curve count by a factor.
func (r *rowReader) functions(age, factor float64) (list []float64) {
	x, row := make([]float64, 2), make([]float64, r.design.Width())
	x[r.age] = r.first + age
	r.design.Apply(row, x)
	for _, j := range r.columns {
		list = append(list, row[j])
	}
	return r.weigh(list, factor)
}

// weigh multiplies the entries of columns of the curve by a factor.
func (r *rowReader) weigh(list []float64, factor float64) []float64 {
	for i, j := range r.columns {
		if r.design.Columns()[j].Kind == CurveColumn {
			list[i] *= factor
		}
	}
	return list
}

// numbers returns how many rows have each age, from products of functions; nil where none is found.
func (r *rowReader) numbers() []float64 {
	var functions [][]float64
	for age := youngest; age <= oldest; age++ {
		values := r.functions(age, 1)
		var products []float64
		for i, v := range values {
			for _, u := range values[i:] {
				products = append(products, v*u)
			}
		}
		functions = append(functions, products)
	}
	var sums []float64
	for i, a := range r.columns {
		for _, b := range r.columns[i:] {
			sums = append(sums, r.products[a*r.design.Width()+b])
		}
	}
	return smallIntegers(functions, sums, slices.Repeat([]float64{1}, len(functions)), exactDigits)
}

// rows returns, for every age from the youngest on, the sum of the flags, and of the targets, given how many
// rows have each age. Sums of functions of the curve have so many binary digits; nil where none is found.
func (r *rowReader) rows(numbers []float64, digits int) (flags, targets []float64) {
	var functions [][]float64
	var half, usual []float64
	factor := math.Ldexp(1, digits-exactDigits)
	for i, n := range numbers {
		if age := youngest + float64(i); n > 0 {
			functions = append(functions, r.functions(age, factor))
			half, usual = append(half, math.Floor(n/2)), append(usual, math.Round(n*(age/10+1)))
		}
	}
	var flag, target []float64
	j, p := 1+r.flag, r.design.Width()
	for _, a := range r.columns {
		flag = append(flag, r.design.Scale[r.flag]*r.products[j*p+a]+r.design.Center[r.flag]*r.products[a])
		target = append(target, r.targets[a])
	}
	spread := func(list []float64) (all []float64) {
		for _, n := range numbers {
			v := math.NaN()
			if n > 0 && list != nil {
				v, list = list[0], list[1:]
			}
			all = append(all, v)
		}
		return all
	}
	return spread(smallIntegers(functions, r.weigh(flag, factor), half, exactDigits)),
		spread(smallIntegers(functions, r.weigh(target, factor), usual, exactDigits))
}

// read counts the rows whose age no other one has, and how many of them are read. Sums of functions of the
// curve have so many binary digits.
func (r *rowReader) read(victims []*Data, numbers []float64, digits int) (right, asked int) {
	flags, targets := r.rows(numbers, digits)
	for _, d := range victims {
		for i, age := range d.Values[0] {
			k := int(age - youngest)
			if numbers[k] != 1 {
				continue
			}
			asked++
			if flags[k] == d.Values[1][i] && targets[k] == d.Targets[i] {
				right++
			}
		}
	}
	return right, asked
}

// agesOf returns how many rows have each age.
func agesOf(victims ...*Data) []float64 {
	counts := make([]float64, int(oldest-youngest)+1)
	for _, d := range victims {
		for _, age := range d.Values[0] {
			counts[int(age-youngest)]++
		}
	}
	return counts
}

// without subtracts the rows of a partner from the sums.
func (r *rowReader) without(d *Data) {
	x, row := make([]float64, 2), make([]float64, r.design.Width())
	for i, y := range d.Targets {
		x[r.age], x[r.flag] = d.Values[0][i], d.Values[1][i]
		r.design.Apply(row, x)
		addOuter(r.products, -1, row)
		floats.AddScaled(r.targets, -y, row)
	}
}

// asDays returns a table of ages, whose ages are days after a day.
func asDays(d *Data, first float64) *Data {
	d = d.clone()
	floats.AddConst(first, d.Values[0])
	return d
}

// Functions of a curve are known, and sums of them have 15 digits: with lattice reduction a listener reads
// how many rows have each age, and then the flag and the target of every row with an age of its own. Dates
// are read like ages. All owners but one together read most of them, with the rounding of their own parts.
// Where numbers are moved it reads none, and hardly guesses them if it knows all ages: few are right by
// chance. With -short there are ages and no partners.
func TestRowsByLattice(t *testing.T) {
	for name, c := range map[string]struct {
		partners int
		first    float64
	}{"ages": {0, 0}, "two of three owners": {1, 0}, "four of five owners": {3, 0}, "dates": {0, 19700}} {
		if testing.Short() && name != "ages" {
			continue
		}
		for rules, o := range map[bool]Options{false: open, true: {}} {
			victim, own := ages(60, "v", 60), asDays(ages(1, "a", 400), c.first)
			var partners []Input
			for k := range c.partners {
				partners = append(partners, Input{Table: ages(uint64(2+k), "b", 100)})
			}
			f, heard := listenWith(t, []Input{{Table: asDays(victim, c.first)}}, partners, Input{Table: own}, o)
			r := newRowReader(f, heard, own)
			check.FailIf(t, r == nil, "%s, rules %v: no curves", name, rules)
			r.first = c.first
			for _, in := range partners {
				r.without(in.Table.(*Data))
			}
			counts := agesOf(victim)
			if known := slices.Equal(r.numbers(), counts); known == rules {
				t.Errorf("%s, rules %v: all ages are read: %v", name, rules, known)
			}
			most, asked := 0, 0
			for _, digits := range []int{1, 3, 5, 7, 10, 14, 20, exactDigits} {
				var right int
				right, asked = r.read([]*Data{victim}, counts, digits)
				most = max(most, right)
			}
			t.Logf("%s, rules %v: %d of %d rows are read", name, rules, most, asked)
			check.FailIf(t, asked < 10 || !rules && 3*most < 2*asked || rules && most > asked/2,
				"%s, rules %v: %d of %d rows are read", name, rules, most, asked)
		}
	}
}

// The bits of rows that a curve may tell are those of the rarest level, and of the narrowest place.
func TestHiddenBits(t *testing.T) {
	knots := []float64{0, 1, 2, 3, 4, 5, 6, 7}
	even := func(n int) (list []float64) {
		for i := range n {
			list = append(list, 7*float64(i)/float64(n))
		}
		return list
	}
	for name, c := range map[string]struct {
		values      []float64
		rarest      int
		least, most float64
	}{
		"all different":     {even(80), 40, 9.9, 10.1},
		"a level":           {even(80), 1, math.Log2(80) / 8 * .99, math.Log2(80) / 8 * 1.01},
		"few values":        {slices.Concat(slices.Repeat([][]float64{even(8)}, 100)...), 400, 6, 7},
		"few beyond a knot": {slices.Concat(even(800), []float64{8, 9, 10}), 400, 6, 101},
		"few in a place": {slices.Concat(slices.Repeat([]float64{.5}, 300), []float64{3.1, 3.4, 3.6},
			slices.Repeat([]float64{6.5}, 300)), 300, 1.4, 1.6},
	} {
		v := countValues(c.values)
		got := min(slices.Min(v.placeBits(knots)), v.bitsOf(c.rarest)/float64(len(knots)))
		check.FailIf(t, !(got >= c.least && got <= c.most), "%s: %v bits", name, got)
	}
}

// A table has the same model wherever its rows are, and the amounts by which its numbers are moved change
// with any of its rows.
func TestMoves(t *testing.T) {
	first, other := ages(60, "v", 60), ages(2, "a", 90)
	for _, d := range []*Data{first, other} {
		for i, age := range d.Values[0] {
			d.Targets[i] += math.Round(square(age-40) / 20)
		}
	}
	train := func(d *Data) (*Model, *Report) {
		m, r, err := Together(t.Context(), []Input{{Table: d}, {Table: other}}, network("path", 2), Options{})
		check.Done(err)
		check.FailIf(t, len(m.Parameters().Design.Curves) == 0, "no curves: %q", r.Notes)
		return m, r
	}
	m, r := train(first)
	reordered, _ := first.shuffled(3, nil)
	again, _ := train(reordered)
	keyOf := func(d *Data) uint64 {
		fits, errs := describeTogether(t, []Input{{Table: d}, {Table: other}}, Options{})
		check.Done(errs[0])
		return fits[0].rows.guard.blur.key
	}
	changed := first.clone()
	changed.Targets[7]++
	check.FailIf(t, keyOf(first) != keyOf(reordered), "the amounts depend on the order of rows")
	check.FailIf(t, keyOf(first) == keyOf(changed), "the amounts do not depend on a row")
	if what := sameModel(m, again); what != "" {
		t.Errorf("in another order the %s has other bits", what)
	}
	check.FailIf(t, !slices.ContainsFunc(r.Notes,
		func(note string) bool { return strings.Contains(note, "In curves numbers of ") }),
		"no note: %q", r.Notes)
	off, _, err := Together(t.Context(), []Input{{Table: first}, {Table: other}}, network("path", 2), open)
	check.Done(err)
	most := 0.0
	for _, age := range []float64{25, 35, 45, 55} {
		a, _, _ := m.Predict("v0", []float64{age, 1})
		b, _, _ := off.Predict("v0", []float64{age, 1})
		most = max(most, math.Abs(a-b)/m.Parameters().Target.Scale)
	}
	check.FailIf(t, !(most > 1e-6 && most < .5), "predictions move by %v deviations", most)
}

// columnsTurned returns a table with its columns, and the levels of each, in the opposite order.
func (d *Data) columnsTurned() *Data {
	out := d.clone()
	slices.Reverse(out.Names)
	slices.Reverse(out.Values)
	slices.Reverse(out.Levels)
	for j, levels := range out.Levels {
		if levels == nil {
			continue
		}
		out.Levels[j] = slices.Clone(levels)
		slices.Reverse(out.Levels[j])
		for i, v := range out.Values[j] {
			out.Values[j][i] = float64(len(levels)-1) - v
		}
	}
	return out
}

// The amounts by which numbers are moved follow from columns by their names: an owner with columns and levels
// in another order has the same model, to the bit.
func TestMovesInAnyOrderOfColumns(t *testing.T) {
	var list []*Data
	for k, rows := range []int{60, 90} {
		d := ages(uint64(60+k), []string{"v", "a"}[k], rows)
		kind := make([]float64, rows)
		for i := range kind {
			kind[i] = float64(i % 3)
			d.Targets[i] += math.Round(square(d.Values[0][i]-40)/20) + 3*kind[i]
		}
		d.Names, d.Values = append(d.Names, "kind"), append(d.Values, kind)
		d.Levels = [][]string{nil, nil, {"low", "middle", "high"}}
		check.Done(d.Check())
		list = append(list, d)
	}
	train := func(first *Data) *Model {
		m, r, err := Together(t.Context(), []Input{{Table: first}, {Table: list[1]}}, network("path", 2), Options{})
		check.Done(err)
		moved := slices.ContainsFunc(r.Notes,
			func(note string) bool { return strings.Contains(note, "In curves numbers of ") })
		check.FailIf(t, !moved, "no number was moved: %q", r.Notes)
		return m
	}
	if what := sameModel(train(list[0]), train(list[0].columnsTurned())); what != "" {
		t.Errorf("with columns in another order the %s has other bits", what)
	}
}

// flagsOfTargets counts the rows with a target of their own whose flag follows from X'y with the logarithm
// of the target, of one owner of two, for somebody who knows all targets.
func flagsOfTargets(t *testing.T, o Options) (right, asked int) {
	o.LogTarget, o.NoCurves = true, true
	var list []*Data
	for k, rows := range []int{24, 40} {
		d := ages(uint64(91+k), []string{"v", "a"}[k], rows)
		r := rand.New(rand.NewPCG(uint64(k), 92))
		d.Names, d.Values = d.Names[1:], d.Values[1:]
		for i := range d.Targets {
			d.Targets[i] = math.Round(20 + 100*r.Float64())
		}
		list = append(list, d)
	}
	victim, own := list[0], list[1]
	f, heard := listen(t, victim, own, o)
	products := totalsOf(heard, "X'X")[0].others()
	m, d := f.baselines[0], f.plain.design
	xy, row, read := slices.Clone(m.m.h), make([]float64, 2), f.rows.reader()
	floats.Scale(m.q.noise, xy)
	for i := range own.Rows() {
		d.Apply(row, read(i))
		floats.AddScaled(xy, -f.rows.standardized(i, true), row)
	}
	sum := func(j int) float64 { return d.Scale[0]*products[[]int{1, 2}[j]] + d.Center[0]*products[j] }
	targets := countValues(slices.Clone(victim.Targets))
	var functions [][]float64
	for _, y := range targets.values {
		functions = append(functions, []float64{1, f.rows.logarithm.Standardize(y)})
	}
	flags := smallIntegers(functions, []float64{sum(0), d.Scale[0]*xy[1] + d.Center[0]*xy[0]},
		make([]float64, len(functions)), exactDigits)
	for i, y := range victim.Targets {
		if k := slices.Index(targets.values, y); targets.counts[k] == 1 {
			asked++
			if flags != nil && flags[k] == victim.Values[0][i] {
				right++
			}
		}
	}
	return right, asked
}

// The logarithm of a whole number is a known function, too. Without rules all flags follow but those of
// targets of equal products.
func TestFlagsByLogarithms(t *testing.T) {
	off, asked := flagsOfTargets(t, open)
	on, _ := flagsOfTargets(t, Options{})
	t.Logf("%d and, with rules, %d of %d flags are right", off, on, asked)
	check.FailIf(t, 5*off < 4*asked || 3*on > 2*asked, "%d and, with rules, %d of %d flags are read", off, on, asked)
}

// Somebody who knows a column of all rows with many digits reads a flag beside it, whatever the rules:
// docs/privacy.md says so.
func TestKnownNumbers(t *testing.T) {
	for rows, reads := range map[int]bool{24: true, 30: true, 80: false} {
		var list []*Data
		for k, n := range []int{rows, 40} {
			d := ages(uint64(95+k), []string{"v", "a"}[k], n)
			r := rand.New(rand.NewPCG(uint64(k), 96))
			for i := range d.Values[0] {
				d.Values[0][i] = r.NormFloat64()
			}
			list = append(list, d)
		}
		victim := list[0]
		f, heard := listen(t, victim, list[1], Options{NoCurves: true})
		products, d := make([]float64, 9), f.plain.design
		dense.Unpack(products, 3, totalsOf(heard, "X'X")[0].others())
		dense.Mirror(3, products)
		var functions [][]float64
		for _, x := range victim.Values[0] {
			functions = append(functions, []float64{1, (x - d.Center[0]) / d.Scale[0]})
		}
		sum := func(j int) float64 { return d.Scale[1]*products[3*j+2] + d.Center[1]*products[3*j] }
		flags := smallIntegers(functions, []float64{sum(0), sum(1)}, make([]float64, rows), 44)
		if read := slices.Equal(flags, victim.Values[1]); read != reads {
			t.Errorf("%d rows: the flags are read: %v", rows, read)
		}
	}
}

// differenceByAge returns, for every age from the youngest on, the sum over rows of others of the difference
// of two features, from their lines of X'X. Sums of functions of the curve have so many binary digits; nil
// where none is found.
func differenceByAge(f *fitter, products []float64, first, second string, digits int) []float64 {
	features, d, p := f.rows.schema.Features(), f.curved.design, f.curved.p
	age, functions, sums := slices.Index(features, "age"), make([][]float64, int(oldest-youngest)+1), []float64(nil)
	line := func(name string, column int) float64 {
		k := slices.Index(features, name)
		return d.Scale[k]*products[(1+k)*p+column] + d.Center[k]*products[column]
	}
	x, row := make([]float64, len(features)), make([]float64, p)
	for j, c := range d.Columns() {
		if c.Feature != age && j > 0 {
			continue
		}
		factor := 1.0
		if c.Kind == CurveColumn {
			factor = math.Ldexp(1, digits-exactDigits)
		}
		sums = append(sums, factor*(line(first, j)-line(second, j)))
		for k := range functions {
			x[age] = youngest + float64(k)
			d.Apply(row, x)
			functions[k] = append(functions[k], factor*row[j])
		}
	}
	return smallIntegers(functions, sums, make([]float64, len(functions)), exactDigits)
}

// The difference of two flags is 0 but in few rows, and the difference of their lines of X'X is about the
// ages of these rows alone. They move more than the others do: with the moves that hide rows of one flag,
// with some 13 digits left, all of these ages were read.
func TestPairsOfColumns(t *testing.T) {
	const apart = 13 // which is enough for the rule about twins
	for rules, o := range map[bool]Options{false: open, true: {}} {
		victim, own := ages(101, "v", 2200), ages(102, "a", 400)
		for _, d := range []*Data{victim, own} {
			again := slices.Clone(d.Values[1])
			for i, left := 0, apart; left > 0; i++ {
				if again[i] == 1 {
					again[i] = 0
					left--
				}
			}
			d.Names, d.Values = append(d.Names, "again"), append(d.Values, again)
		}
		f, heard := listen(t, victim, own, o)
		check.FailIf(t, f.curved == nil, "rules %v: no curves", rules)
		products := curvedProducts(f, heard)
		truth := make([]float64, int(oldest-youngest)+1)
		for i, v := range victim.Values[0] {
			truth[int(v-youngest)] += victim.Values[1][i] - victim.Values[2][i]
		}
		read := false
		for _, digits := range []int{5, 7, 9, 10, 11, 12, 13, 14, 16, 20, exactDigits} {
			found := differenceByAge(f, products, "flag", "again", digits)
			read = read || slices.Equal(found, truth)
		}
		check.FailIf(t, read == rules, "rules %v: the ages of %d rows are read: %v", rules, apart, read)
	}
}
