package dataset

import (
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"

	"github.com/difalt/difalt/cmd/difalt/internal/text"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// parquetRows is the number of rows that are decoded at once: few enough for hundreds of columns of them to stay in the
// cache, since they are decoded column by column.
const parquetRows = 256

// readParquet adds the rows of a Parquet file. Only columns with a role are decoded.
func (r *reader) readParquet(f io.ReaderAt, size int64) (err error) {
	// The decoder panics on some damaged files.
	defer func() {
		switch r := recover().(type) {
		case nil:
		case runtime.Error: // which is about the decoder, not about the file
			err = errors.New("the Parquet data are damaged")
		default:
			err = fmt.Errorf("the Parquet data are damaged: %v", r)
		}
	}()
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
	all := parquetColumns(file)
	if err := r.to.types(r.path, all); err != nil {
		return err
	}
	var columns []*parquetColumn
	for i, c := range all {
		if c.role = r.cols.roles[i]; c.role.kind != noRole {
			c.buf = make([]parquet.Value, parquetRows)
			columns = append(columns, c)
		}
	}
	if err := r.checkParquet(file, size, columns); err != nil {
		return err
	}
	row := 1
	for g, group := range file.RowGroups() {
		if err := r.readRowGroup(group, columns, row, float64(size)/float64(file.NumRows())); err != nil {
			return err
		}
		if row += int(group.NumRows()); row < 1 {
			return fmt.Errorf("row group %d claims %d rows", g, group.NumRows())
		}
	}
	return r.to.close()
}

// checkParquet refuses files that claim to hold much more than they could, and columns that are compressed by
// LZ4_RAW: its decoder takes any damage for a lack of room, and doubles its memory until there is none.
func (r *reader) checkParquet(file *parquet.File, size int64, columns []*parquetColumn) error {
	limit := max(maxPlain, maxFactor*size)
	rows := file.NumRows()
	if rows < 0 || rows > limit/8/int64(r.cols.features) {
		return fmt.Errorf("it claims to hold %d rows of %d features in %d bytes", rows, r.cols.features, size)
	}
	for g, group := range file.Metadata().RowGroups {
		for _, c := range group.Columns {
			if n := c.MetaData.TotalUncompressedSize; n < 0 || n > limit {
				return fmt.Errorf("row group %d claims to unpack to %d bytes, in a file of %d", g, n, size)
			}
		}
		for _, c := range columns {
			if c.leaf < len(group.Columns) && group.Columns[c.leaf].MetaData.Codec == format.Lz4Raw {
				return fmt.Errorf("column %q is compressed by LZ4_RAW, which cannot be read safely: write the file with snappy or zstd", clip(c.name))
			}
		}
	}
	return nil
}

// A parquetColumn decodes one column of a file.
type parquetColumn struct {
	name   string
	at     int // among the columns of the file
	leaf   int // among its chunks
	kind   parquetType
	err    error // why it can be neither a number nor a name
	role   role
	pages  parquet.Pages
	values parquet.ValueReader
	buf    []parquet.Value
}

// parquetColumns returns the columns of a file.
func parquetColumns(file *parquet.File) (list []*parquetColumn) {
	leaves := slices.DeleteFunc(slices.Clone(file.Metadata().Schema), func(e format.SchemaElement) bool { return !e.Type.Valid }) // in the order of their columns
	for i, column := range file.Root().Columns() {
		c := &parquetColumn{name: column.Name(), at: i, leaf: int(column.Index())}
		list = append(list, c)
		switch {
		case !column.Leaf() || column.Repeated():
			c.err = formatErrorf("Drop", []string{c.name}, "column %q is nested: want numbers or strings", c.name)
		case c.leaf >= len(leaves):
			c.err = fmt.Errorf("column %q is not in the schema", c.name)
		default:
			var ok bool
			if c.kind, ok = parquetTypeOf(column.Type(), leaves[c.leaf].LogicalType); !ok {
				c.err = formatErrorf("Drop", []string{c.name}, "column %q is of type %s: want numbers, dates or strings", c.name, column.Type())
			}
		}
	}
	return list
}

// types refuses columns that do not hold what they are for.
func (l *builder) types(file string, list []*parquetColumn) error {
	var dates, texts []string
	for i, c := range list {
		r := l.cols.roles[i]
		switch {
		case r.kind == noRole:
		case c.err != nil:
			return c.err
		case r.kind == nameRole:
		case c.kind.text && !l.cols.isFeature(i):
			return fmt.Errorf("column %q holds strings: want numbers", c.name)
		case c.kind.text:
			texts = append(texts, c.name)
		case c.kind.dates && r.at != l.cols.target:
			dates = append(dates, c.name)
		}
	}
	if texts != nil {
		return formatErrorf("Categorical", texts, "column %q holds strings: want numbers", texts[0])
	}
	if dates != nil {
		l.assume(Assumption{file, fmt.Sprintf("dates in %s as days since 1970-01-01", text.Names(dates))})
	}
	return nil
}

// types gives columns the roles that suit what they hold.
func (d *describer) types(_ string, list []*parquetColumn) error {
	for i, c := range list {
		switch {
		case c.err != nil:
			d.cols.roles[i].kind = noRole
			d.columns[i].unreadable = true
			d.remark("%q is of a type that holds neither numbers, dates nor text.", clip(c.name))
		case c.kind.text || i == d.task:
			d.cols.roles[i] = role{nameRole, d.cols.names}
			d.cols.names++
		default:
			d.columns[i].dated = c.kind.dates
		}
	}
	return nil
}

// readRowGroup adds the rows of a group, of which the first has the given number, and each so many bytes of the file.
func (r *reader) readRowGroup(group parquet.RowGroup, columns []*parquetColumn, first int, bytes float64) error {
	chunks := group.ColumnChunks()
	for _, c := range columns {
		c.pages, c.values = chunks[c.leaf].Pages(), nil
		defer c.pages.Close()
	}
	var w row
	rows := int(group.NumRows())
	for at := 0; at < rows; at += parquetRows {
		n := min(parquetRows, rows-at)
		for _, c := range columns {
			if err := c.read(n, first+at); err != nil {
				return err
			}
		}
		for i := range n {
			w.begin(r.cols, first+at+i)
			for _, c := range columns {
				if err := r.take(&w, c, c.buf[i]); err != nil {
					return err
				}
			}
			if err := r.to.add(&w); err != nil {
				return err
			}
		}
		r.readSoFar.to(int64(bytes * float64(first+at+n)))
	}
	return nil
}

// read decodes the next n values, the first of which is of the given row.
func (c *parquetColumn) read(n, row int) error {
	for have := 0; have < n; {
		if c.values == nil {
			page, err := c.pages.ReadPage()
			if err != nil {
				return fmt.Errorf("column %q, row %d: %w", c.name, row+have, parquetError(err))
			}
			c.values = page.Values()
		}
		k, err := c.values.ReadValues(c.buf[have:n])
		have += k
		switch {
		case err == io.EOF || k == 0 && err == nil:
			c.values = nil
		case err != nil:
			return fmt.Errorf("column %q, row %d: %w", c.name, row+have, parquetError(err))
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

// take puts a value of a column in a row.
func (r *reader) take(w *row, c *parquetColumn, v parquet.Value) error {
	switch {
	case v.IsNull():
		return r.store(w, c.at, math.NaN())
	case c.kind.text:
		w.names[c.role.at] = trim(string(v.ByteArray()))
	case c.role.kind == nameRole && c.kind.name != nil:
		w.names[c.role.at] = trim(c.kind.name(v))
	default:
		return r.store(w, c.at, c.kind.value(v))
	}
	return nil
}
