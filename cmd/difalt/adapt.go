package main

import (
	"context"
	"fmt"

	"github.com/difalt/difalt/cmd/difalt/internal/options"
	"github.com/difalt/difalt/cmd/difalt/internal/text"
	"github.com/spf13/cobra"
)

func newAdaptCommand() *cobra.Command {
	return newTableCommand(options.Adapt, "adapt --model FILE --data FILE --out FILE", "Add new tasks to a model from few samples", adapt)
}

// adapt writes a model with more tasks.
func adapt(ctx context.Context, f *options.Flags, std streams) error {
	a := &applied{Flags: f, streams: std}
	defer a.files.close()
	if err := a.open(ctx, ".npz"); err != nil {
		return err
	}
	adapted, err := a.model.Adapt(a.table)
	if err != nil {
		return fmt.Errorf("%s: %w", f.Files.Data, err)
	}
	if err := a.write(ctx, func() error { return adapted.Write(a.files.out) }); err != nil {
		return err
	}
	added := len(adapted.Tasks()) - len(a.model.Tasks())
	words := text.Plural(added, "task") + " added"
	if more := len(a.table.Tasks()) - added; more > 0 {
		words += fmt.Sprintf(" and %d updated", more)
	}
	fmt.Fprintf(a.out, "%s: %s from %s; the model has %s now\n", nameOf(f.Files.Out, "output"), words, text.Plural(a.table.Rows(), "row"),
		text.Plural(len(adapted.Tasks()), "task"))
	return nil
}
