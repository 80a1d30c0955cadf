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
type farCounter struct{ columns []farColumn }

// A farColumn counts the numbers of a column.
type farColumn struct {
	name          string
	feature       int
	center, scale float64 // mean and standard deviation of the training rows
	isDate        bool    // of days since 1970-01-01
	rows          int
	first         string // value and place of the first one
}

// farDeviations is the least distance of a number that is far from the mean of the training rows, in
// standard deviations.
const farDeviations = 20

// newFarCounter returns a counter without rows, for the features of a model that are numbers. Features that
// were constant in training have no effect.
func newFarCounter(m *mixed.Model) *farCounter {
	p, c := m.Parameters(), new(farCounter)
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

// add counts the features x of a row. Marks 0 and 1 are never far, however rare a mark was in training.
func (c *farCounter) add(x []float64, place func() string) {
	for k := range c.columns {
		column := &c.columns[k]
		v := x[column.feature]
		if !(math.Abs(v-column.center) > farDeviations*column.scale) || v == 0 || v == 1 {
			continue
		}
		if column.rows++; column.rows == 1 {
			shown := text.Plain(v)
			if column.isDate {
				shown = text.Date(v)
			}
			column.first = fmt.Sprintf("%s (%s)", shown, place())
		}
	}
}

// sentences returns a sentence for every column with such numbers.
func (c *farCounter) sentences() (list []string) {
	for i := range c.columns {
		column := &c.columns[i]
		if column.rows == 0 {
			continue
		}
		const format = `%s of "%s" %s far from those of the training rows, whose mean is %s with a standard ` +
			"deviation of %s%s. The first is %s: is it in the same unit and notation?"
		is, unit := "are", ""
		if column.rows == 1 {
			is = "is"
		}
		if column.isDate {
			unit = " days"
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
