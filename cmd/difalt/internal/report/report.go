// Package report says what came of a fit. A Report has all that is said, once: as text for a
// terminal, as JSON for programs, and as a page with figures and tables.
package report

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/difalt/difalt/cmd/difalt/dataset"
	"github.com/difalt/difalt/cmd/difalt/fit"
	"github.com/difalt/difalt/cmd/difalt/internal/simulation"
	"github.com/difalt/difalt/cmd/difalt/internal/text"
	"github.com/difalt/difalt/cmd/difalt/model"
	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/difalt"
)

// Inputs are what a report is about: a fit, what it was asked for, and what came of it.
type Inputs struct {
	Data    string // name of the data
	Version string // of the program
	Columns *dataset.TableOptions
	Table   *dataset.Table
	Config  *fit.Config
	Model   *model.Model
	Fit     *fit.Report
	Trace   *Trace
	// Owners says that nodes are in processes of their own: what they show one another is
	// among the notes.
	Owners bool
}

// A Report is what is said about a fit, with what it is made of. Its fields are those of the JSON, where
// numbers that are not known, or infinite, are null.
type Report struct {
	*Inputs `json:"-"`

	Tasks    int `json:"tasks"`
	Features int `json:"features"`
	// Dropped rows missed a value; Filled says in how many rows of a column a mean took its place.
	Dropped   int            `json:"dropped_rows"`
	Filled    map[string]int `json:"filled"`
	Split     []string       `json:"split"` // what is particular about the rows held out
	Verdict   string         `json:"verdict"`
	Converged bool           `json:"converged"`
	// Compared is the best simpler method on held-out rows, Gain by what part the model's RMSE
	// is below it, with a 95 % interval.
	Compared string `json:"compared,omitempty"`
	Gain     number `json:"gain"`
	GainLow  number `json:"gain_low"`
	GainHigh number `json:"gain_high"`

	Methods    []method    `json:"methods"`
	Chosen     candidate   `json:"chosen"`
	Candidates []candidate `json:"candidates"`

	// Of the algorithm; none at rank 0. Residual is the estimated distance to the best U for
	// the training rows, StatisticalError what noise, and what tasks do each for itself, leave anyway.
	Status           string `json:"status,omitempty"`
	Method           string `json:"method,omitempty"`
	Rounds           int    `json:"rounds,omitempty"`
	Agreement        string `json:"agreement,omitempty"`
	Iterations       int    `json:"iterations"`
	Step             number `json:"step"`
	IterationBytes   int64  `json:"iteration_bytes"`
	Distance         number `json:"distance"` // subspace distance to the truth, at most
	Residual         number `json:"residual"`
	StatisticalError number `json:"statistical_error"`

	goodness
	Effects []effect `json:"effects"`

	Noise    number   `json:"noise"` // standard deviation
	Bytes    int64    `json:"bytes"` // sent between nodes
	Messages int64    `json:"messages"`
	Notes    []string `json:"notes"`
	// What takes the place of columns, by the evidence or as it was asked for.
	Transforms []transform `json:"transforms"`
	LogTarget  bool        `json:"log_target"` // errors are those of the target, strengths, effects and noise of its logarithm
	// Of the statistics of the tasks of other nodes, so many are determined by totals; 0 where there are no other nodes.
	OtherStatistics int `json:"statistics_of_others"`
	Determined      int `json:"statistics_determined"`
	// The account of a fit with a privacy budget.
	Privacy *privacy `json:"privacy,omitempty"`

	effects []model.Effect
}

// A privacy is what a fit has spent of a budget, and what that is against one node that takes part.
type privacy struct {
	Epsilon    float64    `json:"epsilon"`
	Delta      float64    `json:"delta"`
	Rho        float64    `json:"rho"`
	AgainstOne number     `json:"epsilon_against_a_node"`
	Tasks      int        `json:"tasks"` // of all nodes
	Spent      []spending `json:"spent"`
}

type spending struct {
	What    string  `json:"what"`
	Rho     float64 `json:"rho"`
	Numbers int     `json:"numbers"`
}

func newPrivacy(p *fit.Private) *privacy {
	if p == nil {
		return nil
	}
	out := &privacy{Epsilon: p.Epsilon(), Delta: p.Delta(), Rho: p.Rho(), AgainstOne: number(p.Against(1, p.Nodes)), Tasks: p.Tasks}
	for _, s := range p.Spent() {
		out.Spent = append(out.Spent, spending{s.What, s.Rho, s.Numbers})
	}
	return out
}

// A method is the model or one that it is compared with.
type method struct {
	Name  string `json:"name"`
	Train errors `json:"train"`
	Test  errors `json:"held_out"`
	ridge float64
}

type errors struct {
	Rows              int    `json:"rows"`
	RMSE              number `json:"rmse"`
	MAE               number `json:"mae"`
	ExplainedVariance number `json:"explained_variance"`
}

// A candidate is a model that the evidence compared.
type candidate struct {
	Rank      int       `json:"rank"`
	Evidence  number    `json:"log_evidence"`
	Expected  bool      `json:"expected"` // not evaluated
	Intercept number    `json:"intercept_ridge"`
	Ridge     number    `json:"ridge"`
	MeanRidge number    `json:"mean_ridge"`
	Axes      []float64 `json:"axes"` // standard deviations along the axes of the representation
	Weight    number    `json:"weight"`
}

// averaged reports whether the model averages over a candidate and others.
func (c *candidate) averaged() bool { return c.Weight > 0 && c.Weight < 1 }

// interceptsOnly reports whether tasks differ in nothing but their intercepts.
func (c *candidate) interceptsOnly() bool { return c.Rank == 0 && math.IsInf(float64(c.Ridge), 1) }

func (r *Report) isChosen(c *candidate) bool {
	return c.Rank == r.Chosen.Rank && c.interceptsOnly() == r.Chosen.interceptsOnly()
}

// A number is null where JSON has none.
type number float64

func (v number) MarshalJSON() ([]byte, error) {
	if f := float64(v); math.IsNaN(f) || math.IsInf(f, 0) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(v))
}

// New returns the report on a fit.
func New(in *Inputs) *Report {
	f, v := in.Fit, in.Fit.Verdict
	r := &Report{
		Inputs: in, Tasks: len(in.Table.Tasks()), Features: len(in.Model.Features()), Dropped: in.Table.Dropped(), Filled: map[string]int{},
		Split: append([]string{}, HeldOut(in.Columns, in.Table, in.Config.Train)...), Verdict: v.Text, Converged: f.Converged,
		Compared: v.Other, Gain: number(v.Gain), GainLow: number(v.Low), GainHigh: number(v.High),
		Chosen: newCandidate(f.Chosen), Candidates: []candidate{}, Noise: number(in.Model.Noise()), Bytes: f.Traffic.Bytes, Messages: f.Traffic.Messages,
		Notes: append([]string{}, notes(f)...), Transforms: transforms(in.Model), LogTarget: in.Model.Parameters().Scaling.LogTarget,
		Privacy: newPrivacy(f.Private), goodness: newGoodness(in.Model), effects: in.Model.Effects(),
	}
	r.Effects = newEffects(r.effects)
	told := f.Disclosure()
	r.OtherStatistics, r.Determined = told.Statistics, told.Determined
	for _, c := range in.Table.Missing() {
		r.Filled[c.Column] = c.Rows
	}
	for _, s := range f.Scores {
		r.Methods = append(r.Methods, method{s.Method, newErrors(s.Train), newErrors(s.Test), s.Ridge})
	}
	for _, c := range f.Tried {
		r.Candidates = append(r.Candidates, newCandidate(c))
	}
	if in.Owners {
		r.Notes = append(r.Notes, Seen(&f.Options, in.Config.Privacy, in.Config.Network.Len())...)
	}
	r.addAlgorithm(f)
	return r
}

// addAlgorithm adds how the algorithm went, if it had anything to do.
func (r *Report) addAlgorithm(f *fit.Report) {
	nan := number(math.NaN())
	r.Step, r.Distance, r.Residual, r.StatisticalError = nan, nan, nan, nan
	o := &f.Options
	r.Method, r.Agreement = o.Method.String(), o.Agreement.String()
	if f.Private != nil {
		r.Method = "private"
	}
	if o.Agreement.Polynomial != consensus.Tree {
		r.Rounds = o.Rounds
	}
	res := f.Result
	if res == nil {
		return
	}
	r.Status = res.Status.String()
	r.Iterations, r.Step, r.IterationBytes = res.Iterations, number(res.Step), res.Last.Traffic.Plus(res.InitTraffic).Bytes
	r.Distance, r.Residual, r.StatisticalError = number(res.Last.SDMax), number(res.Residual), number(res.StatisticalError)
}

func newErrors(e fit.Errors) errors {
	return errors{e.Rows, number(e.RMSE), number(e.MAE), number(e.ExplainedVariance)}
}

func newCandidate(c fit.Candidate) candidate {
	return candidate{c.Rank, number(c.Evidence), c.Expected, number(c.Intercept), number(c.Ridge), number(c.MeanRidge), append([]float64{}, c.Axes...), number(c.Weight)}
}

// notes are sentences about the nodes and tasks that a user should know of.
func notes(r *fit.Report) (list []string) {
	list = append(list, r.Notes...)
	for _, n := range []struct {
		what  string
		names []string
	}{
		{fmt.Sprintf("Fewer training rows than the rank %d", r.Chosen.Rank), r.FewRows},
		{"No unique least squares, so b of minimum norm (a --ridge avoids that)", r.Singular},
	} {
		if len(n.names) > 0 {
			list = append(list, fmt.Sprintf("%s: %s.", n.what, text.List(n.names)))
		}
	}
	if told := r.Disclosure(); told.Evaluations > 0 && told.Statistics == 0 {
		list = append(list, "How much the totals of this fit determine of the tasks of other nodes was not counted: the table has too many features for that.")
	} else if told.Statistics > 0 {
		words := fmt.Sprintf("Of %d statistics of the tasks of other nodes, the totals of this fit determine about %d to a tenth of what tasks differ by, of %d numbers in all.", told.Statistics, told.Determined, told.Numbers)
		if told.Much() {
			words += " That is more than half: who knows nearly all of them could find out the rest. More tasks a node would help."
		}
		list = append(list, words)
	}
	return list
}

// HeldOut says what is particular about the rows that are held out of a table.
func HeldOut(o *dataset.TableOptions, t *dataset.Table, train []bool) (list []string) {
	time, group := o.Time, o.Group
	if time != "" {
		words := fmt.Sprintf("The last rows of every task by %q are held out.", time)
		if slices.Contains(t.Features(), time) {
			words += fmt.Sprintf(" It is a feature too, unless --drop %s says that it is not.", text.ShellWord(time))
		}
		list = append(list, words)
	}
	if group != "" {
		where := "held out and in folds"
		if time != "" || o.Holdout != "" {
			where = "in folds"
		}
		list = append(list, fmt.Sprintf("Rows of the same %q stay together, %s; it is no feature.", group, where))
	}
	var whole []string
	all := t.Samples(nil)
	for k, n := range t.Samples(train) {
		if n == all[k] {
			whole = append(whole, t.Tasks()[k])
		}
	}
	if whole != nil && len(whole) < len(all) {
		list = append(list, fmt.Sprintf("Nothing is held out of %s: %s.", text.Plural(len(whole), "task"), text.Names(whole)))
	}
	return list
}

// Write writes the report for a terminal, or as JSON.
func (r *Report) Write(w io.Writer, asJSON bool) error {
	if !asJSON {
		r.writeText(w)
		return nil
	}
	return WriteJSON(w, r)
}

// WriteJSON writes a value for programs.
func WriteJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// A Trace collects the records of a run.
type Trace struct{ curve simulation.Curve }

// Observe adds a record.
func (t *Trace) Observe(r *difalt.Record) error {
	t.curve.Rows = append(t.curve.Rows, simulation.NewRow(r))
	return nil
}

// CSV returns the trace of a run of a method as a file.
func (t *Trace) CSV(method string) []byte {
	t.curve.Method = method
	trial := simulation.Trial{Number: 1, Curves: []simulation.Curve{t.curve}}
	return trial.AppendCSV([]byte(simulation.TraceHeader + "\n"))
}

// A transform is what takes the place of a column.
type transform struct {
	Column string    `json:"column"`
	Kind   string    `json:"kind"`
	Knots  []float64 `json:"knots"`
}

func transforms(m *model.Model) []transform {
	list := []transform{}
	for _, c := range m.Parameters().Scaling.Transforms {
		list = append(list, transform{m.Features()[c.Feature], c.Kind, c.Knots})
	}
	return list
}
