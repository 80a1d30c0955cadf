// Package report describes the result of a training: as text for a terminal, as JSON for programs, and as a
// web page with figures. Text and page share their sections.
package report

import (
	"context"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/difalt/difalt/cmd/difalt/internal/cli"
	"github.com/difalt/difalt/cmd/difalt/internal/dataset"
	"github.com/difalt/difalt/cmd/difalt/internal/terminal"
	"github.com/difalt/difalt/cmd/difalt/internal/text"
	"github.com/difalt/difalt/mixed"
)

// A Result is the part of a report that comes from a training's own report.
type Result struct {
	Verdict   mixed.Verdict     `json:"verdict"`
	Converged bool              `json:"converged"`
	Scores    []mixed.Score     `json:"methods"`
	Evidence  []mixed.Candidate `json:"evidence"` // of the forms of the model that were compared
	Notes     []string          `json:"notes"`
	Owners    *traffic          `json:"owners,omitempty"`   // nil for one table
	OwnFits   []mixed.OwnFit    `json:"own_fits,omitempty"` // of the owners in this process
	Judged    *mixed.Model      // the model before the fit to all rows; nil without one
	Outliers  []mixed.Outlier   // of the rows that the model has learned
	tasks     iter.Seq[mixed.TaskScore]
}

// A traffic is the account of the messages between owners, and of the totals that each of them has learned.
// Epsilon is 0 without a privacy budget.
type traffic struct {
	Nodes      int           `json:"nodes"`
	Tasks      int           `json:"tasks"` // of all nodes, in totals
	Rounds     int64         `json:"rounds"`
	Bytes      int64         `json:"bytes"` // sent by this process, in messages
	Messages   int64         `json:"messages"`
	Totals     []mixed.Total `json:"totals"`            // without the noisy sums of a private training
	Epsilon    float64       `json:"epsilon,omitempty"` // against outsiders
	Delta      float64       `json:"delta,omitempty"`
	AgainstOne float64       `json:"epsilon_against_a_node,omitempty"`
}

// Of returns the result of a training on one table or, with other owners, on several; then it fits the tables
// of this process one by one, to compare. The error is the error of a context that ends.
func Of(ctx context.Context, r *mixed.Report) (*Result, error) {
	out := &Result{
		Verdict: r.Verdict, Converged: r.Converged, Scores: r.Scores, Evidence: r.Candidates,
		Notes: r.Notes, Outliers: r.Outliers, Judged: r.Judged, tasks: r.Tasks(),
	}
	if r.Owners == 1 {
		return out, nil
	}
	s := &traffic{
		Nodes:    r.Owners,
		Tasks:    r.TaskCount,
		Rounds:   r.Traffic.Rounds,
		Bytes:    r.Traffic.Bytes,
		Messages: r.Traffic.Messages,
		Totals:   r.Totals,
	}
	if a := r.Private; a != nil {
		s.Epsilon, s.Delta, s.AgainstOne = a.Epsilon(), a.Delta(), a.Against(1, r.Owners)
	}
	out.Owners = s
	var err error
	out.OwnFits, err = r.OwnFits(ctx)
	return out, err
}

// numbers returns the numbers of totals and of their numbers.
func (s *traffic) numbers() (sums, numbers int) {
	for _, t := range s.Totals {
		sums, numbers = sums+t.Sums, numbers+t.Numbers
	}
	return sums, numbers
}

// A Source is a table with the choice of its training rows, and the name of its file.
type Source struct {
	Name  string
	Table *dataset.Table
	Train []bool
}

// A Report describes a training. The JSON has the fields with tags.
type Report struct {
	cli.Header
	*Result
	Tables  []heading      `json:"tables"` // of this process
	Size    size           `json:"size"`
	Numbers modelNumbers   `json:"model"`
	Effects []mixed.Effect `json:"effects"`

	sources []Source
	model   *mixed.Model
}

// A ModelReport describes a model file.
type ModelReport struct {
	cli.Header
	File       string         `json:"file"`
	TaskColumn string         `json:"task_column"`
	Tasks      int            `json:"tasks"`
	Numbers    modelNumbers   `json:"model"`
	Effects    []mixed.Effect `json:"effects"`
	model      *mixed.Model
}

// A size counts tasks and rows of this process, without rows of weight 0, and values that were filled in.
type size struct {
	Tasks    int            `json:"tasks"`
	Features int            `json:"features"`
	Training int            `json:"training_rows"`
	Held     int            `json:"held_out_rows"`
	Model    int            `json:"model_rows"` // that the model has learned
	Dropped  int            `json:"dropped_rows"`
	Filled   map[string]int `json:"filled"` // rows with a mean in place of a missing value, by column
}

// add counts a table.
func (s *size) add(in *Source) {
	t := in.Table
	s.Tasks, s.Features, s.Dropped = s.Tasks+len(t.Tasks()), len(t.Features()), s.Dropped+t.Dropped()
	for _, on := range in.Train {
		if on {
			s.Training++
		} else {
			s.Held++
		}
	}
	for _, c := range t.Missing() {
		s.Filled[c.Column] += c.Rows
	}
}

// modelNumbers is the model in numbers.
type modelNumbers struct {
	Estimator string   `json:"estimator"`
	Target    string   `json:"target"`
	Log       bool     `json:"log_target"`
	Rank      int      `json:"rank"`
	Curves    []string `json:"curves"`
	Periods   []string `json:"periods,omitempty"`
	Noise     float64  `json:"noise"` // standard deviation
	mixed.Goodness
}

// New returns the report on a training; the header has the command and the version of the program.
func New(sources []Source, m *mixed.Model, result *Result, header cli.Header) *Report {
	r := &Report{
		Header: header, Result: result, Numbers: newModelNumbers(m), Effects: m.Effects(), sources: sources, model: m,
	}
	r.Size.Filled = map[string]int{}
	r.Notes = append(slices.Clip(r.Notes), r.describeOutliers()...)
	for i := range sources {
		r.Tables = append(r.Tables, newHeading(&sources[i]))
		r.Size.add(&sources[i])
	}
	r.Size.Model = r.Size.Training
	if r.Judged != nil {
		r.Size.Model += r.Size.Held
	}
	return r
}

// outliersNamed is the number of outliers in a note.
const outliersNamed = 5

// describeOutliers names the farthest rows by task and place.
func (r *Report) describeOutliers() []string {
	var list []string
	for _, o := range r.Outliers[:min(len(r.Outliers), outliersNamed)] {
		list = append(list, fmt.Sprintf("%s, task %q (%.1f)", r.sources[o.Table].Table.Place(o.Row),
			text.Visible(o.Task), o.Deviations))
	}
	if more := len(r.Outliers) - len(list); more > 0 {
		list = append(list, fmt.Sprintf("and %d more", more))
	}
	if list == nil {
		return nil
	}
	return []string{fmt.Sprintf("Rows whose targets are more than %g noise deviations from their predictions: %s. "+
		"Check them; no row is left out.", mixed.FarOut, strings.Join(list, "; "))}
}

func newModelNumbers(m *mixed.Model) modelNumbers {
	p := m.Parameters()
	f := modelNumbers{
		Estimator: p.Estimator,
		Target:    p.Target.Column,
		Log:       p.Target.Log,
		Rank:      p.Prior.Rank,
		Noise:     m.Noise(),
		Goodness:  p.Goodness,
	}
	for _, c := range p.Design.Curves {
		f.Curves = append(f.Curves, m.Features()[c.Feature])
	}
	for _, c := range p.Design.Periods {
		f.Periods = append(f.Periods, m.Features()[c.Feature])
	}
	return f
}

// Text writes the report for a terminal.
func (r *Report) Text(w io.Writer) {
	for _, sentence := range r.lead() {
		terminal.Sayf(w, "%s", sentence)
		fmt.Fprintln(w)
	}
	for _, s := range r.sections() {
		s.atMost(textRows).write(w)
	}
	for _, sentence := range r.notes() {
		terminal.Sayf(w, "%s", sentence)
		fmt.Fprintln(w)
	}
}

// NewModelReport returns the report on a model; name is the name of its file.
func NewModelReport(m *mixed.Model, name string, header cli.Header) *ModelReport {
	p := m.Parameters()
	return &ModelReport{
		Header: header, File: name, TaskColumn: p.Tasks.Column, Tasks: len(p.Tasks.Names), Numbers: newModelNumbers(m),
		Effects: m.Effects(), model: m,
	}
}

// Text writes the content of the model for a terminal.
func (r *ModelReport) Text(w io.Writer) {
	fmt.Fprintln(w, r.File)
	describe(w, r.model)
	fmt.Fprintln(w)
	loadingsSection(r.model).write(w)
	effectsSection(r.model).write(w)
}

// categoriesNamed is the number of categorical columns whose levels a heading names.
const categoriesNamed = 12

// A heading describes a table: how its columns were read, and columns and values that look wrong.
type heading struct {
	Name       string           `json:"name"`
	Numbers    []string         `json:"numbers"` // columns
	Categories []mixed.Category `json:"categories"`
	Notes      []string         `json:"notes"`
	Remarks    []string         `json:"remarks"` // about what looks wrong
}

func newHeading(in *Source) heading {
	t := in.Table
	h := heading{Name: in.Name, Categories: t.Schema().Categories, Notes: t.Notes(), Remarks: t.Remarks()}
	categorical := map[string]bool{}
	for _, c := range h.Categories {
		categorical[c.Column] = true
	}
	for _, c := range t.Schema().Columns {
		if !categorical[c] {
			h.Numbers = append(h.Numbers, c)
		}
	}
	return h
}

// Heading describes a table in sentences: its size, how its columns were read, and columns and values that
// look wrong.
func Heading(in *Source) []string {
	h, s := newHeading(in), size{Filled: map[string]int{}}
	s.add(in)
	list := []string{fmt.Sprintf("%s: %s, %s, %s for training, %d held out.", in.Name, text.Plural(s.Tasks, "task"),
		text.Plural(s.Features, "feature"), text.Plural(s.Training, "row"), s.Held)}
	words := "No columns of numbers."
	switch {
	case s.Features == 0:
		words = "No features: a model of intercepts."
	case h.Numbers != nil:
		words = fmt.Sprintf("Numbers: %s.", text.List(h.Numbers))
	}
	for _, c := range h.Categories[:min(len(h.Categories), categoriesNamed)] {
		words += fmt.Sprintf(" Categories of %s: %s.", text.Visible(c.Column), text.List(c.Levels))
	}
	if more := len(h.Categories) - categoriesNamed; more > 0 {
		words += fmt.Sprintf(" %s more have categories.", text.Plural(more, "column"))
	}
	list = append(append(list, words), h.Notes...)
	return slices.Concat(list, Missing(in.Table), h.Remarks)
}

// Missing describes the rows that were left out, and the values that were filled in.
func Missing(t *dataset.Table) (list []string) {
	if n := t.Dropped(); n > 0 {
		const format = "%s left out for missing values; the first is %s."
		list = append(list, fmt.Sprintf(format, text.Plural(n, "row"), t.FirstDropped()))
	}
	return append(list, Filled(t.Missing())...)
}

// Filled describes the missing values that were filled in, by column.
func Filled(missing []dataset.MissingCount) (list []string) {
	var filled []string
	for _, m := range missing {
		filled = append(filled, fmt.Sprintf("%d in %q", m.Rows, text.Visible(m.Column)))
	}
	if filled != nil {
		list = append(list,
			fmt.Sprintf("Missing values are filled with the mean of the training rows: %s.", text.List(filled)))
	}
	return list
}
