package mixed

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/difalt/difalt/internal/check"
	"github.com/difalt/difalt/internal/dense"
	"gonum.org/v1/gonum/mat"
)

// dosed returns ages with a column of five doses in place of the flag: so many rows have the third dose.
func dosed(seed uint64, name string, third int, rows ...int) *Data {
	d := ages(seed, name, rows...)
	d.Names[1] = "dose"
	for i := range d.Values[1] {
		d.Values[1][i] = []float64{0, 1, 4, 9}[i%4]
	}
	for k := range third {
		d.Values[1][(7+k*97)%d.Rows()] = 2
	}
	return d
}

// agesOfValue returns how many rows of others have each age and a value of another column, whose curve has a
// knot at each of its values: its columns are combined so that they are 1 at that value and 0 at the others.
// Where another column is named, its line is subtracted. Sums of functions of the curve of ages have so many
// binary digits; nil where none is found.
func agesOfValue(f *fitter, products []float64, column string, values []float64, which int, less string,
	digits int) []float64 {
	features, d, p := f.rows.schema.Features(), f.curved.design, f.curved.p
	age, other := slices.Index(features, "age"), slices.Index(features, column)
	var own []int // columns that are functions of the other column
	for j, c := range d.Columns() {
		if j == 0 || c.Feature == other {
			own = append(own, j)
		}
	}
	x, row := make([]float64, len(features)), make([]float64, p)
	at := mat.NewDense(len(values), len(own), nil)
	for i, v := range values {
		x[other] = v
		d.Apply(row, x)
		for k, j := range own {
			at.Set(i, k, row[j])
		}
	}
	one := mat.NewVecDense(len(values), nil)
	one.SetVec(which, 1)
	var weights mat.VecDense
	if weights.SolveVec(at, one) != nil {
		return nil
	}
	functions, sums := make([][]float64, int(oldest-youngest)+1), []float64(nil)
	for j, c := range d.Columns() {
		if j > 0 && c.Feature != age {
			continue
		}
		factor, sum := 1.0, 0.0
		if c.Kind == CurveColumn {
			factor = math.Ldexp(1, digits-exactDigits)
		}
		for k, i := range own {
			sum += weights.AtVec(k) * products[i*p+j]
		}
		if k := slices.Index(features, less); k >= 0 {
			sum -= d.Scale[k]*products[(1+k)*p+j] + d.Center[k]*products[j]
		}
		sums = append(sums, factor*sum)
		for k := range functions {
			x[age] = youngest + float64(k)
			d.Apply(row, x)
			functions[k] = append(functions[k], factor*row[j])
		}
	}
	return smallIntegers(functions, sums, make([]float64, len(functions)), exactDigits)
}

// A column of few values has a curve with a knot at each, so that the rows with a value are like those of a
// level; with -short, of one number of rows.
func TestAgesOfAValue(t *testing.T) {
	for _, third := range []int{9, 13, 20} {
		if testing.Short() && third != 13 {
			continue
		}
		for rules, o := range map[bool]Options{false: open, true: {}} {
			victim, own := dosed(111, "v", third, 2200), dosed(112, "a", 40, 400)
			f, heard := listen(t, victim, own, o)
			check.FailIf(t, f.curved == nil, "rules %v: no curves", rules)
			products := curvedProducts(f, heard)
			truth := make([]float64, int(oldest-youngest)+1)
			for i, v := range victim.Values[0] {
				if victim.Values[1][i] == 2 {
					truth[int(v-youngest)]++
				}
			}
			var read []string
			for _, digits := range []int{5, 7, 9, 10, 11, 12, 13, 14, 16, 20, 26, 30, exactDigits} {
				found := agesOfValue(f, products, "dose", []float64{0, 1, 2, 4, 9}, 2, "", digits)
				if slices.Equal(found, truth) {
					read = append(read, fmt.Sprint(digits))
				}
			}
			t.Logf("%d rows, rules %v: read with %v digits", third, rules, read)
			check.FailIf(t, rules == (len(read) > 0), "%d rows, rules %v: their ages are read: %v", third, rules, read)
		}
	}
}

// A flag that is 1 in the rows with a value of another column, but for a few rows, shows the ages of these
// rows by the difference of its line and that of the combination which is 1 at the value.
func TestFlagBesideAValue(t *testing.T) {
	const apart = 13
	for rules, o := range map[bool]Options{false: open, true: {}} {
		victim, own := dosed(113, "v", 500, 1500), dosed(114, "a", 100, 400)
		truth := make([]float64, int(oldest-youngest)+1)
		for who, d := range []*Data{victim, own} {
			flag, left := make([]float64, d.Rows()), apart
			for i, dose := range d.Values[1] {
				if dose == 2 {
					flag[i] = 1
				}
				if dose == 2 && i%3 == 0 && left > 0 {
					flag[i] = 0
					left--
					if who == 0 {
						truth[int(d.Values[0][i]-youngest)]++
					}
				}
			}
			d.Names, d.Values = append(d.Names, "flag"), append(d.Values, flag)
		}
		f, heard := listen(t, victim, own, o)
		check.FailIf(t, f.curved == nil, "rules %v: no curves", rules)
		products := make([]float64, f.curved.p*f.curved.p)
		dense.Unpack(products, f.curved.p, totalsOf(heard, "X'X")[1].others())
		dense.Mirror(f.curved.p, products)
		read := false
		for _, digits := range []int{5, 7, 9, 10, 11, 12, 13, 14, 16, 20, 26, 30, exactDigits} {
			found := agesOfValue(f, products, "dose", []float64{0, 1, 2, 4, 9}, 2, "flag", digits)
			read = read || slices.Equal(found, truth)
		}
		check.FailIf(t, read == rules, "rules %v: the ages of %d rows are read: %v", rules, apart, read)
	}
}

// curvedProducts returns X'X of the rows of others, with the columns of curves.
func curvedProducts(f *fitter, heard []heardTotal) []float64 {
	p := f.curved.p
	products := make([]float64, p*p)
	dense.Unpack(products, p, totalsOf(heard, "X'X")[1].others())
	dense.Mirror(p, products)
	return products
}
