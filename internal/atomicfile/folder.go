package atomicfile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/difalt/difalt/internal/text"
)

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
// before leaves the folder as it was.
func WriteFolder(dir string, files map[string][]byte) error {
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
