package main

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const rootHelp = `difalt learns the representation that many small regression tasks share, over a
network of nodes that exchange estimates but never their data (Dif-AltGDmin).`

const rootExamples = `  difalt simulate                      a small experiment with a picture, in seconds
  difalt simulate --rounds 1           the same with a single round of averaging
  difalt help simulate                 its options, with more examples
  difalt simulate --preset fig1a       figure 1a of the paper
  difalt results --from difalt-out     a page about runs that are done
  difalt plan --epsilon 1e-10          what its theory asks for

  difalt fit --data train.csv --task clinic --target y --rank 2 --model m.npz
                                       learn from a table of many small tasks
  difalt predict --model m.npz --data new.csv --out predictions.csv
  difalt adapt --model m.npz --data new-tasks.csv --out m2.npz
                                       add tasks without training again

  difalt up --data 'site-*.csv' --task clinic --target y --model m.npz
                                       one process a file, each with a table of its own
  difalt node --cluster cluster.json --key site.key --data mine.csv --task clinic --target y
                                       train with the owners of other tables

  difalt bench                         how fast this machine is, and could be
  difalt info                          what this machine computes with`

// newRootCommand returns the command with all its subcommands.
func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "difalt",
		Short:         "Decentralised multi-task representation learning",
		Long:          rootHelp,
		Example:       rootExamples,
		Version:       version(),
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          knownCommand,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usagef("%w (see %q)", err, cmd.CommandPath()+" --help")
	})
	root.SetVersionTemplate("difalt {{.Version}}\n")
	root.AddCommand(newSimulateCommand(), newResultsCommand(), newFitCommand(), newPredictCommand(), newAdaptCommand(), newModelCommand(), newClusterCommand(), newNodeCommand(), newUpCommand(), newPlanCommand(), newBenchCommand(), newInfoCommand())
	root.SetGlobalNormalizationFunc(formerNames)
	return root
}

// formerNames lets flags be given by the names that they had before, too.
func formerNames(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	switch name {
	case "methods":
		name = "method"
	case "stderr":
		name = "standard-errors"
	}
	return pflag.NormalizedName(name)
}

// knownCommand reports a word that is not a subcommand.
func knownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	hint := ""
	if s := cmd.SuggestionsFor(args[0]); len(s) > 0 {
		hint = ": did you mean " + strings.Join(s, " or ") + "?"
	}
	return usagef("unknown command %q%s (see \"difalt --help\")", args[0], hint)
}

// noArguments is the Args of commands that take flags only.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("%s takes no arguments, only flags, but got %q", cmd.CommandPath(), args[0])
	}
	return nil
}
