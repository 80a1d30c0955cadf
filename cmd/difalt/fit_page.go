package main

import (
	"bytes"
	_ "embed"
	"encoding/csv"
	"errors"
	"fmt"
	"html/template"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/difalt/difalt/dataset"
	"github.com/difalt/difalt/fit"
	"github.com/difalt/difalt/internal/chart"
	"github.com/difalt/difalt/model"
	"gonum.org/v1/gonum/floats"
)

//go:embed fit_page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// reportFile is the page of --report.
const reportFile = "index.html"

// A page is what the template shows.
type page struct {
	Title, Subtitle string
	Version         string
	Facts           []pageFact
	Scores          [][]string // with a header
	Best            int        // row of Scores, of the smallest error on held-out rows; 0 for none
	Gain            string
	Figures         []figure
	Tried           [][]string // with a header; nothing if nothing was tuned
	Chosen          int        // row of Tried
	Axes            []string
	Loadings        []loading
	MoreFeatures    int
	Notes           []string
}

type pageFact struct{ Name, Value string }

type figure struct {
	Title, Text string
	SVG         template.HTML
}

// A loading is a feature with its cells: the mean, and one for each axis.
type loading struct {
	Feature string
	Cells   []cell
}

// A cell is a number with the length of its bar, -100 to 100 percent of the longest
// in its column.
type cell struct {
	Text          string
	Width, Offset float64 // of the bar, in percent of the cell
	Negative      bool
}

// reportFiles returns the files of --report by name.
func (f *fitRun) reportFiles(data *dataset.Table, c *fit.Config, m *model.Model, r *fit.Report, t *trace) (map[string][]byte, error) {
	p := f.newPage(m, r)
	if s := filled(data); s != "" {
		p.Notes = append(p.Notes, s)
	}
	p.Notes = append(p.Notes, splitWords(&f.Table, data, c)...)
	files := map[string][]byte{"tasks.csv": tasksCSV(r), "scores.csv": scoresCSV(r)}
	var failed error
	// add draws a figure on the page, and also to files of the given name unless it is empty.
	add := func(name, title, words string, image *chart.Figure) {
		image.Title, image.Text = title, words
		svg, err := image.SVG()
		if err == nil && name != "" {
			err = addImages(files, name, image)
		}
		failed = errors.Join(failed, err)
		if i := bytes.Index(svg, []byte("<svg")); i > 0 {
			svg = svg[i:] // without the XML declaration, which HTML has no place for
		}
		p.Figures = append(p.Figures, figure{title, words, template.HTML(svg)})
	}
	add("tasks", "Error per task", tasksText(r), tasksFigure(r))
	if image := convergenceFigure(t); image != nil {
		add("", "Convergence", "How far the objective, the sum of squared errors on training rows, is above its least value and, where nodes differ by more than rounding, how far two nodes' bases are apart at most.", image)
	}
	if len(r.Chosen.Axes) > 0 {
		add("", "What tasks differ by", fmt.Sprintf("How much tasks differ along each axis of the representation of rank %d: standard deviations, in the unit of the target.", r.Chosen.Rank), axesFigure(r))
	}
	if len(r.Tried) > 1 {
		add("evidence", "Evidence for the rank", "Logarithm of how much more probable the training rows are with a rank than without a representation.", evidenceFigure(r))
		files["evidence.csv"] = evidenceCSV(r)
	}
	if failed != nil {
		return nil, failed
	}
	var buf bytes.Buffer
	if err := pageTemplate.Execute(&buf, p); err != nil {
		return nil, err
	}
	files[reportFile] = buf.Bytes()
	return files, nil
}

// addImages adds a figure to files as name.svg and name.png.
func addImages(files map[string][]byte, name string, f *chart.Figure) (err error) {
	if files[name+".svg"], err = f.SVG(); err != nil {
		return err
	}
	files[name+".png"], err = f.PNG()
	return err
}

func (f *fitRun) newPage(m *model.Model, r *fit.Report) *page {
	train, test := r.Scores[0].Train.Rows, r.Scores[0].Test.Rows
	target := m.Parameters().TargetColumn
	if target == "" {
		target = "the target"
	}
	p := &page{
		Title:    fmt.Sprintf("Predicting %s", target),
		Subtitle: fmt.Sprintf("%s: a representation that %d tasks share", filepath.Base(f.Files.Data), len(m.Tasks())),
		Version:  version(),
		Facts: []pageFact{
			{"tasks", strconv.Itoa(len(m.Tasks()))}, {"features", strconv.Itoa(len(m.Features()))},
			{"training rows", strconv.Itoa(train)}, {"held-out rows", strconv.Itoa(test)},
			{"nodes", strconv.Itoa(len(m.Parameters().Nodes))}, {"rank", strconv.Itoa(r.Chosen.Rank)},
			{"noise", short(m.Noise())}, {"MB sent", fmt.Sprintf("%.1f", float64(r.Traffic.Bytes)/1e6)},
		},
		Scores: scoresTable(r),
		Best:   bestScore(r.Scores),
		Gain:   strings.ReplaceAll(r.Verdict.Text, " %", "\u00a0%"),
	}
	if len(r.Tried) > 0 {
		p.Tried = [][]string{{"rank", "log evidence", "ridge on intercepts", "ridge on slopes", "ridge on mean"}}
		for i, b := range r.Tried {
			p.Tried = append(p.Tried, candidateCells(&b))
			if b.Rank == r.Chosen.Rank && math.IsInf(b.Ridge, 1) == math.IsInf(r.Chosen.Ridge, 1) {
				p.Chosen = i + 1
			}
		}
	}
	p.addLoadings(m)
	p.addNotes(r)
	return p
}

// bestScore returns the row, from 1, of the method with the smallest error on held-out rows; 0 if
// none are held out.
func bestScore(scores []fit.Score) (row int) {
	for i, s := range scores {
		if s.Test.Rows > 0 && (row == 0 || s.Test.RMSE < scores[row-1].Test.RMSE) {
			row = i + 1
		}
	}
	return row
}

func (p *page) addNotes(r *fit.Report) {
	if r.Result != nil {
		p.Notes = append(p.Notes, fmt.Sprintf("The iterations ended with the status %q.", r.Result.Status))
	}
	p.Notes = append(p.Notes, notes(r)...)
}

// mostFeatures bounds the table of loadings.
const mostFeatures = 40

// addLoadings shows the features by how much the tasks differ in them.
func (p *page) addLoadings(m *model.Model) {
	loadings, values := m.Loadings()
	names, mean := m.ScaledFeatures(), slices.Clone(m.Parameters().Mean)
	floats.Scale(m.Parameters().Scaling.TargetScale, mean)
	size := make([]float64, len(names))
	order := make([]int, len(names))
	longest := make([]float64, 1+len(values))
	for i := range names {
		order[i] = i
		longest[0] = max(longest[0], math.Abs(mean[i]))
		for j := range values {
			v := loadings.At(i, j)
			size[i] = math.Hypot(size[i], v)
			longest[1+j] = max(longest[1+j], math.Abs(v))
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case size[a] > size[b]:
			return -1
		case size[a] < size[b]:
			return 1
		}
		return 0
	})
	p.Axes = []string{"shared mean"}
	for j := range values {
		p.Axes = append(p.Axes, fmt.Sprintf("axis %d", j+1))
	}
	p.MoreFeatures = max(0, len(order)-mostFeatures)
	for _, i := range order[:min(len(order), mostFeatures)] {
		l := loading{Feature: names[i], Cells: []cell{newCell(mean[i], longest[0])}}
		for j := range values {
			l.Cells = append(l.Cells, newCell(loadings.At(i, j), longest[1+j]))
		}
		p.Loadings = append(p.Loadings, l)
	}
}

func newCell(v, longest float64) cell {
	c := cell{Text: strconv.FormatFloat(v, 'g', 2, 64), Negative: v < 0, Offset: 50}
	if math.Abs(v) < 1e-12 {
		c.Text = "0"
	}
	if longest > 0 {
		c.Width = 50 * math.Abs(v) / longest
	}
	if v < 0 {
		c.Offset -= c.Width
	}
	return c
}

// asCSV joins records. A bytes.Buffer has no errors.
func asCSV(records [][]string) []byte {
	var buf bytes.Buffer
	w := csv.NewWriter(&buf)
	_ = w.WriteAll(records)
	return buf.Bytes()
}

var errorColumns = []string{"rows", "rmse", "mae", "explained_variance"}

func errorCells(e fit.Errors) []string {
	return []string{strconv.Itoa(e.Rows), number(e.RMSE), number(e.MAE), number(e.ExplainedVariance)}
}

// tasksCSV has a line for every task, method and set of rows.
func tasksCSV(r *fit.Report) []byte {
	out := [][]string{append([]string{"task", "node", "method", "set"}, errorColumns...)}
	for _, t := range r.Tasks {
		for m, s := range r.Scores {
			out = append(out, append([]string{t.Task, t.Node, s.Method, "train"}, errorCells(t.Train[m])...))
			if t.Test[m].Rows > 0 {
				out = append(out, append([]string{t.Task, t.Node, s.Method, "test"}, errorCells(t.Test[m])...))
			}
		}
	}
	return asCSV(out)
}

func scoresCSV(r *fit.Report) []byte {
	out := [][]string{append([]string{"method", "ridge", "set"}, errorColumns...)}
	for _, s := range r.Scores {
		out = append(out, append([]string{s.Method, number(s.Ridge), "train"}, errorCells(s.Train)...))
		if s.Test.Rows > 0 {
			out = append(out, append([]string{s.Method, number(s.Ridge), "test"}, errorCells(s.Test)...))
		}
	}
	return asCSV(out)
}

func evidenceCSV(r *fit.Report) []byte {
	out := [][]string{{"rank", "log_evidence", "intercept_ridge", "ridge", "mean_ridge"}}
	for _, t := range r.Tried {
		out = append(out, []string{strconv.Itoa(t.Rank), number(t.Evidence), number(t.Intercept), number(t.Ridge), number(t.MeanRidge)})
	}
	return asCSV(out)
}
