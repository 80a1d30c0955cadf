package simulation

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/difalt/difalt/cmd/difalt/internal/text"
	"gonum.org/v1/gonum/floats"
)

// Targets are the subspace distances whose iterations a summary counts.
var Targets = []float64{1e-3, 1e-6, 1e-10}

// A Summary condenses the trials of a setting.
type Summary struct {
	Setting Setting           `json:"setting"`
	Trials  int               `json:"trials"`
	Machine map[string]string `json:"machine"` // what it ran on; see cmd/difalt info
	Methods []MethodSummary   `json:"methods"`
}

// A MethodSummary condenses the curves of a method. Distances are those of node 0.
type MethodSummary struct {
	Method string `json:"method"`
	// Final is the subspace distance at the end.
	Final Spread `json:"final_distance"`
	// Reached says what it took to get to each of the Targets.
	Reached []Reached `json:"reached"`
	// Medians over the trials: of what the initialisation has sent, and of what whole runs
	// took with it.
	InitRounds float64 `json:"init_rounds"`
	InitBytes  float64 `json:"init_bytes"`
	// InitSeconds is its part of Seconds.
	InitSeconds float64 `json:"init_seconds"`

	Rounds   float64 `json:"rounds"`
	Messages float64 `json:"messages"`
	Bytes    float64 `json:"bytes"`
	Seconds  float64 `json:"seconds"`
	// Communication is the modelled part of Seconds, Computation the measured one.
	Communication float64 `json:"communication_seconds"`
	Computation   float64 `json:"computation_seconds"`
	// Diverged counts the trials that ended early with an estimate that was not finite.
	Diverged int `json:"diverged_trials"`

	// Curve has a row for every iteration, from 0: what a figure shows. It is in BandsFile.
	Curve []BandRow `json:"-"`
}

// A Spread describes one number over the trials.
type Spread struct {
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
}

// Reached describes the first iteration whose distance is at most a target.
type Reached struct {
	Distance float64 `json:"distance"`
	Trials   int     `json:"trials"` // that got there
	// Medians over all trials; null when half of them or more did not get there.
	Iterations *float64 `json:"iterations"`
	Rounds     *float64 `json:"rounds"`
	Bytes      *float64 `json:"bytes"`
	Seconds    *float64 `json:"seconds"`
}

// A BandRow describes all trials after an iteration. A curve that ended early
// counts with its last row.
type BandRow struct {
	Trials int
	// Subspace distance of node 0: mean, median, 10th and 90th percentile.
	Mean, Median, Low, High float64
	// Medians of the largest distance of a node, the disagreement and the objective.
	SDMax, Disagreement, Objective float64
	// Medians of what it took so far, the initialisation included.
	Rounds, Messages, Bytes, Seconds float64
}

// Summarize condenses trials, of which there must be at least one.
func Summarize(s *Setting, trials []Trial, machine map[string]string) *Summary {
	sum := &Summary{Setting: *s, Trials: len(trials), Machine: machine}
	for k := range trials[0].Curves {
		var curves []*Curve
		var modelled, measured []float64
		for i := range trials {
			c := &trials[i].Curves[k]
			if len(c.Rows) == 0 { // its start was not finite
				continue
			}
			seconds := s.communication(trials[i].Number, c)[len(c.Rows)-1]
			curves, modelled, measured = append(curves, c), append(modelled, seconds), append(measured, max(0, c.last().Seconds-seconds))
		}
		if curves != nil {
			m := summarize(curves)
			m.Communication, m.Computation = median(modelled), median(measured)
			sum.Methods = append(sum.Methods, m)
		}
	}
	return sum
}

// summarize condenses the curves of a method.
func summarize(curves []*Curve) MethodSummary {
	m := MethodSummary{Method: curves[0].Method, Final: Spread{Min: math.Inf(1)}}
	length := 0
	for _, c := range curves {
		length = max(length, len(c.Rows))
		m.Final.Min, m.Final.Max = min(m.Final.Min, c.last().SDFirst), max(m.Final.Max, c.last().SDFirst)
		if c.Diverged {
			m.Diverged++
		}
	}
	for k := range length {
		m.Curve = append(m.Curve, bandRow(curves, k))
	}
	first, last := &m.Curve[0], &m.Curve[length-1]
	m.InitRounds, m.InitBytes, m.InitSeconds = first.Rounds, first.Bytes, first.Seconds
	m.Final.Median, m.Rounds, m.Messages, m.Bytes, m.Seconds = last.Median, last.Rounds, last.Messages, last.Bytes, last.Seconds
	for _, target := range Targets {
		m.Reached = append(m.Reached, reached(curves, target))
	}
	return m
}

// bandRow condenses row k of the curves.
func bandRow(curves []*Curve, k int) BandRow {
	r, at := BandRow{Trials: len(curves)}, make([]float64, len(curves))
	middle := func(number func(*Row) float64) float64 {
		for i, c := range curves {
			at[i] = number(&c.Rows[min(k, len(c.Rows)-1)])
		}
		return median(at)
	}
	r.Median = middle(func(r *Row) float64 { return r.SDFirst })
	r.Low, r.High, r.Mean = quantile(at, 0.1), quantile(at, 0.9), floats.Sum(at)/float64(len(at))
	r.SDMax = middle(func(r *Row) float64 { return r.SDMax })
	r.Disagreement = middle(func(r *Row) float64 { return r.Disagreement })
	r.Objective = middle(func(r *Row) float64 { return r.Objective })
	r.Rounds = middle(func(r *Row) float64 { return float64(r.Rounds) })
	r.Messages = middle(func(r *Row) float64 { return float64(r.Messages) })
	r.Bytes = middle(func(r *Row) float64 { return float64(r.Bytes) })
	r.Seconds = middle(func(r *Row) float64 { return r.Seconds })
	return r
}

// reached describes the first rows of curves that are at a target.
func reached(curves []*Curve, target float64) Reached {
	r := Reached{Distance: target}
	first := make([]*Row, len(curves))
	for i, c := range curves {
		if k := slices.IndexFunc(c.Rows, func(r Row) bool { return r.SDFirst <= target }); k >= 0 {
			r.Trials++
			first[i] = &c.Rows[k]
		}
	}
	middle := func(number func(*Row) float64) *float64 {
		v := slices.Repeat([]float64{math.Inf(1)}, len(curves)) // of one that never gets there
		for i, row := range first {
			if row != nil {
				v[i] = number(row)
			}
		}
		if m := median(v); !math.IsInf(m, 1) {
			return &m
		}
		return nil
	}
	r.Iterations = middle(func(r *Row) float64 { return float64(r.Iteration) })
	r.Rounds = middle(func(r *Row) float64 { return float64(r.Rounds) })
	r.Bytes = middle(func(r *Row) float64 { return float64(r.Bytes) })
	r.Seconds = middle(func(r *Row) float64 { return r.Seconds })
	return r
}

// median sorts v.
func median(v []float64) float64 {
	slices.Sort(v)
	return quantile(v, 0.5)
}

// quantile interpolates between the order statistics of v, which are sorted.
func quantile(v []float64, q float64) float64 {
	at := q * float64(len(v)-1)
	i := int(at)
	if f := at - float64(i); f > 0 && v[i] != v[i+1] { // both may be infinite
		return (1-f)*v[i] + f*v[i+1]
	}
	return v[i]
}

// BandsHeader is the first line of BandsFile.
const BandsHeader = "method,iteration,trials,node1_mean,node1_median,node1_p10,node1_p90," +
	"max_median,disagreement_median,objective_median,rounds,messages,bytes,seconds"

func (r *BandRow) columns(method *string, iteration *int) []any {
	return []any{method, iteration, &r.Trials, &r.Mean, &r.Median, &r.Low, &r.High, &r.SDMax, &r.Disagreement, &r.Objective,
		&r.Rounds, &r.Messages, &r.Bytes, &r.Seconds}
}

// curves returns the curves of all methods in the format of BandsHeader, with six significant digits.
func (s *Summary) curves() []byte {
	b := []byte(BandsHeader + "\n")
	for i := range s.Methods {
		m := &s.Methods[i]
		for k := range m.Curve {
			b = appendRow(b, 6, m.Curve[k].columns(&m.Method, &k))
		}
	}
	return b
}

// readCurves returns the curve of every method in a file of curves.
func readCurves(r io.Reader) (map[string][]BandRow, error) {
	all := map[string][]BandRow{}
	var row BandRow
	var method string
	var k int
	return all, readCSV(r, BandsHeader, row.columns(&method, &k), func() error {
		if k != len(all[method]) {
			return fmt.Errorf("column 2: iteration %d of %s, want %d", k, method, len(all[method]))
		}
		all[method] = append(all[method], row)
		return nil
	})
}

// LoadResults reads the summaries of all runs in a folder and its sub-folders, with their curves, in the
// order of their paths. Folders named "previous" are left out. It needs the
// files SummaryFile and BandsFile of a run; errors name the file.
func LoadResults(dir string) ([]*Summary, error) {
	var all []*Summary
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return fmt.Errorf("%s: %w", path, text.Cause(err))
		case d.IsDir() && d.Name() == previousDir:
			return filepath.SkipDir
		case d.IsDir() || d.Name() != SummaryFile:
			return nil
		}
		s, err := loadSummary(filepath.Dir(path))
		all = append(all, s)
		return err
	})
	if err == nil && len(all) == 0 {
		err = fmt.Errorf("%s holds no results of runs: no file %s in it or below", dir, SummaryFile)
	}
	return all, err
}

func loadSummary(dir string) (*Summary, error) {
	s, path := &Summary{}, filepath.Join(dir, SummaryFile)
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, s); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	shown := []string{s.Setting.Name, s.Setting.Graph, s.Setting.Weights}
	for i := range s.Methods {
		shown = append(shown, s.Methods[i].Method)
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
	curves, err := readCurves(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for i := range s.Methods {
		m := &s.Methods[i]
		if m.Curve = curves[m.Method]; m.Curve == nil {
			return nil, fmt.Errorf("%s has no curve of method %s, which the summary lists", path, m.Method)
		}
	}
	if len(s.Methods) == 0 {
		return nil, errors.New(path + " holds no curves")
	}
	return s, nil
}

// Method returns the summary of a method, or nil.
func (s *Summary) Method(name string) *MethodSummary {
	for i := range s.Methods {
		if s.Methods[i].Method == name {
			return &s.Methods[i]
		}
	}
	return nil
}

// First returns the first row of the curve whose median distance is at most a target, or -1.
func (m *MethodSummary) First(target float64) int {
	return slices.IndexFunc(m.Curve, func(r BandRow) bool { return r.Median <= target })
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
