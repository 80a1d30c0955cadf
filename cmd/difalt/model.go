package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/difalt/difalt/cmd/difalt/internal/options"
	"github.com/difalt/difalt/cmd/difalt/internal/report"
	"github.com/difalt/difalt/cmd/difalt/internal/tablefile"
	"github.com/difalt/difalt/cmd/difalt/internal/text"
	"github.com/difalt/difalt/cmd/difalt/model"
	"github.com/spf13/cobra"
)

func newModelCommand() *cobra.Command {
	cmd := newCommand("model", "Look into a model file", nil, func(cmd *cobra.Command, _ []string) error { return cmd.Help() })
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return options.Usagef("unknown command %q: want \"difalt model show FILE\"", "model "+args[0])
		}
		return nil
	}
	cmd.AddCommand(newModelShowCommand())
	return cmd
}

func newModelShowCommand() *cobra.Command {
	var asJSON bool
	var effects string
	cmd := newCommand("show FILE", "Print what is inside a model file", nil, func(cmd *cobra.Command, args []string) error {
		if effects != "" {
			return writeEffects(cmd.OutOrStdout(), cmd.ErrOrStderr(), args[0], effects)
		}
		m, err := loadModel(args[0])
		switch {
		case err != nil:
			return err
		case asJSON:
			return report.WriteModel(cmd.OutOrStdout(), m)
		}
		showModel(cmd.OutOrStdout(), args[0], m)
		return nil
	})
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 {
			return options.Usagef("%s takes one model file, but got %d arguments", cmd.CommandPath(), len(args))
		}
		return nil
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().StringVar(&effects, "effects-out", "", "instead, write the effects to `FILE`: .csv, .parquet, .jsonl or .npy")
	return cmd
}

func writeEffects(stdout, stderr io.Writer, path, to string) error {
	var paths files
	if err := paths.reads("model", path); err != nil {
		return err
	}
	out, err := paths.create("effects-out", to, tablefile.Extensions...)
	if err != nil {
		return err
	}
	defer out.Close()
	m, err := loadModel(path)
	if err != nil {
		return err
	}
	if len(m.Effects()) == 0 {
		return fmt.Errorf("%s: a plain fit has no effects", path)
	}
	if err := report.EffectsFile(out, to, m); err != nil {
		return err
	}
	if err := out.Commit(); err != nil {
		return err
	}
	fmt.Fprintf(paths.textOutput(stdout, stderr), "effects %s\n", nameOf(to, "output"))
	return nil
}

func showModel(w io.Writer, path string, m *model.Model) {
	p := m.Parameters()
	fmt.Fprintf(w, "%s: difalt model, version %d, trained by %s\n\n", path, p.Version(), p.Method)
	line := func(name, format string, args ...any) {
		fmt.Fprintf(w, "%-14s"+format+"\n", append([]any{name}, args...)...)
	}
	named := func(column string) string {
		if column == "" {
			return "not named"
		}
		return fmt.Sprintf("%q", column)
	}
	target := named(p.TargetColumn)
	if p.Scaling.LogTarget {
		target += ", by its logarithm"
	}
	line("target", "%s", target)
	line("task column", "%s", named(p.TaskColumn))
	line("tasks", "%d: %s", len(p.Tasks), text.Names(p.Tasks))
	line("training rows", "%s", trainingRows(p.Samples))
	line("nodes", "%d: %s", len(p.Nodes), text.Names(p.Nodes))
	constant := ""
	if p.Scaling.Constant {
		constant = ", and a constant for every task"
	}
	line("features", "%d%s", len(m.Features()), constant)
	feature := func(j int) string { return text.Names(m.Features()[j : j+1]) }
	for _, c := range p.Scaling.Transforms {
		line("column", "%s: %s", feature(c.Feature), c.String())
	}
	for j, least := range p.Scaling.Least {
		if most := p.Scaling.Most[j]; least > -math.MaxFloat64 || most < math.MaxFloat64 {
			line("limits", "%s counts as at least %s and at most %s", feature(j), text.Short(least), text.Short(most))
		}
	}
	line("rank", "%s", ranksOf(m))
	line("noise", "%s, standard deviation in the %s", text.Short(m.Noise()), m.Unit())
	intercept, others := m.Spread()
	line("intercepts", "differ by %s between tasks, beside the axes", text.Short(intercept))
	line("slopes", "differ by %s for every standardised feature, beside the axes", text.Short(others))
	if m.Effects() != nil {
		fmt.Fprintln(w)
		report.WriteEffects(w, m)
	}
	showLoadings(w, m)
}

// ranksOf says which rank a model has, or with which weights it averages over several.
func ranksOf(m *model.Model) string {
	p := m.Parameters()
	list, weights := m.Ranks()
	if len(list) == 1 {
		return strconv.Itoa(list[0])
	}
	priors, words := []model.Prior{p.Prior}, []string(nil)
	for _, a := range p.Alternatives {
		priors = append(priors, a.Prior)
	}
	for k, rank := range list {
		only := ""
		if rank == 0 && priors[k].Spread == 0 {
			only = ", intercepts only,"
		}
		words = append(words, fmt.Sprintf("%d%s with weight %.2f", rank, only, weights[k]))
	}
	return strings.Join(words, "; ") + ": what follows about axes and slopes is of the first"
}

// showLoadings prints what tasks share and differ by.
func showLoadings(w io.Writer, m *model.Model) {
	p := m.Parameters()
	loadings, values := m.Loadings()
	rows := text.Table{{"feature", "mean"}}
	for j := range values {
		rows[0] = append(rows[0], fmt.Sprintf("axis %d", j+1))
	}
	for i, name := range m.ScaledFeatures() {
		row := []string{name, text.Decimal(p.Mean[i] * p.Scaling.TargetScale)}
		for j := range values {
			row = append(row, text.Decimal(loadings.At(i, j)))
		}
		rows = append(rows, row)
	}
	fmt.Fprintf(w, "\nWhat tasks share (mean) and differ by (axes), for standardised features, in the\n%s:\n\n", m.Unit())
	rows.Write(w)
	if len(values) == 0 {
		fmt.Fprintf(w, "\nTasks share no axes.\n")
		return
	}
	shown := make([]string, len(values))
	for j, v := range values {
		shown[j] = text.Short(v)
	}
	fmt.Fprintf(w, "\nStandard deviations along the axes: %s.\n", strings.Join(shown, ", "))
}

// trainingRows says how many rows the tasks were trained on.
func trainingRows(samples []int) string {
	sum := 0
	for _, n := range samples {
		sum += n
	}
	return fmt.Sprintf("%d, between %d and %d a task", sum, slices.Min(samples), slices.Max(samples))
}
