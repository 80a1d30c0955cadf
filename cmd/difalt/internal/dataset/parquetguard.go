package dataset

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// maxNesting bounds the structs and lists around a value, and minStruct the bytes of a struct in a list:
// the shortest of Parquet is ColumnOrder.
const (
	maxNesting = 32
	minStruct  = 3
)

var errThrift = errors.New("its thrift data end too early, or claim more elements than its bytes can hold")

// thriftLen returns the length of the struct in thrift's compact protocol at the start of b. It refuses
// sizes that do not fit in b, so that a decoder allocates no memory for them.
func thriftLen(b []byte) (int, error) {
	r := new(thrift.CompactProtocol).NewReaderFromBytes(b)
	if err := skipThrift(r, len(b), thrift.STRUCT, 0); err != nil {
		return 0, errThrift
	}
	return r.BytesRead(), nil
}

// skipThrift reads past a value of a kind. Maps and UUIDs do not occur in Parquet.
func skipThrift(r thrift.Reader, size int, kind thrift.Type, nesting int) (err error) {
	if nesting > maxNesting {
		return errThrift
	}
	switch kind {
	case thrift.TRUE, thrift.FALSE, thrift.I8:
		_, err = r.ReadInt8()
	case thrift.I16, thrift.I32, thrift.I64:
		_, err = r.ReadInt64()
	case thrift.DOUBLE:
		_, err = r.ReadFloat64()
	case thrift.BINARY:
		_, err = r.ReadBytes() // a part of the bytes, not a copy
	case thrift.LIST, thrift.SET:
		var list thrift.List
		list, err = r.ReadList()
		least := 1
		if list.Type == thrift.STRUCT {
			least = minStruct
		}
		if int(list.Size) > (size-r.BytesRead())/least {
			return errThrift
		}
		for i := int32(0); i < list.Size && err == nil; i++ {
			err = skipThrift(r, size, list.Type, nesting+1)
		}
	case thrift.STRUCT:
		for {
			field, err := r.ReadField()
			if err != nil || field.Type == thrift.STOP {
				return err
			}
			if field.Type == thrift.TRUE || field.Type == thrift.FALSE { // the kind is the value
				continue
			}
			if err := skipThrift(r, size, field.Type, nesting+1); err != nil {
				return err
			}
		}
	default:
		err = errThrift
	}
	return err
}

// checkFooter refuses a Parquet file whose footer claims to hold more than its bytes,
// before the decoder allocates memory for it.
func checkFooter(f io.ReaderAt, size int64) error {
	end := make([]byte, 8)
	if _, err := f.ReadAt(end, size-8); err != nil {
		return err
	}
	n := int64(binary.LittleEndian.Uint32(end))
	if string(end[4:]) != magicParquet || n > size-12 {
		return errors.New("it does not end like a Parquet file")
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
	if rows > maxUnpacked(size)/8/int64(max(features, 1)) {
		return fmt.Errorf("it claims to hold %d rows of %d features in %d bytes", rows, features, size)
	}
	for g, group := range file.Metadata().RowGroups {
		sum += group.NumRows
		for _, c := range columns {
			if err := checkChunk(f, size, group.NumRows, c.Column, &group.Columns[c.Index()].MetaData); err != nil {
				return fmt.Errorf("row group %d, column %.60q: %w", g, c.Name(), err)
			}
		}
	}
	if sum != rows {
		return fmt.Errorf("the row groups claim %d rows, the file %d", sum, rows)
	}
	return nil
}

// checkChunk refuses the part of a column in a row group if it contradicts the schema, the rows, or its
// pages, or is compressed by LZ4_RAW: that decoder doubles its memory for damaged data, without end.
func checkChunk(f io.ReaderAt, size, rows int64, c *parquet.Column, m *format.ColumnMetaData) error {
	kind := format.Type(c.Type().Kind())
	at, values := cmp.Or(m.DictionaryPageOffset, m.DataPageOffset), int64(0)
	end := at + m.TotalCompressedSize
	switch {
	case m.Codec == format.Lz4Raw:
		return errors.New("it is compressed by LZ4_RAW: write the file with snappy or zstd")
	case m.Type != kind || !slices.Equal(m.PathInSchema, []string{c.Name()}):
		return fmt.Errorf("the metadata contradict the schema: they describe %v of type %v, the schema type %v",
			quoted(m.PathInSchema), m.Type, kind)
	case m.NumValues != rows:
		return fmt.Errorf("it claims %d values in %d rows", m.NumValues, rows)
	case rows == 0 && m.DataPageOffset == 0: // Arrow writes a part without pages
		return nil
	case at < 4 || m.DataPageOffset < at || m.DataPageOffset > size || end < at || end > size:
		return fmt.Errorf("its pages are at %d and %d, to %d, in a file of %d bytes", at, m.DataPageOffset, end, size)
	}
	for at < end {
		n, h, err := pageHeader(f, at, end)
		if err != nil {
			return fmt.Errorf("the header of the page at %d: %w", at, err)
		}
		packed, plain := int64(h.CompressedPageSize), int64(h.UncompressedPageSize)
		count := int64(h.DataPageHeader.V.NumValues) + int64(h.DataPageHeaderV2.V.NumValues)
		if packed < 0 || packed > end-at-n || plain < 0 || plain > maxUnpacked(packed) || count < 0 {
			return fmt.Errorf("the page at %d claims %d values, and %d bytes of %d", at, count, packed, plain)
		}
		if h.Type == format.DictionaryPage && h.CRC != 0 {
			if err := checkSum(io.NewSectionReader(f, at+n, packed), uint32(h.CRC)); err != nil {
				return fmt.Errorf("the dictionary at %d: %w", at, err)
			}
		}
		at += n + packed
		values += count
	}
	if values != rows {
		return fmt.Errorf("its pages hold %d values in %d rows", values, rows)
	}
	return nil
}

// checkSum compares the bytes of a page with the sum in its header. The decoder does so for pages of values
// alone.
func checkSum(page io.Reader, want uint32) error {
	sum := crc32.NewIEEE()
	if _, err := io.Copy(sum, page); err != nil {
		return err
	}
	if sum.Sum32() != want {
		return errors.New("its checksum differs: the Parquet data are damaged")
	}
	return nil
}

// pageHeader returns the header of the page at an offset, and its length. The header holds the least and the
// greatest value; 64 kB bound it.
func pageHeader(f io.ReaderAt, at, end int64) (int64, *format.PageHeader, error) {
	b, h := make([]byte, min(64<<10, end-at)), new(format.PageHeader)
	_, err := f.ReadAt(b, at)
	n := 0
	if err == nil {
		n, err = thriftLen(b)
	}
	if err == nil {
		err = thrift.Unmarshal(new(thrift.CompactProtocol), b[:n], h)
	}
	return int64(n), h, err
}
