//go:build unix

package atomicfile

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// New files have the mode that the umask leaves, and others keep theirs.
func TestModes(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		umask int
		want  os.FileMode
	}{{0o022, 0o644}, {0o077, 0o600}, {0o002, 0o664}} {
		old := syscall.Umask(c.umask)
		path := filepath.Join(dir, c.want.String())
		err := WriteFile(path, []byte("text"))
		syscall.Umask(old)
		if err != nil {
			t.Fatal(err)
		}
		checkMode(t, path, c.want)
		if err := os.Chmod(path, 0o640); err != nil {
			t.Fatal(err)
		}
		if err := WriteFile(path, []byte("other")); err != nil {
			t.Fatal(err)
		}
		checkMode(t, path, 0o640)
	}
}

func checkMode(t *testing.T, path string, want os.FileMode) {
	t.Helper()
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
		t.Errorf("%s: mode %v (%v), want %v", path, info.Mode().Perm(), err, want)
	}
}
