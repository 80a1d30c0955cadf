package mixed

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/difalt/difalt/internal/check"
	"github.com/difalt/difalt/internal/dense"
	"github.com/difalt/difalt/internal/longtest"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// readFromNullSpace counts the complete rows of tables of ages that follow from X'X and X'y of others, where
// these have fewer rows than columns: a row lies off the null space.
func (r *rowReader) readFromNullSpace(victims []*Data) (right int) {
	p := r.design.Width()
	null := nullSpace(r.products, p, 1e-11)
	if len(null) == 0 {
		return 0
	}
	var found [][2]float64
	var columns []float64
	row, x := make([]float64, p), make([]float64, 2)
	for age := youngest; age <= oldest; age++ {
		for flag := range 2 {
			x[r.age], x[r.flag] = age, float64(flag)
			r.design.Apply(row, x)
			if offSpace(row, null) < 1e-9 {
				found, columns = append(found, [2]float64{age, float64(flag)}), append(columns, row...)
			}
		}
	}
	if len(found) == 0 || len(found) > p {
		return 0
	}
	var y mat.VecDense
	if y.SolveVec(mat.NewDense(len(found), p, columns).T(), mat.NewVecDense(p, r.targets)) != nil {
		return 0
	}
	for k, at := range found {
		sum, rows := 0.0, 0
		for _, d := range victims {
			for i, age := range d.Values[0] {
				if age == at[0] && d.Values[1][i] == at[1] {
					sum, rows = sum+d.Targets[i], rows+1
				}
			}
		}
		if rows > 0 && math.Abs(y.AtVec(k)-sum) < .1 {
			right += rows
		}
	}
	return right
}

// readByDifferences counts the rows of others, in two tasks, whose ages follow from two totals: X'X, and
// X'V^-1 X for a strength of intercepts alone. The difference is the sum over tasks of s s', with known
// factors, where s has the sums of the columns over the rows of a task. It determines s for both tasks, and s
// the ages.
func (r *rowReader) readByDifferences(f *fitter, heard []heardTotal, own *Data, victims []*Data) (right int) {
	m := f.baselines[slices.IndexFunc(f.baselines, func(m method) bool { return m.name == InterceptsCurves })]
	p, noise, strength := r.design.Width(), m.q.noise, square(f.curved.prior(m.q).Deviations[0])
	factor := func(n float64) float64 { return strength / (noise + n*strength) }
	// Of all owners, and then of the others: the products less noise X'V^-1 X.
	d, row, read := informationOf(heard, m.m.h, noise), make([]float64, p), f.rows.reader()
	floats.Scale(-noise, d)
	sums, count := make([][]float64, len(own.TaskNames)), make([]float64, len(own.TaskNames))
	for i := range own.Rows() {
		k := own.Task(i)
		if sums[k] == nil {
			sums[k] = make([]float64, p)
		}
		r.design.Apply(row, read(i))
		floats.Add(sums[k], row)
		count[k]++
		addOuter(d, 1, row)
	}
	for k, s := range sums {
		addOuter(d, -factor(count[k]), s)
	}
	floats.Add(d, r.products)
	all := r.products[:p]
	for one := 1.; one <= all[0]/2; one++ {
		two := math.Round(all[0]) - one
		first, a, b := make([]float64, p), factor(one), factor(two)
		if one == two { // d = a (all all'/2 + 2 v v') for sums of all/2 + v and all/2 - v
			v := slices.Clone(d)
			floats.Scale(.5/a, v)
			addOuter(v, -.25, all)
			at := 0
			for j := range p {
				if v[j*p+j] > v[at*p+at] {
					at = j
				}
			}
			copy(first, v[at*p:][:p])
			floats.Scale(1/math.Sqrt(v[at*p+at]), first)
			floats.AddScaled(first, .5, all)
		} else {
			copy(first, d[:p])
			floats.AddScaled(first, -b*two, all)
			floats.Scale(1/(a*one-b*two), first)
		}
		if math.Abs(first[0]-one) > 1e-6 {
			continue
		}
		second := floats.SubTo(make([]float64, p), all, first)
		right += r.readAges(first, one, victims) + r.readAges(second, two, victims)
	}
	return right
}

// informationOf returns the total X'V^-1 X that stands before the total h of X'V^-1 y, for a noise.
func informationOf(heard []heardTotal, h []float64, noise float64) []float64 {
	p, unit := len(h), 1/powerOfTwo(noise)
	for _, t := range totalsOf(heard, "X'V^-1 X") {
		for from := 0; from+dense.Triangle(p)+p <= len(t.total); from++ {
			part := t.total[from:]
			if behind := part[dense.Triangle(p):]; behind[0]*unit != h[0] || behind[p-1]*unit != h[p-1] {
				continue
			}
			m := make([]float64, p*p)
			dense.Unpack(m, p, part)
			dense.Mirror(p, m)
			floats.Scale(unit, m)
			return m
		}
	}
	panic("the total was not heard")
}

// addOuter adds a multiple of x x' to a.
func addOuter(a []float64, alpha float64, x []float64) {
	for i, v := range x {
		floats.AddScaled(a[i*len(x):][:len(x)], alpha*v, x)
	}
}

// readAges counts the rows of a task, with given sums of the columns over its rows, if their ages are found.
func (r *rowReader) readAges(sums []float64, rows float64, victims []*Data) int {
	const digits = 30 // of differences
	var functions [][]float64
	for age := youngest; age <= oldest; age++ {
		functions = append(functions, r.functions(age, 1))
	}
	var own []float64
	for _, j := range r.columns {
		own = append(own, sums[j])
	}
	found := smallIntegers(functions, own, make([]float64, len(functions)), digits)
	if found == nil || floats.Sum(found) != rows || floats.Min(found) < 0 {
		return 0
	}
	for _, d := range victims {
		for k := range d.TaskNames {
			truth := make([]float64, len(found))
			for i, age := range d.Values[0] {
				if d.TaskOf[i] == k {
					truth[int(age-youngest)]++
				}
			}
			if slices.Equal(found, truth) {
				return int(rows)
			}
		}
	}
	return 0
}

// A listener reads no complete row of others under the default rules: two, three and five owners, tables
// from the smallest that takes part to 1,000 rows, of one task and of several.
func TestListeningSweep(t *testing.T) {
	members, sizes, counts := []int{2, 3, 5}, []int{6, 60}, []int{1, 2}
	switch {
	case longtest.Enabled():
		counts = []int{1, 2, 3}
		sizes = []int{5, 6, 7, 8, 9, 10, 12, 14, 16, 20, 24, 27, 30, 36, 45, 60, 80, 100, 150, 200, 300, 400, 600, 1000}
	case testing.Short():
		members = members[:2]
	}
	read := map[string]int{}
	trained := map[int]bool{}
	for _, owners := range members {
		for _, n := range sizes {
			for _, tasks := range counts {
				for name, o := range map[string]Options{"without rules": open, "rules": {}} {
					var victims []*Data
					var inputs []Input
					for k := range owners - 1 {
						rows := slices.Repeat([]int{n / tasks}, tasks)
						d := ages(uint64(1000*owners+10*n+k), fmt.Sprint("v", k), rows...)
						victims, inputs = append(victims, d), append(inputs, Input{Table: d})
					}
					own := ages(7, "a", 200, 200)
					f, heard := listenAmong(t, inputs, Input{Table: own}, o)
					r := newRowReader(f, heard, own)
					if f.plain == nil {
						continue
					}
					if o.Disclosure == (Disclosure{}) {
						trained[owners] = true
					}
					if r == nil {
						continue
					}
					read[name+", null space"] += r.readFromNullSpace(victims)
					if tasks*(owners-1) == 2 {
						read[name+", differences"] += r.readByDifferences(f, heard, own, victims)
					}
					if numbers := r.numbers(); slices.Equal(numbers, agesOf(victims...)) {
						right, _ := r.read(victims, numbers, exactDigits)
						read[name+", lattice"] += right
					}
				}
			}
		}
	}
	t.Log(read)
	for _, attack := range []string{"null space", "lattice", "differences"} {
		if n := read["rules, "+attack]; n > 0 {
			t.Errorf("%s: %d rows are read", attack, n)
		}
		check.FailIf(t, read["without rules, "+attack] == 0, "%s: no row is read without rules", attack)
	}
	check.FailIf(t, len(trained) < len(members), "no owners train: %v", trained)
}
