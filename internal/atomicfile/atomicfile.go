// Package atomicfile writes files that appear complete or not at all: to a
// temporary name in the same folder, renamed at the end.
package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// A File is being written. It takes its final name with Commit; until then
// whatever has that name stays as it is.
type File struct {
	*os.File
	path   string
	direct bool // File has the final name already
	done   bool
}

// Create starts the file with the given path. It fails when the folder does not
// exist or cannot be written, or when the path is a folder, so that a program can
// ask before it starts long work. What a symbolic link points to is replaced, not the
// link; and devices and pipes, such as /dev/stdout, are written as they are.
func Create(path string) (*File, error) {
	if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		if target, err := filepath.EvalSymlinks(path); err == nil {
			path = target
		}
	}
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return nil, fmt.Errorf("cannot write %s: it is a folder", path)
	case err == nil && !info.Mode().IsRegular():
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return nil, fmt.Errorf("cannot write %s: %w", path, cause(err))
		}
		return &File{File: f, path: path, direct: true}, nil
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return nil, fmt.Errorf("cannot write %s: %w", path, cause(err))
	}
	return &File{File: f, path: path}, nil
}

// WriteFile writes a whole file.
func WriteFile(path string, content []byte) error {
	f, err := Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Write(content); err != nil {
		return fmt.Errorf("cannot write %s: %w", path, cause(err))
	}
	return f.Commit()
}

// Commit gives the file its final name, replacing what had it.
func (f *File) Commit() error {
	if f.done {
		return nil
	}
	f.done = true
	if f.direct {
		return f.File.Close()
	}
	err := errors.Join(f.Chmod(f.mode()), f.Sync(), f.File.Close())
	if err == nil {
		err = os.Rename(f.Name(), f.path)
	}
	if err != nil {
		os.Remove(f.Name())
		return fmt.Errorf("cannot write %s: %w", f.path, cause(err))
	}
	return nil
}

// Close removes the temporary file, unless Commit was called before.
func (f *File) Close() error {
	if f.done {
		return nil
	}
	f.done = true
	if f.direct {
		return f.File.Close()
	}
	return errors.Join(f.File.Close(), os.Remove(f.Name()))
}

// mode is that of the file which is replaced, or what a shell's ">" would give
// most users: CreateTemp's 0600 would surprise.
func (f *File) mode() fs.FileMode {
	if info, err := os.Stat(f.path); err == nil {
		return info.Mode().Perm()
	}
	return 0o644
}

// cause strips the temporary name from a path error.
func cause(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}
