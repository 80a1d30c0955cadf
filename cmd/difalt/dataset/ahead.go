package dataset

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
)

// textAhead is how many bytes of cells are read before they are parsed.
const textAhead = 1 << 20

// parsedAhead parses records by all processors, while the next ones are read, and hands rows on in their order.
type parsedAhead struct {
	reading, parsing *recordsRead // which change places; nothing is parsed before the first are read
}

// recordsRead are records that follow each other, and then the rows of them up to the first that cannot be parsed.
type recordsRead struct {
	lines []int
	ends  []int // in cells, of every record
	cells []string
	bytes int
	rows  []row
	errs  []error
	done  sync.WaitGroup
}

// take keeps a record, and hands on the rows of those before the last if there are many.
func (a *parsedAhead) take(p *recordParser, rec record, add func(*row) error) error {
	if a.reading == nil {
		a.reading, a.parsing = new(recordsRead), new(recordsRead)
	}
	b := a.reading
	b.cells = append(b.cells, rec.cells...)
	b.lines, b.ends = append(b.lines, rec.line), append(b.ends, len(b.cells))
	for _, c := range rec.cells {
		b.bytes += len(c) + 1
	}
	if b.bytes < textAhead {
		return nil
	}
	return a.turn(p, add)
}

// turn begins to parse what was read, and hands on what was parsed meanwhile.
func (a *parsedAhead) turn(p *recordParser, add func(*row) error) error {
	a.reading.parse(p)
	a.reading, a.parsing = a.parsing, a.reading
	err := a.reading.handOn(add)
	if err != nil {
		a.parsing.done.Wait()
	}
	return err
}

// end parses and hands on all that is left.
func (a *parsedAhead) end(p *recordParser, add func(*row) error) error {
	if a.reading == nil {
		return nil
	}
	if err := a.turn(p, add); err != nil {
		return err
	}
	return a.parsing.handOn(add)
}

// parse begins to parse the records by all processors.
func (b *recordsRead) parse(p *recordParser) {
	n := len(b.lines)
	for len(b.rows) < n {
		b.rows, b.errs = append(b.rows, row{}), append(b.errs, nil)
	}
	const each = 32
	var next atomic.Int64
	for range min(runtime.GOMAXPROCS(0), (n+each-1)/each) {
		b.done.Go(func() {
			for at := int(next.Add(each)) - each; at < n; at = int(next.Add(each)) - each {
				for i := at; i < min(at+each, n); i++ {
					from := 0
					if i > 0 {
						from = b.ends[i-1]
					}
					b.errs[i] = p.row(&b.rows[i], record{b.lines[i], b.cells[from:b.ends[i]]})
				}
			}
		})
	}
}

// handOn hands on the rows, and begins anew.
func (b *recordsRead) handOn(add func(*row) error) error {
	b.done.Wait()
	for i := range b.lines {
		err := b.errs[i]
		if err == nil {
			err = add(&b.rows[i])
		}
		if err != nil {
			return err
		}
	}
	clear(b.cells) // what rows have kept of them is their own
	b.lines, b.ends, b.cells, b.bytes = b.lines[:0], b.ends[:0], b.cells[:0], 0
	return nil
}

// row parses a record.
func (p *recordParser) row(to *row, rec record) error {
	to.begin(p.cols, rec.line)
	roles := p.cols.roles
	for col, cell := range rec.cells[:min(len(rec.cells), len(roles))] {
		if err := p.take(col, cell, to); err != nil {
			return err
		}
	}
	if len(rec.cells) != len(roles) {
		return fmt.Errorf("line %d has %d cells, but there are %d columns", rec.line, len(rec.cells), len(roles))
	}
	return nil
}
