//go:build unix

package atomicfile

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"
)

// TestModes: a new file has the mode that the umask leaves, and another one keeps its own, also while it is
// written; a secret is for its owner only, whatever was there before.
func TestModes(t *testing.T) {
	for _, c := range []struct {
		name                             string
		umask, mode, fresh, old, instead os.FileMode
	}{
		{"usual", 0o022, 0o666, 0o644, 0o640, 0o640},
		{"private", 0o077, 0o666, 0o600, 0o640, 0o640},
		{"group", 0o002, 0o666, 0o664, 0o600, 0o600},
		{"secret", 0o022, Secret, 0o600, 0o644, 0o600},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "f")
			for _, want := range []os.FileMode{c.fresh, c.instead} {
				umask := syscall.Umask(int(c.umask))
				f, err := create(path, c.mode)
				syscall.Umask(umask)
				if err != nil {
					t.Fatal(err)
				}
				begun, err1 := f.Stat()
				err2 := f.Commit()
				info, err := os.Stat(path)
				if err != nil || err1 != nil || err2 != nil || info.Mode() != want || begun.Mode()&^want != 0 {
					t.Errorf("mode %v after %v, want %v (%v, %v, %v)", info.Mode(), begun.Mode(), want, err, err1, err2)
				}
				if err := os.Chmod(path, c.old); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// writesFor makes the test program a process that has finished a file but for its name, reports this, and
// waits for the end of its standard input.
const writesFor = "DIFALT_TEST_WRITES"

func TestMain(m *testing.M) {
	if path := os.Getenv(writesFor); path != "" {
		f, err := Create(path)
		if err == nil {
			err = f.Finish()
		}
		fmt.Println(err)
		_, _ = io.Copy(io.Discard, os.Stdin)
		runtime.KeepAlive(f) // its finalizer would release the lock
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// TestLeftBehind: the temporary file of a process stays while it lives, and the next process that writes that
// file removes it after the first one was killed. Files of other names stay.
func TestLeftBehind(t *testing.T) {
	if !canLock {
		t.Skip("skipped: no locks here")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	others := []string{".f.backup", ".f.part", ".f.0123456789abc", ".g.0123456789abc.part", "f.0123456789abc.part", ".f.x.0123456789abc.part"}
	for _, name := range others {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), writesFor+"="+path)
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err := cmd.Start(); err != nil || err1 != nil || err2 != nil {
		t.Fatal(err, err1, err2)
	}
	defer in.Close()
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "<nil>\n" {
		t.Fatalf("the other process prints %q, %v", line, err)
	}
	for _, want := range []int{len(others) + 2, len(others) + 1} { // with its temporary file, without it
		if err := WriteFile(path, []byte("text"), 0o666); err != nil {
			t.Fatal(err)
		}
		if entries, err := os.ReadDir(dir); err != nil || len(entries) != want {
			t.Errorf("the folder holds %v, %v: want %d files", entries, err, want)
		}
		_ = cmd.Process.Kill()
		if err := cmd.Wait(); cmd.ProcessState.ExitCode() != -1 {
			t.Fatalf("the other process was not killed: %v", err)
		}
	}
}

// TestAtOnce: of many who write one file at the same time none takes another one's temporary file for one
// that was left behind.
func TestAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 30 {
				if err := WriteFile(path, []byte("text"), 0o666); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	check(t, filepath.Dir(path), map[string]string{"f": "text"})
}

// TestPipe: a pipe with a reader is written to, and one without is refused at once, without blocking.
func TestPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip(err)
	}
	done := make(chan error, 1)
	go func() { _, err := Create(path); done <- err }()
	select {
	case err := <-done:
		checkError(t, err, "nobody reads this pipe")
	case <-time.After(time.Minute):
		t.Fatal("Create waits for a reader")
	}
	reader, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	if err := WriteFile(path, []byte("text"), 0o666); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(reader); err != nil || string(got) != "text" {
		t.Errorf("read %q, %v", got, err)
	}
}
