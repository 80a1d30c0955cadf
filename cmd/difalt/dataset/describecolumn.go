package dataset

import (
	"cmp"
	"hash/maphash"
	"maps"
	"math"
	"slices"
	"strings"
)

// Bounds of what is kept of a column: distinct values, texts with their rows, and the
// rows of a random sample.
const (
	maxDistinct = 100_000
	maxTexts    = 1_000
	sampleRows  = 2_000
)

var columnSeed = maphash.MakeSeed()

// columnStats is what a column holds, as far as it has been read.
type columnStats struct {
	name                    string
	missing, numbers, texts int // cells
	unreadable              bool
	dated                   bool // its numbers were dates
	dates                   int  // of its texts
	signed                  int  // texts that are numbers with a sign of currency, or of percent
	moments
	values
	levels    map[string]*int
	sample    []float64 // NaN for what is no number
	firstText example
}

// moments are those of the numbers of a column.
type moments struct {
	fractions     bool // not all are whole
	min, max      float64
	mean, squares float64 // squares is the sum of (v - mean)^2
}

// values tell the contents of columns apart.
type values struct {
	distinct map[uint64]struct{} // hashes
	more     bool                // there are more of these than are kept
	hash     uint64              // of all in their order
}

func (c *columnStats) put(v float64, slot int) {
	switch {
	case slot < 0:
	case slot < len(c.sample):
		c.sample[slot] = v
	default:
		c.sample = append(c.sample, v)
	}
}

// add counts a value among the distinct ones, and in the hash of the column.
func (c *values) add(h uint64) {
	c.hash = c.hash*0x9e3779b97f4a7c15 + h
	if c.more {
		return
	}
	if c.distinct[h] = struct{}{}; len(c.distinct) > maxDistinct {
		delete(c.distinct, h)
		c.more = true
	}
}

func (c *columnStats) addMissing(slot int) {
	c.missing++
	c.hash = c.hash*0x9e3779b97f4a7c15 + 1
	c.put(math.NaN(), slot)
}

func (c *columnStats) addNumber(v float64, slot int) {
	c.numbers++
	c.put(v, slot)
	c.values.add(maphash.Comparable(columnSeed, v))
	c.fractions = c.fractions || v != math.Trunc(v) || math.Abs(v) >= 1e20 // no integer of any file
	c.min, c.max = min(c.min, v), max(c.max, v)
	delta := v - c.mean
	c.mean += delta / float64(c.numbers)
	c.squares += delta * (v - c.mean)
}

func (c *columnStats) addText(cell string, slot, line int) {
	if c.texts == 0 {
		c.firstText = example{line, c.name, strings.Clone(clip(cell))}
	}
	c.texts++
	c.put(math.NaN(), slot)
	c.values.add(maphash.String(columnSeed, cell))
	if _, ok := splitDate(cell); ok {
		c.dates++
	}
	if signOf(cell) != "" {
		c.signed++
	}
	count(c.levels, clip(cell), maxTexts)
}

// kind returns the type of the column in a word.
func (c *columnStats) kind() string {
	switch {
	case c.unreadable:
		return "other"
	case c.numbers == 0 && c.texts == 0:
		return "empty"
	case c.numbers > 0 && c.texts > 0:
		return "mixed"
	case c.texts > 0:
		return "text"
	case c.dated:
		return "date"
	case c.fractions:
		return "number"
	}
	return "integer"
}

func (c *columnStats) numeric() bool { return c.numbers > 0 && c.texts == 0 }

func (c *columnStats) sd() float64 {
	return math.Sqrt(max(c.squares, 0) / float64(max(c.numbers-1, 1)))
}

const shownLevels = 5

func (c *columnStats) description() ColumnDescription {
	d := ColumnDescription{Name: c.name, Type: c.kind(), Missing: c.missing, Distinct: len(c.distinct), AtLeast: c.more}
	if c.numbers > 0 && finite(c.mean) && finite(c.sd()) {
		sd := c.sd()
		d.Min, d.Max, d.Mean, d.SD = &c.min, &c.max, &c.mean, &sd
	} else if c.numbers > 0 {
		d.Min, d.Max = &c.min, &c.max
	}
	names := slices.SortedFunc(maps.Keys(c.levels), func(a, b string) int {
		return cmp.Or(cmp.Compare(*c.levels[b], *c.levels[a]), cmp.Compare(a, b))
	})
	for _, name := range names[:min(len(names), shownLevels)] {
		d.Levels = append(d.Levels, Level{name, *c.levels[name]})
	}
	return d
}
