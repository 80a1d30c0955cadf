package main

import (
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strconv"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/dataset"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/fit"
	"github.com/difalt/difalt/internal/experiment"
	"github.com/difalt/difalt/internal/text"
)

// A trace collects the states of a run.
type trace struct{ curve experiment.Curve }

func (t *trace) observe(r *difalt.Record) error {
	t.curve.Rows = append(t.curve.Rows, experiment.NewRow(r, 0))
	return nil
}

func (t *trace) csv() []byte {
	trial := experiment.Trial{Number: 1, Curves: []experiment.Curve{t.curve}}
	return trial.AppendCSV([]byte(experiment.TraceHeader + "\n"))
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

func (s *stages) close() { s.bar.Close() }

// describeFit says in words what is going to be fitted.
func describeFit(w io.Writer, path string, t *dataset.Table, c *fit.Config) {
	train := 0
	for _, on := range c.Train {
		if on {
			train++
		}
	}
	fmt.Fprintf(w, "%s: %d tasks, %d features, %d rows for training, %d held out\n",
		path, len(t.Tasks()), len(t.Features()), train, t.Rows()-train)
	rank := fmt.Sprintf("rank %d", c.Options.Rank)
	if c.Tune {
		rank = fmt.Sprintf("rank 1 to %d", c.Options.Rank)
	}
	fmt.Fprintf(w, "%s, graph %v, %s, %s\n\n", text.Plural(len(t.Nodes()), "node"), c.Network.Weights(), rank, how(c))
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

// printUnconverged says so, before anything else, if the run has not converged.
func printUnconverged(w io.Writer, r *difalt.Result) {
	if r.Status == difalt.IterationLimit && !math.IsNaN(r.Residual) {
		fmt.Fprintf(w, "Not converged in %d iterations: U is about %.2g from the best for the training rows.\n\n", r.Iterations, r.Residual)
	}
}

// printReport prints errors and what a user should know about the run.
func printReport(w io.Writer, r *fit.Report, c *fit.Config) {
	printUnconverged(w, r.Result)
	t := text.Table{{"", "ridge", "train RMSE", "train EV", "held-out RMSE", "held-out MAE", "held-out EV"}}
	for _, s := range r.Scores {
		t = append(t, []string{s.Method, short(s.Ridge), decimal(s.Train.RMSE), decimal(s.Train.ExplainedVariance),
			decimal(s.Test.RMSE), decimal(s.Test.MAE), decimal(s.Test.ExplainedVariance)})
	}
	t.Write(w)
	fmt.Fprint(w, `
EV: explained variance, 1 - sum (y - prediction)^2 / sum (y - mean of y)^2, over
all training rows or all held-out rows.
`)
	if c.Tune || c.TuneRidge || c.Baselines {
		fmt.Fprintf(w, "Ridge strengths by %d-fold cross-validation on the training rows.\n", r.Folds)
		if r.TunedTasks < r.AllTasks {
			fmt.Fprintf(w, "%d of the %d tasks took part in it, and all in that of pooled ridge.\n", r.TunedTasks, r.AllTasks)
		}
	}
	printTuning(w, r, c)
	sent := r.Result.Last.Traffic.Plus(r.Result.InitTraffic)
	fmt.Fprintf(w, "%s: %d iterations, step %s, %.1f MB sent between the nodes, %.1f MB in all.\n",
		r.Result.Status, r.Result.Iterations, short(r.Result.Step), float64(sent.Bytes)/1e6, float64(r.Traffic.Bytes)/1e6)
	if c.Auto {
		fmt.Fprintf(w, "Chosen: method %v, %d rounds of %v an iteration.\n", r.Options.Method, r.Options.Rounds, r.Options.Agreement)
	}
	if !math.IsNaN(r.Result.Last.SDFirst) {
		fmt.Fprintf(w, "Subspace distance to the truth: %.3g at node 0, %.3g at most.\n", r.Result.Last.SDFirst, r.Result.Last.SDMax)
	}
	if res := r.Result; !math.IsNaN(res.Residual) {
		fmt.Fprintf(w, "Estimated subspace distance to the best U for the training rows: %.2g; noise leaves %.2g anyway.\n", res.Residual, res.StatisticalError)
	}
	for _, note := range notes(r) {
		fmt.Fprintln(w, note)
	}
}

// notes are sentences about the nodes and tasks that a user should know of.
func notes(r *fit.Report) (list []string) {
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

// printTuning prints the best ridge at every rank and mean strength that was tried.
func printTuning(w io.Writer, r *fit.Report, c *fit.Config) {
	if !c.Tune {
		return
	}
	t := text.Table{{"rank", "mean strength", "best ridge", "cross-validation RMSE", ""}}
	for _, b := range bestOfTrials(r.Tried) {
		mark := ""
		if b.Rank == r.Chosen.Rank && b.MeanRidge == r.Chosen.MeanRidge {
			mark = "chosen"
		}
		mean := short(b.MeanRidge)
		if c.NoMean {
			mean = "-"
		}
		t = append(t, []string{strconv.Itoa(b.Rank), mean, short(b.Ridge), decimal(b.RMSE), mark})
	}
	fmt.Fprintln(w)
	t.Write(w)
	fmt.Fprintln(w)
}

// bestOfTrials returns the candidate of smallest error at every rank and mean
// strength, in the order in which they were tried.
func bestOfTrials(tried []fit.Candidate) []fit.Candidate {
	var out []fit.Candidate
	for _, t := range tried {
		n := len(out)
		switch {
		case n == 0 || out[n-1].Rank != t.Rank || out[n-1].MeanRidge != t.MeanRidge:
			out = append(out, t)
		case t.RMSE < out[n-1].RMSE:
			out[n-1] = t
		}
	}
	return out
}

func (f *fitFlags) printFiles(w io.Writer) {
	if f.trace != "" {
		fmt.Fprintf(w, "trace  %s\n", f.trace)
	}
	if f.model != "" {
		fmt.Fprintf(w, "model  %s\n", f.model)
	}
	if f.report != "" {
		fmt.Fprintf(w, "report %s\n", filepath.Join(f.report, reportFile))
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
