package simulation

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/internal/measure"
	"github.com/difalt/difalt/internal/text"
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

// Summarize condenses trials, of which there must be at least one.
func Summarize(s *Setting, trials []Trial, machine map[string]string) *Summary {
	sum := &Summary{Setting: *s, Trials: len(trials), Machine: machine}
	modelled, measured := map[string][]float64{}, map[string][]float64{}
	for i := range trials {
		for k := range trials[i].Curves {
			if c := &trials[i].Curves[k]; len(c.Rows) > 0 {
				seconds := s.communication(trials[i].Number, c)
				modelled[c.Method] = append(modelled[c.Method], seconds)
				measured[c.Method] = append(measured[c.Method], max(0, c.Rows[len(c.Rows)-1].Seconds-seconds))
			}
		}
	}
	for _, curves := range byMethod(trials) {
		m := summarize(curves)
		m.Communication = median(modelled[m.Method])
		m.Computation = median(measured[m.Method])
		sum.Methods = append(sum.Methods, m)
	}
	return sum
}

// communication returns the modelled seconds of a curve, which holds the sum of them and
// the measured ones: the model's random delays are drawn again as they were in the run.
func (s *Setting) communication(trial int, c *Curve) float64 {
	traffic := func(r *Row) wire.Traffic {
		return wire.Traffic{Rounds: r.Rounds, Messages: r.Messages, Bytes: r.Bytes}
	}
	before := traffic(&c.Rows[0])
	clock := newClock(s.Time, derive(s.Seed, trial, forJitter), c.Method)
	for i := range c.Rows {
		clock.advance(traffic(&c.Rows[i]).Minus(before))
	}
	iterations := clock.seconds
	clock.before, clock.seconds = wire.Traffic{}, 0
	return iterations + clock.advance(before)
}

// byMethod gathers the curves of each method over the trials, in the order of the
// first trial.
func byMethod(trials []Trial) [][]*Curve {
	var all [][]*Curve
	at := map[string]int{}
	for i := range trials {
		for k := range trials[i].Curves {
			c := &trials[i].Curves[k]
			if len(c.Rows) == 0 {
				continue
			}
			j, ok := at[c.Method]
			if !ok {
				j = len(all)
				at[c.Method] = j
				all = append(all, nil)
			}
			all[j] = append(all[j], c)
		}
	}
	return all
}

func summarize(curves []*Curve) MethodSummary {
	first, last := make([]*Row, len(curves)), make([]*Row, len(curves))
	m := MethodSummary{Method: curves[0].Method}
	for i, c := range curves {
		first[i], last[i] = &c.Rows[0], &c.Rows[len(c.Rows)-1]
		if c.Diverged {
			m.Diverged++
		}
	}
	distances := over(last, func(r *Row) float64 { return r.SDFirst })
	m.Final = Spread{Median: median(distances), Min: slices.Min(distances), Max: slices.Max(distances)}
	m.InitRounds, m.InitBytes, m.InitSeconds = median(over(first, rounds)), median(over(first, sent)), median(over(first, seconds))
	m.Rounds, m.Messages, m.Bytes, m.Seconds = median(over(last, rounds)), median(over(last, messages)), median(over(last, sent)), median(over(last, seconds))
	for _, target := range Targets {
		m.Reached = append(m.Reached, reached(curves, target))
	}
	return m
}

// What rows of curves say, as numbers.
func iteration(r *Row) float64 { return float64(r.Iteration) }
func rounds(r *Row) float64    { return float64(r.Rounds) }
func messages(r *Row) float64  { return float64(r.Messages) }
func sent(r *Row) float64      { return float64(r.Bytes) }
func seconds(r *Row) float64   { return r.Seconds }

// over returns a number of every row, infinite where there is no row.
func over(rows []*Row, number func(*Row) float64) []float64 {
	v := make([]float64, len(rows))
	for i, r := range rows {
		if v[i] = math.Inf(1); r != nil {
			v[i] = number(r)
		}
	}
	return v
}

// reached describes the first rows of curves that are at a target.
func reached(curves []*Curve, target float64) Reached {
	r := Reached{Distance: target}
	rows := make([]*Row, len(curves))
	for i, c := range curves {
		if k := slices.IndexFunc(c.Rows, func(r Row) bool { return r.SDFirst <= target }); k >= 0 {
			r.Trials++
			rows[i] = &c.Rows[k]
		}
	}
	middle := func(number func(*Row) float64) *float64 {
		if m := median(over(rows, number)); !math.IsInf(m, 1) {
			return &m
		}
		return nil
	}
	r.Iterations, r.Rounds, r.Bytes, r.Seconds = middle(iteration), middle(rounds), middle(sent), middle(seconds)
	return r
}

func median(v []float64) float64 { return measure.Median(slices.Clone(v)) }

// quantile interpolates between the order statistics of v, which are sorted.
func quantile(v []float64, q float64) float64 {
	at := q * float64(len(v)-1)
	i := int(at)
	if f := at - float64(i); f > 0 && v[i] != v[i+1] { // both may be infinite
		return v[i] + f*(v[i+1]-v[i])
	}
	return v[i]
}

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
			return fmt.Errorf("%s: %w", path, text.Cause(err))
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
