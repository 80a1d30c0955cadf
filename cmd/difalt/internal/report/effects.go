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

// isFlat reports whether an effect is a curve that may as well be a straight line.
func isFlat(e model.Effect) bool { return e.Kind == model.Departure && e.Low == 0 }

// effectsTable has a line for each term that is not flat: its effect with standard error and interval, and
// its spread over tasks. Digits follow the standard error.
func effectsTable(effects []model.Effect) text.Table {
	t := text.Table{{"term", "effect", "std. error", "95 % low", "95 % high", "sd of tasks"}}
	for _, e := range effects {
		if isFlat(e) {
			continue
		}
		term := text.Visible(e.Term)
		if e.Kind == model.Departure {
			term += " (curve)"
		}
		scale := e.StandardError
		if !(scale > 0) || math.IsInf(scale, 0) {
			scale = math.Abs(e.Estimate) / 100
		}
		row, n := []string{term}, decimals(scale, 1)
		for _, v := range []float64{e.Estimate, e.StandardError, e.Low, e.High, e.Deviation} {
			row = append(row, fixed(v, n))
		}
		t = append(t, row)
	}
	return t
}

// effectsWords explains the table of effects.
func effectsWords(m *model.Model) (list []string) {
	p := m.Parameters()
	of, at, factors := "Effects per unit of the table", "target", ""
	if p.Target.Log {
		of, at, factors = "Effects on the logarithm of the target", "logarithm", " Exponentials of effects are factors."
	}
	words := fmt.Sprintf("%s, with 95 %% intervals; sd of tasks: standard deviation of the effect between tasks.%s %s: expected %s "+
		"where all columns have their means.", of, factors, model.LevelTerm, at)
	var references, flat []string
	for _, e := range m.Effects() {
		if isFlat(e) {
			flat = append(flat, text.Visible(e.Term))
		}
		if e.Reference != "" && !slices.Contains(references, e.Reference) {
			references = append(references, e.Reference)
		}
	}
	if len(p.Design.Curves) > len(flat) {
		words += " (curve): root mean square departure from the straight line."
	}
	list = append(list, words)
	if flat != nil {
		list = append(list, fmt.Sprintf("Not shown, since their intervals begin at 0: curves of %s.", text.List(flat)))
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
	t := effectsTable(m.Effects())
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
