package main

import (
	"embed"
	"fmt"
	"strings"

	"github.com/difalt/difalt/internal/memory"
	"github.com/difalt/difalt/internal/options"
	"github.com/difalt/difalt/internal/text"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// helpWidth is the width of all help.
const helpWidth = 80

// newRootCommand returns the command with all its subcommands.
func newRootCommand() *cobra.Command {
	root := newCommand("difalt", "Decentralised multi-task representation learning", nil, func(cmd *cobra.Command, _ []string) error { return cmd.Help() })
	root.Version, root.SilenceUsage, root.SilenceErrors, root.Args = version(), true, true, knownCommand
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

// helpTexts say what a command does; its examples stand after the line "Examples:".
//
//go:embed help
var helpTexts embed.FS

// newCommand returns a command that takes flags only. Its help is the text of its name.
func newCommand(use, short string, flags *pflag.FlagSet, run func(cmd *cobra.Command, args []string) error) *cobra.Command {
	name, _, _ := strings.Cut(use, " ")
	help, err := helpTexts.ReadFile("help/" + name + ".txt")
	if err != nil {
		panic(err) // a command without a text: no test passes
	}
	long, examples, _ := strings.Cut(strings.TrimSuffix(string(help), "\n"), "\n\nExamples:\n")
	cmd := &cobra.Command{Use: use, Short: short, Long: long, Example: examples, Args: noArguments, RunE: func(cmd *cobra.Command, args []string) error {
		if err := memory.CheckProgram(); err != nil {
			return err
		}
		memory.Bound()
		return run(cmd, args)
	}}
	cmd.Flags().SortFlags = false
	cmd.Flags().AddFlagSet(flags)
	return cmd
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
