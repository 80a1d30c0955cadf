package simulation

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/difalt/difalt/cmd/difalt/internal/atomicfile"
	"github.com/difalt/difalt/cmd/difalt/internal/memory"
)

// Names of the files in the folder of a run.
const (
	TraceFile    = "trace.csv"
	BandsFile    = "curves.csv" // the trace, condensed over the trials
	SummaryFile  = "summary.json"
	SettingsFile = "settings.json"
	FigureFile   = "figure"       // with .png and .svg
	MeasuredFile = "measured.csv" // what was measured over an engine

	previousDir = "previous" // the last run with other settings
)

// A Folder is where a run keeps its results. Trials are written as they finish,
// so that a run that was interrupted or killed can go on from there.
type Folder struct {
	dir     string
	setting *Setting
	trace   *os.File // nil until there is a new trial
	size    int64    // of the trace
	// Done are the trials that the folder holds: 1, 2, ... without a gap.
	Done []Trial
	// Differs describes in what a previous run in this folder differs; it goes to the
	// sub-folder "previous" with the first trial. Empty if there is none.
	Differs string
}

// OpenFolder prepares a folder for a run with the given setting. Trials that it holds of
// the same setting are kept, unless fresh is set; those of another setting are moved to
// the sub-folder "previous" when there is a trial to take their place, and until then
// nothing changes. An error says that the folder cannot be written.
func OpenFolder(dir string, s *Setting, fresh bool) (*Folder, error) {
	if err := atomicfile.CheckFolder(dir); err != nil {
		return nil, fmt.Errorf("the output folder: %w", err)
	}
	f := &Folder{dir: dir, setting: s}
	var err error
	if f.Differs, err = f.compare(); err != nil {
		return nil, err
	}
	if f.Differs == "" && !fresh {
		if err := f.load(); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// Path returns the path of a file in the folder.
func (f *Folder) Path(name string) string { return filepath.Join(f.dir, name) }

// Add appends a finished trial to the trace. After an error the folder holds the trials
// before it.
func (f *Folder) Add(t *Trial) (err error) {
	f.Done = append(f.Done, *t)
	if f.trace == nil {
		err = f.begin()
	} else {
		err = f.append(t.AppendCSV(nil))
	}
	if err != nil {
		f.Done = f.Done[:len(f.Done)-1]
	}
	return err
}

// Close sees to it that the trace is on the disk.
func (f *Folder) Close() error {
	if f.trace == nil {
		return nil
	}
	trace := f.trace
	f.trace = nil
	return errors.Join(trace.Sync(), trace.Close())
}

// WriteResults writes a summary, its curves and its figure.
func (f *Folder) WriteResults(sum *Summary) error {
	text, err := json.MarshalIndent(sum, "", "  ")
	if err != nil {
		return err
	}
	figure := sum.Figure()
	return atomicfile.WriteFolder(f.dir, map[string][]byte{
		SummaryFile: append(text, '\n'), BandsFile: sum.curves(),
		FigureFile + ".png": figure.PNG(), FigureFile + ".svg": figure.SVG(),
	}, nil)
}

// append adds to the trace all of a text or, if the disk is full, nothing.
func (f *Folder) append(text []byte) error {
	n, err := f.trace.Write(text)
	if err != nil {
		_ = f.trace.Truncate(f.size) // or else whoever reads it drops the trial that is cut
		return fmt.Errorf("cannot %w", err)
	}
	f.size += int64(n)
	return nil
}

// begin writes the setting and the trace. When both are on the disk they take the place of
// what another run left, which moves away.
func (f *Folder) begin() error {
	setting, err := json.MarshalIndent(f.setting, "", "  ")
	if err != nil {
		return err
	}
	trace := []byte(TraceHeader + "\n")
	for i := range f.Done {
		trace = f.Done[i].AppendCSV(trace)
	}
	files := map[string][]byte{TraceFile: trace, SettingsFile: append(setting, '\n')}
	if err := atomicfile.WriteFolder(f.dir, files, f.moveAway); err != nil {
		return err
	}
	f.size = int64(len(trace))
	f.trace, err = os.OpenFile(f.Path(TraceFile), os.O_WRONLY|os.O_APPEND, 0)
	return err
}

// compare says in which parameter the folder's setting differs, or nothing if it
// does not or there is none.
func (f *Folder) compare() (string, error) {
	text, err := os.ReadFile(f.Path(SettingsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("cannot read the settings of the run in the output folder: %w", err)
	}
	var theirs Setting
	if err := json.Unmarshal(text, &theirs); err != nil {
		return "", fmt.Errorf("%s: %w", f.Path(SettingsFile), err)
	}
	return theirs.Differences(f.setting), nil
}

// Differences lists the parameters of a setting that another does not have, with
// their values.
func (s *Setting) Differences(other *Setting) string {
	var found []string
	v, w := reflect.ValueOf(s).Elem(), reflect.ValueOf(other).Elem()
	for i := range v.NumField() {
		if v.Type().Field(i).Tag.Get("json") == "-" {
			continue // it changes no result
		}
		if value := v.Field(i).Interface(); !reflect.DeepEqual(value, w.Field(i).Interface()) {
			found = append(found, fmt.Sprintf("%s = %v", v.Type().Field(i).Tag.Get("json"), value))
		}
	}
	return strings.Join(found, ", ")
}

// moveAway makes room for a run with another setting, if there is one.
func (f *Folder) moveAway() error {
	if f.Differs == "" {
		return nil
	}
	if err := os.MkdirAll(f.Path(previousDir), 0o777); err != nil {
		return err
	}
	for _, name := range []string{TraceFile, BandsFile, SummaryFile, SettingsFile, MeasuredFile, FigureFile + ".png", FigureFile + ".svg"} {
		old := filepath.Join(f.dir, previousDir, name)
		if err := os.Remove(old); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err := os.Rename(f.Path(name), old); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// load reads the trials done. The last may be cut where a run was killed.
func (f *Folder) load() error {
	trials, err := readTraceFile(f.Path(TraceFile))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("%s: %w", f.Path(TraceFile), err)
	}
	f.Done = complete(trials, f.setting)
	return nil
}

// readTraceFile is ReadTrace of a file, which may be anything.
func readTraceFile(path string) ([]Trial, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is no regular file")
	}
	if err := memory.Check(float64(info.Size()), "its curves"); err != nil { // a row takes less than its text
		return nil, err
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return ReadTrace(file)
}

// complete returns the trials 1, 2, ... up to the first that lacks something. A
// diverged method has fewer rows than iterations; only in the last trial could
// that also mean that the run was killed, and then the trial is computed again.
func complete(trials []Trial, s *Setting) []Trial {
	for i := range trials {
		t := &trials[i]
		if t.Number != i+1 || len(t.Curves) != len(s.Methods) {
			return trials[:i]
		}
		for k := range t.Curves {
			c := &t.Curves[k]
			c.Diverged = len(c.Rows) != s.Iterations+1
			if c.Method != s.Methods[k] || c.Diverged && i == len(trials)-1 && k == len(t.Curves)-1 {
				return trials[:i]
			}
		}
	}
	return trials
}
