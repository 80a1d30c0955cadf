//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package atomicfile

import (
	"io/fs"
	"os"
)

// canLock is false where systems have no locks: files of killed processes stay.
const canLock = false

// Lock has no lock to take.
func Lock(*os.File) (taken, others bool) { return false, false }

// nonblock and noReader are of systems with named pipes in folders.
const nonblock = 0

var noReader = fs.ErrInvalid
