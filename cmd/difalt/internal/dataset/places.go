package dataset

import (
	"fmt"
	"slices"
	"sort"
)

// places are the lines of the rows of a table in its files. A run of rows whose lines follow each other
// has one entry.
type places struct {
	files []string
	runs  []run
}

// A run is rows on consecutive lines.
type run struct {
	row, at int // the first row, and its line or number
	file    int
	unit    string
}

// next adds a row.
func (p *places) next(row int, path, unit string, at int) {
	file := len(p.files) - 1
	if file < 0 || p.files[file] != path {
		p.files = append(p.files, path)
		file++
	}
	if n := len(p.runs); n > 0 {
		if last := &p.runs[n-1]; last.file == file && at-last.at == row-last.row {
			return
		}
	}
	p.runs = append(p.runs, run{row, at, file, unit})
}

// find returns the run of a row.
func (p *places) find(row int) *run {
	return &p.runs[sort.Search(len(p.runs), func(i int) bool { return p.runs[i].row > row })-1]
}

// of returns the place of a row in words.
func (p *places) of(row int) string {
	r := p.find(row)
	words := fmt.Sprintf("%s %d", r.unit, r.at+row-r.row)
	if len(p.files) > 1 {
		words = p.files[r.file] + ", " + words
	}
	return words
}

// starts returns the first row of every file with rows, of a table with that many rows in all, and the end.
func (p *places) starts(rows int) (list []int) {
	file := -1
	for _, r := range p.runs {
		if r.file != file {
			list, file = append(list, r.row), r.file
		}
	}
	return append(slices.Clip(list), rows)
}
