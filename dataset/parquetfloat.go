package dataset

import (
	"math"

	"github.com/parquet-go/parquet-go"
)

// A floatPage is a page of a feature of float64 or float32, as the arrays that it
// consists of: going through them takes a fraction of the time that values take which
// say what they are.
type floatPage struct {
	page    parquet.Page // whose memory the others are
	doubles []float64    // values, without those that are missing, or of the dictionary
	floats  []float32    // the same, if they are float32
	index   []int32      // in the dictionary, of every value that is not missing
	coded   bool         // there is a dictionary
	levels  []byte       // of every row, 0 if its value is missing; nil if none can be
	rows    int
	row     int // next
	value   int // next
}

func newFloatPage(page parquet.Page, double bool) *floatPage {
	p := &floatPage{page: page, levels: page.DefinitionLevels(), rows: int(page.NumValues())}
	data := page.Data()
	if dictionary := page.Dictionary(); dictionary != nil {
		p.index, p.coded = data.Int32(), true
		data = dictionary.Page().Data()
	}
	if double {
		p.doubles = data.Double()
	} else {
		p.floats = data.Float()
	}
	return p
}

// next returns the value of the next row, NaN if it is missing.
func (p *floatPage) next() float64 {
	row := p.row
	p.row++
	if p.levels != nil && p.levels[row] == 0 {
		return math.NaN()
	}
	at := p.value
	p.value++
	if p.coded {
		at = int(p.index[at])
	}
	if p.doubles != nil {
		return p.doubles[at]
	}
	return float64(p.floats[at])
}

// readFloats stores the next n values of a column of floats in the rows of a batch,
// the first of which has the given number.
func (r *reader) readFloats(b *batch, c *parquetColumn, n, row int) error {
	for i := 0; i < n; {
		if c.floats == nil || c.floats.row == c.floats.rows {
			if c.floats != nil {
				parquet.Release(c.floats.page)
			}
			page, err := c.nextPage(row + i)
			if err != nil {
				return err
			}
			c.floats = newFloatPage(page, c.double)
		}
		p := c.floats
		for end := min(n, i+p.rows-p.row); i < end; i++ {
			v := p.next()
			// The common case, before what store has to tell apart.
			if fits(v) {
				b.x[i*b.width+c.role.at] = v
				continue
			}
			if err := r.store(b, i, c.at, v); err != nil {
				return err
			}
		}
	}
	return nil
}
