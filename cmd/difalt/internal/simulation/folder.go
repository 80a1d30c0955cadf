package simulation

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/difalt/difalt/cmd/difalt/internal/atomicfile"
	"github.com/difalt/difalt/cmd/difalt/internal/text"
)

// Names of the files in the folder of a run.
const (
	TraceFile    = "trace.csv"
	CurvesFile   = "curves.csv" // the trace, condensed over the trials
	SummaryFile  = "summary.json"
	SettingsFile = "settings.json"
	FigureFile   = "figure.svg"

	previousDir = "previous" // the last run of another setting
)

// A Session is a command that computed trials of a folder.
type Session struct {
	Command string `json:"command"`
	Machine string `json:"machine"`
}

// A manifest is the content of SettingsFile.
type manifest struct {
	Setting  Setting   `json:"setting"`
	Sessions []Session `json:"sessions"`
}

// A Folder keeps the results of a run. Trials are written as they finish: an interrupted run continues from
// there.
type Folder struct {
	dir string
	manifest
	session Session  // this one
	trace   *os.File // nil before the first new trial
	size    int64    // of the trace
	// Done are the trials in the folder: 1, 2, ... without a gap.
	Done []Trial
	// Differs describes the differences of a previous run in this folder from the setting; it moves to the
	// sub-folder "previous" with the first trial. It is empty without such a run.
	Differs string
}

// OpenFolder prepares a folder for a run. It keeps trials of the same setting, unless fresh is set. Files of
// another setting move to the sub-folder "previous" with the first new trial; until then nothing changes. An
// error reports that the folder cannot be written.
func OpenFolder(dir string, s *Setting, session Session, fresh bool) (*Folder, error) {
	if err := atomicfile.CheckFolder(dir); err != nil {
		return nil, fmt.Errorf("the output folder: %w", err)
	}
	f := &Folder{dir: dir, session: session, manifest: manifest{Setting: *s}}
	old, err := readManifest(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return f, nil
	case err != nil:
		return nil, err
	}
	if f.Differs = old.Setting.Differences(s); f.Differs == "" && !fresh {
		f.Sessions = old.Sessions
		f.Done, err = readTrials(dir, s)
	}
	return f, err
}

// readManifest reads the settings file of a folder.
func readManifest(dir string) (*manifest, error) {
	path, m := filepath.Join(dir, SettingsFile), &manifest{}
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(content, m); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return m, nil
}

// Path returns the path of a file in the folder.
func (f *Folder) Path(name string) string { return filepath.Join(f.dir, name) }

// Add appends a finished trial to the trace. After an error the folder holds the trials before it.
func (f *Folder) Add(t *Trial) error {
	if f.trace == nil {
		return f.begin(t)
	}
	n, err := f.trace.Write(t.AppendCSV(nil))
	if err != nil {
		_ = f.trace.Truncate(f.size) // a trial that is cut off would be read as a diverged one
		return fmt.Errorf("cannot %w", err)
	}
	f.size += int64(n)
	f.Done = append(f.Done, *t)
	return nil
}

// begin writes the settings and the trace with its first new trial. When both are complete, the files of
// another setting move away.
func (f *Folder) begin(t *Trial) error {
	done, trace := append(f.Done, *t), []byte(TraceHeader+"\n")
	for i := range done {
		trace = done[i].AppendCSV(trace)
	}
	m := f.manifest
	if n := len(m.Sessions); n == 0 || m.Sessions[n-1] != f.session {
		m.Sessions = append(m.Sessions, f.session)
	}
	settings, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	files := map[string][]byte{TraceFile: trace, SettingsFile: append(settings, '\n')}
	if err := atomicfile.WriteFolder(f.dir, files, f.moveAway); err != nil {
		return err
	}
	f.Done, f.manifest, f.size = done, m, int64(len(trace))
	f.trace, err = os.OpenFile(f.Path(TraceFile), os.O_WRONLY|os.O_APPEND, 0)
	return err
}

// moveAway moves the files of another setting to the sub-folder "previous".
func (f *Folder) moveAway() error {
	if f.Differs == "" {
		return nil
	}
	if err := os.MkdirAll(f.Path(previousDir), 0o777); err != nil {
		return err
	}
	for _, name := range []string{TraceFile, CurvesFile, SummaryFile, SettingsFile, FigureFile} {
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

// Close completes the trace on the disk.
func (f *Folder) Close() error {
	if f.trace == nil {
		return nil
	}
	trace := f.trace
	f.trace = nil
	return errors.Join(trace.Sync(), trace.Close())
}

// Summary condenses the trials of the folder, at least one.
func (f *Folder) Summary() *Summary { return Summarize(&f.Setting, f.Done, f.Sessions) }

// WriteResults writes a summary, its curves and its figure.
func (f *Folder) WriteResults(sum *Summary) error {
	content, err := json.MarshalIndent(sum, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.WriteFolder(f.dir, map[string][]byte{
		SummaryFile: append(content, '\n'), CurvesFile: sum.csv(), FigureFile: sum.Figure().SVG(),
	}, nil)
}

// readTrials reads the trace of a folder. It returns the trials 1, 2, ... up to the first incomplete one. A
// diverged curve has fewer rows than iterations; at the end of a trace that also means that the run was
// killed, and then the trial counts as incomplete.
func readTrials(dir string, s *Setting) ([]Trial, error) {
	path := filepath.Join(dir, TraceFile)
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	trials, err := ReadTrace(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for i := range trials {
		t := &trials[i]
		if t.Number != i+1 || len(t.Curves) != len(s.Methods) {
			return trials[:i], nil
		}
		for k := range t.Curves {
			c := &t.Curves[k]
			c.Diverged = len(c.Rows) != s.Iterations+1
			if c.Method != s.Methods[k] || c.Diverged && i == len(trials)-1 && k == len(t.Curves)-1 {
				return trials[:i], nil
			}
		}
	}
	return trials, nil
}

// LoadResults reads all runs in a folder and its sub-folders, in the order of their paths, from their files
// SettingsFile and TraceFile. It skips folders named "previous". An error contains the name of the file.
func LoadResults(dir string) ([]*Summary, error) {
	var all []*Summary
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return fmt.Errorf("%s: %w", path, text.Cause(err))
		case d.IsDir() && d.Name() == previousDir:
			return filepath.SkipDir
		case d.IsDir() || d.Name() != SettingsFile:
			return nil
		}
		m, err := readManifest(filepath.Dir(path))
		if err != nil {
			return err
		}
		if err := m.Setting.Validate(); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		trials, err := readTrials(filepath.Dir(path), &m.Setting)
		if err == nil && len(trials) == 0 {
			err = fmt.Errorf("%s: no trial is complete", filepath.Join(filepath.Dir(path), TraceFile))
		}
		if err != nil {
			return err
		}
		all = append(all, Summarize(&m.Setting, trials, m.Sessions))
		return nil
	})
	if err == nil && len(all) == 0 {
		err = fmt.Errorf("%s contains no results of runs: the file %s is missing in it and below", dir, SettingsFile)
	}
	return all, err
}
