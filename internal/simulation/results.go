package simulation

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// A Result is what the folder of a run holds, without its trace.
type Result struct {
	Summary Summary
	Bands   []Band
}

// LoadResults reads the results of all runs in a folder and its sub-folders, in the
// order of their paths. Folders named "previous" are left out. It needs the
// files SummaryFile and BandsFile of a run; errors name the file.
func LoadResults(dir string) ([]*Result, error) {
	var all []*Result
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == previousDir:
			return filepath.SkipDir
		case d.IsDir() || d.Name() != SummaryFile:
			return nil
		}
		r, err := loadResult(filepath.Dir(path))
		if err != nil {
			return err
		}
		all = append(all, r)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s holds no results of runs: no file %s in it or below", dir, SummaryFile)
	}
	return all, nil
}

func loadResult(dir string) (*Result, error) {
	r := &Result{}
	path := filepath.Join(dir, SummaryFile)
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &r.Summary); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	s := &r.Summary.Setting
	shown := []string{s.Name, s.Graph, s.Weights}
	for i := range r.Summary.Methods {
		shown = append(shown, r.Summary.Methods[i].Method)
	}
	for _, name := range shown { // on a page, as they are
		if strings.ContainsAny(name, "<>&|`[\n") {
			return nil, fmt.Errorf("%s: %.60q is no name that this program writes", path, name)
		}
	}
	path = filepath.Join(dir, BandsFile)
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if r.Bands, err = readBands(f); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for i := range r.Summary.Methods {
		if m := r.Summary.Methods[i].Method; r.Band(m) == nil {
			return nil, fmt.Errorf("%s has no curve of method %s, which the summary lists", path, m)
		}
	}
	if len(r.Bands) == 0 {
		return nil, errors.New(path + " holds no curves")
	}
	return r, nil
}

// Band returns the curve of a method, or nil.
func (r *Result) Band(method string) *Band {
	for i := range r.Bands {
		if r.Bands[i].Method == method {
			return &r.Bands[i]
		}
	}
	return nil
}

// Method returns the summary of a method, or nil.
func (r *Result) Method(name string) *MethodSummary {
	for i := range r.Summary.Methods {
		if r.Summary.Methods[i].Method == name {
			return &r.Summary.Methods[i]
		}
	}
	return nil
}

// To returns what it took to get to one of the Targets.
func (m *MethodSummary) To(target float64) Reached {
	for _, r := range m.Reached {
		if r.Distance == target {
			return r
		}
	}
	return Reached{Distance: target}
}
