package report

import (
	"bytes"
	"cmp"
	_ "embed"
	"fmt"
	"html"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/difalt/difalt/cmd/difalt/internal/atomicfile"
	"github.com/difalt/difalt/cmd/difalt/internal/tablefile"
	"github.com/difalt/difalt/cmd/difalt/internal/text"
	"github.com/difalt/difalt/mixed"
)

// pageText is the page with $names in place of its values.
//
//go:embed page.html
var pageText string

// PageFile is the name of the page.
const PageFile = "index.html"

// mostCurves is the number of curves that are drawn.
const mostCurves = 12

// FileNames are the names of all files that [Report.Files] may return.
var FileNames = fileNames()

func fileNames() []string {
	list := []string{PageFile, "tasks.csv", "effects.csv", "tasks.svg", "lines.svg", "residuals.svg"}
	for i := range mostCurves {
		list = append(list, curveFile(i)+".svg")
	}
	return list
}

// curveFile returns the name of the figure of a curve, without its extension.
func curveFile(i int) string { return fmt.Sprintf("curve-%d", i+1) }

// tables returns the tables of a training as files, which are written row by row.
func (r *Report) tables() map[string]atomicfile.Content {
	return map[string]atomicfile.Content{
		"tasks.csv":   func(w io.Writer) error { return r.tasksFile(w, "tasks.csv") },
		"effects.csv": func(w io.Writer) error { return EffectsFile(w, "effects.csv", r.model) },
	}
}

// Files returns the page on a training with one table, its figures and its tables as files, by name.
func (r *Report) Files() map[string]atomicfile.Content {
	files := r.tables()
	links, pictures, tables := markup(""), markup(""), markup("")
	figures := append([]figure{r.tasksFigure(), r.linesFigure(), r.residualsFigure()}, r.curveFigures()...)
	for _, f := range figures {
		if f.image != nil {
			files[f.file+".svg"] = atomicfile.Bytes(f.image.SVG())
			links += link(f.file, f.image.Title)
			pictures += f.markup()
		}
	}
	for _, s := range append(r.sections(), loadingsSection(r.model)) {
		if s.rows != nil {
			links += link(s.id, s.title)
			tables += s.atMost(pageRows).markup()
		}
	}
	source := r.sources[0]
	source.Name = filepath.Base(source.Name)
	page := expand(markup(pageText),
		"title", text.Visible(cmp.Or(r.Numbers.Target, "the target")),
		"data", paragraphs("soft", Heading(&source)...),
		"lead", paragraphs("lead", r.lead()...),
		"links", links,
		"pictures", pictures,
		"tables", tables,
		"notes", paragraphs("soft", append(slices.Clip(r.notes()), "difalt "+r.Version)...))
	files[PageFile] = atomicfile.Bytes([]byte(page))
	return files
}

// EffectsFile writes all effects of a model in the format of the file's name. Columns have the names of
// broom's tidy.
func EffectsFile(out io.Writer, path string, m *mixed.Model) error {
	var e mixed.Effect
	var kind string
	w := tablefile.New(out, path, []tablefile.Column{
		{Name: "effect", Cell: &kind}, {Name: "term", Cell: &e.Term}, {Name: "reference", Cell: &e.Reference},
		{Name: "estimate", Cell: &e.Estimate}, {Name: "std_error", Cell: &e.StandardError},
		{Name: "conf_low", Cell: &e.Low}, {Name: "conf_high", Cell: &e.High}, {Name: "sd_of_tasks", Cell: &e.Deviation},
	})
	for _, e = range m.Effects() {
		kind = string(e.Kind)
		_ = w.Write() // Close returns the error
	}
	return w.Close()
}

// tasksFile writes the errors of the methods on each task, on held-out rows where there are some.
func (r *Report) tasksFile(out io.Writer, path string) error {
	var task, method, set string
	var rows float64
	var e mixed.Errors
	w := tablefile.New(out, path, []tablefile.Column{
		{Name: "task", Cell: &task}, {Name: "method", Cell: &method}, {Name: "set", Cell: &set},
		{Name: "rows", Cell: &rows}, {Name: "rmse", Cell: &e.RMSE}, {Name: "mae", Cell: &e.MAE},
		{Name: "explained_variance", Cell: &e.ExplainedVariance},
	})
	for t := range r.tasks {
		for m, s := range r.Scores {
			for k, errors := range []mixed.Errors{t.Train[m], t.Test[m]} {
				e, rows = errors, float64(errors.Rows)
				if task, method, set = t.Task, s.Method, []string{"train", "test"}[k]; k == 0 || rows > 0 {
					_ = w.Write() // Close returns the error
				}
			}
		}
	}
	return w.Close()
}

// A markup is HTML. Text becomes markup in expand alone, which escapes it.
type markup string

// expand replaces each $name of a text by the value that follows the name in pairs, escaped unless it is
// markup. Unlike a template of the standard library it calls no method by its name, for which the linker
// would keep all methods of the program: 7 MB.
func expand(template markup, pairs ...any) markup {
	values := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		switch v := pairs[i+1].(type) {
		case markup:
			values[pairs[i].(string)] = string(v)
		case string: // a number stays with its per cent sign
			values[pairs[i].(string)] = html.EscapeString(strings.ReplaceAll(v, " %", "\u00a0%"))
		}
	}
	return markup(os.Expand(string(template), func(name string) string { return values[name] }))
}

// paragraphs returns sentences as paragraphs of a class.
func paragraphs(class string, sentences ...string) (m markup) {
	for _, s := range sentences {
		m += expand(`<p class="$class">$text</p>`+"\n", "class", class, "text", s)
	}
	return m
}

// link returns a link to a part of the page.
func link(id, title string) markup {
	return expand(`<a href="#$id">$title</a>`+"\n", "id", id, "title", title)
}

// markup returns the section. The first row of its table and the first cell of every other row are headers.
func (s section) markup() markup {
	rows, words := markup(""), paragraphs("soft", s.words...)
	for i, row := range s.rows {
		cells := markup("")
		for k, cell := range row {
			tag := markup("<td>$cell</td>")
			switch {
			case i == 0:
				tag = `<th scope="col">$cell</th>`
			case k == 0:
				tag = `<th scope="row">$cell</th>`
			}
			cells += expand(tag, "cell", cell)
		}
		rows += "<tr>" + cells + "</tr>\n"
	}
	if s.file != "" {
		words += expand(`<p class="soft">More numbers: <a href="$file">$file</a></p>`+"\n", "file", s.file)
	}
	return expand(`<section id="$id">
<h2>$title</h2>
<div class="scroll" tabindex="0" role="region" aria-label="$title"><table>
$rows</table></div>
$words</section>
`, "id", s.id, "title", s.title, "rows", rows, "words", words)
}

// markup returns the figure with its picture, which the page colours.
func (f *figure) markup() markup {
	return expand(`<figure id="$file"><h2>$title</h2>
<figcaption class="soft">$text <a href="$file.svg">$file.svg</a></figcaption>$svg</figure>
`, "file", f.file, "title", f.image.Title, "text", f.words, "svg", markup(bytes.TrimSpace(f.image.Themed())))
}
