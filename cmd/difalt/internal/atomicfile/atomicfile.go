// Package atomicfile writes files that appear complete or not at all: to a temporary name in their folder,
// renamed at the end. A process that is killed leaves its temporary files, called .NAME.RANDOM.part.
package atomicfile

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/difalt/difalt/cmd/difalt/internal/place"
	"github.com/difalt/difalt/cmd/difalt/internal/text"
)

// Stdout is the path that stands for the standard output.
const Stdout = "-"

// A File is being written. It takes its final name with Commit; until then whatever has that name stays as it
// is. For a nil File, Commit and Close do nothing.
type File struct {
	*os.File
	path   string
	direct bool // File has the final name already
	state  state
}

// A state is the progress of a file.
type state int

const (
	open     state = iota
	finished       // its content is on the disk, and it is closed
	over           // it has its final name, or is gone
)

// Create starts the file with the given path, or the standard output for the path Stdout. It fails when the
// folder does not exist or cannot be written, and when the path is a folder or a file that may not be
// written: a program can ask before it starts long work. The target of a symbolic link is replaced or made,
// not the link; devices, pipes and the open files of the process, such as /dev/stdout, are written as they
// are. A new file has the mode that the umask gives, another one keeps its own.
func Create(path string) (*File, error) {
	if n, ok := descriptor(path); ok {
		return createOpen(n, path)
	}
	f, mode := &File{path: path}, fs.FileMode(0o666)
	path, err := Target(path)
	if err != nil {
		return nil, f.named(err)
	}
	f.path = path
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		err = errors.New("it is a folder")
	case err == nil:
		f.File, err = os.OpenFile(path, os.O_WRONLY|syscall.O_NONBLOCK, 0) // for pipes without a reader
		if errors.Is(err, syscall.ENXIO) {
			err = errors.New("nobody reads this pipe")
		}
		if f.direct = !info.Mode().IsRegular(); err == nil && !f.direct {
			f.File.Close()
			mode &= info.Mode().Perm() // whoever may not read the old content may not read the new one
		}
	default:
		err = nil // there is no such file, or its folder cannot be read
	}
	if err == nil && !f.direct {
		f.File, err = temporary(path, mode)
	}
	if err != nil {
		return nil, f.named(err)
	}
	return f, nil
}

// standard reports whether the file is the standard output or the standard error, which stay open.
func (f *File) standard() bool { return f.File == os.Stdout || f.File == os.Stderr }

// Check fails where Create would, and leaves everything as it is: for files that are written after long work,
// or again and again.
func Check(path string) error {
	if info, err := os.Stat(path); err == nil && info.Mode()&fs.ModeNamedPipe != 0 {
		return nil // the reader of a pipe would take the first end for the last one
	}
	f, err := Create(path)
	if err != nil {
		return err
	}
	return f.Close()
}

// temporary opens a new file in the folder of a path. Unlike a file of os.CreateTemp it has the mode that the
// umask, or the folder, gives new files.
func temporary(path string, mode fs.FileMode) (*os.File, error) {
	name := fmt.Sprintf(".%s.%s.part", filepath.Base(path), rand.Text())
	return os.OpenFile(filepath.Join(filepath.Dir(path), name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
}

// named returns an error with the path in place of the temporary name.
func (f *File) named(err error) error {
	if err == nil {
		return nil
	}
	return place.In(f.path, fmt.Errorf("cannot write %s: %w", f.path, text.Cause(err)))
}

// WriteFile writes a whole file.
func WriteFile(path string, content []byte) error {
	f, err := Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Write(content); err != nil {
		return err
	}
	return f.Commit()
}

// Write writes to the temporary file; its errors name the path.
func (f *File) Write(b []byte) (int, error) {
	n, err := f.File.Write(b)
	return n, f.named(err)
}

// Finish brings the content to the disk, under the temporary name: a Commit after it finds no full disk. With
// it, several files change together or not at all.
func (f *File) Finish() (err error) {
	if f.state != open {
		return nil
	}
	f.state = finished
	if f.standard() { // the program may write more
		return nil
	}
	if !f.direct {
		if info, gone := os.Stat(f.path); gone == nil {
			err = f.Chmod(info.Mode().Perm())
		}
		err = errors.Join(err, f.Sync())
	}
	if err = errors.Join(err, f.File.Close()); err != nil {
		f.Close()
	}
	return f.named(err)
}

// Replaces reports whether Commit replaces a file that is there now.
func (f *File) Replaces() bool {
	if f.direct {
		return false
	}
	_, err := os.Stat(f.path)
	return err == nil
}

// Redirect gives the file another final name in its folder, before Commit.
func (f *File) Redirect(path string) {
	f.path = filepath.Join(filepath.Dir(f.path), filepath.Base(path))
}

// Commit gives the file its final name, replacing what had it.
func (f *File) Commit() error {
	if f == nil {
		return nil
	}
	if err := f.Finish(); err != nil || f.state == over || f.direct {
		return err
	}
	if err := os.Rename(f.Name(), f.path); err != nil {
		f.Close()
		return f.named(err)
	}
	f.state = over
	syncFolder(filepath.Dir(f.path))
	return nil
}

// syncFolder brings the names in a folder to the disk, where the system can do that: a rename that a crash
// undoes would leave the file that was there before, whole, so an error does not matter.
func syncFolder(dir string) {
	if d, err := os.Open(dir); err == nil {
		_ = d.Sync()
		_ = d.Close()
	}
}

// Close removes the temporary file, unless Commit was called before.
func (f *File) Close() error {
	if f == nil || f.state == over || f.standard() || f.direct && f.state == finished {
		return nil
	}
	f.state = over
	err := f.File.Close()
	if f.direct {
		return err
	}
	return os.Remove(f.Name()) // the file may have been closed before
}

// CheckFolder fails if files of these names cannot be written to a folder, or if it is not there and cannot
// be made.
func CheckFolder(dir string, names ...string) error {
	_, above, err := missing(dir)
	if err != nil {
		return err
	}
	f, err := temporary(filepath.Join(above, "check"), 0o666)
	if err != nil {
		return place.In(above, fmt.Errorf("cannot write to %s: %w", above, text.Cause(err)))
	}
	err = errors.Join(f.Close(), os.Remove(f.Name()))
	for i := 0; i < len(names) && err == nil && above == dir; i++ {
		err = Check(filepath.Join(dir, names[i]))
	}
	return err
}

// ErrNoFolder is the error of the standard output where a folder is needed.
var ErrNoFolder = errors.New("a folder is needed, and - is the standard output")

// missing lists a folder and those above it that are not there, the innermost first, and the folder above
// these, which is there. It refuses the name of the standard output.
func missing(dir string) (list []string, above string, err error) {
	if dir == Stdout {
		return nil, "", place.In(dir, ErrNoFolder)
	}
	for above = dir; ; above = filepath.Dir(above) {
		info, err := os.Stat(above)
		if err == nil && !info.IsDir() {
			return nil, "", place.In(above, fmt.Errorf("cannot write to %s: it is not a folder", above))
		}
		if err == nil || above == filepath.Dir(above) {
			return list, above, nil
		}
		list = append(list, above)
	}
}

// MakeFolder makes a folder and those above it that are not there. It returns the new ones, the inner ones
// first, also after an error.
func MakeFolder(dir string, mode fs.FileMode) (made []string, err error) {
	made, _, err = missing(dir)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, mode); err != nil {
		return made, place.In(dir, fmt.Errorf("cannot make the folder %s: %w", dir, text.Cause(err)))
	}
	return made, nil
}

// A Content writes the content of a file.
type Content func(w io.Writer) error

// Bytes is a content that is in memory.
func Bytes(content []byte) Content {
	return func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	}
}

// WriteFolder writes files, given by their paths in a folder, in the order of the paths. It makes the folders
// that are missing. All files are complete on the disk before the first one takes its name: an error until
// then leaves everything as it was.
func WriteFolder(dir string, files map[string]Content) (err error) {
	if _, _, err := missing(dir); err != nil {
		return err
	}
	var made []string // the inner ones first
	defer func() {
		for _, d := range made {
			os.Remove(d) // if it is empty, after an error
		}
	}()
	var all []*File
	for _, name := range slices.Sorted(maps.Keys(files)) {
		path := filepath.Join(dir, name)
		folders, err := MakeFolder(filepath.Dir(path), 0o777)
		made = append(folders, made...)
		if err != nil {
			return err
		}
		f, err := Create(path)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := files[name](f); err != nil {
			return err
		}
		if err := f.Finish(); err != nil {
			return err
		}
		all = append(all, f)
	}
	for _, f := range all {
		if err := f.Commit(); err != nil {
			return err
		}
	}
	return nil
}
