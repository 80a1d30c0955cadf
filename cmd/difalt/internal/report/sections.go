package report

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/difalt/difalt/cmd/difalt/internal/terminal"
	"github.com/difalt/difalt/cmd/difalt/internal/text"
	"github.com/difalt/difalt/mixed"
	"github.com/dustin/go-humanize"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// The numbers of rows that tables show at most, in the text about a training and on the page.
const (
	textRows = 20
	pageRows = 40
)

// A section is a table with sentences on it. One without rows is left out.
type section struct {
	id, title string
	rows      text.Table
	words     []string
	file      string // with more numbers, beside the page; empty for none
	rest      string // where rows are that are not shown; empty where the file has them
}

// atMost returns the section with its first rows, and a sentence on the rows that are left out.
func (s section) atMost(rows int) section {
	if rest := len(s.rows) - 1 - rows; rest > 0 {
		s.rows = s.rows[:rows+1]
		s.words = append([]string{fmt.Sprintf("Not shown: %s.%s", text.Plural(rest, "row"), s.rest)}, s.words...)
	}
	return s
}

// write prints the section for a terminal.
func (s section) write(w io.Writer) {
	if s.rows == nil {
		return
	}
	for _, row := range s.rows {
		row[0] = shortTerm(row[0])
	}
	s.rows.Write(w)
	fmt.Fprintln(w)
	for _, sentence := range s.words {
		terminal.Sayf(w, "%s", sentence)
	}
	fmt.Fprintln(w)
}

// curveMark and periodMark end the names of effects of curves and periods in tables.
const curveMark, periodMark = " (curve)", " (period)"

// shortTerm is the name of an effect in at most 24 characters: its beginning and its end, where levels
// differ.
func shortTerm(name string) string {
	const most = 24
	base, mark := text.Visible(name), ""
	for _, m := range []string{curveMark, periodMark} {
		if short, marked := strings.CutSuffix(base, m); marked {
			base, mark = short, m
		}
	}
	r, room := []rune(base), most-len(mark)
	if len(r) > room {
		head := (room - 1) / 2
		base = string(r[:head]) + "…" + string(r[len(r)-(room-1-head):])
	}
	return base + mark
}

// sections returns the sections of the text, with which the page begins, too.
func (r *Report) sections() []section {
	return []section{
		{id: "errors", title: "Errors", rows: r.scores(), words: []string{r.scoreWords()}, file: "tasks.csv"},
		{id: "compared", title: "Models compared", rows: r.candidates(), words: []string{r.candidateWords()}},
		effectsSection(r.model),
	}
}

// lead returns the sentences before the sections.
func (r *Report) lead() (list []string) {
	if !r.Converged {
		list = append(list, "Not converged: predictions are usable, effects and intervals may be off.")
	}
	if r.Verdict.Text != "" {
		list = append(list, r.Verdict.Text)
	}
	for _, own := range r.OwnFits {
		name := ""
		if own.Table != "" {
			name = own.Table + ": "
		}
		list = append(list, name+own.Text)
	}
	if r.Judged != nil {
		list = append(list, fmt.Sprintf("These are errors of a model of the %s. The model that is kept has the same "+
			"form and was fitted again to all %d: the effects and the noise below belong to the kept model.",
			text.Plural(r.Size.Training, "training row"), r.Size.Model))
	}
	return list
}

// notes returns the sentences after the sections: on the messages between owners, the privacy budget, and
// the notes of the training.
func (r *Report) notes() (list []string) {
	if s := r.Owners; s != nil {
		list = append(list, fmt.Sprintf("The totals are over %s of %d nodes. This process sent %s in %s.",
			text.Plural(s.Tasks, "task"), s.Nodes, humanize.Bytes(uint64(s.Bytes)),
			text.Plural(int(s.Rounds), "round")))
		if sums, numbers := s.numbers(); sums > 0 {
			list = append(list, fmt.Sprintf("Every node has learned %s of %s.", text.Plural(sums, "total"),
				text.Plural(numbers, "number")))
		}
		if s.Epsilon > 0 {
			list = append(list, fmt.Sprintf("Against one of the nodes, epsilon is %.3g.", s.AgainstOne))
		}
	}
	return append(list, r.Notes...)
}

// hasTest reports whether there are errors on held-out rows, here or at other owners.
func (r *Report) hasTest() bool { return len(r.Scores) > 0 && r.Scores[0].Test.Rows > 0 }

// scores has the errors of the methods, on held-out rows only where there are some. Digits follow the model's
// error.
func (r *Report) scores() text.Table {
	t := text.Table{{"method", "held-out RMSE", "held-out EV", "train RMSE", "train EV"}}
	for _, m := range r.Scores {
		n := decimals(r.Scores[0].Train.RMSE, 3)
		t = append(t, []string{
			m.Method, fixed(m.Test.RMSE, n), fixed(m.Test.ExplainedVariance, 3),
			fixed(m.Train.RMSE, n), fixed(m.Train.ExplainedVariance, 3),
		})
	}
	if !r.hasTest() {
		for i := range t {
			t[i] = slices.Delete(t[i], 1, 3)
		}
	}
	return t
}

// scoreWords explains the table of errors.
func (r *Report) scoreWords() string {
	words := "RMSE: root mean square error; EV: explained variance, 1 - sum (y - prediction)^2 / sum (y - mean of " +
		"y)^2 over all rows."
	if r.Owners != nil && r.Owners.Epsilon == 0 {
		words += " Errors are those of the tasks of all nodes that are in totals."
	}
	return words
}

// candidates has the forms of the model that were compared; nil without a comparison.
func (r *Report) candidates() (t text.Table) {
	words := map[bool]string{true: "yes", false: "no"}
	at := slices.IndexFunc(r.Evidence, func(c mixed.Candidate) bool { return c.Chosen })
	if at < 0 {
		return t
	}
	t = text.Table{{"rank", "curves", "log evidence", "penalised", "chosen"}}
	for _, c := range r.Evidence {
		t = append(t, []string{strconv.Itoa(c.Rank), words[c.Curves], difference(c.Evidence, r.Evidence[at].Evidence),
			difference(c.Penalised, r.Evidence[at].Penalised), words[c.Chosen]})
	}
	return t
}

// difference prints a - b in nats with its sign; a difference that rounds to 0 is +0.0.
func difference(a, b float64) string {
	s := fmt.Sprintf("%+.1f", a-b)
	if s == "-0.0" {
		return "+0.0"
	}
	return s
}

// candidateWords explains the choice.
func (r *Report) candidateWords() string {
	caption := "Log evidence with equal noise less that of the chosen form, in nats; penalised: less the " +
		"penalty of free loadings, at least half their number times the logarithm of the number of tasks, and " +
		"0.3 for each curve beyond 10. "
	at := slices.IndexFunc(r.Evidence, func(c mixed.Candidate) bool { return c.Chosen })
	if at < 0 {
		return caption
	}
	switch chosen, best := r.Evidence[at].Rank, r.Evidence[mixed.BestCandidate(r.Evidence)].Rank; {
	case chosen < best:
		return caption + "With noise by task the lower rank has more evidence, which decides."
	case chosen > best:
		return caption + "The rank is given; curves are kept where they are 3 nats better."
	}
	return caption + "The largest penalised evidence decides, and curves are kept where they are 3 nats better."
}

// effectsSection has a row for each term: its effect with standard error and interval, and its spread over
// tasks. Digits follow the standard error.
func effectsSection(m *mixed.Model) section {
	t := text.Table{{"term", "effect", "std. error", "95 % low", "95 % high", "sd of tasks"}}
	curves, periods, references := "", "", []string(nil)
	named := map[string]bool{} // the references
	for _, e := range largestFirst(m) {
		term := text.Visible(e.Term)
		if e.Kind == mixed.CurveEffect {
			term += curveMark
			curves = " (curve): root mean square departure from the straight line."
		}
		if e.Kind == mixed.PeriodEffect {
			term += periodMark
			periods = " (period): root mean square of the effects of its values."
		}
		if e.Reference != "" && !named[e.Reference] {
			references, named[e.Reference] = append(references, e.Reference), true
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
	of, at, factors := "Effects per unit of the table", "target", ""
	if m.Parameters().Target.Log {
		of, at, factors = "Effects on the logarithm of the target", "logarithm", " Exponentials of effects are factors."
	}
	words := []string{fmt.Sprintf("%s with 95 %% intervals, the column with the largest effect first; sd of tasks: "+
		"standard deviation of the effect between tasks.%s %s: expected %s where all columns have their means.%s",
		of, factors, mixed.InterceptTerm, at, curves+periods)}
	if references != nil {
		words = append(words, fmt.Sprintf("Effects of levels are differences from %s.", text.Names(references)))
	}
	noise := fmt.Sprintf("Noise: standard deviation %s", text.Short(m.Noise()))
	if g := m.Parameters().Goodness; g.R2Conditional > 0 {
		noise += fmt.Sprintf("; R2 %.3f marginal, %.3f conditional", g.R2Marginal, g.R2Conditional)
	}
	rest := " These are the smaller ones: \"difalt model show\" lists all effects of a model, and its --out writes " +
		"them to a file."
	words = append(words, noise+".")
	return section{id: "effects", title: "Effects", rows: t, words: words, file: "effects.csv", rest: rest}
}

// largestFirst returns the effects of a model: the level, and then the effects of one column after the other,
// the column with the largest effect first. Slopes count by one standard deviation of their feature.
func largestFirst(m *mixed.Model) []mixed.Effect {
	list, scales := m.Effects(), map[string]float64{}
	p := m.Parameters()
	for j, name := range m.Features() {
		scales[name] = p.Design.Scale[j]
	}
	size := map[string]float64{} // of a column, under the term of a slope or the reference of a category
	column := func(e *mixed.Effect) string { return cmp.Or(e.Reference, e.Term) }
	for i := range list {
		e, s := &list[i], math.Abs(list[i].Estimate)
		if e.Kind == mixed.Slope {
			s *= scales[e.Term]
		}
		size[column(e)] = max(size[column(e)], s)
	}
	rest := list[min(1, len(list)):]
	slices.SortStableFunc(rest, func(a, b mixed.Effect) int {
		return cmp.Or(cmp.Compare(size[column(&b)], size[column(&a)]), cmp.Compare(column(&a), column(&b)))
	})
	return list
}

// loadingsSection has a row for each feature with a column.
func loadingsSection(m *mixed.Model) section {
	p, t := m.Parameters(), text.Table{{"feature", "mean", "sd of tasks"}}
	axes, digits := principal(p.Prior.Loadings, len(p.Mean), p.Prior.Rank), decimals(m.Noise(), 2)
	for k := range axes {
		t[0] = append(t[0], fmt.Sprintf("axis %d", k+1))
	}
	slope := make([]float64, len(p.Mean))
	for j, scale := range p.Design.Scale {
		if scale == 0 {
			continue
		}
		p.Design.Slope(slope, j)
		v, square := []float64{floats.Dot(slope, p.Mean), 0}, 0.0
		for i, d := range p.Prior.Deviations {
			square += slope[i] * slope[i] * d * d
		}
		for _, a := range axes {
			along := floats.Dot(slope, a)
			v, square = append(v, along), square+along*along
		}
		v[1] = math.Sqrt(square)
		row := []string{text.Visible(m.Features()[j])}
		for _, x := range v {
			row = append(row, fixed(p.Target.Scale*x, digits))
		}
		t = append(t, row)
	}
	if len(t) == 1 {
		t = nil // a model of intercepts
	}
	words := fmt.Sprintf("Effects of one standard deviation of a feature, in the %s: the mean, the standard "+
		"deviation between tasks, and the axes along which tasks vary together.", m.Unit())
	return section{id: "loadings", title: "What tasks share and differ by", rows: t, words: []string{words}}
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
		floats.Scale(math.Copysign(s, largest), a)
		axes = append(axes, a)
	}
	return axes
}

// decimals returns the number of digits after the point that shows a value with the given number of digits
// after its first.
func decimals(v float64, after int) int {
	if !(math.Abs(v) > 0) || math.IsInf(v, 0) {
		return after
	}
	return max(after-power(v), 0)
}

// power returns the power of ten of the first digit of a number.
func power(v float64) int { return int(math.Floor(math.Log10(math.Abs(v)))) }

// mostDecimals is the largest number of digits after the point.
const mostDecimals = 9

// fixed prints a value with n digits after the point, and a dash for NaN. Huge numbers have a power of ten,
// and small ones that need more digits than are printed.
func fixed(v float64, n int) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "-"
	}
	if math.Abs(v) >= 1e9 {
		return strconv.FormatFloat(v, 'e', 3, 64)
	}
	if n > mostDecimals && math.Abs(v) > 0 && math.Abs(v) < 1 {
		return strconv.FormatFloat(v, 'e', min(max(n+power(v), 0), mostDecimals), 64)
	}
	s := strconv.FormatFloat(v, 'f', min(n, mostDecimals), 64)
	if strings.Trim(s, "-0.") == "" {
		return strings.TrimPrefix(s, "-")
	}
	return s
}
