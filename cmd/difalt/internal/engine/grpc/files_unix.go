//go:build unix

package grpc

import (
	"math"
	"syscall"
)

// mostFiles returns the number of files that this process may open.
func mostFiles() int {
	var r syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &r); err != nil || uint64(r.Cur) > math.MaxInt32 {
		return math.MaxInt32
	}
	return int(r.Cur)
}
