package main

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/difalt/difalt/cmd/difalt/dataset"
	"github.com/difalt/difalt/cmd/difalt/dataset/problemfile"
	"github.com/difalt/difalt/cmd/difalt/internal/atomicfile"
	"github.com/difalt/difalt/cmd/difalt/internal/options"
	"github.com/difalt/difalt/cmd/difalt/internal/report"
	"github.com/difalt/difalt/cmd/difalt/internal/tablefile"
	"github.com/difalt/difalt/cmd/difalt/internal/terminal"
	"github.com/difalt/difalt/cmd/difalt/internal/text"
	"github.com/difalt/difalt/cmd/difalt/model"
)

// stdio is the name of the standard input or output in place of a file.
const stdio = atomicfile.Stdout

// nameOf returns a path as messages say it.
func nameOf(path, direction string) string {
	if path == stdio {
		return "the standard " + direction
	}
	return path
}

// files are what a command reads and writes. No output is a file that is read, or
// another output, by whatever name, symbolic or hard link.
type files struct {
	used []usedFile
}

// A usedFile is the file of a flag. info is nil if it does not exist yet.
type usedFile struct {
	flag, path string
	info       fs.FileInfo
	written    bool
}

// reads adds the files that match a pattern or have that name, and refuses a second
// standard input. What cannot be found is left for the reader to complain.
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
		return nil, options.Usagef("--%s is the terminal: a model is no text, so send the output to a file or a program", flag)
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
	if info != nil && !info.Mode().IsRegular() {
		return nil // devices and pipes lose nothing
	}
	for _, k := range f.used {
		switch same := samePath(k, path, info); {
		case same && k.written:
			return options.Usagef("--%s and --%s would both write %s", k.flag, flag, path)
		case same:
			return options.Usagef("--%s would overwrite %s, which --%s reads: name another file", flag, path, k.flag)
		}
	}
	f.used = append(f.used, usedFile{flag: flag, path: path, info: info, written: true})
	return nil
}

// samePath reports whether a path, whose file has the given info if there is one, is a
// file that is used already.
func samePath(k usedFile, path string, info fs.FileInfo) bool {
	if k.path == stdio && !k.written { // what was redirected to the standard input
		return info != nil && k.info != nil && os.SameFile(k.info, info)
	}
	if k.path == stdio || path == stdio {
		return k.path == path
	}
	if info != nil && k.info != nil {
		return os.SameFile(k.info, info)
	}
	if filepath.Base(k.path) != filepath.Base(path) {
		return false
	}
	a, errA := os.Stat(filepath.Dir(k.path))
	b, errB := os.Stat(filepath.Dir(path))
	return errA == nil && errB == nil && os.SameFile(a, b)
}

// checkFolder fails if files cannot be written to a folder, before long work begins.
func (f *files) checkFolder(flag, dir string) error {
	if err := atomicfile.CheckFolder(dir); err != nil {
		return fmt.Errorf("--%s: %w", flag, err)
	}
	return nil
}

// writeFolder writes files into a folder, all or none, and makes it if need be.
func (f *files) writeFolder(flag, dir string, content map[string][]byte) error {
	for name := range content {
		if err := f.claim(flag, filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	if err := atomicfile.WriteFolder(dir, content, nil); err != nil {
		return fmt.Errorf("--%s: %w", flag, err)
	}
	return nil
}

// textOutput returns where text for people goes: not among the content of a file that
// is the standard output.
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
	text, err := io.ReadAll(os.Stdin)
	m := &model.Model{}
	if err == nil {
		err = m.UnmarshalBinary(text)
	}
	if err != nil {
		return nil, fmt.Errorf("the standard input: %w", err)
	}
	return m, nil
}

// outputs are the files that fit writes; nil where none is asked for.
type outputs struct {
	files
	trace, model *atomicfile.File
}

// openOutputs opens the files before the work begins.
func openOutputs(f *options.Files) (out *outputs, err error) {
	out = &outputs{}
	err = out.reads("data", f.Data)
	if err == nil && f.Continue != "" {
		err = out.reads("continue", f.Continue)
	}
	if err == nil && f.Trace != "" {
		out.trace, err = out.create("trace", f.Trace, ".csv")
	}
	if err == nil && f.Model != "" {
		out.model, err = out.create("model", f.Model, ".npz")
	}
	if err == nil && f.Report != "" {
		err = out.checkFolder("report", f.Report)
	}
	if err != nil {
		out.close()
		return nil, err
	}
	return out, nil
}

func (o *outputs) close() {
	o.trace.Close()
	o.model.Close()
}

// write writes the files; they take their names with commit, when all that may fail is
// done.
func (o *outputs) write(trace []byte, model func(io.Writer) error) error {
	if err := o.trace.Complete(trace); err != nil || o.model == nil {
		return err
	}
	if err := model(o.model); err != nil {
		return err
	}
	return o.model.Finish()
}

func (o *outputs) commit() error {
	if err := o.trace.Commit(); err != nil {
		return err
	}
	return o.model.Commit()
}

// printFiles says where the files are.
func printFiles(w io.Writer, f *options.Files) {
	if f.Trace != "" {
		fmt.Fprintf(w, "trace  %s\n", f.Trace)
	}
	if f.Model != "" {
		fmt.Fprintf(w, "model  %s\n", f.Model)
	}
	if f.Report != "" {
		fmt.Fprintf(w, "report %s\n", filepath.Join(f.Report, report.PageFile))
	}
}

// readData reads tables or a problem file, and says on stderr what was assumed about a
// table. Errors about a table name its file.
func readData(ctx context.Context, stderr io.Writer, path string, o dataset.TableOptions) (*problemfile.File, error) {
	bar := showReading(stderr, &o)
	defer bar.Close()
	return untilCanceled(ctx, func() (*problemfile.File, error) {
		if options.IsProblem(path) {
			return problemfile.ReadOnDisk(path, o.Folder)
		}
		t, err := readFiles(path, o)
		if err != nil {
			return nil, err
		}
		bar.Close()
		reportAssumed(stderr, t)
		return &problemfile.File{Table: t}, nil
	})
}

// showReading shows how much of a table has been read.
func showReading(stderr io.Writer, o *dataset.TableOptions) *terminal.Progress {
	bar := terminal.NewProgress(stderr)
	bar.Stage("reading", "", 0, 0)
	o.Progress = func(done, total int64) { bar.Stage("reading", "", done, total) }
	return bar
}

// readFiles reads a table, and says which flag helps against missing values.
func readFiles(path string, o dataset.TableOptions) (*dataset.Table, error) {
	t, err := dataset.ReadFiles([]string{path}, o)
	return t, options.WithHint(err)
}

// reportAssumed says in a line for each file, or for several alike, how they were read
// where that is not the plain way.
func reportAssumed(w io.Writer, t *dataset.Table) {
	var order []string
	files := map[string][]string{}
	for _, a := range t.Assumptions() {
		if files[a.Text] == nil {
			order = append(order, a.Text)
		}
		files[a.Text] = append(files[a.Text], a.File)
	}
	for _, assumed := range order {
		names := files[assumed]
		who := nameOf(names[0], "input")
		if n := len(names) - 1; n > 0 {
			who += fmt.Sprintf(" and %s", text.Plural(n, "other file"))
		}
		terminal.Sayf(w, "read %s: %s", who, assumed)
	}
}
