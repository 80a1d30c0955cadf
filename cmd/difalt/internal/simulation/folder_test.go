package simulation

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestFolder reads runs as they were written, diverged curves and curves without any row among them, and
// refuses files that do not belong together.
func TestFolder(t *testing.T) {
	s := small()
	s.Iterations, s.Methods = 1, []string{"dif", "dec", "dgd"}
	rows := []Row{{SDFirst: .5, Bytes: 7, Seconds: 1}, {Iteration: 1, SDFirst: .25, Bytes: 9, Seconds: 2}}
	trials := []Trial{
		{1, []Curve{{"dif", rows, false}, {"dec", rows[:1], true}, {"dgd", nil, true}}},
		{2, []Curve{{"dif", rows, false}, {"dec", rows, false}, {"dgd", rows, false}}},
	}
	dir := t.TempDir()
	want := Summarize(&s, trials, Origin{"difalt simulate", "a machine"})
	if err := want.Write(filepath.Join(dir, "b"), trials); err != nil {
		t.Fatal(err)
	}
	other := Summarize(&s, trials[:1], Origin{"difalt simulate", "a machine"})
	if err := other.Write(filepath.Join(dir, "a", "c"), trials[:1]); err != nil {
		t.Fatal(err)
	}
	got, err := LoadResults(dir)
	if diff := cmp.Diff([]*Summary{other, want}, got); err != nil || diff != "" {
		t.Errorf("read %v, differs by %s", err, diff)
	}
	if want.Methods[1].Diverged != 1 || want.Methods[2].Diverged != 0 || len(other.Methods) != 2 {
		t.Errorf("the summary is %+v", want)
	}
	trace, err := os.ReadFile(filepath.Join(dir, "b", TraceFile))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ file, content, want string }{
		"no JSON":      {SummaryFile, "{", "summary.json: unexpected end"},
		"no setting":   {SummaryFile, "{}", "summary.json: "},
		"no trace":     {TraceFile, "", "trace.csv: no such file"},
		"another file": {TraceFile, "something else\n", "trace.csv: line 1"},
		"another method": {TraceFile, strings.ReplaceAll(string(trace), "dec,", "altgdmin,"),
			"trace.csv: method altgdmin is not one"},
		"a trial is lost": {TraceFile, string(trace[:strings.Index(string(trace), "dif,2")]),
			"trace.csv: 1 trials, but summary.json has 2"},
		"an empty trace": {TraceFile, traceHeader + "\n", "trace.csv: 0 trials, but summary.json has 2"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := want.Write(dir, trials); err != nil {
				t.Fatal(err)
			}
			err := os.WriteFile(filepath.Join(dir, c.file), []byte(c.content), 0o666)
			if c.content == "" {
				err = os.Remove(filepath.Join(dir, c.file))
			}
			if err != nil {
				t.Fatal(err)
			}
			if _, err := LoadResults(dir); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}
