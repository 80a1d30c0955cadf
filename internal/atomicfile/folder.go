package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// CheckFolder fails if files cannot be written to a folder, or if it cannot be made. It
// leaves nothing behind.
func CheckFolder(dir string) error {
	made, err := makeFolder(dir)
	if err != nil {
		return err
	}
	defer removeFolders(made)
	f, err := temporary(filepath.Join(dir, "check"))
	if err != nil {
		return fmt.Errorf("cannot write to %s: %w", dir, cause(err))
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// WriteFolder writes files, given by their names, into a folder, which it makes if need
// be. All of them are complete on the disk before the first takes its name: an error
// before leaves the folder as it was.
func WriteFolder(dir string, files map[string][]byte) error {
	made, err := makeFolder(dir)
	if err != nil {
		return err
	}
	all, err := createAll(dir, files)
	for _, f := range all {
		defer f.Close()
	}
	if err == nil {
		for _, f := range all {
			if err = f.Finish(); err != nil {
				break
			}
		}
	}
	if err != nil {
		for _, f := range all {
			f.Close()
		}
		removeFolders(made)
		return err
	}
	for _, f := range all {
		if err := f.rename(); err != nil {
			return err
		}
	}
	return nil
}

// createAll writes the files under temporary names. Those that it returns need a Close
// also if there is an error.
func createAll(dir string, files map[string][]byte) (all []*File, err error) {
	for name, content := range files {
		f, err := Create(filepath.Join(dir, name))
		if err != nil {
			return all, err
		}
		all = append(all, f)
		if _, err := f.Write(content); err != nil {
			return all, err
		}
	}
	return all, nil
}

// makeFolder makes a folder and those above it, and returns the ones that were not
// there, from the outermost on.
func makeFolder(dir string) (made []string, err error) {
	if info, err := os.Stat(dir); err == nil {
		if !info.IsDir() {
			return nil, fmt.Errorf("cannot write to %s: it is not a folder", dir)
		}
		return nil, nil
	}
	if above := filepath.Dir(dir); above != dir {
		if made, err = makeFolder(above); err != nil {
			return nil, err
		}
	}
	if err := os.Mkdir(dir, 0o777); err != nil {
		if errors.Is(err, fs.ErrExist) {
			if info, statErr := os.Stat(dir); statErr == nil && info.IsDir() {
				return made, nil // another program was faster
			}
		}
		removeFolders(made)
		return nil, fmt.Errorf("cannot make the folder %s: %w", dir, cause(err))
	}
	return append(made, dir), nil
}

// removeFolders removes folders that are empty, the innermost first.
func removeFolders(made []string) {
	for i := len(made) - 1; i >= 0; i-- {
		os.Remove(made[i])
	}
}
