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
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
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
		err := WriteFile(path, []byte("text"), 0o666)
		syscall.Umask(old)
		if err != nil {
			t.Fatal(err)
		}
		checkMode(t, path, c.want)
		if err := os.Chmod(path, 0o640); err != nil {
			t.Fatal(err)
		}
		if err := WriteFile(path, []byte("other"), 0o666); err != nil {
			t.Fatal(err)
		}
		checkMode(t, path, 0o640)
	}
}

// Whoever may not read a file may not read what takes its place, either, while it is written.
func TestModeWhileWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	checkMode(t, f.Name(), 0o600)
	if err := f.Commit(); err != nil {
		t.Fatal(err)
	}
	checkMode(t, path, 0o600)
}

func checkMode(t *testing.T, path string, want os.FileMode) {
	t.Helper()
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
		t.Errorf("%s: mode %v (%v), want %v", path, info.Mode().Perm(), err, want)
	}
}

// A secret is for its owner only, also in place of a file that was not.
func TestSecret(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	for range 2 {
		if err := WriteFile(path, []byte("text"), Secret); err != nil {
			t.Fatal(err)
		}
		checkMode(t, path, 0o600)
		if err := os.Chmod(path, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// writesFor makes the test program a process that has finished a file but for its name,
// reports this, and waits for the end of its standard input.
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

// TestLeftBehind: what a process has begun to write stays while it lives, and goes with the next
// who writes that file after it was killed; nothing else goes.
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
	begun := func() int {
		list, err := filepath.Glob(filepath.Join(dir, ".f."+strings.Repeat("?", randomLen)+part))
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), writesFor+"="+path)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "<nil>\n" {
		t.Fatalf("the other process says %q, %v", line, err)
	}
	for _, alive := range []bool{true, false} {
		if !alive {
			if err := cmd.Process.Kill(); err != nil { // it was alive
				t.Error(err)
			}
			if err := cmd.Wait(); err == nil || cmd.ProcessState.ExitCode() != -1 {
				t.Errorf("the other process ended by itself: %v", err)
			}
			in.Close()
		}
		if err := WriteFile(path, []byte("text"), 0o666); err != nil {
			t.Fatal(err)
		}
		if n := begun(); (n == 1) != alive || n > 1 {
			t.Errorf("the other process lives: %v, and %d beginnings are there", alive, n)
		}
	}
	checkOnly(t, dir, append(others, "f")...)
}

// TestAtOnce: of many who write one file at the same time none takes another one's beginning for
// one that was left behind.
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
	checkOnly(t, filepath.Dir(path), "f")
}

// TestPipe: a pipe that somebody reads is written to, and one without a reader is refused
// at once instead of blocking where no signal is heeded.
func TestPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip(err)
	}
	done := make(chan error, 1)
	go func() { _, err := Create(path); done <- err }()
	select {
	case err := <-done:
		if err == nil || !strings.Contains(err.Error(), "nobody reads this pipe") {
			t.Errorf("error is %v", err)
		}
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
