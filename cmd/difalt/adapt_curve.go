package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strconv"

	"github.com/difalt/difalt/fit"
	"github.com/difalt/difalt/internal/report"
	"github.com/difalt/difalt/internal/text"
)

// learningCurve measures and writes the curve.
func (f *adaptFlags) learningCurve(ctx context.Context, stdout, stderr io.Writer, files *files) error {
	if err := files.checkFolder("learning-curve", f.curve); err != nil {
		return err
	}
	m, t, err := f.read(ctx, stderr)
	if err != nil {
		return err
	}
	points, leftOut, err := fit.LearningCurve(m, t, fit.CurveConfig{Seed: 1})
	if err != nil {
		return fmt.Errorf("%s: %w", f.data, err)
	}
	content, err := report.CurveFiles("learning-curve", points)
	if err != nil {
		return err
	}
	if err := files.writeFolder("learning-curve", f.curve, content); err != nil {
		return err
	}
	rows := text.Table{{"rows of a task", "ours RMSE", "pooled RMSE", "single RMSE", "mean RMSE", "ours EV", "pooled EV", "single EV"}}
	for _, p := range points {
		rows = append(rows, []string{strconv.Itoa(p.Samples), absent(p.Ours, p.Ours.RMSE), absent(p.Pooled, p.Pooled.RMSE), absent(p.Single, p.Single.RMSE), absent(p.Mean, p.Mean.RMSE),
			absent(p.Ours, p.Ours.ExplainedVariance), absent(p.Pooled, p.Pooled.ExplainedVariance), absent(p.Single, p.Single.ExplainedVariance)})
	}
	rows.Write(stdout)
	fmt.Fprintf(stdout, `
Errors on held-out rows of %s that the model has not seen, after training on
so many rows of each. pooled: the model's shared mean; single: one ridge a task;
mean: of its training rows.
`, text.Plural(len(t.Tasks())-len(leftOut), "task"))
	report.WriteMissing(stdout, t)
	if len(leftOut) > 0 {
		fmt.Fprintf(stdout, "Left out, with too few rows to hold some out: %s.\n", text.List(leftOut))
	}
	fmt.Fprintf(stdout, "\npicture  %s (and .svg)\ncurve    %s\n",
		filepath.Join(f.curve, "learning-curve.png"), filepath.Join(f.curve, "learning-curve.csv"))
	return nil
}

// absent prints a number of errors, or a dash when there are none.
func absent(e fit.Errors, v float64) string {
	if e.Rows == 0 {
		return "-"
	}
	return text.Decimal(v)
}
