// Package report describes the result of a training: as text for a terminal, as JSON for programs, and as a
// web page with figures and tables. A [Report] holds the numbers of all three.
package report

import (
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/difalt/difalt/cmd/difalt/dataset"
	"github.com/difalt/difalt/cmd/difalt/fit"
	"github.com/difalt/difalt/cmd/difalt/internal/text"
	"github.com/difalt/difalt/cmd/difalt/model"
	"github.com/difalt/difalt/cmd/difalt/owners"
)

// A Result is the part of a report that comes from a training's own report.
type Result struct {
	Verdict   fit.Verdict `json:"verdict"`
	Converged bool        `json:"converged"`
	Scores    []fit.Score `json:"methods"`
	// Evidence compares forms of the model of one table, Validation those of several owners.
	Evidence   []fit.Candidate    `json:"evidence,omitempty"`
	Validation []owners.Candidate `json:"cross_validation,omitempty"`
	Notes      []string           `json:"notes"`
	Owners     *sent              `json:"owners,omitempty"` // nil for one table
	tasks      iter.Seq[fit.TaskScore]
}

// A sent counts the messages between owners.
type sent struct {
	Nodes    int      `json:"nodes"`
	Tasks    int      `json:"tasks"` // of all nodes
	Bytes    int64    `json:"bytes"`
	Messages int64    `json:"messages"`
	Privacy  *privacy `json:"privacy,omitempty"` // nil without a privacy budget
}

// A privacy is the account of a privacy budget, against outsiders and against one of the nodes.
type privacy struct {
	Epsilon    float64    `json:"epsilon"`
	Delta      float64    `json:"delta"`
	Rho        float64    `json:"rho"`
	AgainstOne float64    `json:"epsilon_against_a_node"`
	Spent      []spending `json:"spent"`
}

type spending struct {
	Release string  `json:"release"`
	Rho     float64 `json:"rho"`
	Numbers int     `json:"numbers"`
}

// OfFit returns the result of a fit to one table.
func OfFit(r *fit.Report) *Result {
	return &Result{Verdict: r.Verdict, Converged: r.Converged, Scores: r.Scores, Evidence: r.Candidates, Notes: r.Notes, tasks: r.Tasks()}
}

// OfOwners returns the result of a training with other owners.
func OfOwners(r *owners.Report) *Result {
	s := &sent{Nodes: r.Nodes, Tasks: r.TaskCount, Bytes: r.Traffic.Bytes, Messages: r.Traffic.Messages}
	if a := r.Private; a != nil {
		s.Privacy = &privacy{Epsilon: a.Epsilon(), Delta: a.Delta(), Rho: a.Rho(), AgainstOne: a.Against(1, r.Nodes)}
		for _, e := range a.Spent() {
			s.Privacy.Spent = append(s.Privacy.Spent, spending{e.What, e.Rho, e.Numbers})
		}
	}
	return &Result{Verdict: r.Verdict, Converged: r.Converged, Scores: r.Scores, Validation: r.Candidates, Notes: r.Notes, Owners: s,
		tasks: r.Tasks}
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

// A Report describes a training. Fields with tags are those of the JSON.
type Report struct {
	*Inputs
	Size    size           `json:"size"`
	Fitted  fitted         `json:"model"`
	Effects []model.Effect `json:"effects"`
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

// A fitted is the model in numbers.
type fitted struct {
	Estimator string   `json:"estimator"`
	Target    string   `json:"target"`
	Log       bool     `json:"log_target"`
	Rank      int      `json:"rank"`
	Curves    []string `json:"curves"`
	Noise     float64  `json:"noise"` // standard deviation
	model.Goodness
}

// New returns the report on a training.
func New(in *Inputs) *Report {
	t := in.Table
	s := size{Tasks: len(t.Tasks()), Features: len(t.Features()), Training: t.Rows(), Dropped: t.Dropped(), Filled: map[string]int{}}
	for _, on := range in.Train {
		if !on {
			s.Training--
			s.Held++
		}
	}
	for _, c := range t.Missing() {
		s.Filled[c.Column] = c.Rows
	}
	return &Report{in, s, newFitted(in.Model), in.Model.Effects()}
}

func newFitted(m *model.Model) fitted {
	p := m.Parameters()
	f := fitted{
		Estimator: p.Estimator, Target: p.Target.Column, Log: p.Target.Log, Rank: p.Prior.Rank, Noise: m.Noise(), Goodness: p.Goodness,
	}
	for _, c := range p.Design.Curves {
		f.Curves = append(f.Curves, m.Features()[c.Feature])
	}
	return f
}

// Write writes the report for a terminal, or as JSON.
func (r *Report) Write(w io.Writer, asJSON bool) error {
	if asJSON {
		return writeJSON(w, r)
	}
	r.writeText(w)
	return nil
}

// WriteModel writes the content of a model file as JSON.
func WriteModel(w io.Writer, m *model.Model) error {
	p, rows := m.Parameters(), 0
	for _, n := range p.Tasks.Samples {
		rows += n
	}
	return writeJSON(w, struct {
		fitted
		Task     string         `json:"task_column"`
		Tasks    []string       `json:"tasks"`
		Features []string       `json:"features"`
		Rows     int            `json:"training_rows"`
		Effects  []model.Effect `json:"effects"`
	}{newFitted(m), p.Tasks.Column, p.Tasks.Names, m.Features(), rows, m.Effects()})
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
		words += fmt.Sprintf(" Categories of %s: %s.", text.Visible(c.Column), someNames(c.Levels))
	}
	list = append(append(list, words), t.Notes()...)
	return append(list, Missing(t)...)
}

// most bounds the lists of columns.
const most = 20

// someNames joins the first names of a list.
func someNames(list []string) string {
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
