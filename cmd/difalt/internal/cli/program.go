package cli

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/difalt/difalt/kernel"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Program adds to the root of a program what all programs have: a version, the flags of all commands, which
// set the streams, and errors in flags that name the flag and the value.
func Program(std *Streams, root *cobra.Command) *cobra.Command {
	root.Version, root.SilenceUsage, root.SilenceErrors = Version(), true, true
	root.SetFlagErrorFunc(wrongFlag)
	std.addFlags(root.PersistentFlags())
	makeStrict(root, root.PersistentFlags())
	finish(std, root)
	return root
}

// Add adds commands to a program, below a title of its help; an empty title stands for no title. The help of
// a command names the program difalt where it shows these commands, and gets the name of this one there.
func Add(std *Streams, root *cobra.Command, title string, list ...*cobra.Command) {
	var names []string
	for _, cmd := range list {
		names = append(names, "difalt "+cmd.Name(), root.Name()+" "+cmd.Name())
	}
	here := strings.NewReplacer(names...)
	for _, cmd := range list {
		cmd.GroupID, cmd.Long, cmd.Example = title, here.Replace(cmd.Long), here.Replace(cmd.Example)
		finish(std, cmd)
	}
	if title != "" {
		root.AddGroup(&cobra.Group{ID: title, Title: title})
	}
	root.AddCommand(list...)
}

// finish completes a command and those below it. Its Args, or NoArguments without them, are checked before
// the flags that it requires; a command that does nothing by itself prints its help.
func finish(std *Streams, cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		finish(std, sub)
	}
	cmd.SuggestionsMinimumDistance = 2
	makeStrict(cmd, cmd.Flags())
	args := cmd.Args
	if args == nil {
		args = NoArguments
		cmd.ValidArgsFunction = cobra.NoFileCompletions
	}
	cmd.Args = func(cmd *cobra.Command, list []string) error {
		if err := args(cmd, list); err != nil {
			return err
		}
		return requiredFlags(cmd)
	}
	run := cmd.RunE
	if run == nil {
		cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		return
	}
	cmd.Flags().SortFlags = false
	cmd.SetUsageFunc(usage)
	cmd.RunE = func(cmd *cobra.Command, list []string) error {
		if err := kernel.CheckEnvironment(); err != nil {
			return err
		}
		std.settle(cmd.Flags())
		return run(cmd, list)
	}
}

// makeStrict has the flags of a set refuse empty and repeated texts, and lets shells complete their values:
// the words of a value that has a list of them, folders for DIR, files for FILE and PATTERN, and nothing
// else.
func makeStrict(cmd *cobra.Command, flags *pflag.FlagSet) {
	flags.VisitAll(func(f *pflag.Flag) {
		complete := cobra.NoFileCompletions
		if value, ok := f.Value.(interface{ Words() []string }); ok && value.Words() != nil {
			complete = cobra.FixedCompletions(value.Words(), cobra.ShellCompDirectiveNoFileComp)
		}
		f.Value = &strict{Value: f.Value}
		switch name, _ := pflag.UnquoteUsage(f); name {
		case "FILE", "PATTERN": // the default of shells
			return
		case "DIR":
			complete = cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs)
		}
		if err := cmd.RegisterFlagCompletionFunc(f.Name, complete); err != nil {
			panic(err) // two commands share a flag: no test passes
		}
	})
}

// strictTopics lets help and completion refuse words that name no command or shell, as all commands do.
func strictTopics(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		switch cmd.Name() {
		case "help":
			cmd.Args = func(_ *cobra.Command, words []string) error {
				topic, left, err := root.Find(words)
				if err != nil {
					return NoArguments(root, words)
				}
				return NoArguments(topic, left)
			}
		case "completion":
			cmd.Args = NoArguments
			cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
			for _, shell := range cmd.Commands() {
				shell.Args = NoArguments
			}
		}
	}
}

// Require marks flags of a command as required, for its help, too.
func Require(cmd *cobra.Command, names ...string) {
	for _, name := range names {
		f := cmd.Flags().Lookup(name)
		f.Usage += " (required)"
		if err := cmd.MarkFlagRequired(name); err != nil {
			panic(err) // the command has no such flag: no test passes
		}
	}
}

// wrongFlag describes an error in the flags.
func wrongFlag(cmd *cobra.Command, err error) error {
	if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		return WrongValue(invalid.GetFlag().Name, invalid.GetValue(), "%w", invalid.Unwrap())
	}
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok && unknown.GetSpecifiedShortnames() == "" {
		return WrongFlag(unknown.GetSpecifiedName(), "unknown flag %s", see(cmd))
	}
	if bare, ok := errors.AsType[*pflag.ValueRequiredError](err); ok && bare.GetSpecifiedShortnames() == "" {
		return WrongFlag(bare.GetSpecifiedName(), "it needs a value %s", see(cmd))
	}
	return Usagef("%w %s", err, see(cmd))
}

// HelpWidth is the width of all help.
const HelpWidth = 80

// usage prints the usage of a command without subcommands as cobra does, with lines of HelpWidth.
func usage(cmd *cobra.Command) error {
	w := cmd.OutOrStderr()
	fmt.Fprintf(w, "Usage:\n  %s\n", cmd.UseLine())
	if cmd.HasExample() {
		fmt.Fprintf(w, "\nExamples:\n%s\n", cmd.Example)
	}
	for _, list := range []struct {
		title string
		flags *pflag.FlagSet
	}{{"Flags", cmd.LocalFlags()}, {"Flags of all commands", cmd.InheritedFlags()}} {
		fmt.Fprintf(w, "\n%s:\n%s\n", list.title, strings.TrimRight(list.flags.FlagUsagesWrapped(HelpWidth), "\n"))
	}
	return nil
}

// see returns the hint to the help of a command.
func see(cmd *cobra.Command) string { return fmt.Sprintf("(see %q)", cmd.CommandPath()+" --help") }

// NoArguments is the Args of commands that take flags only.
func NoArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if !cmd.HasSubCommands() {
		return Usagef("%s takes no arguments, only flags, but got %q %s", cmd.CommandPath(), args[0], see(cmd))
	}
	hint := see(cmd)
	if name := nearest(args[0], cmd.SuggestionsFor(args[0])); name != "" {
		hint = fmt.Sprintf("(did you mean %q?)", cmd.CommandPath()+" "+name)
	}
	return Usagef("unknown command %.60q %s", args[0], hint)
}

// nearest returns the name in a list that begins with the word or is fewest changes from it. It is empty
// where the whole word would have to change.
func nearest(word string, names []string) (best string) {
	least := utf8.RuneCountInString(word)
	for _, name := range names {
		if strings.HasPrefix(name, word) {
			return name
		}
		if n := changes([]rune(word), []rune(name)); n < least {
			best, least = name, n
		}
	}
	return best
}

// changes returns the number of characters to add, remove or replace between two words.
func changes(a, b []rune) int {
	row := make([]int, len(b)+1) // changes between a beginning of a and every beginning of b
	for j := range row {
		row[j] = j
	}
	for i := range a {
		diagonal := row[0]
		row[0] = i + 1
		for j := range b {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}

// requiredFlags reports required flags that are missing, before the command runs.
func requiredFlags(cmd *cobra.Command) error {
	var missing []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Annotations[cobra.BashCompOneRequiredFlag] != nil && !f.Changed {
			missing = append(missing, f.Name)
		}
	})
	switch len(missing) {
	case 0:
		return nil
	case 1:
		return WrongFlag(missing[0], "it is required %s", see(cmd))
	}
	return WrongFlags(missing[0], "--%s are required %s", strings.Join(missing, " and --"), see(cmd))
}
