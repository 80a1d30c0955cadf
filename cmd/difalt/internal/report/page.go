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

// FileNames are the names of all files that [Report.Files] may return.
var FileNames = []string{
	PageFile, "tasks.csv", "scores.csv", "evidence.csv", "effects.csv", "loadings.csv",
	"tasks.svg", "lines.svg", "levels.svg", "residuals.svg",
}

// A pageTable begins with a header. Best is the row that stands out, 0 for none. The columns from Minor on
// are left out on narrow screens.
type pageTable struct {
	Rows        text.Table
	Best, Minor int
	File        string // with the same numbers
}

// A pageFigure is a figure with its picture.
type pageFigure struct {
	figure
	SVG template.HTML
}

// Files returns the page, its figures and its tables as files, by name.
func (r *Report) Files() (map[string][]byte, error) {
	var effects bytes.Buffer
	if err := EffectsFile(&effects, "effects.csv", r.Model); err != nil {
		return nil, err
	}
	all := loadings(r.Model)
	files := map[string][]byte{
		"tasks.csv": r.tasksCSV(), "scores.csv": r.scoresCSV(), "effects.csv": effects.Bytes(), "loadings.csv": asCSV(all),
	}
	shown := min(len(all), mostFeatures+1)
	page := map[string]any{
		"Report": r, "Title": text.Visible(cmp.Or(r.Fitted.Target, "the target")), "Data": filepath.Base(r.Data),
		"Verdict": strings.ReplaceAll(r.Verdict, " %", "\u00a0%"),
		"Scores":  pageTable{Rows: r.scores(), Best: bestScore(r.Methods), Minor: 2, File: "scores.csv"}, "ScoreWords": r.scoreWords(),
		"Effects": pageTable{Rows: effectsTable(r.Effects), Minor: 5, File: "effects.csv"}, "EffectWords": effectsWords(r.Model),
		"Figures": r.figures(files), "Columns": Columns(r.Table), "Sent": r.sentWords(),
		"Loadings": pageTable{Rows: all[:shown], Minor: 5, File: "loadings.csv"}, "More": len(all) - shown, "Unit": r.Model.Unit(),
	}
	if rows, chosen := r.candidates(); rows != nil {
		page["Tried"], page["TriedWords"] = pageTable{Rows: rows, Best: chosen, Minor: len(rows[0]), File: "evidence.csv"},
			r.candidateWords()
		files["evidence.csv"] = r.evidenceCSV()
	}
	var buf bytes.Buffer
	if err := pageTemplate.Execute(&buf, page); err != nil {
		return nil, err
	}
	files[PageFile] = buf.Bytes()
	return files, nil
}

// figures draws the figures of the page, also to files.
func (r *Report) figures(files map[string][]byte) (shown []pageFigure) {
	for _, f := range []figure{r.tasksFigure(), r.linesFigure(), r.levelsFigure(), r.residualsFigure()} {
		if f.image == nil {
			continue
		}
		f.image.Title, f.image.Text = f.Title, f.alt
		files[f.File+".svg"] = f.image.SVG()
		svg := f.image.Themed()
		shown = append(shown, pageFigure{f, template.HTML(svg[max(bytes.Index(svg, []byte("<svg")), 0):])}) // HTML has no XML declaration
	}
	return shown
}

// bestScore returns the row, from 1, of the method with the smallest error on held-out rows; 0 if none are
// held out.
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

// loadings returns the table of mean effects, their spread over tasks and the axes of the loadings, for one
// standard deviation of a feature. Features in which the tasks differ most come first.
func loadings(m *model.Model) text.Table {
	p := m.Parameters()
	header := []string{"feature", "mean of all tasks", "sd between tasks"}
	axes := principal(p.Prior.Loadings, len(p.Mean), p.Prior.Rank)
	for k := range axes {
		header = append(header, fmt.Sprintf("axis %d", k+1))
	}
	type row struct {
		name   string
		values []float64
	}
	var list []row
	largest := 0.0
	for i, c := range p.Design.Columns() {
		if c.Kind != model.Linear || p.Design.Scale[c.Feature] == 0 {
			continue
		}
		v, square := []float64{p.Mean[i], 0}, p.Prior.Deviations[i]*p.Prior.Deviations[i]
		for _, a := range axes {
			v, square = append(v, a[i]), square+a[i]*a[i]
		}
		v[1] = math.Sqrt(square)
		floats.Scale(p.Target.Scale, v)
		list, largest = append(list, row{m.Features()[c.Feature], v}), max(largest, floats.Norm(v, math.Inf(1)))
	}
	slices.SortStableFunc(list, func(a, b row) int { return cmp.Compare(b.values[1], a.values[1]) })
	t := text.Table{header}
	for _, r := range list {
		cells := []string{text.Visible(r.name)}
		for _, v := range r.values {
			cells = append(cells, fixed(number(v), decimals(largest, 2)))
		}
		t = append(t, cells)
	}
	return t
}

// principal returns the orthogonal axes of w x r loadings, each as long as tasks spread along it, and with
// its largest entry positive: loadings are determined up to a rotation.
func principal(packed []float64, w, r int) (axes [][]float64) {
	if r == 0 {
		return nil
	}
	var svd mat.SVD
	if !svd.Factorize(mat.NewDense(r, w, packed), mat.SVDThin) {
		return nil
	}
	var v mat.Dense
	svd.VTo(&v)
	for k, s := range svd.Values(nil) {
		a := mat.Col(nil, k, &v)
		largest := slices.MaxFunc(a, func(x, y float64) int { return cmp.Compare(math.Abs(x), math.Abs(y)) })
		for i := range a {
			a[i] *= math.Copysign(s, largest)
		}
		axes = append(axes, a)
	}
	return axes
}

// asCSV joins records. A bytes.Buffer has no errors.
func asCSV(records [][]string) []byte {
	var buf bytes.Buffer
	_ = csv.NewWriter(&buf).WriteAll(records)
	return buf.Bytes()
}

var errorColumns = []string{"set", "rows", "rmse", "mae", "explained_variance"}

// withErrors appends to records the errors of a method on training rows, and on held-out rows if there are
// some.
func withErrors(records [][]string, train, test errors, of ...string) [][]string {
	sets := []string{"train", "test"}
	for i, e := range []errors{train, test} {
		if i == 0 || e.Rows > 0 {
			records = append(records, append(slices.Clone(of), sets[i], strconv.Itoa(e.Rows), e.RMSE.String(), e.MAE.String(),
				e.ExplainedVariance.String()))
		}
	}
	return records
}

func (r *Report) tasksCSV() []byte {
	out := [][]string{append([]string{"task", "method"}, errorColumns...)}
	for t := range r.Result.Tasks {
		for m, method := range r.Methods {
			out = withErrors(out, newErrors(t.Train[m]), newErrors(t.Test[m]), t.Task, method.Name)
		}
	}
	return asCSV(out)
}

func (r *Report) scoresCSV() []byte {
	out := [][]string{append([]string{"method", "ridge"}, errorColumns...)}
	for _, m := range r.Methods {
		out = withErrors(out, m.Train, m.Test, m.Name, m.Ridge.String())
	}
	return asCSV(out)
}

func (r *Report) evidenceCSV() []byte {
	out := [][]string{{"rank", "curves", "log_evidence", "penalised_evidence", "cross_validated_rmse", "chosen"}}
	for _, c := range r.Candidates {
		out = append(out, []string{strconv.Itoa(c.Rank), strconv.FormatBool(c.Curves), c.Evidence.String(), c.Penalised.String(),
			c.RMSE.String(), strconv.FormatBool(c.Chosen)})
	}
	return asCSV(out)
}
