package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/difalt/difalt/cmd/difalt/dataset"
	"github.com/difalt/difalt/cmd/difalt/internal/atomicfile"
	"github.com/difalt/difalt/cmd/difalt/internal/options"
	"github.com/difalt/difalt/cmd/difalt/internal/tablefile"
	"github.com/difalt/difalt/cmd/difalt/internal/terminal"
	"github.com/difalt/difalt/cmd/difalt/model"
)

// stdio is the name of the standard input or output in place of a file.
const stdio = atomicfile.Stdout

// nameOf returns a path as messages name it.
func nameOf(path, direction string) string {
	if path == stdio {
		return "the standard " + direction
	}
	return path
}

// files are the files that a command reads and writes. No output is a file that is read, nor another
// output, under any name, symbolic or hard link.
type files struct {
	used []usedFile
}

// A usedFile is the file of a flag. info is nil if it does not exist yet.
type usedFile struct {
	flag, path string
	info       fs.FileInfo
	written    bool
}

// reads adds the files that match a pattern or have that name, and refuses a second standard input. A file
// that does not exist is left to the reader.
func (f *files) reads(flag, pattern string) error {
	if pattern == stdio {
		for _, k := range f.used {
			if k.path == stdio && !k.written {
				return options.Usagef("--%s and --%s are both the standard input: name a file", k.flag, flag)
			}
		}
		info, _ := os.Stdin.Stat()
		f.used = append(f.used, usedFile{flag: flag, path: stdio, info: info})
		return nil
	}
	paths := []string{pattern}
	if _, err := os.Stat(pattern); err != nil {
		paths, _ = filepath.Glob(pattern)
	}
	for _, path := range paths {
		if info, err := os.Stat(path); err == nil {
			f.used = append(f.used, usedFile{flag: flag, path: path, info: info})
		}
	}
	return nil
}

// create starts an output, of a name with one of the extensions or none. It takes its name with Commit.
func (f *files) create(flag, path string, extensions ...string) (*atomicfile.File, error) {
	if err := f.claim(flag, path); err != nil {
		return nil, err
	}
	if err := tablefile.CheckExtension(path, extensions...); err != nil {
		return nil, options.Usagef("--%s: %w", flag, err)
	}
	if path == stdio && terminal.Is(os.Stdout) && flag == "model" {
		return nil, options.Usagef("--%s is the terminal, and a model is not text: send the output to a file or a program", flag)
	}
	out, err := atomicfile.Create(path)
	if err != nil {
		return nil, fmt.Errorf("--%s: %w", flag, err)
	}
	return out, nil
}

// claim refuses a path that is read or written already.
func (f *files) claim(flag, path string) error {
	info, _ := os.Stat(path)
	if path == stdio {
		info = nil // the standard output is never read
	}
	if info != nil && !info.Mode().IsRegular() && !info.IsDir() {
		return nil // devices and pipes lose nothing
	}
	for _, k := range f.used {
		switch same := k.is(path, info); {
		case same && k.written:
			return options.Usagef("--%s and --%s would both write %s", k.flag, flag, path)
		case same:
			return options.Usagef("--%s would overwrite %s, which --%s reads: name another file", flag, path, k.flag)
		}
	}
	f.used = append(f.used, usedFile{flag: flag, path: path, info: info, written: true})
	return nil
}

// is reports whether a path, whose file has the given info if there is one, is the file.
func (k usedFile) is(path string, info fs.FileInfo) bool {
	if k.path == stdio && !k.written { // a file that was redirected to the standard input
		return info != nil && k.info != nil && os.SameFile(k.info, info)
	}
	if k.path == stdio || path == stdio {
		return k.path == path
	}
	if info != nil && k.info != nil {
		return os.SameFile(k.info, info)
	}
	if filepath.Clean(k.path) == filepath.Clean(path) || filepath.Base(k.path) != filepath.Base(path) {
		return filepath.Clean(k.path) == filepath.Clean(path)
	}
	a, errA := os.Stat(filepath.Dir(k.path))
	b, errB := os.Stat(filepath.Dir(path))
	return errA == nil && errB == nil && os.SameFile(a, b)
}

// claimFolder claims a folder and the files that will be written to it, and fails if that is impossible:
// before long work.
func (f *files) claimFolder(flag, dir string, names []string) error {
	if err := f.claim(flag, dir); err != nil {
		return err
	}
	for _, name := range names {
		if err := f.claim(flag, filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	if err := atomicfile.CheckFolder(dir); err != nil {
		return fmt.Errorf("--%s: %w", flag, err)
	}
	return nil
}

// textOutput returns the writer of text for people: the standard output, unless that is a file of the
// command.
func (f *files) textOutput(stdout, stderr io.Writer) io.Writer {
	for _, k := range f.used {
		if k.written && k.path == stdio {
			return stderr
		}
	}
	return stdout
}

// loadModel reads a model from a file or the standard input.
func loadModel(path string) (*model.Model, error) {
	if path != stdio {
		return model.Load(path)
	}
	content, err := io.ReadAll(os.Stdin)
	m := (*model.Model)(nil)
	if err == nil {
		m, err = model.Read(bytes.NewReader(content), int64(len(content)))
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", nameOf(path, "input"), err)
	}
	return m, nil
}

// readTable reads the table of all files that match a pattern, with its progress on stderr as the first of
// the given stages. Errors name the file and the flag that helps.
func readTable(ctx context.Context, stderr io.Writer, stages []string, pattern string, o dataset.TableOptions) (*dataset.Table, error) {
	bar := terminal.NewProgress(stderr, stages...)
	defer bar.Close()
	bar.Stage(reading, -1)
	o.Progress = func(done, total int64) {
		if total > 0 {
			bar.Stage(reading, float64(done)/float64(total))
		}
	}
	return untilCanceled(ctx, func() (*dataset.Table, error) {
		t, err := dataset.ReadFiles([]string{pattern}, o)
		return t, options.WithHint(err)
	})
}

// reading is the stage before those of training.
const reading = "reading the table"
