// Package scratchtest finds folders on disks for tests.
package scratchtest

import (
	"errors"
	"os"
	"runtime"
	"testing"

	"github.com/difalt/difalt/internal/scratch"
)

// Folder returns an empty folder whose files are on a disk: that of the package if
// temporary files are in memory. It skips the test where samples cannot be on disk.
func Folder(t *testing.T) string {
	folder := t.TempDir()
	_, err := scratch.New(folder, 1)
	if errors.Is(err, scratch.ErrMemory) {
		if folder, err = os.MkdirTemp(".", "scratch-"); err == nil {
			t.Cleanup(func() { os.RemoveAll(folder) })
			_, err = scratch.New(folder, 1)
		}
	}
	switch {
	case err != nil && (runtime.GOOS == "linux" || runtime.GOOS == "darwin"):
		t.Fatal(err)
	case err != nil:
		t.Skip(err)
	}
	return folder
}
