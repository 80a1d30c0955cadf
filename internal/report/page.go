package report

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/csv"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/difalt/difalt/internal/chart"
	"github.com/difalt/difalt/internal/text"
	"github.com/difalt/difalt/model"
	"gonum.org/v1/gonum/floats"
)

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// PageFile is the name of the page.
const PageFile = "index.html"

// A page is what the template shows.
type page struct {
	Title, Subtitle string
	Version         string
	Facts           []pageFact
	Gain            string
	Scores          pageTable
	Figures         []figure
	Tried, Effects  pageTable // without rows where there are none
	Notes           []string
	pageLoadings
}

// pageLoadings are what tasks share, and differ by along axes.
type pageLoadings struct {
	Unit         string
	Axes         []string
	Loadings     []loading
	MoreFeatures int
}

type pageFact struct{ Name, Value string }

// A pageTable begins with a header. Best is the row that stands out, 0 for none, and Text what is said of the table.
type pageTable struct {
	Rows [][]string
	Best int
	Text string
}

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

// Files returns the page, its figures and its tables as files, by name.
func (r *Report) Files() (map[string][]byte, error) {
	p := r.page()
	files := map[string][]byte{"tasks.csv": r.tasksCSV(), "scores.csv": r.scoresCSV()}
	if r.effects != nil {
		var buf bytes.Buffer
		if err := EffectsFile(&buf, "effects.csv", r.model); err != nil {
			return nil, err
		}
		files["effects.csv"] = buf.Bytes()
	}
	lines, along := r.linesFigure()
	figures := []pageFigure{
		{"tasks", "Error per task", r.tasksText(), r.tasksFigure()},
		{"lines", "Tasks along a column", along, lines},
		{"levels", "Levels of tasks", "How far each task is above or below the shared mean, with all features at their means, in the " + r.model.Unit() + ".", r.levelsFigure()},
		{"residuals", "Residuals", residualsText(r.LogTarget) + " A bend or a fan shape is a sign that the model misses something.", r.residualsFigure()},
		{"", "Convergence", "The objective (the sum of squared errors on training rows) relative to its least value and, if the nodes differ by more than rounding, the largest distance between the bases of two nodes.", r.convergenceFigure()},
		{"", "What tasks differ by", fmt.Sprintf("How much tasks differ along each axis of the representation of rank %d: standard deviations, in the %s.", r.Chosen.Rank, r.model.Unit()), r.axesFigure()},
		{"evidence", "Evidence for the rank", "How much more probable the training rows are with a rank than without a representation (logarithm), if tasks differ in all features, or in their intercepts only.", r.evidenceFigure()},
	}
	for _, f := range figures {
		if f.image != nil {
			p.Figures = append(p.Figures, figure{f.title, f.words, f.draw(files)})
		}
	}
	if len(r.Candidates) > 1 {
		files["evidence.csv"] = r.evidenceCSV()
	}
	var buf bytes.Buffer
	if err := pageTemplate.Execute(&buf, p); err != nil {
		return nil, err
	}
	files[PageFile] = buf.Bytes()
	return files, nil
}

// A pageFigure is drawn on the page, and also to files of its name unless that is empty.
type pageFigure struct {
	name, title, words string
	image              *chart.Figure // nil if there is nothing to show
}

func (f *pageFigure) draw(files map[string][]byte) template.HTML {
	f.image.Title, f.image.Text = f.title, f.words
	svg := f.image.SVG()
	if f.name != "" {
		files[f.name+".svg"], files[f.name+".png"] = svg, f.image.PNG()
	}
	return template.HTML(svg[max(bytes.Index(svg, []byte("<svg")), 0):]) // without the XML declaration, which HTML has no place for
}

// page returns what the page shows, but for its figures.
func (r *Report) page() *page {
	m := r.model
	p := &page{
		Title:    "Predicting " + text.Visible(cmp.Or(m.Parameters().TargetColumn, "the target")),
		Subtitle: fmt.Sprintf("%s: what %s share and differ by", r.data, text.Plural(len(m.Tasks()), "task")),
		Version:  r.version,
		Facts: []pageFact{
			{"tasks", strconv.Itoa(len(m.Tasks()))}, {"features", strconv.Itoa(r.Features)},
			{"training rows", strconv.Itoa(r.Methods[0].Train.Rows)}, {"held-out rows", strconv.Itoa(r.Methods[0].Test.Rows)},
			{"nodes", strconv.Itoa(len(m.Parameters().Nodes))}, {"rank", strconv.Itoa(r.Chosen.Rank)},
			{"noise", text.Short(float64(r.Noise))}, {"MB sent", fmt.Sprintf("%.1f", float64(r.Bytes)/1e6)},
		},
		Scores: pageTable{Rows: r.scores(), Best: bestScore(r.Methods)},
		Gain:   strings.ReplaceAll(r.Verdict, " %", "\u00a0%"),
	}
	if len(r.Candidates) > 0 {
		rows, chosen := r.candidates()
		p.Tried = pageTable{rows, chosen, r.candidatesWords()}
	}
	if r.effects != nil {
		p.Effects = pageTable{Rows: effectsTable(r.effects), Text: strings.Join(effectsWords(m, r.effects), " ")}
	}
	p.addLoadings(m)
	if r.Status != "" {
		p.Notes = append(p.Notes, fmt.Sprintf("The iterations ended with the status %q.", r.Status))
	}
	p.Notes = append(p.Notes, r.Notes...)
	if r.filled != "" {
		p.Notes = append(p.Notes, r.filled)
	}
	p.Notes = append(p.Notes, r.Split...)
	return p
}

// bestScore returns the row, from 1, of the method with the smallest error on held-out rows; 0 if
// none are held out.
func bestScore(methods []method) (row int) {
	for i, m := range methods {
		if m.Test.Rows > 0 && (row == 0 || m.Test.RMSE < methods[row-1].Test.RMSE) {
			row = i + 1
		}
	}
	return row
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
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(size[b], size[a]) })
	p.Unit, p.Axes = m.Unit(), []string{"shared mean"}
	for j := range values {
		p.Axes = append(p.Axes, fmt.Sprintf("axis %d", j+1))
	}
	p.MoreFeatures = max(0, len(order)-mostFeatures)
	for _, i := range order[:min(len(order), mostFeatures)] {
		l := loading{Feature: text.Visible(names[i]), Cells: []cell{newCell(mean[i], longest[0])}}
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

// cells are those of errorColumns.
func (e errors) cells() []string {
	return []string{strconv.Itoa(e.Rows), e.RMSE.String(), e.MAE.String(), e.ExplainedVariance.String()}
}

// String prints the number for a file.
func (v number) String() string { return text.Number(float64(v)) }

func (r *Report) tasksCSV() []byte {
	out := [][]string{append([]string{"task", "node", "method", "set"}, errorColumns...)}
	for t := range r.tasks {
		for m, method := range r.Methods {
			out = append(out, append([]string{t.Task, t.Node, method.Name, "train"}, newErrors(t.Train[m]).cells()...))
			if t.Test[m].Rows > 0 {
				out = append(out, append([]string{t.Task, t.Node, method.Name, "test"}, newErrors(t.Test[m]).cells()...))
			}
		}
	}
	return asCSV(out)
}

func (r *Report) scoresCSV() []byte {
	out := [][]string{append([]string{"method", "ridge", "set"}, errorColumns...)}
	for _, m := range r.Methods {
		out = append(out, append([]string{m.Name, text.Number(m.ridge), "train"}, m.Train.cells()...))
		if m.Test.Rows > 0 {
			out = append(out, append([]string{m.Name, text.Number(m.ridge), "test"}, m.Test.cells()...))
		}
	}
	return asCSV(out)
}

func (r *Report) evidenceCSV() []byte {
	out := [][]string{{"rank", "log_evidence", "intercept_ridge", "ridge", "mean_ridge", "expected", "weight"}}
	for _, c := range r.Candidates {
		out = append(out, []string{strconv.Itoa(c.Rank), c.Evidence.String(), c.Intercept.String(), c.Ridge.String(), c.MeanRidge.String(), strconv.FormatBool(c.Expected), c.Weight.String()})
	}
	return asCSV(out)
}
