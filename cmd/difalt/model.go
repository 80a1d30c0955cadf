package main

import (
	"fmt"
	"io"

	"github.com/difalt/difalt/cmd/difalt/internal/options"
	"github.com/difalt/difalt/cmd/difalt/internal/report"
	"github.com/difalt/difalt/cmd/difalt/internal/tablefile"
	"github.com/spf13/cobra"
)

func newModelCommand() *cobra.Command {
	cmd := newCommand("model", "Look into a model file", nil, func(cmd *cobra.Command, _ []string) error { return cmd.Help() })
	cmd.Args = knownCommand
	cmd.AddCommand(newModelShowCommand())
	return cmd
}

func newModelShowCommand() *cobra.Command {
	o := options.New(options.Show)
	cmd := newCommand("show FILE",
		"Print the content of a model file, or write its effects", o.Set, func(cmd *cobra.Command, args []string) error {
			if o.Files.Out != "" {
				return writeEffects(cmd.OutOrStdout(), cmd.ErrOrStderr(), args[0], o.Files.Out)
			}
			m, err := loadModel(args[0])
			switch {
			case err != nil:
				return err
			case o.Files.JSON:
				return report.WriteModel(cmd.OutOrStdout(), m)
			}
			w := cmd.OutOrStdout()
			fmt.Fprintf(w, "%s\n", nameOf(args[0], "input"))
			if err := m.Describe(w); err != nil {
				return err
			}
			fmt.Fprintln(w)
			report.WriteEffects(w, m)
			return nil
		})
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 {
			return options.Usagef("%s takes one model file, but got %d arguments", cmd.CommandPath(), len(args))
		}
		return nil
	}
	return cmd
}

// writeEffects writes the effects of a model file to another file.
func writeEffects(stdout, stderr io.Writer, path, to string) error {
	var paths files
	if err := paths.reads("model", path); err != nil {
		return err
	}
	out, err := paths.create("out", to, tablefile.Extensions...)
	if err != nil {
		return err
	}
	defer out.Close()
	m, err := loadModel(path)
	if err != nil {
		return err
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
