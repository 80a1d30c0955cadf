// The difalt command reproduces the paper's experiments on synthetic data and fits, applies and extends
// linear mixed models on tables of many small regression tasks, for one owner or several. Run "difalt help"
// for examples.
package main

import (
	"context"
	"io"
	"slices"
	"strings"

	"github.com/difalt/difalt/cmd/difalt/internal/cli"
	"github.com/difalt/difalt/cmd/difalt/internal/experiment"
	"github.com/difalt/difalt/cmd/difalt/internal/flagtable"
	"github.com/spf13/cobra"
)

// program is the name of the command.
const program = "difalt"

func main() { cli.Main(newRootCommand()) }

// run executes the command line and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	return cli.Run(ctx, newRootCommand(), args, stdout, stderr)
}

func newRootCommand() *cobra.Command {
	root := cli.Program(program, "Decentralised multi-task representation learning")
	cli.Add(root, "One table:",
		newCheck(),
		newTableCommand(flagtable.Fit, "fit --task COLUMN --target COLUMN FILE...",
			"Fit a mixed model to one table of many small tasks", fitTable),
		newPredict(),
		newTableCommand(flagtable.Adapt, "adapt --model FILE --out FILE FILE...", "Add new tasks to a model from few samples", adapt),
		newModelCommand())
	cli.Add(root, "Tables of several owners:", newClusterCommand(),
		newTableCommand(flagtable.Node, "node --cluster FILE --key FILE FILE...", "Train with the owners of other tables", trainAsNode),
		newTableCommand(flagtable.Up, "up --task COLUMN --target COLUMN FILE...",
			"Train on this machine as the owners of several tables would", trainTogether))
	cli.Add(root, "The paper's algorithm:", experiment.Simulate(program), experiment.Results(), newRunCommand())
	root.AddCommand(cli.Info(), newGenerateCommand())
	return root
}

// newTableCommand returns a command of the table of flags, which run reads after they were checked.
func newTableCommand(c flagtable.Command, use, short string,
	run func(ctx context.Context, f *flagtable.Flags, std cli.Streams) error) *cobra.Command {
	f := flagtable.New(c)
	cmd := cli.Command(use, short, f.Set, func(ctx context.Context, std cli.Streams) error {
		if err := f.Resolve(); err != nil {
			return err
		}
		return run(ctx, f, std)
	})
	if strings.HasSuffix(use, "FILE...") {
		takeFiles(cmd, f)
	}
	return cmd
}

// takeFiles has a command take the names of tables as arguments.
func takeFiles(cmd *cobra.Command, f *flagtable.Flags) {
	flagsOnly := cmd.Args
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 && f.Set.Changed("data") {
			return cli.Usagef("%s is named besides --data %s: name tables in one of these ways", args[0], f.Files.Data[0])
		}
		if slices.Contains(args, "") {
			return cli.Usagef("the name of a table is empty")
		}
		f.Files.Data = append(f.Files.Data, args...)
		return flagsOnly(cmd, nil)
	}
}
