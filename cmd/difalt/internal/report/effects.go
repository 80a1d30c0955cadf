package report

import (
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/difalt/difalt/cmd/difalt/internal/tablefile"
	"github.com/difalt/difalt/cmd/difalt/internal/terminal"
	"github.com/difalt/difalt/cmd/difalt/internal/text"
	"github.com/difalt/difalt/cmd/difalt/model"
)

// An effect is a model.Effect in JSON.
type effect struct {
	Kind          string `json:"effect"`
	Term          string `json:"term"`
	Reference     string `json:"reference,omitempty"`
	Estimate      number `json:"estimate"`
	StandardError number `json:"std_error"`
	Low           number `json:"conf_low"`
	High          number `json:"conf_high"`
	Deviation     number `json:"sd_of_tasks"`
}

func newEffects(m *model.Model) []effect {
	list := []effect{}
	for _, e := range m.Effects() {
		list = append(list, effect{string(e.Kind), e.Term, e.Reference, number(e.Estimate), number(e.StandardError), number(e.Low),
			number(e.High), number(e.Deviation)})
	}
	return list
}

// effectsTable has a line for each term: its effect with standard error and interval, and its spread over
// tasks. Digits follow the standard error.
func effectsTable(effects []effect) text.Table {
	t := text.Table{{"term", "effect", "std. error", "95 % low", "95 % high", "sd of tasks"}}
	for _, e := range effects {
		term := text.Visible(e.Term)
		if e.Kind == string(model.Departure) {
			term += " (curve)"
		}
		scale := float64(e.StandardError)
		if !(scale > 0) || math.IsInf(scale, 0) {
			scale = math.Abs(float64(e.Estimate)) / 100
		}
		row, n := []string{term}, decimals(scale, 1)
		for _, v := range []number{e.Estimate, e.StandardError, e.Low, e.High, e.Deviation} {
			row = append(row, fixed(v, n))
		}
		t = append(t, row)
	}
	return t
}

// effectsWords explains the table of effects.
func effectsWords(m *model.Model) (list []string) {
	p := m.Parameters()
	words := "Effects per unit of the table, with 95 % intervals; sd of tasks: standard deviation of the effect between tasks. " +
		"" + model.LevelTerm + ": expected target where all columns have their means."
	if p.Target.Log {
		words = "Effects on the logarithm of the target: their exponentials are factors. sd of tasks: standard deviation of the " +
			"effect between tasks. " + model.LevelTerm + ": expected logarithm where all columns have their means."
	}
	if len(p.Design.Curves) > 0 {
		words += " (curve): root mean square departure from the straight line."
	}
	list = append(list, words)
	var references []string
	for _, e := range m.Effects() {
		if e.Reference != "" && !slices.Contains(references, e.Reference) {
			references = append(references, e.Reference)
		}
	}
	if references != nil {
		list = append(list, fmt.Sprintf("Effects of levels are differences from %s.", text.Names(references)))
	}
	words = fmt.Sprintf("Noise: standard deviation %s", text.Short(m.Noise()))
	if g := p.Goodness; g.R2Conditional > 0 {
		words += fmt.Sprintf("; R2 %.3f marginal, %.3f conditional", g.R2Marginal, g.R2Conditional)
	}
	return append(list, words+".")
}

// WriteEffects prints the effects of a model for people.
func WriteEffects(w io.Writer, m *model.Model) { writeEffects(w, m, math.MaxInt) }

// writeEffects prints the effects of at most the given number of terms.
func writeEffects(w io.Writer, m *model.Model, most int) {
	t := effectsTable(newEffects(m))
	for i := range t {
		t[i][0] = shortened(t[i][0], 32)
	}
	rest := len(t) - 1 - most
	if rest > 0 {
		t = t[:most+1]
	}
	t.Write(w)
	if rest > 0 {
		fmt.Fprintf(w, "and %s: difalt model show prints all\n", text.Plural(rest, "more term"))
	}
	fmt.Fprintln(w)
	for _, words := range effectsWords(m) {
		terminal.Sayf(w, "%s", words)
	}
}

// EffectsFile writes all effects of a model in the format of the file's name. Columns have the names of
// broom's tidy.
func EffectsFile(out io.Writer, path string, m *model.Model) error {
	var e model.Effect
	var kind string
	w := tablefile.New(out, path, []tablefile.Column{
		{Name: "effect", Cell: &kind}, {Name: "term", Cell: &e.Term}, {Name: "reference", Cell: &e.Reference},
		{Name: "estimate", Cell: &e.Estimate}, {Name: "std_error", Cell: &e.StandardError}, {Name: "conf_low", Cell: &e.Low},
		{Name: "conf_high", Cell: &e.High}, {Name: "sd_of_tasks", Cell: &e.Deviation},
	})
	for _, e = range m.Effects() {
		kind = string(e.Kind)
		w.Write()
	}
	return w.Close()
}

// WriteModel writes the content of a model file as JSON.
func WriteModel(w io.Writer, m *model.Model) error {
	p, rows := m.Parameters(), 0
	for _, n := range p.Tasks.Samples {
		rows += n
	}
	return writeJSON(w, struct {
		fitted
		Task     string   `json:"task_column"`
		Tasks    []string `json:"tasks"`
		Features []string `json:"features"`
		Rows     int      `json:"training_rows"`
		Effects  []effect `json:"effects"`
	}{newFitted(m), p.Tasks.Column, p.Tasks.Names, m.Features(), rows, newEffects(m)})
}
