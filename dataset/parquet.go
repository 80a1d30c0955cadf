package dataset

import (
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// parquetRows is the number of rows that are decoded at once: few enough for a batch
// of hundreds of columns to stay in the cache, since it is filled column by column.
const parquetRows = 256

// readParquet adds the rows of a Parquet file. Only columns with a role are decoded.
func (l *loader) readParquet(f io.ReaderAt, size int64) (err error) {
	// The decoder panics on some damaged files.
	defer func() {
		if r := recover(); r != nil {
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
	if err := l.open(header, "row"); err != nil {
		return err
	}
	if err := l.checkParquetSize(file, size); err != nil {
		return err
	}
	if l.about != nil {
		l.describeParquet(file)
	}
	columns, err := l.parquetColumns(file)
	if err != nil {
		return err
	}
	row := 1
	for g, group := range file.RowGroups() {
		if err := l.readRowGroup(group, columns, row); err != nil {
			return err
		}
		if row += int(group.NumRows()); row < 1 {
			return fmt.Errorf("row group %d claims %d rows", g, group.NumRows())
		}
	}
	return l.close()
}

// checkParquetSize refuses files that claim to hold much more than they could.
func (l *loader) checkParquetSize(file *parquet.File, size int64) error {
	limit := max(maxPlain, maxFactor*size)
	rows := file.NumRows()
	if rows < 0 || rows > limit/8/int64(len(l.cols.features)) {
		return fmt.Errorf("it claims to hold %d rows of %d features in %d bytes", rows, len(l.cols.features), size)
	}
	for g, group := range file.Metadata().RowGroups {
		for _, c := range group.Columns {
			if n := c.MetaData.TotalUncompressedSize; n < 0 || n > limit {
				return fmt.Errorf("row group %d claims to unpack to %d bytes, in a file of %d", g, n, size)
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
	role   role
	kind   parquetType
	double bool // a feature of float64
	float  bool // or of float32
	pages  parquet.Pages
	values parquet.ValueReader
	buf    []parquet.Value
	floats *floatPage // the current page of a float feature, in place of values
}

// parquetColumns returns the columns that have a role, and refuses those that hold
// neither numbers nor strings.
func (l *loader) parquetColumns(file *parquet.File) ([]*parquetColumn, error) {
	var out []*parquetColumn
	var dates, texts []string
	leaves := leavesOf(file.Metadata().Schema)
	for i, c := range file.Root().Columns() {
		r := l.cols.roles[i]
		if r.kind == ignored {
			continue
		}
		if !c.Leaf() || c.Repeated() {
			return nil, formatErrorf("Drop", []string{c.Name()}, "column %q is nested: want numbers or strings", c.Name())
		}
		if int(c.Index()) >= len(leaves) {
			return nil, fmt.Errorf("column %q is not in the schema", c.Name())
		}
		kind, ok := parquetTypeOf(c.Type(), leaves[c.Index()].LogicalType)
		if !ok {
			return nil, formatErrorf("Drop", []string{c.Name()}, "column %q is of type %s: want numbers, dates or strings", c.Name(), c.Type())
		}
		if kind.text && (r.kind == response || r.kind == feature && r.at >= len(l.cols.features)) {
			return nil, fmt.Errorf("column %q holds strings: want numbers", c.Name())
		}
		if kind.text && r.kind != name {
			texts = append(texts, c.Name())
			continue
		}
		if kind.dates && r.kind == feature {
			dates = append(dates, c.Name())
		}
		physical, plain := c.Type().Kind(), r.kind == feature && kind.plain
		out = append(out, &parquetColumn{
			name: c.Name(), at: i, leaf: int(c.Index()), role: r, kind: kind,
			double: plain && physical == parquet.Double, float: plain && physical == parquet.Float,
			buf: make([]parquet.Value, parquetRows),
		})
	}
	if texts != nil {
		return nil, formatErrorf("Categorical", texts, "column %q holds strings: want numbers", texts[0])
	}
	if dates != nil && l.t != nil {
		l.t.assumed = append(l.t.assumed, Assumption{l.file, fmt.Sprintf("dates in %s as days since 1970-01-01", quotedList(dates))})
	}
	return out, nil
}

// describeParquet gives the columns of a file the roles that suit their types.
func (l *loader) describeParquet(file *parquet.File) {
	leaves := leavesOf(file.Metadata().Schema)
	for i, c := range file.Root().Columns() {
		var kind parquetType
		ok := c.Leaf() && !c.Repeated() && int(c.Index()) < len(leaves)
		if ok {
			kind, ok = parquetTypeOf(c.Type(), leaves[c.Index()].LogicalType)
		}
		switch {
		case !ok:
			l.cols.roles[i].kind = ignored
			l.about.columns[i].other = true
			l.about.remark("%q is of a type that holds neither numbers, dates nor text.", clip(c.Name()))
		case kind.text || i == l.about.task:
			l.cols.roles[i] = role{name, l.cols.names}
			l.cols.names++
		default:
			l.about.columns[i].dated = kind.dates
		}
	}
}

// leavesOf returns the elements of a schema that hold values, in the order of their
// columns.
func leavesOf(schema []format.SchemaElement) (leaves []format.SchemaElement) {
	for _, e := range schema {
		if e.Type.Valid {
			leaves = append(leaves, e)
		}
	}
	return leaves
}

// readRowGroup adds the rows of a group, of which the first has the given number.
func (l *loader) readRowGroup(group parquet.RowGroup, columns []*parquetColumn, first int) error {
	chunks := group.ColumnChunks()
	for _, c := range columns {
		c.pages, c.values, c.floats = chunks[c.leaf].Pages(), nil, nil
		defer c.pages.Close()
	}
	var b batch
	rows := int(group.NumRows())
	for at := 0; at < rows; at += parquetRows {
		n := min(parquetRows, rows-at)
		b.reset(l.cols)
		for range n {
			b.begin(first + at + b.rows)
			b.rows++
		}
		for _, c := range columns {
			if err := l.readColumn(&b, c, n, first+at); err != nil {
				return err
			}
		}
		if err := l.add(&b); err != nil {
			return err
		}
	}
	return nil
}

// readColumn stores the next n values of a column in the rows of a batch, the first
// of which has the given number.
func (l *loader) readColumn(b *batch, c *parquetColumn, n, row int) error {
	if c.double || c.float {
		return l.readFloats(b, c, n, row)
	}
	if err := c.read(n, row); err != nil {
		return err
	}
	return l.takeColumn(b, c, n)
}

// nextPage reads a page, whose first value is of the given row.
func (c *parquetColumn) nextPage(row int) (parquet.Page, error) {
	page, err := c.pages.ReadPage()
	if err != nil {
		return nil, fmt.Errorf("column %q, row %d: %w", c.name, row, parquetError(err))
	}
	return page, nil
}

// read decodes the next n values, the first of which is of the given row.
func (c *parquetColumn) read(n, row int) error {
	for have := 0; have < n; {
		if c.values == nil {
			page, err := c.nextPage(row + have)
			if err != nil {
				return err
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

// takeColumn stores n values of a column in the rows of a batch.
func (l *loader) takeColumn(b *batch, c *parquetColumn, n int) error {
	for i, v := range c.buf[:n] {
		switch {
		case v.IsNull() && c.role.kind == name:
			continue
		case v.IsNull():
			if err := l.store(b, i, c.at, math.NaN()); err != nil {
				return err
			}
		case c.kind.text:
			b.setName(i, c.role.at, v.ByteArray())
		case c.role.kind == name && c.kind.name != nil:
			b.setName(i, c.role.at, []byte(c.kind.name(v)))
		default:
			x := c.kind.value(v)
			// The common case, before what store has to tell apart.
			if c.role.kind == feature && fits(x) {
				b.x[i*b.width+c.role.at] = x
				continue
			}
			if err := l.store(b, i, c.at, x); err != nil {
				return err
			}
		}
	}
	return nil
}

// setName sets a name of a row.
func (b *batch) setName(row, which int, name []byte) {
	at := len(b.text)
	b.text = append(b.text, name...)
	b.names[row*b.texts+which] = trim(b.text, span{at, len(b.text)})
}
