//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package atomicfile

import (
	"io/fs"
	"os"
)

// Without locks, files of killed processes stay; nor are there named pipes in folders.
const (
	canLock  = false
	nonblock = 0
)

var noReader = fs.ErrInvalid

func lock(*os.File) (taken, others bool) { return false, false }
