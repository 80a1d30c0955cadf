package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/difalt/difalt/cmd/difalt/fit"
	"github.com/difalt/difalt/cmd/difalt/internal/terminal"
	"github.com/difalt/difalt/cmd/difalt/internal/text"
	"github.com/dustin/go-humanize"
)

// shownEffects is the number of terms that the text about a training shows.
const shownEffects = 12

// unconverged is the first sentence about a training that has not converged.
const unconverged = "Not converged: predictions are usable, effects and intervals may be off."

func (r *Report) writeText(w io.Writer) {
	if !r.Converged {
		fmt.Fprintf(w, "%s\n\n", unconverged)
	}
	if r.Verdict.Text != "" {
		terminal.Sayf(w, "%s", r.Verdict.Text)
		fmt.Fprintln(w)
	}
	r.scores().Write(w)
	fmt.Fprintln(w)
	terminal.Sayf(w, "%s", r.scoreWords())
	fmt.Fprintln(w)
	if t, chosen := r.candidates(); t != nil {
		for i := range t {
			t[i] = append(t[i], map[bool]string{true: "chosen"}[i > 0 && i == chosen])
		}
		t.Write(w)
		fmt.Fprintln(w)
		terminal.Sayf(w, "%s", r.candidateWords())
		fmt.Fprintln(w)
	}
	writeEffects(w, r.Model, shownEffects)
	for _, sentence := range slices.Concat(r.sentWords(), r.Notes) {
		terminal.Sayf(w, "%s", sentence)
	}
}

// scoreWords explains the table of errors.
func (r *Report) scoreWords() string {
	words := "RMSE: root mean square error; "
	if r.hasTest() {
		words += "MAE: mean absolute error; "
	}
	words += "EV: explained variance, 1 - sum (y - prediction)^2 / sum (y - mean of y)^2 over all rows."
	if r.Owners != nil && r.Owners.Privacy == nil {
		words += " Errors are those of the tasks of all nodes."
	}
	return words
}

// hasTest reports whether there are errors on held-out rows, here or at other owners.
func (r *Report) hasTest() bool { return len(r.Scores) > 0 && r.Scores[0].Test.Rows > 0 }

// scores has the errors of the methods, on held-out rows only where there are some.
func (r *Report) scores() text.Table {
	t := text.Table{{"method", "held-out RMSE", "held-out MAE", "held-out EV", "train RMSE", "train EV"}}
	least := math.NaN()
	for _, m := range r.Scores {
		for _, v := range []float64{m.Test.RMSE, m.Test.MAE, m.Train.RMSE} {
			if v > 0 && !(v >= least) {
				least = v
			}
		}
	}
	n := decimals(least, 3)
	for _, m := range r.Scores {
		t = append(t, []string{
			m.Method, fixed(m.Test.RMSE, n), fixed(m.Test.MAE, n), fixed(m.Test.ExplainedVariance, 3),
			fixed(m.Train.RMSE, n), fixed(m.Train.ExplainedVariance, 3),
		})
	}
	if !r.hasTest() {
		for i := range t {
			t[i] = slices.Delete(t[i], 1, 4)
		}
	}
	return t
}

// candidates has the forms of the model that were compared, with the row of the chosen one; nil without a
// comparison.
func (r *Report) candidates() (t text.Table, chosen int) {
	for i, c := range r.Validation {
		if c.Chosen {
			chosen = i + 1
		}
		if t == nil {
			t = text.Table{{"rank", "cross-validated RMSE"}}
		}
		t = append(t, []string{strconv.Itoa(c.Rank), fixed(c.RMSE, decimals(r.Validation[0].RMSE, 3))})
	}
	at := slices.IndexFunc(r.Evidence, func(c fit.Candidate) bool { return c.Chosen })
	if at < 0 {
		return t, chosen
	}
	t = text.Table{{"rank", "curves", "log evidence", "penalised"}}
	for _, c := range r.Evidence {
		t = append(t, []string{strconv.Itoa(c.Rank), map[bool]string{true: "yes", false: "no"}[c.Curves],
			signed(c.Evidence - r.Evidence[at].Evidence), signed(c.Penalised - r.Evidence[at].Penalised)})
	}
	return t, at + 1
}

// candidateWords explains the choice.
func (r *Report) candidateWords() string {
	if len(r.Validation) > 0 {
		return "RMSE on left-out rows of the tasks of all nodes; the smallest decides."
	}
	return "Log evidence less that of the chosen form, in nats; penalised: less half the number of free loadings times the logarithm " +
		"of the number of tasks. The largest penalised evidence decides, and curves are kept where they are 3 nats better."
}

// sentWords describes the messages between owners, and the privacy budget.
func (r *Report) sentWords() (list []string) {
	if r.Owners == nil {
		return nil
	}
	s := r.Owners
	list = append(list, fmt.Sprintf("The %d nodes have %s and sent %s in all.", s.Nodes, text.Plural(s.Tasks, "task"),
		humanize.Bytes(uint64(s.Bytes))))
	if p := s.Privacy; p != nil {
		list = append(list, fmt.Sprintf("Against one of the nodes, epsilon is %.3g.", p.AgainstOne))
	}
	if s.Nodes == 2 {
		list = append(list, "There are two nodes: each learns the other's part of every sum, since it knows its own.")
	}
	return list
}

// decimals returns the number of digits after the point that shows a value with the given number of digits
// after its first.
func decimals(v float64, after int) int {
	if !(math.Abs(v) > 0) || math.IsInf(v, 0) {
		return after
	}
	return min(max(after-int(math.Floor(math.Log10(math.Abs(v)))), 0), 9)
}

// fixed prints a value with n digits after the point, and a dash for NaN.
func fixed(v float64, n int) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "-"
	}
	if math.Abs(v) >= 1e9 {
		return strconv.FormatFloat(v, 'e', 3, 64)
	}
	s := strconv.FormatFloat(v, 'f', n, 64)
	if strings.Trim(s, "-0.") == "" {
		return strings.TrimPrefix(s, "-")
	}
	return s
}

// signed prints a difference with one digit after the point.
func signed(v float64) string {
	s := fixed(v, 1)
	if s[0] == '-' {
		return s
	}
	return "+" + s
}
