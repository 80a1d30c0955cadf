package dataset

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// checkFooter refuses a Parquet file whose footer claims to hold more than its bytes,
// before the decoder allocates memory for it.
func checkFooter(f io.ReaderAt, size int64) error {
	end := make([]byte, 8)
	if size < 12 {
		return errors.New("it has fewer than 12 bytes")
	}
	if _, err := f.ReadAt(end, size-8); err != nil {
		return err
	}
	n := int64(binary.LittleEndian.Uint32(end))
	if string(end[4:]) != magicParquet || n > size-12 {
		return fmt.Errorf("it does not end like a Parquet file")
	}
	footer := make([]byte, n)
	if _, err := f.ReadAt(footer, size-8-n); err != nil {
		return err
	}
	_, err := thriftLen(footer)
	return err
}

// checkGroups refuses files that claim to hold more than they could, and metadata that contradict each other
// or the pages.
func checkGroups(f io.ReaderAt, file *parquet.File, size int64, columns []*parquetColumn, features int) error {
	rows, sum := file.NumRows(), int64(0)
	if rows < 0 || rows > maxUnpacked(size)/8/int64(features) {
		return fmt.Errorf("it claims to hold %d rows of %d features in %d bytes", rows, features, size)
	}
	for g, group := range file.Metadata().RowGroups {
		if sum += group.NumRows; group.NumRows < 0 || sum > rows {
			return fmt.Errorf("row group %d claims %d rows, the file %d in all", g, group.NumRows, rows)
		}
		for _, c := range columns {
			if c.leaf >= len(group.Columns) {
				return fmt.Errorf("row group %d lacks column %q", g, clip(c.name))
			}
			if err := checkChunk(f, size, group.NumRows, c, &group.Columns[c.leaf].MetaData); err != nil {
				return fmt.Errorf("row group %d, column %q: %w", g, clip(c.name), err)
			}
		}
	}
	if sum != rows {
		return fmt.Errorf("the row groups have %d rows, but the file claims %d", sum, rows)
	}
	return nil
}

// checkChunk refuses the part of a column in a row group if it contradicts the schema, the rows, or its
// pages, or is compressed by LZ4_RAW: that decoder doubles its memory for damaged data, without end.
func checkChunk(f io.ReaderAt, size, rows int64, c *parquetColumn, m *format.ColumnMetaData) error {
	start := cmp.Or(m.DictionaryPageOffset, m.DataPageOffset)
	switch {
	case m.Codec == format.Lz4Raw:
		return errors.New("it is compressed by LZ4_RAW, which cannot be read safely: write the file with snappy or zstd")
	case m.Type != c.physical || !slices.Equal(m.PathInSchema, []string{c.name}):
		return fmt.Errorf("the metadata contradict the schema: they describe %v of type %v, the schema type %v",
			quoted(m.PathInSchema), m.Type, c.physical)
	case m.NumValues != rows:
		return fmt.Errorf("it claims %d values in %d rows", m.NumValues, rows)
	case m.TotalUncompressedSize < 0 || m.TotalUncompressedSize > maxUnpacked(size):
		return fmt.Errorf("it claims to unpack to %d bytes, in a file of %d", m.TotalUncompressedSize, size)
	case min(start, m.DataPageOffset) < 4 || max(start, m.DataPageOffset) > size,
		m.TotalCompressedSize < 0, m.TotalCompressedSize > size-start:
		return fmt.Errorf("its pages are at %d and %d, of %d bytes, in a file of %d", start, m.DataPageOffset, m.TotalCompressedSize, size)
	}
	values := int64(0)
	for at, end := start, start+m.TotalCompressedSize; at < end; {
		n, h, err := pageHeader(f, at, end)
		if err != nil {
			return fmt.Errorf("the header of the page at %d: %w", at, err)
		}
		packed, plain := int64(h.CompressedPageSize), int64(h.UncompressedPageSize)
		count := int64(h.DataPageHeader.V.NumValues) + int64(h.DataPageHeaderV2.V.NumValues)
		if packed < 0 || packed > end-at-n || plain < 0 || plain > maxUnpacked(packed) || count < 0 {
			return fmt.Errorf("the page at %d claims %d values, and %d bytes that unpack to %d", at, count, packed, plain)
		}
		at += n + packed
		values += count
	}
	if values != rows {
		return fmt.Errorf("its pages hold %d values in %d rows", values, rows)
	}
	return nil
}

// pageHeader returns the header of the page at an offset, and its length. The header holds the least and the
// greatest value; 1 MB bounds it.
func pageHeader(f io.ReaderAt, at, end int64) (int64, *format.PageHeader, error) {
	h, err := new(format.PageHeader), error(nil)
	for _, room := range []int64{1 << 10, 32 << 10, 1 << 20} {
		b, n := make([]byte, min(room, end-at)), 0
		if _, err := f.ReadAt(b, at); err != nil {
			return 0, nil, err
		}
		if n, err = thriftLen(b); err == nil {
			return int64(n), h, thrift.Unmarshal(new(thrift.CompactProtocol), b[:n], h)
		}
	}
	return 0, nil, err
}
