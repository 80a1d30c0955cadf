package simulation

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// fill writes trials first to last of s to a folder.
func fill(t *testing.T, dir string, s *Setting, trials ...Trial) *Folder {
	t.Helper()
	f, err := OpenFolder(dir, s, Session{Command: "difalt simulate"}, false)
	if err != nil {
		t.Fatal(err)
	}
	for i := range trials {
		if err := f.Add(&trials[i]); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

func TestFolderKeepsTrials(t *testing.T) {
	dir := t.TempDir()
	s := small()
	s.Iterations, s.Methods = 5, []string{"dif", "dec"}
	trials := runTrials(t, s, 1, 3, 1)
	if err := fill(t, dir, &s, trials[:1]...).Close(); err != nil {
		t.Fatal(err)
	}
	// This one is killed: nothing closes it, and its last line is cut.
	f := fill(t, dir, &s, trials[1])
	if _, err := f.trace.Write(trials[2].AppendCSV(nil)[:200]); err != nil {
		t.Fatal(err)
	}
	f = fill(t, dir, &s)
	if !reflect.DeepEqual(f.Done, trials[:2]) {
		t.Fatalf("the folder has trials %+v", f.Done)
	}
	if err := f.Add(&trials[2]); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	want := TraceHeader + "\n"
	for i := range trials {
		want += string(trials[i].AppendCSV(nil))
	}
	if got, err := os.ReadFile(f.Path(TraceFile)); err != nil || string(got) != want {
		t.Errorf("the trace is not that of one run (%v)", err)
	}
}

func TestFolderDropsUnfinishedTrials(t *testing.T) {
	s := Setting{Methods: []string{"dif", "dec"}, Iterations: 1}
	rows := func(n int) (all []Row) {
		for k := range n {
			all = append(all, Row{Iteration: k})
		}
		return all
	}
	whole := []Curve{{Method: "dif", Rows: rows(2)}, {Method: "dec", Rows: rows(2)}}
	early := []Curve{{Method: "dif", Rows: rows(2)}, {Method: "dec", Rows: rows(1)}}
	for _, c := range []struct {
		name   string
		trials []Trial
		want   int
	}{
		{"whole", []Trial{{1, whole}, {2, whole}}, 2},
		{"gap", []Trial{{1, whole}, {3, whole}}, 1},
		{"method missing", []Trial{{1, whole}, {2, whole[:1]}}, 1},
		{"other method", []Trial{{1, []Curve{whole[1], whole[0]}}}, 0},
		{"short at the end", []Trial{{1, whole}, {2, early}}, 1},
		{"diverged", []Trial{{1, early}, {2, whole}}, 2},
	} {
		text := []byte(TraceHeader + "\n")
		for i := range c.trials {
			text = c.trials[i].AppendCSV(text)
		}
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, TraceFile), text, 0o666); err != nil {
			t.Fatal(err)
		}
		if got, err := readTrials(dir, &s); err != nil || len(got) != c.want {
			t.Errorf("%s: %d trials are complete, want %d (%v)", c.name, len(got), c.want, err)
		}
	}
}

func TestFolderErrors(t *testing.T) {
	s := small()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenFolder(file, &s, Session{}, false); err == nil || !strings.Contains(err.Error(), "output folder") {
		t.Errorf("a file as folder: error %v", err)
	}
	dir := t.TempDir()
	s.Iterations = 1
	if err := fill(t, dir, &s, runTrials(t, s, 1, 1, 1)...).Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, TraceFile), []byte("something else\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenFolder(dir, &s, Session{}, false); err == nil || !strings.Contains(err.Error(), "trace.csv") || !strings.Contains(err.Error(), "line 1") {
		t.Errorf("a trace that is none: error %v", err)
	}
}
