//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package atomicfile

import (
	"errors"
	"os"
	"syscall"
)

// canLock is true where a lock shows that a living process holds a file. nonblock opens a named pipe without
// waiting for a reader; noReader is its error without one.
const (
	canLock  = true
	nonblock = syscall.O_NONBLOCK
	noReader = syscall.ENXIO
)

// lock takes the lock of an open file, which ends with the process or when the file is closed, and reports
// whether it has, and if not, whether another process has it: some folders have no locks.
func lock(f *os.File) (taken, others bool) {
	for {
		switch err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); {
		case err == nil:
			return true, false
		case !errors.Is(err, syscall.EINTR):
			return false, errors.Is(err, syscall.EWOULDBLOCK)
		}
	}
}
