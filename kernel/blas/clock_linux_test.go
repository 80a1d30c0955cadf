package blas_test

import (
	"syscall"
	"time"
	"unsafe"
)

// processTime returns the CPU time of the process.
func processTime() time.Duration {
	const processClock = 2
	var now syscall.Timespec
	syscall.Syscall(syscall.SYS_CLOCK_GETTIME, processClock, uintptr(unsafe.Pointer(&now)), 0)
	return time.Duration(now.Nano())
}
