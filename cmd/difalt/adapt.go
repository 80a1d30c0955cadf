package main

import (
	"context"
	"fmt"
	"io"

	"github.com/difalt/difalt/cmd/difalt/internal/options"
	"github.com/difalt/difalt/cmd/difalt/internal/report"
	"github.com/difalt/difalt/cmd/difalt/internal/terminal"
	"github.com/difalt/difalt/cmd/difalt/internal/text"
	"github.com/spf13/cobra"
)

func newAdaptCommand() *cobra.Command {
	f := &adaptRun{applied{options.New(options.Adapt)}}
	return newCommand("adapt --model FILE --data FILE --out FILE",
		"Add new tasks to a model from few samples", f.Set, func(cmd *cobra.Command, _ []string) error {
			if err := needFlags(cmd, "model", "data", "out"); err != nil {
				return err
			}
			return f.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		})
}

// An adaptRun writes a model with more tasks.
type adaptRun struct{ applied }

func (f *adaptRun) run(ctx context.Context, stdout, stderr io.Writer) error {
	out, stdout, err := f.open(stdout, stderr, ".npz")
	if err != nil {
		return err
	}
	defer out.model.Close()
	m, t, err := f.read(ctx, stderr)
	if err != nil {
		return err
	}
	adapted, err := m.Adapt(t)
	if err != nil {
		return fmt.Errorf("%s: %w", f.Files.Data, err)
	}
	if err := adapted.Write(out.model); err != nil {
		return err
	}
	if err := out.model.Commit(); err != nil {
		return err
	}
	added := len(adapted.Tasks()) - len(m.Tasks())
	words := text.Plural(added, "task") + " added"
	if more := len(t.Tasks()) - added; more > 0 {
		words += fmt.Sprintf(" and %d updated", more)
	}
	fmt.Fprintf(stdout, "%s: %s from %s; the model has %s now\n", nameOf(f.Files.Out, "output"),
		words, text.Plural(t.Rows(), "row"), text.Plural(len(adapted.Tasks()), "task"))
	for _, sentence := range report.Missing(t) {
		terminal.Sayf(stdout, "%s", sentence)
	}
	return nil
}
