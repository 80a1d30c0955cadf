package dataset

import (
	"fmt"
	"math"
	"slices"
)

// A profile describes the values of a column of numbers. Places are rows of the table.
type profile struct {
	rows               int // with a value
	least, most        float64
	leastRow, mostRow  int
	atLeast, atMost    int     // rows with these values
	second, secondLast float64 // the least but one, and the greatest but one
	whole              bool
	sample             sampleOfColumn
	name               string
}

// A sampleOfColumn describes a sample of the values of a column of numbers.
type sampleOfColumn struct {
	size, distinct int     // values, and different ones among them
	median, span   float64 // the span is that of the middle 98 %; 0 in a sample of few values
}

// of describes a sample, which it sorts.
func (s *sampleOfColumn) of(values []float64) {
	slices.Sort(values)
	n := len(values)
	s.size = n
	for i, v := range values {
		if i == 0 || v != values[i-1] {
			s.distinct++
		}
	}
	if n > fewRows {
		trim := max(n/50, 1)
		s.median, s.span = values[n/2], values[n-1-trim]-values[trim]
	}
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

// differsLittle reports whether the values differ, but so little that a training loses the differences to
// rounding.
func (p *profile) differsLittle() bool {
	return p.least < p.most && p.most-p.least <= leastSpan*max(math.Abs(p.least), math.Abs(p.most))
}

// Quantiles are estimated from a sample of this size.
const sampled = 2000

// profiledAtOnce is the number of columns whose samples are in memory together.
const profiledAtOnce = 64

// profiles returns a profile for every column, nil where it has no numbers. The last profile is of the
// target, nil without one.
func (t *Table) profiles() []*profile {
	columns := len(t.schema.Columns)
	list := make([]*profile, columns+1)
	for j, name := range t.schema.Columns {
		if t.widths == nil || t.widths[j] == 0 {
			list[j] = newProfile(name)
		}
	}
	var samples [profiledAtOnce][]float64
	for from := 0; from < columns; from += profiledAtOnce {
		t.profile(list[from:min(from+profiledAtOnce, columns)], samples[:], func(i int) []float64 {
			return t.x.row(i)[from:]
		})
	}
	if t.HasTarget() {
		list[columns] = newProfile("")
		t.profile(list[columns:], samples[:], t.y.row)
	}
	return list
}

// profile adds all rows to some profiles; values returns those of a row, in their order. The samples are
// memory for one profile each.
func (t *Table) profile(list []*profile, samples [][]float64, values func(row int) []float64) {
	step := max((t.Rows()+sampled-1)/sampled, 1)
	for j := range list {
		samples[j] = samples[j][:0]
	}
	for i := range t.Rows() {
		row := values(i)
		for j, p := range list {
			if p == nil {
				continue
			}
			v := row[j]
			p.add(v, i)
			if i%step == 0 && !math.IsNaN(v) {
				samples[j] = append(samples[j], v)
			}
		}
	}
	for j, p := range list {
		if p != nil {
			p.sample.of(samples[j])
		}
	}
}

// newProfile returns the profile of no rows.
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
	r.remarkEmpty(profiles, say)
	r.remarkTarget(profiles[len(profiles)-1], say)
	r.remarkTasks(say)
	r.remarkLevels(say)
	t.remarks = append(t.remarks, AlikeLevels(&t.schema)...)
	repeated := r.remarkRepeats(profiles, say)
	r.remarkOrder(profiles, repeated, say)
	r.remarkRows(profiles, say)
}
