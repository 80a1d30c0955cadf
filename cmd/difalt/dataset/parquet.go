package dataset

import (
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"strings"

	"github.com/difalt/difalt/cmd/difalt/internal/text"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// parquetRows is the number of rows per pass over the columns: hundreds of columns of them
// fit into the cache.
const parquetRows = 256

// readParquet adds the rows of a Parquet file. Only columns with a role are decoded.
func (r *reader) readParquet(f io.ReaderAt, size int64) (err error) {
	// The decoder panics on some damaged files.
	defer func() {
		switch r := recover().(type) {
		case nil:
		case runtime.Error: // about the decoder, not about the file
			err = errors.New("the Parquet data are damaged")
		default:
			err = fmt.Errorf("the Parquet data are damaged: %v", r)
		}
	}()
	if err := checkFooter(f, size); err != nil {
		return fmt.Errorf("the Parquet file is damaged or truncated: %w", err)
	}
	file, err := parquet.OpenFile(f, size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return fmt.Errorf("the Parquet file is damaged or truncated: %w", err)
	}
	var header []string
	for _, c := range file.Root().Columns() {
		header = append(header, c.Name())
	}
	if err := r.open(header, "row"); err != nil {
		return err
	}
	var columns []*parquetColumn
	for i, c := range parquetColumns(file) {
		if c.role = r.cols.roles[i]; c.role.kind != noRole {
			c.buf = make([]parquet.Value, parquetRows)
			columns = append(columns, c)
		}
	}
	if err := r.checkTypes(columns); err != nil {
		return err
	}
	if err := checkGroups(f, file, size, columns, r.cols.features); err != nil {
		return err
	}
	row := 1
	for _, group := range file.RowGroups() {
		if err := r.readRowGroup(group, columns, row); err != nil {
			return err
		}
		row += int(group.NumRows())
	}
	return r.close()
}

// A parquetColumn decodes one column of a file.
type parquetColumn struct {
	name     string
	at       int // among the columns of the file
	leaf     int // among its chunks
	physical format.Type
	kind     parquetType
	err      error // why it can be neither a number nor a name
	role     role
	pages    parquet.Pages
	values   parquet.ValueReader
	buf      []parquet.Value
}

// checkTypes refuses columns whose type does not suit their role.
func (r *reader) checkTypes(columns []*parquetColumn) error {
	var dates, texts []string
	for _, c := range columns {
		switch {
		case c.err != nil:
			return c.err
		case c.role.kind == nameRole:
		case c.kind.text && !r.cols.isFeature(c.at):
			return fmt.Errorf("column %q holds strings: expected numbers", clip(c.name))
		case c.kind.text:
			texts = append(texts, c.name)
		case c.kind.dates && r.cols.isFeature(c.at):
			dates = append(dates, c.name)
		}
	}
	if texts != nil {
		return formatErrorf("Categorical", texts, "column %q holds strings: expected numbers", clip(texts[0]))
	}
	if dates != nil {
		r.note("dates in %s as days since 1970-01-01", text.Names(dates))
	}
	return nil
}

// readRowGroup adds the rows of a group; first is the number of its first row.
func (r *reader) readRowGroup(group parquet.RowGroup, columns []*parquetColumn, first int) error {
	chunks := group.ColumnChunks()
	for _, c := range columns {
		c.pages, c.values = chunks[c.leaf].Pages(), nil
		defer c.pages.Close()
	}
	rows := int(group.NumRows())
	for at := 0; at < rows; at += parquetRows {
		n := min(parquetRows, rows-at)
		for _, c := range columns {
			if err := c.read(n, first+at); err != nil {
				return err
			}
		}
		for i := range n {
			r.row.begin(r.cols, first+at+i)
			for _, c := range columns {
				if err := r.takeValue(c, c.buf[i]); err != nil {
					return err
				}
			}
			if err := r.add(); err != nil {
				return err
			}
		}
	}
	return nil
}

// read decodes the next n values. The first belongs to the given row.
func (c *parquetColumn) read(n, row int) error {
	for have := 0; have < n; {
		if c.values == nil {
			page, err := c.pages.ReadPage()
			if err != nil {
				return fmt.Errorf("column %q, row %d: %w", clip(c.name), row+have, parquetError(err))
			}
			c.values = page.Values()
		}
		k, err := c.values.ReadValues(c.buf[have:n])
		have += k
		switch {
		case err == io.EOF || k == 0 && err == nil:
			c.values = nil
		case err != nil:
			return fmt.Errorf("column %q, row %d: %w", clip(c.name), row+have, parquetError(err))
		}
	}
	return nil
}

func parquetError(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the Parquet data end too early: the file may be truncated")
	}
	return fmt.Errorf("the Parquet data are damaged: %w", err)
}

// takeValue puts a value of a column in a row.
func (r *reader) takeValue(c *parquetColumn, v parquet.Value) error {
	switch {
	case v.IsNull():
		return r.store(c.at, math.NaN())
	case c.kind.text:
		r.row.names[c.role.at] = strings.TrimSpace(string(v.ByteArray()))
	case c.role.kind == nameRole && c.kind.name != nil:
		r.row.names[c.role.at] = strings.TrimSpace(c.kind.name(v))
	default:
		return r.store(c.at, c.kind.value(v))
	}
	return nil
}
