package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/difalt/difalt/cmd/difalt/internal/text"
	"github.com/difalt/difalt/mixed"
)

// A farCounter counts numbers of a table that are far from the training rows of a model, column by
// column: numbers in another unit, in another notation, or marks of missing values.
type farCounter struct {
	columns []farColumn // features
	target  *farColumn
}

// A farColumn counts the numbers of a column.
type farColumn struct {
	name          string
	feature       int
	center, scale float64 // mean and standard deviation of the training rows
	isDate        bool    // of days since 1970-01-01
	isLog         bool    // center and scale are those of the logarithm
	rows          int
	first         string // value and place of the first one
}

// farDeviations is the least distance of a number that is far from the mean of the training rows, in
// standard deviations.
const farDeviations = 20

// newFarCounter returns a counter without rows, for the features of a model that are numbers. Features that
// were constant in training have no effect.
func newFarCounter(m *mixed.Model) *farCounter {
	p := m.Parameters()
	c := &farCounter{target: &farColumn{name: p.Target.Column, center: p.Target.Center, scale: p.Target.Scale,
		isLog: p.Target.Log}}
	levels := map[string]int{}
	for _, category := range p.Schema.Categories {
		levels[category.Column] = len(category.Levels)
	}
	feature := 0
	for _, name := range p.Schema.Columns {
		if n, isCategory := levels[name]; isCategory {
			feature += n
			continue
		}
		if scale := p.Design.Scale[feature]; scale > 0 {
			column := farColumn{name: name, feature: feature, center: p.Design.Center[feature], scale: scale,
				isDate: slices.Contains(p.Schema.Dates, name)}
			c.columns = append(c.columns, column)
		}
		feature++
	}
	return c
}

// add counts the features x of a row.
func (c *farCounter) add(x []float64, place func() string) {
	for k := range c.columns {
		c.columns[k].add(x[c.columns[k].feature], place)
	}
}

// add counts a number. Marks 0 and 1 are never far, however rare a mark was in training.
func (c *farColumn) add(v float64, place func() string) {
	number := v
	if c.isLog {
		number = math.Log(v)
	}
	if !(math.Abs(number-c.center) > farDeviations*c.scale) || v == 0 || v == 1 {
		return
	}
	if c.rows++; c.rows == 1 {
		shown := text.Plain(v)
		if c.isDate {
			shown = text.Date(v)
		}
		c.first = fmt.Sprintf("%s (%s)", shown, place())
	}
}

// sentences returns a sentence for every column with such numbers.
func (c *farCounter) sentences() (list []string) {
	for _, column := range append(slices.Clone(c.columns), *c.target) {
		if column.rows == 0 {
			continue
		}
		const format = `%s of "%s" %s far from those of the training rows, whose mean is %s with a standard ` +
			"deviation of %s%s. The first is %s: is it in the same unit and notation?"
		is, unit := "are", ""
		if column.rows == 1 {
			is = "is"
		}
		switch {
		case column.isDate:
			unit = " days"
		case column.isLog:
			unit = " (both of the logarithm)"
		}
		list = append(list, fmt.Sprintf(format, text.Plural(column.rows, "value"), text.Visible(column.name), is,
			column.mean(), text.Short(column.scale), unit, column.first))
	}
	return list
}

// mean returns the mean of the training rows, a date or the digits that its standard deviation leaves.
func (c *farColumn) mean() string {
	if c.isDate {
		return text.Date(c.center)
	}
	decimals := 1 - int(math.Floor(math.Log10(c.scale)))
	if decimals < 0 || decimals > 9 {
		return strconv.FormatFloat(c.center, 'g', 4, 64)
	}
	return strconv.FormatFloat(c.center, 'f', decimals, 64)
}
