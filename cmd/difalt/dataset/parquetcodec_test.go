package dataset

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
)

// TestCodecs: every codec is read but LZ4_RAW, which is refused where it is in use.
func TestCodecs(t *testing.T) {
	type row struct {
		T    string  `parquet:"t"`
		A    float64 `parquet:"a"`
		Y    float64 `parquet:"y"`
		Note string  `parquet:"note,lz4"`
	}
	for _, codec := range []compress.Codec{&parquet.Uncompressed, &parquet.Snappy, &parquet.Gzip, &parquet.Brotli, &parquet.Zstd, &parquet.Lz4Raw} {
		var buf bytes.Buffer
		w := parquet.NewGenericWriter[row](&buf, parquet.Compression(codec))
		if _, err := w.Write([]row{{"x", 1, 2, "n"}, {"x", 3, 4, "n"}}); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "t.parquet")
		if err := os.WriteFile(path, buf.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
		o := TableOptions{Task: "t", Target: "y", Drop: []string{"note"}}
		table, err := ReadFiles([]string{path}, o)
		if codec == &parquet.Lz4Raw {
			checkMessage(t, codec.String(), err, []string{"is compressed by LZ4_RAW", "snappy or zstd"})
			continue
		}
		if err != nil || table.Rows() != 2 || table.Y(1) != 4 {
			t.Errorf("%v: %v", codec, err)
		}
		o.Drop = nil
		o.Categorical = []string{"note"}
		_, err = ReadFiles([]string{path}, o)
		checkMessage(t, "a column of another codec", err, []string{`column "note" is compressed by LZ4_RAW`})
	}
}
