package main

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/internal/dataset"
	"github.com/difalt/difalt/internal/check"
)

// passRows gives rows with numbers from 0 on to a pipeline until one is refused, and returns the numbers that
// came through both stages, and the error.
func passRows(t *testing.T, rows int, first, second func(number int) error) (passed []int, err error) {
	t.Helper()
	check.Limit(t)
	each := func(work func(int) error, also func(*batchRow)) func(*batch) error {
		return func(b *batch) error {
			for i := range b.rows {
				if err := work(int(b.rows[i].features[0])); err != nil {
					return err
				}
				also(&b.rows[i])
			}
			return nil
		}
	}
	p := newPipeline(each(first, func(row *batchRow) { row.p.Value = row.features[1] }),
		each(second, func(row *batchRow) {
			if n := int(row.features[0]); row.p.Value != float64(2*n) || row.task != strconv.Itoa(n) ||
				row.kept[0] != "kept "+row.task {
				t.Errorf("row %d is %+v", n, row)
			}
			passed = append(passed, int(row.features[0]))
		}))
	row := dataset.Row{Features: make([]float64, 2), Kept: make([]string, 1)}
	for n := range rows {
		row.Task = strconv.Itoa(n)
		row.Features[0], row.Features[1], row.Kept[0] = float64(n), float64(2*n), "kept "+row.Task
		if p.add(&row) != nil {
			break
		}
	}
	return passed, p.close()
}

// Rows come through a pipeline in order, for any number of rows, with their own values.
func TestPipelineKeepsOrder(t *testing.T) {
	none := func(int) error { return nil }
	for _, rows := range []int{0, 1, batchRows - 1, batchRows, batchRows + 1, 7*batchRows + 3} {
		passed, err := passRows(t, rows, none, none)
		if err != nil || len(passed) != rows || !slices.IsSorted(passed) {
			t.Errorf("%d rows: %d come through, error %v", rows, len(passed), err)
		}
	}
}

// The error of a pipeline is that of the first row, whichever stage finds one, and also after the last row.
// No batch after it comes through, and a panic is an error.
func TestPipelineErrors(t *testing.T) {
	at := func(numbers ...int) func(int) error {
		return func(n int) error {
			if slices.Contains(numbers, n) {
				return errors.New("row " + strconv.Itoa(n))
			}
			return nil
		}
	}
	const rows = 9 * batchRows
	for _, c := range []struct {
		first, second func(int) error
		want          string
	}{
		{at(5), at(), "row 5"}, {at(), at(5), "row 5"}, {at(3*batchRows, 4*batchRows), at(2 * batchRows), "row 512"},
		{at(rows - 1), at(), "row 2303"}, {at(), at(rows - 1), "row 2303"}, {at(7), at(6 * batchRows), "row 7"},
		{at(), func(int) error { panic("of a stage") }, "the program has a fault: of a stage"},
	} {
		passed, err := passRows(t, rows, c.first, c.second)
		if err == nil || err.Error() != c.want {
			t.Errorf("the error is %v, want %s", err, c.want)
		}
		row, ok := strings.CutPrefix(c.want, "row ")
		if !ok {
			continue
		}
		first := check.OK(strconv.Atoi(row))
		if slices.ContainsFunc(passed, func(n int) bool { return n >= first }) {
			t.Errorf("%s or one behind it comes through", c.want)
		}
	}
}
