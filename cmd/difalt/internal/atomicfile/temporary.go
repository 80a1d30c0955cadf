package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
)

// A temporary file is called .NAME.RANDOM.part, where RANDOM has randomLen characters.
const (
	randomLen = 13
	part      = ".part"
)

// temporary opens a new file in the folder of a path, and removes those that killed processes have left there
// for that path. Unlike those of os.CreateTemp it has the mode that the umask, or the folder, gives new
// files.
func temporary(path string, mode fs.FileMode) (f *os.File, err error) {
	if err := tidy(path); err != nil {
		return nil, err
	}
	for range 100 {
		name := fmt.Sprintf(".%s.%0*s%s", filepath.Base(path), randomLen, strconv.FormatUint(rand.Uint64(), 36), part)
		f, err = os.OpenFile(filepath.Join(filepath.Dir(path), name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		switch {
		case errors.Is(err, fs.ErrExist):
		case err != nil || stays(f):
			return f, err
		default:
			f.Close()
		}
	}
	return nil, err
}

// stays takes the lock of a new file. It reports false if a process takes the file for one that was left
// behind, and removes it, before there is a lock.
func stays(f *os.File) bool {
	_, others := lock(f)
	own, err := f.Stat()
	there, gone := os.Stat(f.Name())
	return !others && err == nil && gone == nil && os.SameFile(own, there)
}

// tidy removes the temporary files for a path that killed processes have left. Those of living processes
// stay, also where systems or folders have no locks.
func tidy(path string) error {
	dir := filepath.Dir(path)
	entries, err := os.ReadDir(dir)
	if err != nil || !canLock {
		return err
	}
	left := regexp.MustCompile(fmt.Sprintf(`^\.%s\.[^.]{%d}\%s$`, regexp.QuoteMeta(filepath.Base(path)), randomLen, part))
	for _, e := range entries {
		if !left.MatchString(e.Name()) || !e.Type().IsRegular() {
			continue
		}
		f, err := os.OpenFile(filepath.Join(dir, e.Name()), os.O_WRONLY, 0)
		if err != nil {
			continue // it is gone, or somebody else's
		}
		if taken, _ := lock(f); taken {
			_ = os.Remove(f.Name()) // or nobody may
		}
		f.Close()
	}
	return nil
}
