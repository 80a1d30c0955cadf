package report

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/csv"
	"fmt"
	"html/template"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/difalt/difalt/cmd/difalt/internal/chart"
	"github.com/difalt/difalt/cmd/difalt/internal/text"
	"github.com/difalt/difalt/cmd/difalt/model"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// PageFile is the name of the page.
const PageFile = "index.html"

// A pageTable begins with a header. Best is the row that stands out, 0 for none, and Text what is said of the table.
type pageTable struct {
	Rows [][]string
	Best int
	Text string
}

// A figure is drawn on the page, and also to files of its name unless that is empty.
type figure struct {
	file, Title, Text string
	image             *chart.Figure // nil if there is nothing to show
	SVG               template.HTML
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
	files := map[string][]byte{"tasks.csv": r.tasksCSV(), "scores.csv": r.scoresCSV()}
	page := map[string]any{
		"Report": r, "Title": text.Visible(cmp.Or(r.Model.Parameters().TargetColumn, "the target")),
		"Subtitle": fmt.Sprintf("%s: what %s share and differ by", filepath.Base(r.Data), text.Plural(len(r.Model.Tasks()), "task")),
		"Verdict":  strings.ReplaceAll(r.Verdict, " %", "\u00a0%"), "MB": float64(r.Bytes) / 1e6,
		"Scores": pageTable{Rows: r.scores(), Best: bestScore(r.Methods)}, "Filled": Filled(r.Table), "Figures": r.figures(files),
	}
	if len(r.Candidates) > 0 {
		rows, chosen := r.candidates()
		page["Tried"] = pageTable{rows, chosen, r.candidatesWords()}
	}
	if len(r.Candidates) > 1 {
		files["evidence.csv"] = r.evidenceCSV()
	}
	var buf bytes.Buffer
	if r.effects != nil {
		page["Effects"] = pageTable{Rows: effectsTable(r.effects), Text: strings.Join(effectsWords(r.Model, r.effects), " ")}
		if err := EffectsFile(&buf, "effects.csv", r.Model); err != nil {
			return nil, err
		}
		files["effects.csv"] = bytes.Clone(buf.Bytes())
		buf.Reset()
	}
	axes, list := loadings(r.Model)
	shown := min(len(list), mostFeatures)
	page["Axes"], page["Loadings"], page["MoreFeatures"] = axes, list[:shown], len(list)-shown
	if err := pageTemplate.Execute(&buf, page); err != nil {
		return nil, err
	}
	files[PageFile] = buf.Bytes()
	return files, nil
}

// figures draws the figures of the page, some of them to files as well.
func (r *Report) figures(files map[string][]byte) (shown []figure) {
	lines, along := r.linesFigure()
	for _, f := range []figure{
		{"tasks", "Error per task", r.tasksText(), r.tasksFigure(), ""},
		{"lines", "Tasks along a column", along, lines, ""},
		{"levels", "Levels of tasks", "How far each task is above or below the shared mean, with all features at their means, in the " + r.Model.Unit() + ".", r.levelsFigure(), ""},
		{"residuals", "Residuals", residualsText(r.LogTarget) + " A bend or a fan shape is a sign that the model misses something.", r.residualsFigure(), ""},
		{"", "Convergence", "How far the sum of squared errors on training rows is from where it ends, relative to that, and, if the nodes differ by more than rounding, the largest distance between the bases of two nodes.", r.convergenceFigure(), ""},
		{"", "What tasks differ by", fmt.Sprintf("How much tasks differ along each axis of the representation of rank %d: standard deviations, in the %s.", r.Chosen.Rank, r.Model.Unit()), r.axesFigure(), ""},
		{"evidence", "Evidence for the rank", "How much more probable the training rows are with a rank than without a representation (logarithm), if tasks differ in all features, or in their intercepts only.", r.evidenceFigure(), ""},
	} {
		if f.image == nil {
			continue
		}
		f.image.Title, f.image.Text = f.Title, f.Text
		svg := f.image.SVG()
		if f.file != "" {
			files[f.file+".svg"], files[f.file+".png"] = svg, f.image.PNG()
		}
		f.SVG = template.HTML(svg[max(bytes.Index(svg, []byte("<svg")), 0):]) // without the XML declaration, which HTML has no place for
		shown = append(shown, f)
	}
	return shown
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

// loadings returns the axes and, of every feature, its loadings on them; those in which the tasks differ most come first.
func loadings(m *model.Model) (axes []string, list []loading) {
	table, values := m.Loadings()
	columns, names := [][]float64{slices.Clone(m.Parameters().Mean)}, m.ScaledFeatures()
	floats.Scale(m.Parameters().Scaling.TargetScale, columns[0])
	axes = []string{"shared mean"}
	for j := range values {
		axes, columns = append(axes, fmt.Sprintf("axis %d", j+1)), append(columns, mat.Col(nil, j, table))
	}
	order, size := make([]int, len(names)), make([]float64, len(names))
	for i := range names {
		order[i] = i
		for _, c := range columns[1:] {
			size[i] = math.Hypot(size[i], c[i])
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(size[b], size[a]) })
	for _, i := range order {
		l := loading{Feature: text.Visible(names[i])}
		for _, c := range columns {
			l.Cells = append(l.Cells, newCell(c[i], floats.Norm(c, math.Inf(1))))
		}
		list = append(list, l)
	}
	return axes, list
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

// withErrors appends to records those of the errors of a method on training rows and on held-out rows, if there are some.
func withErrors(records [][]string, train, test errors, of ...string) [][]string {
	records = append(records, slices.Concat(of, []string{"train"}, train.cells()))
	if test.Rows > 0 {
		records = append(records, slices.Concat(of, []string{"test"}, test.cells()))
	}
	return records
}

func (r *Report) tasksCSV() []byte {
	out := [][]string{append([]string{"task", "node", "method", "set"}, errorColumns...)}
	for t := range r.Fit.Tasks() {
		for m, method := range r.Methods {
			out = withErrors(out, newErrors(t.Train[m]), newErrors(t.Test[m]), t.Task, t.Node, method.Name)
		}
	}
	return asCSV(out)
}

func (r *Report) scoresCSV() []byte {
	out := [][]string{append([]string{"method", "ridge", "set"}, errorColumns...)}
	for _, m := range r.Methods {
		out = withErrors(out, m.Train, m.Test, m.Name, text.Number(m.ridge))
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
