package main

import (
	"fmt"
	"strings"

	"github.com/difalt/difalt/internal/options"
	"github.com/difalt/difalt/internal/text"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const rootHelp = `difalt learns the representation that many small regression tasks share, over a
network of nodes that exchange estimates but never their data (Dif-AltGDmin).`

const rootMore = `

Exit codes:
    0  done
    1  a file, its content, memory or a disk is not as needed
    2  the command line is wrong
    3  another node of the network failed, or refuses this one
    4  the iterations diverged
  130  interrupted (Ctrl-C); 143 terminated

After 1 to 4, files that were there before are as they were. Work that cannot fit
in memory is refused before it begins; DIFALT_MEMORY=64GB, or unlimited, takes
the place of what the machine has left. A file named - is the standard input or
output.`

const rootExamples = `  difalt simulate                      a small experiment with a picture
  difalt simulate --rounds 1           the same with a single round of averaging
  difalt help simulate                 its options, with more examples
  difalt simulate --preset fig1a       figure 1a of the paper
  difalt results --from difalt-out     a page about runs that are done
  difalt plan --epsilon 1e-10          what its theory asks for

  difalt describe train.csv --task clinic --target y
                                       what a table holds, what is suspicious
  difalt fit --data train.csv --task clinic --target y --rank 2 --model m.npz
                                       learn from a table of many small tasks
  difalt predict --model m.npz --data new.csv --out predictions.csv
  difalt adapt --model m.npz --data new-tasks.csv --out m2.npz
                                       add tasks without training again

  difalt up --data 'site-*.csv' --task clinic --target y --model m.npz
                                       one process a file, each with a table
  difalt node --cluster cluster.json --key site.key --data mine.csv \
      --task clinic --target y
                                       train with the owners of other tables

  difalt bench                         how fast this machine is, and could be
  difalt info                          what this machine computes with`

// helpWidth is the width of all help.
const helpWidth = 80

// newRootCommand returns the command with all its subcommands.
func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "difalt",
		Short:         "Decentralised multi-task representation learning",
		Long:          rootHelp + rootMore,
		Example:       rootExamples,
		Version:       version(),
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          knownCommand,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return options.Usagef("%w (see %q)", err, cmd.CommandPath()+" --help")
	})
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages", fmt.Sprintf(".FlagUsagesWrapped %d", helpWidth)))
	root.SetVersionTemplate("difalt {{.Version}}\n")
	root.AddCommand(newSimulateCommand(), newSimulateNodeCommand(), newResultsCommand(), newDescribeCommand(), newFitCommand(), newPredictCommand(), newAdaptCommand(), newModelCommand(), newClusterCommand(), newNodeCommand(), newUpCommand(), newPlanCommand(), newBenchCommand(), newInfoCommand())
	root.SetGlobalNormalizationFunc(formerNames)
	wrapHelp(root)
	return root
}

// wrapHelp fills the lines of the text about a command and those below it.
func wrapHelp(cmd *cobra.Command) {
	paragraphs := strings.Split(cmd.Long, "\n\n")
	for i, p := range paragraphs {
		if !strings.HasPrefix(p, " ") && !strings.Contains(p, "\n ") { // lists stay
			paragraphs[i] = text.Wrap(p, helpWidth)
		}
	}
	cmd.Long = strings.Join(paragraphs, "\n\n")
	for _, c := range cmd.Commands() {
		wrapHelp(c)
	}
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
	return options.Usagef("unknown command %q%s (see \"difalt --help\")", args[0], hint)
}

// noArguments is the Args of commands that take flags only.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return options.Usagef("%s takes no arguments, only flags, but got %q", cmd.CommandPath(), args[0])
	}
	return nil
}
