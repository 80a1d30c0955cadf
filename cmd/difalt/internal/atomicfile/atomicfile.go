// Package atomicfile writes files that appear complete or not at all: to a
// temporary name in the same folder, renamed at the end. A process holds a lock on its
// temporary files, so that those of processes that were killed are known, and removed.
package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/difalt/difalt/cmd/difalt/internal/text"
)

// Stdout is the path that stands for the standard output.
const Stdout = "-"

// A File is being written. It takes its final name with Commit; until then
// whatever has that name stays as it is. For a nil File, Complete,
// Commit and Close do nothing.
type File struct {
	*os.File
	path   string
	direct bool // File has the final name already
	secret bool // it is for its owner only, whatever was there before
	state  state
}

// A state is the progress of a file.
type state int

const (
	open     state = iota
	finished       // its content is on the disk
	over           // it has its final name, or is gone
)

// Create starts the file with the given path, or the standard output for the path
// Stdout. It fails when the folder does not exist or cannot be written, when the path is
// a folder, or a file that may not be written, so that a program can ask before it
// starts long work. The target of a symbolic link is replaced, not the link;
// devices and pipes, such as /dev/stdout, are written as they are.
func Create(path string) (*File, error) { return create(path, 0o666) }

// Secret is the mode of a file that is for its owner only.
const Secret = 0o600

func create(path string, mode fs.FileMode) (*File, error) {
	if path == Stdout {
		return &File{File: os.Stdout, path: "the standard output", direct: true}, nil
	}
	if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		if target, err := filepath.EvalSymlinks(path); err == nil {
			path = target
		}
	}
	info, err := os.Stat(path)
	secret := mode == Secret
	switch {
	case err == nil && info.IsDir():
		return nil, fmt.Errorf("cannot write %s: it is a folder", path)
	case err == nil:
		f, err := os.OpenFile(path, os.O_WRONLY|nonblock, 0) // so that a pipe without a reader is an error
		if errors.Is(err, noReader) {
			err = errors.New("nobody reads this pipe")
		}
		if err != nil {
			return nil, fmt.Errorf("cannot write %s: %w", path, text.Cause(err))
		}
		if !info.Mode().IsRegular() {
			return &File{File: f, path: path, direct: true}, nil
		}
		f.Close()
		mode &= info.Mode().Perm() // nobody reads sooner what he may not read in the end
	}
	f, err := temporary(path, mode)
	if err != nil {
		return nil, fmt.Errorf("cannot write %s: %w", path, text.Cause(err))
	}
	return &File{File: f, path: path, secret: secret}, nil
}

// A temporary file is called .NAME.RANDOM.part, where RANDOM has randomLen characters.
const (
	randomLen = 13
	part      = ".part"
)

// temporary opens a new file in the folder of a path, and removes those that others have left
// there for that path. Unlike those of os.CreateTemp it has the mode that the umask, or the
// folder, gives new files.
func temporary(path string, mode fs.FileMode) (f *os.File, err error) {
	dir, base := filepath.Dir(path), filepath.Base(path)
	if err := Tidy(dir, func(name string) bool { return name == base }); err != nil {
		return nil, err
	}
	for range 100 {
		name := filepath.Join(dir, fmt.Sprintf(".%s.%0*s%s", base, randomLen, strconv.FormatUint(rand.Uint64(), 36), part))
		f, err = os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		switch {
		case errors.Is(err, fs.ErrExist):
		case err != nil || Stays(f):
			return f, err
		default:
			f.Close()
		}
	}
	return nil, err
}

// Stays takes the lock of a new file or folder. It reports false if somebody takes it for one
// that was left behind, and removes it, before there is a lock.
func Stays(f *os.File) bool {
	_, others := Lock(f)
	own, err := f.Stat()
	there, gone := os.Stat(f.Name())
	return !others && err == nil && gone == nil && os.SameFile(own, there)
}

// Tidy removes from a folder the temporary files that processes have left that were killed, of
// those files whose names are chosen. Those of living processes stay, also where systems or
// folders have no locks.
func Tidy(dir string, chosen func(name string) bool) error {
	entries, err := os.ReadDir(dir)
	if err != nil || !canLock {
		return err
	}
	for _, e := range entries {
		name, begun := strings.CutSuffix(e.Name(), part)
		dot := len(name) - randomLen - 1
		if !begun || dot < 2 || name[0] != '.' || name[dot] != '.' || !e.Type().IsRegular() || !chosen(name[1:dot]) {
			continue
		}
		f, err := os.OpenFile(filepath.Join(dir, e.Name()), os.O_WRONLY, 0)
		if err != nil {
			continue // it is gone, or somebody else's
		}
		if taken, _ := Lock(f); taken {
			_ = os.Remove(f.Name()) // or nobody may
		}
		f.Close()
	}
	return nil
}

// WriteFile writes a whole file of the given mode, less what the umask takes away, or the one it replaces.
// Secret is that of a file that only its owner may read, whatever was there before.
func WriteFile(path string, content []byte, mode fs.FileMode) error {
	f, err := create(path, mode)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Complete(content); err != nil {
		return err
	}
	return f.Commit()
}

// Write is that of os.File; its errors name the path, not the temporary file.
func (f *File) Write(b []byte) (int, error) {
	n, err := f.File.Write(b)
	if err != nil {
		err = fmt.Errorf("cannot write %s: %w", f.path, text.Cause(err))
	}
	return n, err
}

// Complete writes a whole content, and finishes the file.
func (f *File) Complete(content []byte) error {
	if f == nil {
		return nil
	}
	if _, err := f.Write(content); err != nil {
		return err
	}
	return f.Finish()
}

// Finish brings the content to the disk, under the temporary name: a Commit after it
// finds no full disk. With it, several files change together or not at all.
func (f *File) Finish() error {
	if f.state != open {
		return nil
	}
	f.state = finished
	var err error
	switch {
	case f.File == os.Stdout: // the program may write more
	case f.direct:
		err = f.File.Close()
	default:
		if info, gone := os.Stat(f.path); gone == nil && !f.secret { // it keeps the mode of the one that it replaces
			err = f.Chmod(info.Mode().Perm())
		}
		if err = errors.Join(err, f.Sync()); !canLock {
			err = errors.Join(err, f.File.Close()) // some systems rename no open file
		}
	}
	return f.orGone(err)
}

// Commit gives the file its final name, replacing what had it.
func (f *File) Commit() error {
	if f == nil {
		return nil
	}
	if err := f.Finish(); err != nil || f.state == over {
		return err
	}
	f.state = over
	if f.direct {
		return nil
	}
	err := f.orGone(os.Rename(f.Name(), f.path))
	f.File.Close() // all is on the disk; until now it kept the lock
	return err
}

// orGone removes the temporary file if there is an error, which it returns with the path.
func (f *File) orGone(err error) error {
	if err == nil {
		return nil
	}
	f.state = over
	if !f.direct {
		os.Remove(f.Name())
	}
	return fmt.Errorf("cannot write %s: %w", f.path, text.Cause(err))
}

// Close removes the temporary file, unless Commit was called before.
func (f *File) Close() error {
	if f == nil {
		return nil
	}
	was := f.state
	f.state = over
	switch {
	case was == over || f.File == os.Stdout || f.direct && was == finished:
		return nil
	case f.direct:
		return f.File.Close()
	}
	f.File.Close() // it may be closed already
	return os.Remove(f.Name())
}

// CheckFolder fails if files cannot be written to a folder, or if it cannot be made. It
// leaves nothing behind.
func CheckFolder(dir string) error {
	undo, err := makeFolder(dir)
	if err != nil {
		return err
	}
	defer undo()
	f, err := temporary(filepath.Join(dir, "check"), 0o666)
	if err != nil {
		return fmt.Errorf("cannot write to %s: %w", dir, text.Cause(err))
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// WriteFolder writes files, given by their names, into a folder, which it makes if need
// be. All of them are complete on the disk before the first takes its name: an error
// before leaves the folder as it was. ready is called between, unless it is nil.
func WriteFolder(dir string, files map[string][]byte, ready func() error) error {
	undo, err := makeFolder(dir)
	if err != nil {
		return err
	}
	defer undo() // of folders that are empty, after an error
	var all []*File
	for name, content := range files {
		f, err := Create(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		defer f.Close()
		if err := f.Complete(content); err != nil {
			return err
		}
		all = append(all, f)
	}
	if ready != nil {
		if err := ready(); err != nil {
			return err
		}
	}
	for _, f := range all {
		if err := f.Commit(); err != nil {
			return err
		}
	}
	return nil
}

// makeFolder makes a folder and those above it. undo removes the new ones that are empty.
func makeFolder(dir string) (undo func(), err error) {
	var missing []string // the innermost first
	for above := dir; ; above = filepath.Dir(above) {
		info, err := os.Stat(above)
		if err == nil && !info.IsDir() {
			return nil, fmt.Errorf("cannot write to %s: it is not a folder", above)
		}
		if err == nil || above == filepath.Dir(above) {
			break
		}
		missing = append(missing, above)
	}
	undo = func() {
		for _, d := range missing {
			os.Remove(d)
		}
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		undo()
		return nil, fmt.Errorf("cannot make the folder %s: %w", dir, text.Cause(err))
	}
	return undo, nil
}
