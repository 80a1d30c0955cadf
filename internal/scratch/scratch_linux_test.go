package scratch_test

import (
	"errors"
	"syscall"
	"testing"

	"github.com/difalt/difalt/internal/scratch"
	"github.com/difalt/difalt/internal/scratch/scratchtest"
)

// TestFileBeyondFreeSpace is refused before anything is reserved: it takes no time, and
// nobody else finds the disk full.
func TestFileBeyondFreeSpace(t *testing.T) {
	folder := scratchtest.Folder(t)
	var s syscall.Statfs_t
	if err := syscall.Statfs(folder, &s); err != nil {
		t.Fatal(err)
	}
	free := int(s.Bavail) * int(s.Bsize)
	if _, err := scratch.New(folder, free+1<<30); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("%d bytes and 1 GB more: error %v, want %v", free, err, syscall.ENOSPC)
	}
}
