//go:build unix

package cluster

import (
	"io/fs"
	"syscall"
)

func ownerOf(info fs.FileInfo) (user int, known bool) {
	s, known := info.Sys().(*syscall.Stat_t)
	if !known {
		return 0, false
	}
	return int(s.Uid), true
}
