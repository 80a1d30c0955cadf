//go:build unix

package atomicfile

import (
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestModes: a new file has the mode that the umask leaves, and another one keeps its own, also while it is
// written.
func TestModes(t *testing.T) {
	const old = 0o640
	for umask, fresh := range map[int]os.FileMode{0o022: 0o644, 0o077: 0o600, 0o002: 0o664} {
		path := filepath.Join(t.TempDir(), "f")
		for _, want := range []os.FileMode{fresh, old} {
			before := syscall.Umask(umask)
			f, err := Create(path)
			syscall.Umask(before)
			if err != nil {
				t.Fatal(err)
			}
			begun, err1 := f.Stat()
			err2 := f.Commit()
			info, err := os.Stat(path)
			if err != nil || err1 != nil || err2 != nil || info.Mode() != want || begun.Mode()&^want != 0 {
				t.Errorf("umask %o: mode %v after %v, want %v (%v, %v, %v)", umask, info.Mode(), begun.Mode(), want,
					err, err1, err2)
			}
			if err := os.Chmod(path, old); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestPipe: a pipe with a reader is written to, and one without is refused at once, without blocking.
func TestPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip(err)
	}
	_, err := Create(path)
	checkError(t, err, "nobody reads this pipe")
	reader, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	if err := WriteFile(path, []byte("text")); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(reader); err != nil || string(got) != "text" {
		t.Errorf("read %q, %v", got, err)
	}
}
