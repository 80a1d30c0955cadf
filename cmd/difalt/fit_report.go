package main

import (
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/dataset"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/fit"
	"github.com/difalt/difalt/internal/options"
	"github.com/difalt/difalt/internal/simulation"
	"github.com/difalt/difalt/internal/text"
	"github.com/dustin/go-humanize"
)

// A trace collects the states of a run.
type trace struct{ curve simulation.Curve }

func (t *trace) observe(r *difalt.Record) error {
	t.curve.Rows = append(t.curve.Rows, simulation.NewRow(r, 0))
	return nil
}

func (t *trace) csv() []byte {
	trial := simulation.Trial{Number: 1, Curves: []simulation.Curve{t.curve}}
	return trial.AppendCSV([]byte(simulation.TraceHeader + "\n"))
}

// stages shows the progress of work that has several stages.
type stages struct {
	out   io.Writer
	stage string
	done  int
	bar   *progress
}

func (s *stages) show(stage string, done, total int) {
	if stage != s.stage {
		s.close()
		s.stage, s.done = stage, 0
		s.bar = newProgress(s.out, stage, "it", int64(total))
	}
	s.bar.Add(int64(done - s.done))
	s.done = done
}

// observe counts the iterations that are anchors.
func (s *stages) observe(r *difalt.Record) error {
	s.bar.Anchors(min(r.Anchors, 1))
	return nil
}

func (s *stages) close() { s.bar.Close() }

// describe says in words what is going to be fitted.
func (f *fitRun) describe(w io.Writer, t *dataset.Table, c *fit.Config) {
	train := 0
	for _, on := range c.Train {
		if on {
			train++
		}
	}
	sayf(w, "%s: %s, %s, %s for training, %d held out", nameOf(f.Files.Data, "input"),
		text.Plural(len(t.Tasks()), "task"), text.Plural(len(t.Features()), "feature"), text.Plural(train, "row"), t.Rows()-train)
	rank := "rank by evidence"
	if c.Rank > 0 {
		rank = fmt.Sprintf("rank %d", c.Rank)
	}
	graph := fmt.Sprintf(" on %s of %s", graphWords(f.Graph), text.Plural(c.Network.Weights().Graph().Edges(), "edge"))
	switch {
	case f.Config.Plain: // which may have weights of its own
		graph = fmt.Sprintf(" with %v", c.Network.Weights())
	case len(t.Nodes()) == 1:
		graph = ""
	}
	for _, words := range splitWords(&f.Table, t, c) {
		sayf(w, "%s", words)
	}
	fmt.Fprintf(w, "%s%s\n%s; %s\n", text.Plural(len(t.Nodes()), "node"), graph, rank, how(c))
}

// splitWords says what is particular about the rows that are held out.
func splitWords(o *dataset.TableOptions, t *dataset.Table, c *fit.Config) (list []string) {
	time, group := o.Time, o.Group
	if time != "" {
		words := fmt.Sprintf("The last rows of every task by %q are held out.", time)
		if slices.Contains(t.Features(), time) {
			words += fmt.Sprintf(" It is a feature too, unless --drop %s says that it is not.", text.ShellWord(time))
		}
		list = append(list, words)
	}
	if group != "" {
		where := "held out and in folds"
		if time != "" || o.Holdout != "" {
			where = "in folds"
		}
		list = append(list, fmt.Sprintf("Rows of the same %q stay together, %s; it is no feature.", group, where))
	}
	var whole []string
	all := t.Samples(nil)
	for k, n := range t.Samples(c.Train) {
		if n == all[k] {
			whole = append(whole, t.Tasks()[k])
		}
	}
	if whole != nil && len(whole) < len(all) {
		list = append(list, fmt.Sprintf("Nothing is held out of %s: %s.", text.Plural(len(whole), "task"), text.Names(whole)))
	}
	return list
}

// sayf prints a sentence in lines that fit into a terminal.
func sayf(w io.Writer, format string, args ...any) {
	width := 80
	if n := columnsOf(w); n >= 20 {
		width = min(n, width)
	}
	fmt.Fprintln(w, text.Wrap(fmt.Sprintf(format, args...), width))
}

// how says by which method the nodes agree, and how.
func how(c *fit.Config) string {
	switch o := &c.Options; {
	case c.Auto:
		return "method left to the program"
	case o.Agreement.Polynomial == consensus.Tree:
		return fmt.Sprintf("method %v, sums along a tree", o.Method)
	default:
		return fmt.Sprintf("method %v, %d rounds of %v an iteration", o.Method, o.Rounds, o.Agreement)
	}
}

// printUnconverged says so, before anything else, if the fit has not converged.
func printUnconverged(w io.Writer, r *fit.Report) {
	switch {
	case r.Converged:
	case r.Result != nil && r.Result.Status == difalt.IterationLimit && !math.IsNaN(r.Result.Residual):
		sayf(w, "Not converged in %d iterations: U is about %.2g from the best for the training rows.", r.Result.Iterations, r.Result.Residual)
		fmt.Fprintln(w)
	case r.Result != nil && r.Result.Status == difalt.IterationLimit:
	default:
		fmt.Fprint(w, "Not converged: strengths may be off.\n\n")
	}
}

// printReport prints errors and what a user should know about the run.
func printReport(w io.Writer, r *fit.Report, c *fit.Config) {
	printUnconverged(w, r)
	if r.Verdict.Text != "" && !c.Plain {
		sayf(w, "%s", r.Verdict.Text)
		fmt.Fprintln(w)
	}
	scoresTable(r).Write(w)
	rows := "training rows"
	if r.Scores[0].Test.Rows > 0 {
		rows = "held-out or all training rows"
	}
	fmt.Fprintln(w)
	sayf(w, "EV: explained variance, 1 - sum (y - prediction)^2 / sum (y - mean of y)^2, over all %s.", rows)
	printChoice(w, r, c)
	if res := r.Result; res != nil {
		sent := res.Last.Traffic.Plus(res.InitTraffic)
		fmt.Fprintf(w, "%s: %d iterations, step %s\nThe nodes sent %s in the iterations, %s in all.\n",
			res.Status, res.Iterations, short(res.Step), humanize.Bytes(uint64(sent.Bytes)), humanize.Bytes(uint64(r.Traffic.Bytes)))
		if !math.IsNaN(res.Last.SDFirst) {
			fmt.Fprintf(w, "Subspace distance to the truth: %.3g at node 0, %.3g at most.\n", res.Last.SDFirst, res.Last.SDMax)
		}
		if !math.IsNaN(res.Residual) {
			sayf(w, "Estimated subspace distance to the best U for the training rows: %.2g; noise leaves %.2g anyway.", res.Residual, res.StatisticalError)
		}
	} else {
		fmt.Fprintf(w, "The nodes sent %s in all.\n", humanize.Bytes(uint64(r.Traffic.Bytes)))
	}
	if c.Auto {
		sayf(w, "Chosen: method %v, %d rounds of %v an iteration.", r.Options.Method, r.Options.Rounds, r.Options.Agreement)
	}
	for _, note := range notes(r) {
		sayf(w, "%s", note)
	}
}

// scoresTable has the errors of the methods, on held-out rows only where there are some.
func scoresTable(r *fit.Report) text.Table {
	t := text.Table{{"", "held-out RMSE", "held-out MAE", "held-out EV", "train RMSE", "train EV"}}
	for _, s := range r.Scores {
		t = append(t, []string{s.Method, decimal(s.Test.RMSE), decimal(s.Test.MAE), decimal(s.Test.ExplainedVariance),
			decimal(s.Train.RMSE), decimal(s.Train.ExplainedVariance)})
	}
	if r.Scores[0].Test.Rows == 0 {
		for i := range t {
			t[i] = slices.Delete(t[i], 1, 4)
		}
	}
	return t
}

// notes are sentences about the nodes and tasks that a user should know of.
func notes(r *fit.Report) (list []string) {
	list = append(list, r.Notes...)
	for _, n := range []struct {
		what  string
		names []string
	}{
		{"Sums of these nodes are a row, a value or a held-out target, since they have a single one in all or in a fold", r.Exposed.Rows},
		{"These nodes have fewer rows in a fold than there are features, so that its Gram matrix tells them up to a rotation", r.Exposed.Grams},
		{"These nodes have a single task, or fewer than the rank, so that coefficients can be read off what they send", r.Exposed.Coefficients},
		{fmt.Sprintf("Fewer training rows than the rank %d", r.Chosen.Rank), r.FewRows},
		{"No unique least squares, so b of minimum norm (a --ridge avoids that)", r.Singular},
	} {
		if len(n.names) > 0 {
			list = append(list, fmt.Sprintf("%s: %s.", n.what, text.List(n.names)))
		}
	}
	return list
}

// printChoice prints the models that were compared.
func printChoice(w io.Writer, r *fit.Report, c *fit.Config) {
	if c.Plain {
		return
	}
	t := text.Table{{"rank", "log evidence", "ridge on intercepts", "ridge on slopes", "ridge on mean", ""}}
	for _, b := range r.Tried {
		mark := ""
		if b.Rank == r.Chosen.Rank && math.IsInf(b.Ridge, 1) == math.IsInf(r.Chosen.Ridge, 1) {
			mark = "chosen"
		}
		t = append(t, append(candidateCells(&b), mark))
	}
	fmt.Fprintln(w)
	t.Write(w)
	fmt.Fprintln(w)
}

// candidateCells are a model that was compared: what it is, its evidence and its ridges.
func candidateCells(c *fit.Candidate) []string {
	rank := strconv.Itoa(c.Rank)
	if math.IsInf(c.Ridge, 1) {
		rank += ", intercepts only"
	}
	cells := []string{rank, fmt.Sprintf("%+.1f", c.Evidence)}
	for _, v := range []float64{c.Intercept, c.Ridge, c.MeanRidge} {
		text := short(v)
		if math.IsInf(v, 1) {
			text = "inf" // as its flag says it
		}
		cells = append(cells, text)
	}
	return cells
}

func printFiles(w io.Writer, f *options.Files) {
	if f.Trace != "" {
		fmt.Fprintf(w, "trace  %s\n", f.Trace)
	}
	if f.Model != "" {
		fmt.Fprintf(w, "model  %s\n", f.Model)
	}
	if f.Report != "" {
		fmt.Fprintf(w, "report %s\n", filepath.Join(f.Report, reportFile))
	}
}

func short(v float64) string { return strconv.FormatFloat(v, 'g', 3, 64) }

// decimal prints four digits after the point, or a dash for NaN.
func decimal(v float64) string {
	if math.IsNaN(v) {
		return "-"
	}
	if math.Abs(v) >= 1e6 || v != 0 && math.Abs(v) < 1e-4 {
		return strconv.FormatFloat(v, 'e', 3, 64)
	}
	return strconv.FormatFloat(v, 'f', 4, 64)
}
