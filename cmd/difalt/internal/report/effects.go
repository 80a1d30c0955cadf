package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/difalt/difalt/cmd/difalt/internal/tablefile"
	"github.com/difalt/difalt/cmd/difalt/internal/terminal"
	"github.com/difalt/difalt/cmd/difalt/internal/text"
	"github.com/difalt/difalt/cmd/difalt/model"
)

// shownEffects is how many terms the text about a fit shows.
const shownEffects = 12

// An effect is one of a model, as model.Effect says.
type effect struct {
	Effect        string `json:"effect"`
	Term          string `json:"term"`
	Reference     string `json:"reference,omitempty"`
	Estimate      number `json:"estimate"`
	StandardError number `json:"std_error"`
	Low           number `json:"conf_low"`
	High          number `json:"conf_high"`
}

func newEffects(effects []model.Effect) []effect {
	list := []effect{}
	for _, e := range effects {
		list = append(list, effect{e.Kind, e.Term, e.Reference, number(e.Estimate), number(e.StandardError), number(e.Low), number(e.High)})
	}
	return list
}

// goodness is how a model fits its training rows; numbers that are not known are null.
type goodness struct {
	LogLikelihood *float64 `json:"log_likelihood"`
	R2Marginal    *float64 `json:"r2_marginal"`
	R2Conditional *float64 `json:"r2_conditional"`
}

func newGoodness(m *model.Model) (g goodness) {
	p := m.Parameters().Goodness
	if p.LogLikelihood != 0 {
		g.LogLikelihood = &p.LogLikelihood
	}
	if p.R2Conditional != 0 {
		g.R2Marginal, g.R2Conditional = &p.R2Marginal, &p.R2Conditional
	}
	return g
}

// effectsTable has a line for each term: its effect with standard error and interval, and what tasks differ by in it.
func effectsTable(effects []model.Effect) text.Table {
	t := text.Table{{"", "effect", "std. error", "low", "high", "sd of tasks"}}
	for _, e := range effects {
		if e.Kind != model.Fixed {
			continue
		}
		row := []string{text.Visible(e.Term)}
		for _, v := range []float64{e.Estimate, e.StandardError, e.Low, e.High} {
			row = append(row, text.Decimal(v))
		}
		deviation := slices.IndexFunc(effects, func(d model.Effect) bool { return d.Kind == model.Deviation && d.Term == e.Term })
		if deviation < 0 {
			row = append(row, "-")
		} else {
			row = append(row, text.Decimal(effects[deviation].Estimate))
		}
		t = append(t, row)
	}
	return t
}

// effectsWords says what is beside the table of effects.
func effectsWords(m *model.Model, effects []model.Effect) (list []string) {
	p := m.Parameters()
	words := "Effects in the units of the table, with 95 % intervals; sd of tasks: standard deviation of the effect between tasks. (intercept) is the target where all columns are 0."
	if p.Scaling.LogTarget {
		words = "Effects on the logarithm of the target, whose exponentials are factors of the target" +
			strings.Replace(strings.TrimPrefix(words, "Effects in the units of the table"), "is the target", "is that logarithm", 1)
	}
	if v := p.Prior.MeanVariance; v > 0 && v < 1e6 {
		words += fmt.Sprintf(" The ridge on the mean, %s, shrinks the effects of columns; --mean-ridge 0 does not.", text.Short(1/v))
	}
	list = append(list, words)
	var references []string
	for _, c := range p.Schema.Categories {
		references = append(references, fmt.Sprintf("%q of %q", c.Levels[0], c.Column))
	}
	if references != nil {
		list = append(list, fmt.Sprintf("Effects of levels are relative to %s.", text.List(references)))
	}
	words = fmt.Sprintf("Noise: %s", text.Short(m.Noise()))
	if e := effects[len(effects)-1]; e.Low > 0 {
		words += fmt.Sprintf(" (%s to %s)", text.Short(e.Low), text.Short(e.High))
	}
	g := p.Goodness
	if g.R2Conditional > 0 {
		words += fmt.Sprintf("; R2 %.3f marginal, %.3f conditional", g.R2Marginal, g.R2Conditional)
	}
	if g.LogLikelihood != 0 {
		words += fmt.Sprintf("; log likelihood %.1f", g.LogLikelihood)
	}
	return append(list, words+".")
}

// WriteEffects prints the effects of a model for people; of a plain fit there are none.
func WriteEffects(w io.Writer, m *model.Model) { writeEffects(w, m, m.Effects(), math.MaxInt) }

// writeEffects prints those of so many terms at most.
func writeEffects(w io.Writer, m *model.Model, effects []model.Effect, most int) {
	if len(effects) == 0 {
		return
	}
	t := effectsTable(effects)
	rest := 0
	if len(t)-1 > most {
		t, rest = t[:most+1], len(t)-most-1
	}
	t.Write(w)
	if rest > 0 {
		fmt.Fprintf(w, "and %s: difalt model show prints all\n", text.Plural(rest, "more term"))
	}
	fmt.Fprintln(w)
	for _, words := range effectsWords(m, effects) {
		terminal.Sayf(w, "%s", words)
	}
}

// EffectsFile writes all effects of a model in the format that the name of a file asks for, with the names of columns of broom's tidy.
func EffectsFile(out io.Writer, path string, m *model.Model) error {
	var e model.Effect
	columns := []tablefile.Column{
		{Name: "effect", Cell: &e.Kind}, {Name: "term", Cell: &e.Term}, {Name: "reference", Cell: &e.Reference},
		{Name: "estimate", Cell: &e.Estimate}, {Name: "std_error", Cell: &e.StandardError}, {Name: "conf_low", Cell: &e.Low}, {Name: "conf_high", Cell: &e.High},
	}
	list := m.Effects()
	for _, e := range list {
		for i, s := range []string{e.Kind, e.Term, e.Reference} {
			columns[i].Runes = max(columns[i].Runes, utf8.RuneCountInString(s))
		}
	}
	w := tablefile.New(out, path, columns, len(list))
	for _, e = range list {
		w.Write()
	}
	return w.Close()
}

// WriteModel writes what a model file says as JSON.
func WriteModel(w io.Writer, m *model.Model) error {
	p := m.Parameters()
	rows := 0
	for _, n := range p.Samples {
		rows += n
	}
	ranks, weights := m.Ranks()
	return WriteJSON(w, struct {
		Version  int       `json:"version"`
		Method   string    `json:"method"`
		Target   string    `json:"target"`
		Log      bool      `json:"log_target"`
		Task     string    `json:"task_column"`
		Tasks    []string  `json:"tasks"`
		Nodes    []string  `json:"nodes"`
		Features []string  `json:"features"`
		Rows     int       `json:"training_rows"`
		Rank     int       `json:"rank"`
		Ranks    []int     `json:"ranks"`
		Weights  []float64 `json:"weights"`
		Noise    number    `json:"noise"`
		goodness
		Effects []effect `json:"effects"`
	}{
		p.Version(), p.Method, p.TargetColumn, p.Scaling.LogTarget, p.TaskColumn, p.Tasks, p.Nodes, m.Features(), rows, m.Rank(), ranks, weights, number(m.Noise()), newGoodness(m), newEffects(m.Effects()),
	})
}
