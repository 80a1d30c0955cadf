package dataset

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/difalt/difalt/cmd/difalt/internal/npz"
	"github.com/difalt/difalt/cmd/difalt/internal/text"
)

// ReadFiles reads a table from one file or several, each of which is named by its
// path, is the standard input ("-"), or matches a pattern such as "site-*.csv"
// (path/filepath.Match). Their content says what they are: CSV, also compressed by gzip
// or zstd ([ReadCSV]), Parquet, or an array of NumPy (.npy, N x k, whose columns are c0,
// c1, ...). The last two are kept in memory as a whole where they come from a pipe.
//
// Several files are one table, with the features of the first. If no column names
// the nodes, each file is a node, named by the file without folder and extension.
// Errors name the file.
func ReadFiles(patterns []string, o TableOptions) (*Table, error) {
	paths, err := matching(patterns)
	if err != nil {
		return nil, err
	}
	b, err := newBuilder(o)
	if err != nil {
		return nil, err
	}
	r := &reader{o: &o, to: b, readSoFar: newReadSoFar(o.Progress, paths)}
	nodes := map[string]string{}
	for _, path := range paths {
		if len(paths) > 1 && o.Node == "" {
			b.node = stem(path)
			if other, twice := nodes[b.node]; twice {
				return nil, fmt.Errorf("%s and %s would both be node %q", other, path, b.node)
			}
			nodes[b.node] = path
		}
		if err := r.readFile(path); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	t, err := b.table()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", strings.Join(patterns, ", "), err)
	}
	return t, nil
}

// Stdin is the path that stands for the standard input.
const Stdin = "-"

// matching returns the files that ReadFiles would read, in its order: that of the
// patterns, and of names within a pattern. A pattern without a match is an error.
func matching(patterns []string) ([]string, error) {
	var paths []string
	for _, pattern := range patterns {
		list := []string{pattern}
		if _, err := os.Stat(pattern); err != nil && strings.ContainsAny(pattern, "*?[") {
			if list, err = filepath.Glob(pattern); err != nil {
				return nil, fmt.Errorf("%q is not a pattern of file names: %w", pattern, err)
			}
			if len(list) == 0 {
				return nil, fmt.Errorf("no file matches %q", pattern)
			}
		}
		for _, path := range list {
			if slices.Contains(paths, path) {
				return nil, fmt.Errorf("file %s is named twice", path)
			}
			paths = append(paths, path)
		}
	}
	if len(paths) == 0 {
		return nil, errors.New("no file is named")
	}
	return paths, nil
}

// stem is the name of a file without its folder and what follows the first dot.
func stem(path string) string {
	name := filepath.Base(path)
	if i := strings.IndexByte(name, '.'); i > 0 {
		name = name[:i]
	}
	return name
}

func (r *reader) readFile(path string) error {
	r.path = path
	defer r.next()
	f := os.Stdin
	if path != Stdin {
		var err error
		if f, err = os.Open(path); err != nil {
			return text.Cause(err)
		}
		defer f.Close()
	}
	info, err := f.Stat()
	if err != nil {
		return text.Cause(err)
	}
	if info.IsDir() {
		return errors.New("it is a folder")
	}
	in := bufio.NewReaderSize(&counter{in: f, tell: r.readSoFar.to}, 1<<16)
	head, err := in.Peek(len(magicNPY))
	if err != nil && err != io.EOF {
		return text.Cause(err)
	}
	switch s := string(head); {
	case strings.HasPrefix(s, magicParquet):
		return r.readWhole(r.readParquet, f, in, info)
	case strings.HasPrefix(s, magicNPY):
		return r.readWhole(r.readNPY, f, in, info)
	case strings.HasPrefix(s, magicZip):
		return errors.New("it is a zip archive: want CSV, Parquet or .npy; a problem file has a name that ends with .npz, and a spreadsheet has to be saved as CSV")
	}
	lines, encoding, done, err := decompress(in)
	if err != nil {
		return text.Cause(err)
	}
	defer done()
	return r.readCSV(lines, encoding)
}

// readWhole calls read with all of a file, which goes to memory unless it is regular.
func (r *reader) readWhole(read func(io.ReaderAt, int64) error, f *os.File, in *bufio.Reader, info fs.FileInfo) error {
	if info.Mode().IsRegular() {
		return read(f, info.Size())
	}
	all, err := io.ReadAll(in)
	if err != nil {
		return text.Cause(err)
	}
	return read(bytes.NewReader(all), int64(len(all)))
}

// A reader reads the files that a sink takes, one after the other.
type reader struct {
	o    *TableOptions
	to   sink
	path string   // of the current file, empty for a stream
	cols *columns // of the current file
	readSoFar
}

// A sink takes the rows of files: a table, or the description of one.
type sink interface {
	// open begins a file with the given columns, whose rows are counted in a unit, line or
	// row, and says what the columns are for.
	open(header []string, unit string) (*columns, error)
	// types takes what a Parquet file says about its columns. It refuses what the sink cannot
	// take, and may change the roles of columns.
	types(file string, list []*parquetColumn) error
	// undecided takes the error about numbers of a text that can be read in several ways; nil if there is none.
	undecided(err error) error
	// cells takes a record of text, and parsed ends those of a file.
	cells(p *recordParser, rec record) error
	parsed(p *recordParser) error
	// assume takes how a file is read, apart from the plain way.
	assume(a Assumption)
	// add takes a row, which it may change.
	add(w *row) error
	// close ends a file.
	close() error
}

func (r *reader) open(header []string, unit string) (err error) {
	r.cols, err = r.to.open(header, unit)
	return err
}

// A readSoFar counts the bytes of files of a known size that have been read.
type readSoFar struct {
	tell         func(done, total int64) // nil if nobody asks
	before, size int64                   // bytes of the files before, and of all
	read         int64                   // of the current file
}

// newReadSoFar starts counting for some files; those that are no regular files have no size.
func newReadSoFar(tell func(done, total int64), paths []string) readSoFar {
	p := readSoFar{tell: tell}
	for _, path := range paths {
		if info, err := os.Stat(path); tell != nil && err == nil && info.Mode().IsRegular() {
			p.size += info.Size()
		}
	}
	return p
}

// to tells that so many bytes of the current file have been read.
func (p *readSoFar) to(read int64) {
	p.read = read
	if p.tell != nil {
		p.tell(p.before+read, p.size)
	}
}

func (p *readSoFar) next() { p.before, p.read = p.before+p.read, 0 }

// readNPY adds the rows of an array of NumPy, whose columns are c0, c1, ...
func (r *reader) readNPY(f io.ReaderAt, size int64) error {
	m, err := npz.NewMatrix(f, size)
	if err != nil {
		return err
	}
	n, k := m.Shape[0], m.Shape[1]
	if err := r.open(text.Numbered("c", k), "row"); err != nil {
		return err
	}
	const rows = 512
	var w row
	values := make([]float64, rows*k)
	for lo := 0; lo < n; lo += rows {
		hi := min(lo+rows, n)
		if err := m.Rows(values, lo, hi); err != nil {
			return err
		}
		for i := range hi - lo {
			w.begin(r.cols, lo+i+1)
			for col, v := range values[i*k:][:k] {
				if err := r.store(&w, col, v); err != nil {
					return err
				}
			}
			if err := r.to.add(&w); err != nil {
				return err
			}
		}
		r.readSoFar.to(int64(float64(size) * float64(hi) / float64(n)))
	}
	return r.to.close()
}
