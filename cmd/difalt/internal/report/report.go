// Package report describes the result of a training: as text for a terminal, as JSON for programs, and as a
// web page with figures and tables. A [Report] holds the numbers of all three.
package report

import (
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"math"
	"strings"

	"github.com/difalt/difalt/cmd/difalt/dataset"
	"github.com/difalt/difalt/cmd/difalt/fit"
	"github.com/difalt/difalt/cmd/difalt/internal/text"
	"github.com/difalt/difalt/cmd/difalt/model"
	"github.com/difalt/difalt/cmd/difalt/owners"
	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/private"
)

// A Result is the part of a training's own report that fit and owners share, and the parts of owners.
type Result struct {
	Scores    []fit.Score
	Verdict   fit.Verdict
	Converged bool
	Notes     []string
	Tasks     iter.Seq[fit.TaskScore]
	// Evidence compares forms of the model of one table, Validation those of several owners.
	Evidence   []fit.Candidate
	Validation []owners.Candidate
	Nodes      int // of owners, 0 for one table
	TaskCount  int // of all nodes
	Traffic    wire.Traffic
	Account    *private.Account // nil without a privacy budget
}

// OfFit returns the result of a fit to one table.
func OfFit(r *fit.Report) *Result {
	return &Result{Scores: r.Scores, Verdict: r.Verdict, Converged: r.Converged, Notes: r.Notes, Tasks: r.Tasks(), Evidence: r.Candidates}
}

// OfOwners returns the result of a training with other owners.
func OfOwners(r *owners.Report) *Result {
	return &Result{
		Scores: r.Scores, Verdict: r.Verdict, Converged: r.Converged, Notes: r.Notes, Tasks: r.Tasks,
		Validation: r.Candidates, Nodes: r.Nodes, TaskCount: r.TaskCount, Traffic: r.Traffic, Account: r.Private,
	}
}

// Inputs are the subject of a report.
type Inputs struct {
	Data    string // name of the data
	Version string // of the program
	Table   *dataset.Table
	Train   []bool
	Model   *model.Model
	*Result
}

// A Report describes a training. Its fields are those of the JSON, where numbers that are not known, or
// infinite, are null.
type Report struct {
	*Inputs `json:"-"`

	Size       size        `json:"size"`
	Verdict    string      `json:"verdict"`
	Converged  bool        `json:"converged"`
	Comparison comparison  `json:"comparison"`
	Methods    []method    `json:"methods"`
	Candidates []candidate `json:"candidates"`
	Fitted     fitted      `json:"model"`
	Effects    []effect    `json:"effects"`
	Notes      []string    `json:"notes"`
	Owners     *sent       `json:"owners,omitempty"`
}

// A size counts tasks and rows of this process, and how missing values were treated.
type size struct {
	Tasks    int            `json:"tasks"`
	Features int            `json:"features"`
	Training int            `json:"training_rows"`
	Held     int            `json:"held_out_rows"`
	Dropped  int            `json:"dropped_rows"`
	Filled   map[string]int `json:"filled"` // rows with a mean in place of a missing value, by column
}

// A comparison is the gain of the model over the best simpler method: 1 - RMSE / RMSE of that, with a 95 %
// interval.
type comparison struct {
	Method string `json:"method,omitempty"`
	Gain   number `json:"gain"`
	Low    number `json:"gain_low"`
	High   number `json:"gain_high"`
}

// A method is the model or one that it is compared with.
type method struct {
	Name  string `json:"name"`
	Ridge number `json:"ridge"`
	Train errors `json:"train"`
	Test  errors `json:"held_out"`
}

type errors struct {
	Rows              int    `json:"rows"`
	RMSE              number `json:"rmse"`
	MAE               number `json:"mae"`
	ExplainedVariance number `json:"explained_variance"`
}

// A candidate is a form of the model that was compared with others: by evidence, or by the error of
// cross-validation.
type candidate struct {
	Rank      int    `json:"rank"`
	Curves    bool   `json:"curves"`
	Evidence  number `json:"log_evidence"`
	Penalised number `json:"penalised_evidence"`
	RMSE      number `json:"cross_validated_rmse"`
	Chosen    bool   `json:"chosen"`
}

// A fitted is the model in numbers.
type fitted struct {
	Estimator string   `json:"estimator"`
	Target    string   `json:"target"`
	Log       bool     `json:"log_target"`
	Rank      int      `json:"rank"`
	Curves    []string `json:"curves"`
	Noise     number   `json:"noise"` // standard deviation
	model.Goodness
}

// A sent counts the messages between owners.
type sent struct {
	Nodes    int      `json:"nodes"`
	Tasks    int      `json:"tasks"` // of all nodes
	Bytes    int64    `json:"bytes"`
	Messages int64    `json:"messages"`
	Privacy  *privacy `json:"privacy,omitempty"`
}

// A privacy is the account of a privacy budget, against outsiders and against one of the nodes.
type privacy struct {
	Epsilon    float64    `json:"epsilon"`
	Delta      float64    `json:"delta"`
	Rho        float64    `json:"rho"`
	AgainstOne number     `json:"epsilon_against_a_node"`
	Spent      []spending `json:"spent"`
}

type spending struct {
	Release string  `json:"release"`
	Rho     float64 `json:"rho"`
	Numbers int     `json:"numbers"`
}

// A number is null in JSON where that has none.
type number float64

// MarshalJSON implements json.Marshaler.
func (v number) MarshalJSON() ([]byte, error) {
	if f := float64(v); math.IsNaN(f) || math.IsInf(f, 0) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(v))
}

// String prints the number for a file.
func (v number) String() string { return text.Number(float64(v)) }

// New returns the report on a training.
func New(in *Inputs) *Report {
	v := in.Result.Verdict
	r := &Report{
		Inputs: in, Size: newSize(in), Verdict: v.Text, Converged: in.Result.Converged,
		Comparison: comparison{v.Other, number(v.Gain), number(v.Low), number(v.High)},
		Candidates: newCandidates(in.Result), Fitted: newFitted(in.Model), Effects: newEffects(in.Model),
		Notes: append([]string{}, in.Result.Notes...), Owners: newSent(in.Result),
	}
	for _, s := range in.Result.Scores {
		r.Methods = append(r.Methods, method{s.Method, number(s.Ridge), newErrors(s.Train), newErrors(s.Test)})
	}
	return r
}

func newSize(in *Inputs) size {
	s := size{Tasks: len(in.Table.Tasks()), Features: len(in.Table.Features()), Training: in.Table.Rows(),
		Dropped: in.Table.Dropped(), Filled: map[string]int{}}
	for _, on := range in.Train {
		if !on {
			s.Training--
			s.Held++
		}
	}
	for _, c := range in.Table.Missing() {
		s.Filled[c.Column] = c.Rows
	}
	return s
}

func newErrors(e fit.Errors) errors {
	return errors{e.Rows, number(e.RMSE), number(e.MAE), number(e.ExplainedVariance)}
}

func newCandidates(r *Result) []candidate {
	list, nan := []candidate{}, number(math.NaN())
	for _, c := range r.Evidence {
		list = append(list, candidate{c.Rank, c.Curves, number(c.Evidence), number(c.Penalised), nan, c.Chosen})
	}
	for _, c := range r.Validation {
		list = append(list, candidate{c.Rank, true, nan, nan, number(c.RMSE), c.Chosen})
	}
	return list
}

func newFitted(m *model.Model) fitted {
	p := m.Parameters()
	f := fitted{
		Estimator: p.Estimator, Target: p.Target.Column, Log: p.Target.Log, Rank: p.Prior.Rank, Curves: []string{},
		Noise: number(m.Noise()), Goodness: p.Goodness,
	}
	for _, c := range p.Design.Curves {
		f.Curves = append(f.Curves, m.Features()[c.Feature])
	}
	return f
}

func newSent(r *Result) *sent {
	if r.Nodes == 0 {
		return nil
	}
	s := &sent{Nodes: r.Nodes, Tasks: r.TaskCount, Bytes: r.Traffic.Bytes, Messages: r.Traffic.Messages}
	if a := r.Account; a != nil {
		s.Privacy = &privacy{Epsilon: a.Epsilon(), Delta: a.Delta(), Rho: a.Rho(), AgainstOne: number(a.Against(1, r.Nodes))}
		for _, e := range a.Spent() {
			s.Privacy.Spent = append(s.Privacy.Spent, spending{e.What, e.Rho, e.Numbers})
		}
	}
	return s
}

// Write writes the report for a terminal, or as JSON.
func (r *Report) Write(w io.Writer, asJSON bool) error {
	if !asJSON {
		r.writeText(w)
		return nil
	}
	return writeJSON(w, r)
}

func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// Columns describes how the columns of a table were read, and warns of columns and values that look wrong.
func Columns(t *dataset.Table) (list []string) {
	var numbers []string
	for _, c := range t.Schema().Columns {
		if _, categorical := t.Schema().Levels(c); !categorical {
			numbers = append(numbers, c)
		}
	}
	words := "No columns of numbers."
	if numbers != nil {
		words = fmt.Sprintf("Numbers: %s.", someNames(numbers))
	}
	for _, c := range t.Schema().Categories {
		words += fmt.Sprintf(" Categories of %s: %s.", someNames([]string{c.Column}), someNames(c.Levels))
	}
	list = append(append(list, words), t.Notes()...)
	return append(list, Missing(t)...)
}

// someNames joins the first names of a list.
func someNames(list []string) string {
	const most = 20
	var shown []string
	for _, s := range list[:min(len(list), most)] {
		shown = append(shown, text.Visible(s))
	}
	words := strings.Join(shown, ", ")
	if n := len(list) - most; n > 0 {
		words += fmt.Sprintf(" and %d more", n)
	}
	return words
}

// Missing describes the rows that were left out, and the values that were filled in.
func Missing(t *dataset.Table) (list []string) {
	if n := t.Dropped(); n > 0 {
		list = append(list, fmt.Sprintf("%s left out for missing values.", text.Plural(n, "row")))
	}
	const most = 20
	var filled []string
	for _, m := range t.Missing() {
		filled = append(filled, fmt.Sprintf("%d in %q", m.Rows, m.Column))
	}
	if n := len(filled) - most; n > 0 {
		filled = append(filled[:most], fmt.Sprintf("and in %d more columns", n))
	}
	if filled != nil {
		list = append(list, fmt.Sprintf("Missing values are filled with the mean of the training rows: %s.", strings.Join(filled, ", ")))
	}
	return list
}
