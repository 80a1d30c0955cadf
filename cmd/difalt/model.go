package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/difalt/difalt/cmd/difalt/internal/options"
	"github.com/difalt/difalt/cmd/difalt/internal/report"
	"github.com/difalt/difalt/cmd/difalt/internal/tablefile"
	"github.com/spf13/cobra"
)

func newModelCommand() *cobra.Command {
	cmd := newCommand("model", "Look into a model file", nil, nil)
	cmd.AddCommand(newModelShowCommand())
	return cmd
}

func newModelShowCommand() *cobra.Command {
	var path string
	cmd := newTableCommand(options.Show, "show FILE", "Print the content of a model file, or write its effects",
		func(ctx context.Context, f *options.Flags, std streams) error { return show(ctx, path, f, std) })
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 {
			return options.Usagef("%s takes one model file, but got %d arguments", cmd.CommandPath(), len(args))
		}
		path = args[0]
		return nil
	}
	return cmd
}

// show prints a model, or writes its effects to a file.
func show(ctx context.Context, path string, f *options.Flags, std streams) error {
	var used files
	defer used.close()
	if to := f.Files.Out; to != "" {
		if err := errors.Join(used.reads("model", path), used.create("out", to, tablefile.Extensions...)); err != nil {
			return err
		}
	}
	m, err := loadModel(path)
	switch {
	case err != nil:
		return err
	case used.out != nil:
		if err := untilCanceled(ctx, func() error { return report.EffectsFile(used.out, f.Files.Out, m) }); err != nil {
			return err
		}
		fmt.Fprintf(used.streams(std).out, "effects %s\n", nameOf(f.Files.Out, "output"))
		return used.out.Commit()
	case f.Files.JSON:
		return report.WriteModel(std.out, m)
	}
	fmt.Fprintf(std.out, "%s\n", nameOf(path, "input"))
	if err := m.Describe(std.out); err != nil {
		return err
	}
	fmt.Fprintln(std.out)
	report.WriteEffects(std.out, m)
	return nil
}
