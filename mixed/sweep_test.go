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

// readByDifferences counts the rows by which totals of X'X of the same columns differ: with curves and
// without, and for other strengths.
func readByDifferences(f *fitter, heard []heardTotal) (rows int) {
	linear := f.plain.linear
	var first []float64
	for _, h := range totalsOf(heard, "X'X") {
		others := h.others()
		p := 1
		for dense.Triangle(p)+3*p+3 < len(others) {
			p++
		}
		full := make([]float64, p*p)
		dense.Unpack(full, p, others)
		var block []float64
		for i := range linear {
			block = append(block, full[i*p+i:][:linear-i]...)
		}
		if first == nil {
			first = block
		}
		if floats.Distance(first, block, math.Inf(1)) > 1e-6*(1+first[0]) {
			rows++
		}
	}
	return rows
}

// A listener reads no complete row of others under the default rules: two, three and five owners, tables
// from the smallest that takes part to 1,000 rows, of one task and of several.
func TestListeningSweep(t *testing.T) {
	sizes := []int{24, 60, 200}
	if longtest.Enabled() {
		sizes = []int{9, 12, 16, 20, 24, 27, 30, 36, 45, 60, 80, 100, 150, 200, 300, 400, 600, 1000}
	}
	read := map[string]int{}
	trained := map[int]bool{}
	for _, owners := range []int{2, 3, 5} {
		for _, n := range sizes {
			for _, tasks := range []int{1, 3} {
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
					read[name+", differences"] += readByDifferences(f, heard)
					if r == nil {
						continue
					}
					read[name+", null space"] += r.readFromNullSpace(victims)
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
	}
	check.FailIf(t, read["without rules, lattice"] == 0 ||
		len(trained) < 3, "no attack reads rows without rules: %v, or no owners train: %v", read, trained)
}
