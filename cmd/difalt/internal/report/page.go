package report

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/csv"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/difalt/difalt/cmd/difalt/fit"
	"github.com/difalt/difalt/cmd/difalt/internal/text"
	"github.com/difalt/difalt/cmd/difalt/model"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// pageText is the page with $names in place of its values.
//
//go:embed page.html
var pageText string

// PageFile is the name of the page.
const PageFile = "index.html"

// FileNames are the names of all files that [Report.Files] may return.
var FileNames = []string{
	PageFile, "tasks.csv", "effects.csv", "loadings.csv", "tasks.svg", "lines.svg", "levels.svg", "residuals.svg",
}

// mostFeatures bounds the table of loadings on the page.
const mostFeatures = 40

// Files returns the page, its figures and its tables as files, by name.
func (r *Report) Files() (map[string][]byte, error) {
	var effects bytes.Buffer
	if err := EffectsFile(&effects, "effects.csv", r.Model); err != nil {
		return nil, err
	}
	axes := loadings(r.Model)
	files := map[string][]byte{"tasks.csv": r.tasksCSV(), "effects.csv": effects.Bytes(), "loadings.csv": asCSV(axes)}
	figures := r.figures()
	for _, f := range figures {
		files[f.File+".svg"] = f.image.SVG()
	}
	candidates, chosen := r.candidates()
	best := 0
	for i, s := range r.Scores {
		if s.Test.Rows > 0 && (best == 0 || s.Test.RMSE < r.Scores[best-1].Test.RMSE) {
			best = i + 1
		}
	}
	shown, more := axes[:min(len(axes), mostFeatures+1)], ""
	if n := len(axes) - len(shown); n > 0 {
		more = fmt.Sprintf(" Not shown: %s.", text.Plural(n, "feature"))
	}
	sections := []section{
		{"errors", "Errors", r.scores(), best, []string{r.scoreWords()}, "tasks.csv"},
		{"compared", "Models compared", candidates, chosen, []string{r.candidateWords()}, ""},
		{"effects", "Effects", effectsTable(r.Effects), 0, effectsWords(r.Model), "effects.csv"},
		{"loadings", "What tasks share and differ by", shown, 0, []string{fmt.Sprintf("Effects of one standard deviation of a feature, in "+
			"the %s: the mean, the standard deviation between tasks, and the axes along which tasks vary together. Features with the "+
			"largest deviations come first.%s", r.Model.Unit(), more)}, "loadings.csv"},
	}
	files[PageFile] = []byte(r.page(sections, figures))
	return files, nil
}

// figures returns the figures for which there are data.
func (r *Report) figures() (list []figure) {
	for _, f := range []figure{r.tasksFigure(), r.linesFigure(), r.levelsFigure(), r.residualsFigure()} {
		if f.image != nil {
			f.image.Title, f.image.Text = f.Title, f.alt
			list = append(list, f)
		}
	}
	return list
}

// page returns the page.
func (r *Report) page(sections []section, figures []figure) markup {
	links, parts := link("errors", "Errors"), sections[0].markup()
	pictures := markup("")
	for _, f := range figures {
		links += link(f.File, f.Title)
		pictures += f.markup()
	}
	parts += expand(`<div class="figures">$figures</div>`, "figures", pictures)
	for _, s := range sections[1:] {
		if s.rows != nil {
			links += link(s.id, s.title)
			parts += s.markup()
		}
	}
	facts := markup("")
	for _, f := range [][2]string{
		{"Tasks", strconv.Itoa(r.Size.Tasks)}, {"Features", strconv.Itoa(r.Size.Features)},
		{"Training rows", strconv.Itoa(r.Size.Training)},
		{"Held-out rows", strconv.Itoa(r.Size.Held)}, {"Rank", strconv.Itoa(r.Fitted.Rank)}, {"Curves", strconv.Itoa(len(r.Fitted.Curves))},
		{"Noise (sd)", text.Short(r.Fitted.Noise)},
	} {
		facts += expand("<div><dt>$name</dt><dd>$value</dd></div>", "name", f[0], "value", f[1])
	}
	var lead []string
	if !r.Converged {
		lead = append(lead, unconverged)
	}
	if r.Verdict.Text != "" {
		lead = append(lead, strings.ReplaceAll(r.Verdict.Text, " %", "\u00a0%"))
	}
	notes := slices.Concat(Columns(r.Table), r.sentWords(), r.Notes, []string{"difalt " + r.Version})
	return expand(markup(pageText), "title", text.Visible(cmp.Or(r.Fitted.Target, "the target")), "data", filepath.Base(r.Data),
		"tasks", strconv.Itoa(r.Size.Tasks), "lead", paragraphs("lead", lead...), "links", links+link("notes", "Notes"), "facts", facts,
		"parts", parts, "notes", paragraphs("soft", notes...))
}

// A shared holds what tasks share and differ by in one feature, for one standard deviation of it in the unit
// of the model: the mean, the standard deviation between tasks, and the axes of the loadings.
type shared struct {
	feature int
	values  []float64
}

// features returns the features with columns. Features with the largest standard deviation come first, and
// those with the largest means where tasks are alike.
func features(m *model.Model) (list []shared) {
	p := m.Parameters()
	axes := principal(p.Prior.Loadings, len(p.Mean), p.Prior.Rank)
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
		list = append(list, shared{c.Feature, v})
	}
	slices.SortStableFunc(list, func(a, b shared) int {
		return cmp.Or(cmp.Compare(b.values[1], a.values[1]), cmp.Compare(math.Abs(b.values[0]), math.Abs(a.values[0])))
	})
	return list
}

// loadings returns the table of features.
func loadings(m *model.Model) text.Table {
	t, list, largest := text.Table{{"feature", "mean of all tasks", "sd between tasks"}}, features(m), 0.0
	for k := range m.Parameters().Prior.Rank {
		t[0] = append(t[0], fmt.Sprintf("axis %d", k+1))
	}
	for _, f := range list {
		largest = max(largest, floats.Norm(f.values, math.Inf(1)))
	}
	for _, f := range list {
		row := []string{text.Visible(m.Features()[f.feature])}
		for _, v := range f.values {
			row = append(row, fixed(v, decimals(largest, 2)))
		}
		t = append(t, row)
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

// tasksCSV lists the errors of the methods on each task, on held-out rows where there are some.
func (r *Report) tasksCSV() []byte {
	out := [][]string{{"task", "method", "set", "rows", "rmse", "mae", "explained_variance"}}
	for t := range r.tasks {
		for m, s := range r.Scores {
			for set, e := range []fit.Errors{t.Train[m], t.Test[m]} {
				if set == 0 || e.Rows > 0 {
					out = append(out, []string{t.Task, s.Method, []string{"train", "test"}[set], strconv.Itoa(e.Rows), text.Number(e.RMSE),
						text.Number(e.MAE), text.Number(e.ExplainedVariance)})
				}
			}
		}
	}
	return asCSV(out)
}
