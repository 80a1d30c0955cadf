//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package scratch

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// reserve maps a file of n bytes in a folder, which has no name and all of its disk space.
func reserve(folder string, n int) ([]byte, error) {
	if err := checkFolder(folder, n); err != nil {
		return nil, cause(err)
	}
	f, err := os.CreateTemp(folder, "difalt-samples-")
	if err != nil {
		return nil, cause(err)
	}
	defer f.Close() // the mapping keeps the file
	if err := os.Remove(f.Name()); err != nil {
		return nil, cause(err)
	}
	if n == 0 {
		return nil, nil
	}
	if err := allocate(f, int64(n)); err != nil {
		return nil, cause(err)
	}
	data, err := syscall.Mmap(int(f.Fd()), 0, n, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		return nil, err
	}
	sequential(data)
	return data, nil
}

// fill writes zeros to the first n bytes of a file, for systems that reserve no space
// otherwise.
func fill(f *os.File, n int64) error {
	zeros := make([]byte, 1<<20)
	for at := int64(0); at < n; at += int64(len(zeros)) {
		if _, err := f.WriteAt(zeros[:min(int64(len(zeros)), n-at)], at); err != nil {
			return err
		}
	}
	return nil
}

// cause strips the names of files, which have gone, from an error.
func cause(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

func release(data []byte) { _ = syscall.Munmap(data) }
