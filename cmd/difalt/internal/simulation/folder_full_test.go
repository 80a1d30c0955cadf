//go:build unix

package simulation

import (
	"bytes"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
)

// limitedProcess is set in the process where files are limited.
const limitedProcess = "DIFALT_TEST_LIMITED"

// limited does work while no file may be longer than so many bytes, as on a disk that
// is full.
func limited(t *testing.T, most uint64, work func() error) error {
	t.Helper()
	signal.Ignore(syscall.SIGXFSZ)
	defer signal.Reset(syscall.SIGXFSZ)
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
		t.Skip(err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: most, Max: before.Max}); err != nil {
		t.Skip(err)
	}
	err := work()
	if e := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &before); e != nil {
		t.Fatal(e)
	}
	return err
}

// contents returns the files of a folder and those below it.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		all[path[len(dir):]] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Wherever the disk is full, the folder keeps the trials that are whole, and the run goes on from
// them. Until there is one it keeps what it had, and results of other settings in any case.
func TestFolderOnAFullDisk(t *testing.T) {
	if os.Getenv(limitedProcess) == "" { // the limit holds for whatever a process writes
		cmd := exec.Command(os.Args[0], "-test.run", "^TestFolderOnAFullDisk$")
		cmd.Env = append(os.Environ(), limitedProcess+"=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
		return
	}
	s := small()
	s.Iterations, s.Methods = 5, []string{"dif", "dec"}
	trials := runTrials(t, s, 1, 3, 1)
	other := s
	other.Noise = 0.5
	one := uint64(len(trials[0].AppendCSV(nil)))
	header := uint64(len(TraceHeader) + 1)
	for _, held := range []*Setting{nil, &s, &other} { // what the folder held before
		for _, most := range []uint64{0, 100, header + one - 1, header + one, header + one + one/2, header + 2*one} {
			dir := t.TempDir()
			if held != nil {
				if err := fill(t, dir, held, trials[0]).Close(); err != nil {
					t.Fatal(err)
				}
			}
			before := contents(t, dir)
			f, err := OpenFolder(dir, &s, Session{Command: "difalt simulate"}, true)
			if err != nil {
				t.Fatal(err)
			}
			err = limited(t, most, func() error {
				for i := range trials {
					if err := f.Add(&trials[i]); err != nil {
						return err
					}
				}
				return nil
			})
			if err == nil || !strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), "file too large") {
				t.Fatalf("%d bytes: error %v", most, err)
			}
			if err := f.Close(); err != nil {
				t.Error(err)
			}
			if len(f.Done) > 0 && held == &s {
				delete(before, "/"+TraceFile) // whose place the trials have taken
			}
			checkFull(t, &s, dir, before, trials[:len(f.Done)], len(f.Done) > 0 && held == &other)
		}
	}
}

// checkFull checks a folder after a disk was full: it has so many trials, and what was
// there before, which has moved if so.
func checkFull(t *testing.T, s *Setting, dir string, before map[string]string, done []Trial, moved bool) {
	t.Helper()
	after := contents(t, dir)
	for name, text := range before {
		if moved {
			name = "/" + previousDir + name
		}
		if after[name] != text {
			t.Errorf("%d trials: %s is %q, was %q", len(done), name, after[name], text)
		}
		delete(after, name)
	}
	delete(after, "/"+SettingsFile)
	trace, ok := after["/"+TraceFile]
	delete(after, "/"+TraceFile)
	if len(after) != 0 || ok != (len(done) > 0) {
		t.Errorf("%d trials: left %v, and a trace: %v", len(done), after, ok)
	}
	if !ok {
		return
	}
	var want bytes.Buffer
	want.WriteString(TraceHeader + "\n")
	for i := range done {
		want.Write(done[i].AppendCSV(nil))
	}
	if trace != want.String() {
		t.Errorf("the trace of %d trials has %d bytes, want %d", len(done), len(trace), want.Len())
	}
	again, err := OpenFolder(dir, s, Session{}, false)
	if err != nil || !reflect.DeepEqual(again.Done, done) {
		t.Fatalf("goes on from %+v, %v", again.Done, err)
	}
}
