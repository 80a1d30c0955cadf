package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/difalt/difalt/internal/options"
	"github.com/difalt/difalt/internal/text"
	"github.com/difalt/difalt/model"
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
	cmd.AddCommand(&cobra.Command{
		Use:     "show FILE",
		Short:   "Print what is inside a model file",
		Long:    "Print what is inside a model file: its header, nodes, tasks, and the loadings of its\nfeatures by name, which say what tasks have in common and what they differ by.",
		Example: "  difalt model show clinics-model.npz",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return options.Usagef("%s takes one model file, but got %d arguments", cmd.CommandPath(), len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			m, err := loadModel(args[0])
			if err != nil {
				return err
			}
			showModel(cmd.OutOrStdout(), args[0], m)
			return nil
		},
	})
	return cmd
}

func showModel(w io.Writer, path string, m *model.Model) {
	p := m.Parameters()
	fmt.Fprintf(w, "%s: difalt model, version %d, trained by %s\n\n", path, model.Version, p.Method)
	line := func(name, format string, args ...any) {
		fmt.Fprintf(w, "%-14s"+format+"\n", append([]any{name}, args...)...)
	}
	named := func(column string) string {
		if column == "" {
			return "not named"
		}
		return fmt.Sprintf("%q", column)
	}
	line("target", "%s", named(p.TargetColumn))
	line("task column", "%s", named(p.TaskColumn))
	line("tasks", "%d: %s", len(p.Tasks), text.Names(p.Tasks))
	line("training rows", "%s", trainingRows(p.Samples))
	line("nodes", "%d: %s", len(p.Nodes), text.Names(p.Nodes))
	constant := ""
	if p.Scaling.Constant {
		constant = ", and a constant for every task"
	}
	line("features", "%d%s", len(m.Features()), constant)
	line("rank", "%d", m.Rank())
	line("noise", "%s, standard deviation in the unit of the target", text.Short(m.Noise()))
	intercept, others := m.Spread()
	line("intercepts", "differ by %s between tasks, beside the axes", text.Short(intercept))
	line("slopes", "differ by %s for every standardised feature, beside the axes", text.Short(others))
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
	fmt.Fprintf(w, "\nWhat tasks share (mean) and differ by (axes), for standardised features, in the\nunit of the target:\n\n")
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
