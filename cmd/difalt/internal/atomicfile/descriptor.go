package atomicfile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// IsStdout reports whether a path stands for the standard output: "-", or a name of its descriptor.
func IsStdout(path string) bool {
	n, ok := descriptor(path)
	return path == Stdout || ok && n == 1
}

// descriptor returns the number of an open file of this process that a path names, also by symbolic links:
// /dev/stdout, /dev/fd/3, /proc/self/fd/3. Where such a file was redirected to a file, the path leads on to
// that file, but the process shares its position and must not replace it.
func descriptor(path string) (n int, ok bool) {
	for range mostLinks {
		if n, ok := descriptorName(path); ok {
			return n, true
		}
		target, isLink := follow(path)
		if !isLink {
			return 0, false
		}
		path = target
	}
	return 0, false
}

// mostLinks is the number of symbolic links that are followed, as of Linux.
const mostLinks = 40

// follow returns the target of a symbolic link, and whether the path is one.
func follow(path string) (target string, isLink bool) {
	target, err := os.Readlink(path)
	if err != nil {
		return path, false
	}
	if filepath.IsAbs(target) {
		return target, true
	}
	folder := filepath.Dir(path)
	if real, err := filepath.EvalSymlinks(folder); err == nil { // .. in the target is above that one
		folder = real
	}
	return filepath.Join(folder, target), true
}

// Target returns the path that symbolic links lead to, also to a file that does not exist yet. The path of
// other files stays.
func Target(path string) (string, error) {
	for range mostLinks {
		target, isLink := follow(path)
		if !isLink {
			return path, nil
		}
		path = target
	}
	return path, errors.New("too many symbolic links lead on from it")
}

// createOpen returns the open file of this process with number n, which a path names. What was written to it
// before stays.
func createOpen(n int, path string) (*File, error) {
	f := &File{File: os.Stderr, path: path, direct: true}
	if n == 2 {
		return f, nil
	}
	var err error
	if f.File, err = os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0); err != nil {
		return nil, f.named(err)
	}
	return f, nil
}

// descriptorName returns the number of the open file that has a name as the system gives it.
func descriptorName(path string) (n int, ok bool) {
	switch path = filepath.ToSlash(filepath.Clean(path)); path {
	case "/dev/stdin":
		return 0, true
	case "/dev/stdout":
		return 1, true
	case "/dev/stderr":
		return 2, true
	}
	for _, folder := range []string{"/dev/fd/", "/proc/self/fd/", fmt.Sprintf("/proc/%d/fd/", os.Getpid())} {
		if digits, is := strings.CutPrefix(path, folder); is {
			n, err := strconv.Atoi(digits)
			return n, err == nil && n >= 0
		}
	}
	return 0, false
}
