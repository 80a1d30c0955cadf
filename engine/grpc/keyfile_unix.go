//go:build unix

package grpc

import (
	"io/fs"
	"os"
	"syscall"
)

// lent reports whether a file is root's, for a user who is not: only its group can let
// that user read it, as secrets of containers are mounted.
func lent(info fs.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && s.Uid == 0 && os.Geteuid() != 0
}
