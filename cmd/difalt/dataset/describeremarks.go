package dataset

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/difalt/difalt/cmd/difalt/internal/text"
	"gonum.org/v1/gonum/floats"
)

func (d *describer) description() (*Description, error) {
	if d.rows == 0 {
		return nil, errors.New("the table has zero rows")
	}
	out := &Description{Rows: d.rows, Assumed: d.assumed}
	for _, c := range d.columns {
		out.Columns = append(out.Columns, c.description())
	}
	if d.tasks != nil {
		out.Tasks = d.describeTasks()
	}
	if d.ragged > 0 {
		d.remark("%s: %d cells were expected (first: %s).", text.Plural(d.ragged, "row")+" of another length", len(d.columns), d.first)
	}
	for col, c := range d.columns {
		if col == d.task {
			continue
		}
		d.remarkColumn(c)
		switch kind := c.kind(); {
		case c.name == d.o.Target:
		case kind == "text" && !d.isDifferent(c):
			out.Categorical = append(out.Categorical, c.name)
		case kind == "text" || kind == "empty" || kind == "other":
			out.Drop = append(out.Drop, c.name)
		}
	}
	d.remarkDuplicates()
	d.remarkCombinations()
	out.Remarks = d.remarks
	return out, nil
}

func (d *describer) describeTasks() *TaskDescription {
	var rows []int
	few := 0
	for _, n := range d.tasks {
		rows = append(rows, *n)
		if *n < 3 {
			few++
		}
	}
	slices.Sort(rows)
	if n := d.tasks[""]; n != nil {
		d.remark("%s without a task.", text.Plural(*n, "row"))
	}
	if few > 0 {
		d.remark("%s of %d with fewer than 3 rows.", text.Plural(few, "task"), len(rows))
	}
	if len(rows) == 1 {
		d.remark("There is a single task: what tasks share cannot be learned from it.")
	}
	if len(rows) == d.rows && d.rows > 1 {
		d.remark("Every row is a task of its own: is %q the column of tasks?", clip(d.o.Task))
	}
	return &TaskDescription{Column: d.o.Task, Tasks: len(rows), Min: rows[0], Median: rows[len(rows)/2], Max: rows[len(rows)-1]}
}

// Limits of what is suspicious.
const (
	roundingRange = 64 * 0x1p-52 // largest range of rounding, relative to the values
	offsetSpread  = 1e-6         // standard deviation relative to the mean
	idRows        = 20           // from so many rows on, all distinct is no chance
)

// remarkColumn says what is suspicious about a column.
func (d *describer) remarkColumn(c *columnStats) {
	name := clip(c.name)
	most := max(math.Abs(c.min), math.Abs(c.max))
	all := d.isDifferent(c)
	target := c.name == d.o.Target
	switch kind := c.kind(); {
	case kind == "other": // said already
	case kind == "empty":
		d.remark("%q is empty.", name)
	case kind == "text" && c.dates > 0:
		d.remark("%q holds text, with what looks like a date in %s (such as %q).", name, text.Plural(c.dates, "cell"), c.firstText.text)
	case (kind == "text" || kind == "mixed") && c.signed == c.texts:
		d.remark("%q holds numbers with the sign %q: take it out of the column.", name, signOf(c.firstText.text))
	case kind == "mixed":
		d.remark("%q mixes %s with %s that are not (first: line %d, %q).", name, text.Plural(c.numbers, "number"), text.Plural(c.texts, "cell"), c.firstText.line, c.firstText.text)
	case kind == "text" && target:
		d.remark("The target %q is text (such as %q).", name, c.firstText.text)
	case kind == "text" && all:
		d.remark("%q is text that is different in every row: an identifier or a comment, no feature.", name)
	case kind == "text":
	case c.min == c.max && d.rows > 1:
		d.remark("%q is constant (%s).", name, digitsOf(c.min))
	case c.max-c.min <= roundingRange*most:
		d.remark("%q is constant but for rounding (%s to %s).", name, digitsOf(c.min), digitsOf(c.max))
	case c.sd() <= offsetSpread*math.Abs(c.mean):
		d.remark("%q varies by %.2g around %.6g: subtract an offset, or digits are lost.", name, c.sd(), c.mean)
	case kind == "integer" && all && !c.more && !target:
		d.remark("%q is a different whole number in every row: an identifier?", name)
	case most >= 1e100:
		d.remark("%q has values up to %.3g: their squares may overflow.", name, most)
	}
}

// isDifferent reports whether a column is different in every row, as far as is known.
func (d *describer) isDifferent(c *columnStats) bool {
	return c.more || len(c.distinct) == c.numbers+c.texts && c.missing == 0 && d.rows >= idRows
}

// digitsOf prints a number with all its digits.
func digitsOf(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// remarkDuplicates names columns with the same values in all rows.
func (d *describer) remarkDuplicates() {
	type key struct {
		hash                    uint64
		numbers, texts, missing int
	}
	first := map[key]*columnStats{}
	for _, c := range d.columns {
		k := key{c.hash, c.numbers, c.texts, c.missing}
		if other := first[k]; other != nil && len(c.distinct) > 1 {
			d.remark("%q has the same values as %q.", clip(c.name), clip(other.name))
			continue
		}
		first[k] = c
	}
}

// maxCombined bounds the columns that are compared with one another.
const maxCombined = 400

// remarkCombinations names columns that are exact linear combinations of those before,
// and a constant, in a random sample of rows without missing values. The target comes
// last.
func (d *describer) remarkCombinations() {
	list := slices.DeleteFunc(slices.Clone(d.columns), func(c *columnStats) bool {
		return !c.numeric() || c.min == c.max || 2*c.missing > d.rows || !finite(c.squares)
	})
	if k := slices.IndexFunc(list, func(c *columnStats) bool { return c.name == d.o.Target }); k >= 0 {
		list = append(slices.Delete(slices.Clone(list), k, k+1), list[k])
	}
	if len(list) > maxCombined {
		d.remark("%d columns of numbers are too many to look for combinations of each other.", len(list))
		return
	}
	var complete []int // rows
	for i := range min(d.rows, sampleRows) {
		if !slices.ContainsFunc(list, func(c *columnStats) bool { return math.IsNaN(c.sample[i]) }) {
			complete = append(complete, i)
		}
	}
	if len(list) < 2 || len(complete) < len(list)+5 {
		return
	}
	var basis, parts [][]float64 // orthonormal vectors, and of every member its parts along them
	var members []*columnStats
	duplicate := map[uint64]bool{}
	for _, c := range list {
		v := standardised(c.sample, complete)
		if v == nil {
			continue
		}
		weights := project(v, basis)
		if floats.Norm(v, math.Inf(1)) > 1e-9 {
			norm := floats.Norm(v, 2)
			floats.Scale(1/norm, v)
			basis, parts, members = append(basis, v), append(parts, append(weights, norm)), append(members, c)
			duplicate[c.hash] = true
			continue
		}
		if duplicate[c.hash] {
			continue // said already
		}
		var of []string // members, by their coefficients: those whose sum has the same parts
		for k := len(weights) - 1; k >= 0; k-- {
			w := weights[k] / parts[k][k]
			floats.AddScaled(weights[:k], -w, parts[k][:k])
			if math.Abs(w) > 1e-6 {
				of = append(of, fmt.Sprintf("%q", clip(members[k].name)))
			}
		}
		slices.Reverse(of)
		d.remark("%q is an exact linear combination of %s.", clip(c.name), text.List(of))
	}
}

// standardised returns the values of some rows, centred, with a root mean square of 1; nil if
// they are constant but for rounding.
func standardised(sample []float64, rows []int) []float64 {
	v := make([]float64, len(rows))
	largest := 0.0
	for k, i := range rows {
		v[k] = sample[i]
		largest = max(largest, math.Abs(v[k]))
	}
	if largest == 0 {
		return nil
	}
	floats.Scale(1/largest, v)
	floats.AddConst(-floats.Sum(v)/float64(len(v)), v)
	norm := floats.Norm(v, 2) / math.Sqrt(float64(len(v)))
	if !(norm > 1e-6) { // digits are lost: nothing is exact
		return nil
	}
	floats.Scale(1/norm, v)
	return v
}

// project takes the parts along orthonormal vectors off v, twice so that rounding does
// not stay, and returns them.
func project(v []float64, basis [][]float64) []float64 {
	weights := make([]float64, len(basis))
	for range 2 {
		for k, b := range basis {
			w := floats.Dot(b, v)
			weights[k] += w
			floats.AddScaled(v, -w, b)
		}
	}
	return weights
}
