package scratch

import (
	"errors"
	"os"
	"syscall"
	"unsafe"
)

// Kinds of file systems that keep files in memory.
const (
	tmpfs = 0x01021994
	ramfs = 0x858458f6
)

// checkFolder refuses a folder in memory, and one whose disk has less than n bytes left:
// reserving them would fill the disk for everybody before it fails, and takes minutes on
// some.
func checkFolder(folder string, n int) error {
	var s syscall.Statfs_t
	if err := syscall.Statfs(folder, &s); err != nil {
		return err
	}
	if kind := uint32(s.Type); kind == tmpfs || kind == ramfs {
		return ErrMemory
	}
	// Some file systems over a network do not know their size, and report 0.
	if s.Blocks > 0 && uint64(n)/uint64(s.Bsize) >= s.Bavail {
		return syscall.ENOSPC
	}
	return nil
}

// allocate gives a file n bytes of disk space.
func allocate(f *os.File, n int64) error {
	for {
		switch err := syscall.Fallocate(int(f.Fd()), 0, 0, n); {
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.EOPNOTSUPP), errors.Is(err, syscall.ENOSYS):
			return fill(f, n)
		default:
			return err
		}
	}
}

// sequential announces reads from the first byte to the last: the system then drops these pages before any others.
func sequential(data []byte) { _ = syscall.Madvise(data, syscall.MADV_SEQUENTIAL) }

func scattered(data []byte, yes bool) {
	if yes {
		_ = syscall.Madvise(data, syscall.MADV_RANDOM)
	} else {
		sequential(data)
	}
}

// ahead requests the pages that data lies in.
func ahead(data []byte) {
	start := unsafe.Pointer(unsafe.SliceData(data))
	lead := uintptr(start) & uintptr(os.Getpagesize()-1)
	_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, uintptr(start)-lead, uintptr(len(data))+lead, syscall.MADV_WILLNEED)
}
