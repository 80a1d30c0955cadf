package atomicfile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

// IsStdout reports whether a path stands for the standard output: "-", or a name of its descriptor.
func IsStdout(path string) bool {
	n, ok := descriptor(path)
	return ok && n == stdout
}

// The numbers of the open files that every process has.
const (
	stdout = 1
	stderr = 2
)

// descriptor returns the number of an open file of this process that a path names, also by symbolic links:
// Stdout, /dev/stdout, /dev/fd/3, /proc/self/fd/3. Where such a file was redirected to a file, the path leads
// on to that file, but the process shares its position and must not replace it.
func descriptor(path string) (n int, ok bool) {
	if path == Stdout {
		return stdout, true
	}
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
	f := &File{path: path, direct: true}
	switch {
	case IsStdout(path):
		f.File, f.path = os.Stdout, "the standard output"
	case n == stderr:
		f.File = os.Stderr
	default:
		var err error
		if f.File, err = os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0); err != nil {
			return nil, f.named(err)
		}
		return f, nil
	}
	if isClosed(f.File) {
		return nil, f.named(errClosed)
	}
	return f, nil
}

// errClosed is the error of a standard stream that was closed when the program started, or looks like one.
var errClosed = errors.New("it is closed, or is " + os.DevNull + " opened for reading and writing, which looks " +
	"the same: name a file, or " + os.DevNull + " to discard the result")

// isClosed reports whether a standard stream was closed when the program started. Go opens the null device in
// its place, for reading and writing, so that the stream seems to take all that is written. Shells open that
// device for writing alone. Some programs that start others do not, such as Python's subprocess with DEVNULL,
// so that results alone ask: a report may be discarded in this way.
func isClosed(f *os.File) bool {
	if runtime.GOOS == "windows" { // where such a stream refuses every write
		return false
	}
	null, err := os.Stat(os.DevNull)
	if err != nil {
		return false
	}
	info, err := f.Stat()
	if err != nil || !os.SameFile(null, info) {
		return false
	}
	_, err = f.Read(make([]byte, 1)) // fails if the stream is open for writing alone
	return err == io.EOF
}

// descriptorName returns the number of the open file that has a name as the system gives it.
func descriptorName(path string) (n int, ok bool) {
	switch path = filepath.ToSlash(filepath.Clean(path)); path {
	case "/dev/stdin":
		return 0, true
	case "/dev/stdout":
		return stdout, true
	case "/dev/stderr":
		return stderr, true
	}
	for _, folder := range []string{"/dev/fd/", "/proc/self/fd/", fmt.Sprintf("/proc/%d/fd/", os.Getpid())} {
		if digits, is := strings.CutPrefix(path, folder); is {
			n, err := strconv.Atoi(digits)
			return n, err == nil && n >= 0
		}
	}
	return 0, false
}
