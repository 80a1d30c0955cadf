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
	sample             []float64 // sorted
	name               string
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

// profiles returns a profile for every column, nil where it has no numbers. The last profile is of the
// target, nil without one.
func (t *Table) profiles() []*profile {
	list := make([]*profile, len(t.schema.Columns)+1)
	step := (t.Rows() + sampled - 1) / sampled
	size := (t.Rows() + max(step, 1) - 1) / max(step, 1) // of a sample
	for j, name := range t.schema.Columns {
		if t.widths == nil || t.widths[j] == 0 {
			list[j] = newProfile(name, size)
		}
	}
	target := newProfile("", size)
	if t.HasTarget() {
		list[len(list)-1] = target
	}
	for i := range t.Rows() {
		row := t.x.row(i)
		for j, v := range row {
			if p := list[j]; p != nil {
				p.add(v, i)
				if i%step == 0 && !math.IsNaN(v) {
					p.sample = append(p.sample, v)
				}
			}
		}
		if t.HasTarget() {
			target.add(t.Y(i), i)
			if i%step == 0 {
				target.sample = append(target.sample, t.Y(i))
			}
		}
	}
	for _, p := range list {
		if p != nil {
			slices.Sort(p.sample)
		}
	}
	return list
}

// newProfile returns the profile of no rows, with memory for a sample of that size.
func newProfile(name string, size int) *profile {
	inf := math.Inf(1)
	return &profile{least: inf, second: inf, most: -inf, secondLast: -inf, whole: true, name: name,
		sample: make([]float64, 0, size)}
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
