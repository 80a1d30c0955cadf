package mixed

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/difalt/difalt/internal/check"
	"github.com/difalt/difalt/internal/dense"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// manyNumbers is the number of columns of numbers of manyColumns.
const manyNumbers = 15

// manyColumns returns a table of many numbers and a flag, with tasks of 20 rows; so many rows, each in a task
// of its own, have the flag. wanted has their numbers and targets.
func manyColumns(seed uint64, tasks, rare int) (d *Data, wanted [][]float64) {
	d = drawn(seed, "v", manyNumbers, slices.Repeat([]int{20}, tasks)...)
	flag, r := make([]float64, d.Rows()), rand.New(rand.NewPCG(seed, 24))
	for i := range flag {
		for j := range manyNumbers {
			d.Values[j][i] = float64(r.IntN(81)-40) / 10
		}
		if k := i / 20; i%20 == k%20 && k < rare {
			flag[i] = 1
			row := []float64{}
			for j := range manyNumbers {
				row = append(row, d.Values[j][i])
			}
			wanted = append(wanted, append(row, d.Targets[i]))
		}
	}
	d.Names, d.Values = append(d.Names, "flag"), append(d.Values, flag)
	return d, wanted
}

// eigenOf returns the eigenvalues of a symmetric matrix by its upper triangle, in ascending order, and its
// eigenvectors by columns; nil where the algorithm does not converge.
func eigenOf(a []float64, p int) (values []float64, vectors *mat.Dense) {
	g := mat.NewSymDense(p, nil)
	for i := range p {
		for j := i; j < p; j++ {
			g.SetSym(i, j, a[i*p+j])
		}
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(g, true) {
		return nil, nil
	}
	vectors = new(mat.Dense)
	eigen.VectorsTo(vectors)
	return eigen.Values(nil), vectors
}

// targetsOf returns the targets of rows whose columns, p for each row, and X'y are known; nil where these do

// wholeRows returns rows of whole numbers whose products are g, p x p, if these are fewer than p: the
// shortest vectors of the lattice of whole numbers off the null space, in the metric where these rows are
// orthonormal.
func wholeRows(g []float64, p int) (list [][]float64) {
	values, vectors := eigenOf(g, p)
	if values == nil {
		return nil
	}
	null := 0
	for null < p && values[null] < 1e-9*values[p-1] {
		null++
	}
	const small = 1e-5 // weight of the numbers themselves
	basis := make([][]float64, p)
	for i := range basis {
		basis[i] = make([]float64, 2*p)
		basis[i][i] = small
	}
	for digit := 0; digit <= 30; digit += 6 {
		for _, row := range basis {
			for k := range p {
				sum := 0.0
				for i := range p {
					sum += math.Round(row[i]/small) * vectors.At(i, k)
				}
				if k < null {
					row[p+k] = math.Ldexp(sum, digit)
				} else {
					row[p+k] = sum / math.Sqrt(values[k])
				}
			}
		}
		newLattice(basis).reduce()
	}
	for _, row := range basis {
		if length := floats.Norm(row[p:], 2); math.Abs(length-1) < .01 {
			v := make([]float64, p)
			for i := range v {
				v[i] = math.Round(row[i] / small)
			}
			list = append(list, v)
		}
	}
	return list
}

// bySum replaces the flag: the last number is the sum of the first two in all other rows, and differs from it
// by 1 in rows with the flag.
func bySum(d *Data) {
	last := manyNumbers - 1
	for i, flag := range d.Values[manyNumbers] {
		d.Values[last][i] = math.Round(10*(d.Values[0][i]+d.Values[1][i]+flag)) / 10
	}
	d.Names, d.Values = d.Names[:manyNumbers], d.Values[:manyNumbers]
}

// plainSteered counts the rows with the flag that a center reads, with all numbers and the target, by a
// direction of the form without curves that is the flag, or the sum of columns that stands for it.
func plainSteered(t *testing.T, rare int, sum bool, o Options) (right, asked int) {
	rank, times := 1, 0
	o.Rank, o.CommonNoise = &rank, true
	victim, wanted := manyColumns(91, 40, rare)
	own, _ := manyColumns(92, 10, 3)
	weights := map[string]float64{"flag": 1}
	if sum {
		bySum(victim)
		bySum(own)
		last := manyNumbers - 1
		weights = map[string]float64{"x0": -1, "x1": -1, fmt.Sprint("x", last): 1}
		for i := range wanted {
			wanted[i][last] = math.Round(10*(wanted[i][0]+wanted[i][1]+1)) / 10
		}
	}
	var from [2]int
	l := &steerer{}
	l.lie = func(f *fitter, name string, v []float64) {
		if f.plain == nil || times == len(from) {
			return
		}
		w := f.plain.steersTo(name, v)
		if w == nil {
			return
		}
		for name, weight := range weights {
			if j := slices.Index(f.rows.schema.Features(), name); times == 1 {
				w[0] += weight * f.plain.design.Center[j]
				w[1+j] = weight * f.plain.design.Scale[j]
			}
		}
		from[times] = len(l.heard) + 1
		times++
	}
	_, err := l.trainBeside(t, Input{Table: victim}, Input{Table: own}, o)
	check.FailIf(t, times < len(from), "nothing was steered: %v", err)
	s := l.fit.plain
	p := s.p
	total := l.heard[from[0]+1].others()
	floats.Sub(total, l.heard[from[1]+1].others())
	floats.Scale(2, total) // of a row alone in its task, 1 - 1/(1 + 1) is left
	g := make([]float64, p*p)
	dense.Unpack(g, p, total)
	dense.Mirror(p, g)
	// In tenths: 1 and the numbers. z = (x - center)/scale.
	d, features := s.design, l.fit.rows.schema.Features()
	var places []int
	for j := range manyNumbers {
		places = append(places, slices.Index(features, fmt.Sprint("x", j)))
	}
	raw := func(i int, a func(k int) float64) float64 { // a column as it is, times another one
		if i == 0 {
			return a(0)
		}
		j := places[i-1]
		return 10 * (d.Center[j]*a(0) + d.Scale[j]*a(1+j))
	}
	q := 1 + len(places)
	products, targets := make([]float64, q*q), make([]float64, q)
	for i := range q {
		for k := range q {
			products[i*q+k] = raw(i, func(a int) float64 { return raw(k, func(b int) float64 { return g[a*p+b] }) })
		}
		targets[i] = raw(i, func(a int) float64 { return total[dense.Triangle(p):][a] })
	}
	rows := wholeRows(products, q)
	if len(rows) == 0 || len(rows) > q {
		return 0, len(wanted)
	}
	var y mat.VecDense
	if y.SolveVec(mat.NewDense(len(rows), q, slices.Concat(rows...)).T(), mat.NewVecDense(q, targets)) != nil {
		return 0, len(wanted)
	}
	for _, want := range wanted {
		for k, row := range rows {
			same := math.Abs(l.fit.rows.target.Restore(row[0]*y.AtVec(k))-want[manyNumbers]) < .05
			for j, v := range row[1:] {
				same = same && math.Abs(row[0]*v/10-want[j]) < .05
			}
			if same {
				right++
			}
		}
	}
	return right, len(wanted)
}

// Strengths that a member chooses for the form without curves, which comes first, show the rows of a flag
// that fewer rows than columns have. A column has no deviations then, with curves and without.
func TestPlainSteered(t *testing.T) {
	for _, rare := range []int{2, 5, 12} {
		for name, c := range map[string]struct {
			o     Options
			reads bool
		}{"without rules": {open, true}, "default rules": {Options{}, false}, "strict rules": {strictly, false},
			"no curves": {Options{NoCurves: true}, false}} {
			right, asked := plainSteered(t, rare, false, c.o)
			t.Logf("%s: %d of %d rows are read", name, right, asked)
			wrong := c.reads != (right == asked) || !c.reads && right > 0
			check.FailIf(t, wrong, "%s: %d of %d rows are read", name, right, asked)
		}
	}
}

// A sum of columns that differs from another column in few rows is a direction, too, as a flag of these rows
// is. One column of the sum has no deviations then.
func TestSumSteered(t *testing.T) {
	for name, c := range map[string]struct {
		o     Options
		reads bool
	}{
		"without rules": {open, true}, "default rules": {Options{}, false},
		"no curves": {Options{NoCurves: true}, false}, "strict rules": {strictly, false},
	} {
		for _, rare := range []int{5, 12} {
			right, asked := plainSteered(t, rare, true, c.o)
			t.Logf("%s: %d of %d rows are read", name, right, asked)
			wrong := c.reads != (right == asked) || !c.reads && right > 0
			check.FailIf(t, wrong, "%s: %d of %d rows are read", name, right, asked)
		}
	}
}
