package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/difalt/difalt/cmd/difalt/internal/atomicfile"
	"github.com/difalt/difalt/cmd/difalt/internal/cli"
	"github.com/difalt/difalt/cmd/difalt/internal/dataset"
	"github.com/difalt/difalt/cmd/difalt/internal/place"
	"github.com/difalt/difalt/cmd/difalt/internal/tablefile"
	"github.com/difalt/difalt/cmd/difalt/internal/text"
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
	all  []*output // that were started, in this order
	out  *output   // started by create; nil without an output

	result     string // path of out, if it is a result that may be worse than the file that is there
	redirected string // where out goes in place of that path; empty if it does not
}

// An output is a file that a flag names. Its errors name the flag.
type output struct {
	*atomicfile.File
	flag string
}

func (o *output) Write(b []byte) (int, error) {
	n, err := o.File.Write(b)
	return n, cli.OfFlag(o.flag, err)
}

// Finish completes the content on the disk.
func (o *output) Finish() error { return cli.OfFlag(o.flag, o.File.Finish()) }

// Commit gives the file its name. It does nothing for nil.
func (o *output) Commit() error {
	if o == nil {
		return nil
	}
	return cli.OfFlag(o.flag, o.File.Commit())
}

// start starts an output.
func (f *files) start(flag, path string) (*output, error) {
	if path == stdio { // which is the default of some flags
		flag = ""
	}
	file, err := atomicfile.Create(path)
	if err != nil {
		return nil, cli.OfFlag(flag, err)
	}
	out := &output{file, flag}
	f.all = append(f.all, out)
	return out, nil
}

// A grade is the quality of a result. A file is replaced by a result of its grade or of a better one.
type grade int

const (
	failed     grade = iota // the run diverged
	unfinished              // the run ended before it converged
	finished                // the run converged; or nobody knows
)

// A usedFile is the file of a flag.
type usedFile struct {
	flag    string      // empty for an argument
	path    string      // as it was named
	place   string      // without symbolic links
	info    fs.FileInfo // nil if it does not exist yet
	written bool
}

// identify returns the file of a path.
func identify(flag, path string, written bool) usedFile {
	u := usedFile{flag: flag, path: path, place: path, written: written}
	if written && atomicfile.IsStdout(path) {
		u.place = stdio
	}
	switch {
	case u.place != stdio:
		u.info, _ = os.Stat(path)
	case !written: // a file that was redirected, perhaps
		u.info, _ = os.Stdin.Stat()
	}
	if target, err := atomicfile.Target(path); err == nil && u.place != stdio {
		u.place = withoutLinks(target)
	}
	return u
}

// withoutLinks returns an absolute path without symbolic links in its folder.
func withoutLinks(path string) string {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(absolute))
	if err != nil {
		return path
	}
	return filepath.Join(dir, filepath.Base(path))
}

// reader returns the name of the reader of a file, for messages.
func (u usedFile) reader() string {
	if u.flag == "" || u.flag == "data" { // tables are arguments, too
		return "is read"
	}
	return "--" + u.flag + " reads"
}

// is reports whether two uses are of one file.
func (u usedFile) is(o usedFile) bool {
	if u.info != nil && o.info != nil {
		return os.SameFile(u.info, o.info)
	}
	return u.info == nil && o.info == nil && u.place == o.place
}

// matching returns the files of some patterns. A pattern without a match and a file that is named twice are
// mistakes in the command line.
func matching(patterns []string) ([]string, error) {
	paths, err := dataset.Matching(patterns)
	if err != nil {
		return nil, cli.Usagef("%w", err)
	}
	return paths, nil
}

// tables adds the tables that match some patterns.
func (f *files) tables(patterns []string) error {
	paths, err := matching(patterns)
	if err != nil {
		return err
	}
	for _, path := range paths {
		if err := f.reads("data", path); err != nil {
			return err
		}
	}
	return nil
}

// reads adds a file that a flag names, unless the flag is not given, and refuses a second standard input. A
// file that does not exist is left to exist or to the reader.
func (f *files) reads(flag, path string) error {
	if path == "" {
		return nil
	}
	for _, k := range f.used {
		if path == stdio && k.place == stdio {
			return cli.WrongFlags(flag, "--%s and --%s are both the standard input: name a file", k.flag, flag)
		}
	}
	f.used = append(f.used, identify(flag, path, false))
	return nil
}

// exist reports a file that is to be read and does not exist.
func (f *files) exist() error {
	for _, u := range f.used {
		if u.written || u.path == stdio {
			continue
		}
		_, err := os.Stat(u.path)
		if err == nil {
			continue
		}
		err = place.Named(u.path, text.Cause(err))
		if u.flag != "data" { // tables are arguments, too
			err = cli.OfFlag(u.flag, err)
		}
		return err
	}
	return nil
}

// create starts an output, of a name with one of the extensions or none. It takes its name with out.Commit.
func (f *files) create(flag, path string, extensions ...string) error {
	if err := f.claim(flag, path); err != nil {
		return err
	}
	if err := tablefile.CheckExtension(path, extensions...); err != nil {
		return cli.WrongFlag(flag, "%w", err)
	}
	out, err := f.start(flag, path)
	f.out = out
	return err
}

// createResult starts a result as create does. keepBetter may give it the name beside of that path.
func (f *files) createResult(flag, path string, extensions ...string) error {
	if err := f.create(flag, path, extensions...); err != nil {
		return err
	}
	f.result = path
	return f.claim(flag, beside(path))
}

// beside returns the path of a result where the path itself keeps a better result: "a.unfinished.npz" for
// "a.npz".
func beside(path string) string {
	extension := filepath.Ext(path)
	return strings.TrimSuffix(path, extension) + ".unfinished" + extension
}

// keepBetter lets the result go beside its path if the file that is there has a better grade.
func (f *files) keepBetter(g grade) {
	if f.out.Replaces() && gradeOfResult(f.result) > g {
		f.redirected = beside(f.result)
		f.out.Redirect(f.redirected)
	}
}

// add starts an output with all of its content, at the end of long work. The path was claimed before.
func (f *files) add(flag, path string, content []byte) error {
	out, err := f.start(flag, path)
	if err == nil {
		_, err = out.Write(content)
	}
	return err
}

// commit gives all outputs their names. Before the first gets its name all are complete on the disk, so that
// after an error none has it; only a rename that fails can leave some.
func (f *files) commit() error {
	for _, out := range f.all {
		if err := out.Finish(); err != nil {
			return err
		}
	}
	for _, out := range f.all {
		if err := out.Commit(); err != nil {
			return err
		}
	}
	return nil
}

// close removes the outputs that were not completed.
func (f *files) close() {
	for _, out := range f.all {
		_ = out.Close()
	}
}

// claim refuses a path that is read or written already.
func (f *files) claim(flag, path string) error {
	u := identify(flag, path, true)
	if u.info != nil && !u.info.Mode().IsRegular() && !u.info.IsDir() {
		return nil // devices and pipes lose nothing
	}
	for _, k := range f.used {
		switch same := k.is(u); {
		case same && k.written:
			return cli.WrongFlags(flag, "--%s and --%s would both write %s", k.flag, flag, path)
		case same:
			return cli.WrongFlag(flag, "it would overwrite %s, which %s: name another file", path, k.reader())
		}
	}
	f.used = append(f.used, u)
	return nil
}

// claimFolder claims a folder and the files that will be written to it, before long work begins. It fails if
// they cannot be written.
func (f *files) claimFolder(flag, dir string, names []string) error {
	for _, name := range append([]string{""}, names...) {
		if err := f.claim(flag, filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	if err := atomicfile.CheckFolder(dir, names...); err != nil {
		return cli.OfFlag(flag, err)
	}
	return nil
}

// claimLater claims a file that is written again and again during long work, and fails if that is impossible:
// before it.
func (f *files) claimLater(flag, path string) error {
	info, err := os.Stat(path)
	isStream := err == nil && !info.Mode().IsRegular() && !info.IsDir()
	if isStream || atomicfile.IsStdout(path) {
		return cli.WrongValue(flag, path, "it is written again and again: name a file")
	}
	if err := f.claim(flag, path); err != nil {
		return err
	}
	if err := atomicfile.Check(path); err != nil {
		return cli.OfFlag(flag, err)
	}
	return nil
}

// streams returns the streams of a command, aside if an output of the command is the standard output.
func (f *files) streams(std *cli.Streams) *cli.Streams {
	if !slices.ContainsFunc(f.used, func(k usedFile) bool { return k.written && k.place == stdio }) {
		return std
	}
	return std.Aside()
}
