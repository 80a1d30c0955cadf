package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/difalt/difalt/cmd/difalt/dataset"
	"github.com/difalt/difalt/cmd/difalt/fit"
	"github.com/difalt/difalt/cmd/difalt/internal/terminal"
	"github.com/difalt/difalt/cmd/difalt/internal/text"
	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/difalt"
	"github.com/dustin/go-humanize"
)

func (r *Report) writeText(w io.Writer) {
	r.writeUnconverged(w)
	if r.Verdict != "" && !r.Config.Plain {
		terminal.Sayf(w, "%s", r.Verdict)
		fmt.Fprintln(w)
	}
	r.scores().Write(w)
	rows := "training rows"
	if r.hasTest() {
		rows = "held-out or all training rows"
	}
	fmt.Fprintln(w)
	terminal.Sayf(w, "EV: explained variance, 1 - sum (y - prediction)^2 / sum (y - mean of y)^2, over all %s.", rows)
	fmt.Fprintln(w)
	r.writeCandidates(w)
	if r.effects != nil {
		writeEffects(w, r.Model, r.effects, shownEffects)
		fmt.Fprintln(w)
	}
	r.writeAlgorithm(w)
	if r.Config.Auto {
		terminal.Sayf(w, "Chosen: %s.", How(&r.Fit.Options))
	}
	for _, note := range r.Notes {
		terminal.Sayf(w, "%s", note)
	}
}

// writeUnconverged says so, before anything else, if the fit has not converged.
func (r *Report) writeUnconverged(w io.Writer) {
	switch atLimit := r.Status == difalt.IterationLimit.String(); {
	case r.Converged:
	case atLimit && !math.IsNaN(float64(r.Residual)):
		terminal.Sayf(w, "Not converged in %d iterations: U is about %.2g from the best for the training rows.", r.Iterations, r.Residual)
		fmt.Fprintln(w)
	case atLimit: // which was asked for
	default:
		fmt.Fprint(w, "Not converged: strengths may be off.\n\n")
	}
}

// writeAlgorithm says how the iterations ended, and what was sent.
func (r *Report) writeAlgorithm(w io.Writer) {
	if r.Status == "" {
		who := "The nodes"
		if r.Privacy != nil { // tells nobody of its own
			who = "This process"
		}
		fmt.Fprintf(w, "%s sent %s in all.\n", who, humanize.Bytes(uint64(r.Bytes)))
		return
	}
	step := ""
	if r.Step > 0 { // which some methods need none of
		step = ", step " + text.Short(float64(r.Step))
	}
	fmt.Fprintf(w, "%s: %d iterations%s\nThe nodes sent %s in the iterations, %s in all.\n",
		r.Status, r.Iterations, step, humanize.Bytes(uint64(r.IterationBytes)), humanize.Bytes(uint64(r.Bytes)))
	if first := r.Fit.Result.Last.SDFirst; !math.IsNaN(first) {
		fmt.Fprintf(w, "Subspace distance to the truth: %.3g at node 0, %.3g at most.\n", first, r.Distance)
	}
	switch {
	case math.IsNaN(float64(r.Residual)):
	case r.Status == difalt.Undetermined.String():
		terminal.Sayf(w, "Estimated subspace distance to the best U for the training rows: %.2g. Noise alone could make a direction as strong as its weakest one: that may point elsewhere.", r.Residual)
	default:
		leaves := "noise leaves"
		if !r.Config.Plain { // the rows are whitened by a model in which slopes spread alike
			leaves = "noise and slopes of single tasks leave"
		}
		rest := ""
		if r.StatisticalError < 1 { // beyond that it is no distance: slopes of single tasks have most of what directions explain
			rest = fmt.Sprintf("; %s %.2g anyway", leaves, r.StatisticalError)
		}
		terminal.Sayf(w, "Estimated subspace distance to the best U for the training rows: %.2g%s.", r.Residual, rest)
	}
}

func (r *Report) hasTest() bool { return r.Methods[0].Test.Rows > 0 }

// scores has the errors of the methods, on held-out rows only where there are some.
func (r *Report) scores() text.Table {
	t := text.Table{{"", "held-out RMSE", "held-out MAE", "held-out EV", "train RMSE", "train EV"}}
	for _, m := range r.Methods {
		row := []string{m.Name}
		for _, v := range []number{m.Test.RMSE, m.Test.MAE, m.Test.ExplainedVariance, m.Train.RMSE, m.Train.ExplainedVariance} {
			row = append(row, text.Decimal(float64(v)))
		}
		t = append(t, row)
	}
	if !r.hasTest() {
		for i := range t {
			t[i] = slices.Delete(t[i], 1, 4)
		}
	}
	return t
}

// candidatesWords says what stands beside ranks: that one was expected, or how much it weighs.
func (r *Report) candidatesWords() string {
	var words []string
	if slices.ContainsFunc(r.Candidates, func(c candidate) bool { return c.averaged() }) {
		words = append(words, "Weight: the share of a candidate in the average that is the model. Ranks weigh by their posterior probability; candidates of rank 0 weigh, in addition, what minimises the errors of training rows that are left out of their task.")
	}
	if slices.ContainsFunc(r.Candidates, func(c candidate) bool { return c.Expected }) {
		words = append(words, "Expected: an estimate of the evidence, as if all tasks were equally informative, where an evaluation would not have paid.")
	}
	return strings.Join(words, " ")
}

// candidates has the models that were compared, with the row of the best one.
func (r *Report) candidates() (t text.Table, chosen int) {
	t = text.Table{{"rank", "log evidence", "ridge on intercepts", "ridge on slopes", "ridge on mean"}}
	for i, c := range r.Candidates {
		rank := strconv.Itoa(c.Rank)
		if c.interceptsOnly() {
			rank += ", intercepts only"
		}
		if c.Expected {
			rank += ", expected"
		}
		if c.averaged() {
			rank += fmt.Sprintf(", weight %.2f", float64(c.Weight))
		}
		row := []string{rank, fmt.Sprintf("%+.1f", c.Evidence)}
		for _, v := range []number{c.Intercept, c.Ridge, c.MeanRidge} {
			row = append(row, ridge(float64(v)))
		}
		if t = append(t, row); r.isChosen(&c) {
			chosen = i + 1
		}
	}
	return t, chosen
}

// ridge prints a ridge parameter as its flag says it.
func ridge(v float64) string {
	switch {
	case math.IsInf(v, 1):
		return "inf"
	case v > 1e6: // where digits say nothing
		return "> 1e+06"
	}
	return text.Short(v)
}

func (r *Report) writeCandidates(w io.Writer) {
	if r.Config.Plain || len(r.Candidates) == 0 {
		return
	}
	t, _ := r.candidates()
	for i := range t {
		mark := ""
		if i > 0 && r.isChosen(&r.Candidates[i-1]) {
			mark = "chosen"
		}
		t[i] = append(t[i], mark)
	}
	t.Write(w)
	if words := r.candidatesWords(); words != "" {
		fmt.Fprintln(w)
		terminal.Sayf(w, "%s", words)
	}
	fmt.Fprintln(w)
}

// Filled says in how many rows of a column a mean took the place of a missing value;
// nothing if there are none.
func Filled(t *dataset.Table) string {
	const most = 20
	var list []string
	for _, m := range t.Missing() {
		list = append(list, fmt.Sprintf("%d in %q", m.Rows, m.Column))
	}
	if list == nil {
		return ""
	}
	if n := len(list) - most; n > 0 {
		list = append(list[:most], fmt.Sprintf("and in %d more columns", n))
	}
	return fmt.Sprintf("Missing values filled with the mean of the training rows: %s.", strings.Join(list, ", "))
}

// WriteMissing says how many rows were left out, and how many values were filled in.
func WriteMissing(w io.Writer, t *dataset.Table) {
	if n := t.Dropped(); n > 0 {
		fmt.Fprintf(w, "%s left out for missing values.\n", text.Plural(n, "row"))
	}
	if s := Filled(t); s != "" {
		terminal.Sayf(w, "%s", s)
	}
}

// How says by which method nodes train, and how they agree.
func How(o *difalt.Options) string {
	agreement := fmt.Sprintf("%d rounds of %v an iteration", o.Rounds, o.Agreement)
	switch {
	case o.Method == difalt.DGD:
		agreement = "means over neighbours"
	case !o.Method.Agrees():
		agreement = "one sum along a tree an iteration"
	case o.Agreement.Polynomial == consensus.Tree && o.Agreement.Codec != consensus.None:
		agreement = fmt.Sprintf("sums along a tree in codes of %v", o.Agreement.Codec)
	case o.Agreement.Polynomial == consensus.Tree:
		agreement = "sums along a tree"
	}
	return fmt.Sprintf("method %v, %s", o.Method, agreement)
}

// Private says with which budget nodes add up; empty if there is none.
func Private(p fit.Privacy) string {
	if p == (fit.Privacy{}) {
		return ""
	}
	return fmt.Sprintf("private sums along a tree, epsilon %v", p.Epsilon)
}

// Seen says, in a sentence each, what the owners of so many nodes should know of how they agree
// before they begin: what it shows to neighbours beyond sums over all nodes.
func Seen(o *difalt.Options, p fit.Privacy, nodes int) (sentences []string) {
	if p != (fit.Privacy{}) {
		return nil // its report has the account, also against two nodes
	}
	if o.Agreement.Polynomial != consensus.Tree || o.Method == difalt.DGD {
		sentences = append(sentences, "Neighbours see this node's own estimates of the basis in every round, and what can be computed from them of its data, which no mask hides: --agree tree does without.")
	}
	if nodes == 2 {
		sentences = append(sentences, "There are two nodes: each learns the other's part of every sum, since it knows its own.")
	}
	return sentences
}
