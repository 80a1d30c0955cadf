package simulation

import (
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/difalt/difalt/cmd/difalt/internal/atomicfile"
	"github.com/difalt/difalt/cmd/difalt/internal/place"
	"github.com/difalt/difalt/cmd/difalt/internal/text"
)

// Names of the files in the folder of a run.
const (
	TraceFile   = "trace.csv"
	SummaryFile = "summary.json"
	FigureFile  = "figure.svg"
)

// FileNames are the names of all these files.
var FileNames = []string{TraceFile, SummaryFile, FigureFile}

// Write writes trials, their summary and its figure into a folder: all of these files, or none.
func (s *Summary) Write(dir string, trials []Trial) error {
	content, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.WriteFolder(dir, map[string]atomicfile.Content{
		SummaryFile: atomicfile.Bytes(append(content, '\n')),
		FigureFile:  atomicfile.Bytes(s.Figure().SVG()),
		TraceFile: func(w io.Writer) error {
			_, err := io.WriteString(w, traceHeader+"\n")
			for i := range trials {
				if err == nil {
					_, err = w.Write(trials[i].appendCSV(nil))
				}
			}
			return err
		},
	})
}

// read reads the run in a folder from its summary and its trace. An error contains the name of the file.
func read(dir string) (*Summary, error) {
	path, old := filepath.Join(dir, SummaryFile), Summary{}
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(content, &old); err != nil {
		return nil, place.Named(path, err)
	}
	if err := old.Setting.Validate(); err != nil {
		return nil, place.Named(path, err)
	}
	path = filepath.Join(dir, TraceFile)
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	trials, err := ReadTrace(file)
	if err == nil && len(trials) != max(old.Trials, 1) {
		err = fmt.Errorf("%d trials, but %s has %d", len(trials), SummaryFile, old.Trials)
	}
	for i := 0; i < len(trials) && err == nil; i++ {
		err = trials[i].complete(&old.Setting)
	}
	if err != nil {
		return nil, place.Named(path, err)
	}
	return Summarize(&old.Setting, trials, old.Origin), nil
}

// complete brings the curves of a trial that was read into the order of the setting's methods, and finds the
// diverged ones: they have fewer rows, or none.
func (t *Trial) complete(s *Setting) error {
	curves := make([]Curve, len(s.Methods))
	for i, m := range s.Methods {
		curves[i].Method = m
	}
	for _, c := range t.Curves {
		at := slices.Index(s.Methods, c.Method)
		if at < 0 {
			return fmt.Errorf("method %s is not one of the setting's: %s", c.Method, strings.Join(s.Methods, ", "))
		}
		curves[at] = c
	}
	for i := range curves {
		curves[i].Diverged = len(curves[i].Rows) != s.Iterations+1
	}
	t.Curves = curves
	return nil
}

// LoadResults reads all runs in a folder and its sub-folders, in the order of their paths. An error contains
// the name of the file.
func LoadResults(dir string) ([]*Summary, error) {
	var all []*Summary
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return place.Named(path, text.Cause(err))
		case d.IsDir() || d.Name() != SummaryFile:
			return nil
		}
		run, err := read(filepath.Dir(path))
		all = append(all, run)
		return err
	})
	if err == nil && len(all) == 0 {
		lacks := "%s contains no results of runs: the file %s is missing in it and below"
		err = place.In(dir, fmt.Errorf(lacks, dir, SummaryFile))
	}
	return all, err
}
