// Package cli is what the commands of all programs here share: help, usage errors, exit codes, and streams
// that an interruption does not block.
package cli

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/difalt/difalt/cmd/difalt/internal/options"
	"github.com/difalt/difalt/cmd/difalt/internal/text"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/kernel/blas"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func init() {
	// All processes that run commands, tests included, use it: other products have other last digits.
	blas.Use()
	runtime.MemProfileRate = 0 // its table would take 1.5 MB, and no flag reads it
}

// Main runs the command line of the process until it ends or is interrupted, and exits.
func Main(root *cobra.Command) {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		cause := context.Canceled
		if <-signals == syscall.SIGTERM {
			cause = errTerminated
		}
		signal.Stop(signals) // a second signal ends a program that does not stop by itself
		cancel(cause)
	}()
	os.Exit(Run(ctx, root, os.Args[1:], os.Stdout, os.Stderr))
}

// errTerminated is the cause of a context that SIGTERM ended.
var errTerminated = errors.New("terminated")

// CodeOf returns the exit code for an error of a command that ran in a context.
func CodeOf(ctx context.Context, err error) int {
	code := ExitCode(err)
	if code == ExitInterrupted && context.Cause(ctx) == errTerminated {
		return ExitTerminated
	}
	return code
}

// Run executes a command line and returns the exit code.
func Run(ctx context.Context, root *cobra.Command, args []string, stdout, stderr io.Writer) int {
	root.SetArgs(append([]string{}, args...)) // nil would stand for the arguments of the process
	late, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(leaveTime, cancel) })()
	out := &reportWriter{late: late, out: stdout}
	root.SetOut(out)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		err = out.err
	}
	// The flags may be what is wrong, so the arguments say how to print the error.
	Complain(stderr, root.Name(), err, slices.Contains(args, "--json") || slices.Contains(args, "--json=true"))
	return CodeOf(ctx, err)
}

// A reportWriter writes to the standard output. It keeps the first error: a report that cannot be printed is
// a failure. A reader of a pipe that stops reading does not block it beyond the end of late.
type reportWriter struct {
	late context.Context // ends leaveTime after the context of the command
	out  io.Writer
	err  error
}

// leaveTime is how long a write may take after an interruption.
const leaveTime = time.Second

func (w *reportWriter) Write(b []byte) (int, error) {
	if w.err != nil {
		return 0, w.err
	}
	content := bytes.Clone(b) // the write may go on after an interruption
	w.err = UntilCanceled(w.late, func() error {
		_, err := w.out.Write(content)
		return err
	})
	if w.late.Err() != nil {
		w.err = Interrupted("interrupted while writing to the standard output")
	} else if w.err != nil {
		w.err = fmt.Errorf("cannot write to the standard output: %w", text.Cause(w.err))
	}
	return len(b), w.err
}

// UntilCanceled does work that does not watch the context. When the context ends, the work goes on in the
// background until the program ends; its results must not be read then.
func UntilCanceled(ctx context.Context, work func() error) error {
	done := make(chan error, 1)
	go func() { done <- work() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return Interrupted("interrupted: nothing was written")
	}
}

// Program returns a program without commands.
func Program(name, short string) *cobra.Command {
	root := Command(name, short, nil, nil)
	root.Version, root.SilenceUsage, root.SilenceErrors = Version(), true, true
	root.SetFlagErrorFunc(wrongFlag)
	addGlobalFlags(root.PersistentFlags())
	completeWords(root, root.PersistentFlags())
	return root
}

// Add adds commands to a program, below a title of its help. The help of a command names the program difalt
// where it shows these commands, and gets the name of this one there.
func Add(root *cobra.Command, title string, list ...*cobra.Command) {
	root.AddGroup(&cobra.Group{ID: title, Title: title})
	var names []string
	for _, cmd := range list {
		names = append(names, "difalt "+cmd.Name(), root.Name()+" "+cmd.Name())
	}
	here := strings.NewReplacer(names...)
	for _, cmd := range list {
		cmd.GroupID, cmd.Long, cmd.Example = title, here.Replace(cmd.Long), here.Replace(cmd.Example)
	}
	root.AddCommand(list...)
}

// wrongFlag describes an error in the flags.
func wrongFlag(cmd *cobra.Command, err error) error {
	if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		value := text.ShellWord(invalid.GetValue())
		if invalid.GetValue() == "" {
			value = "empty"
		}
		return WrongValue(invalid.GetFlag().Name, value, "%w", invalid.Unwrap())
	}
	return Usagef("%w (see %q)", err, cmd.CommandPath()+" --help")
}

// helpTexts describe the commands in lines of HelpWidth; examples follow the line "Examples:".
//
//go:embed help
var helpTexts embed.FS

// Command returns a command that takes flags only, or subcommands if it has no flags. Its help is the text
// of its name.
func Command(use, short string, flags *pflag.FlagSet, run func(ctx context.Context, std Streams) error) *cobra.Command {
	name, _, _ := strings.Cut(use, " ")
	help, err := helpTexts.ReadFile("help/" + name + ".txt")
	if err != nil {
		panic(err) // a command without a text: no test passes
	}
	long, examples, _ := strings.Cut(strings.TrimSuffix(string(help), "\n"), "\n\nExamples:\n")
	cmd := &cobra.Command{Use: use, Short: short, Long: long, Example: examples, Args: noArguments, SuggestionsMinimumDistance: 2}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if run == nil {
			return cmd.Help()
		}
		if err := kernel.CheckEnvironment(); err != nil {
			return err
		}
		std, err := streamsOf(cmd)
		if err != nil {
			return err
		}
		return run(cmd.Context(), std)
	}
	if flags != nil {
		cmd.Flags().SortFlags = false
		cmd.Flags().AddFlagSet(flags)
		cmd.SetUsageFunc(usage)
		completeWords(cmd, flags)
	}
	return cmd
}

// completeWords lets shells complete the values of flags that have a list of words.
func completeWords(cmd *cobra.Command, flags *pflag.FlagSet) {
	flags.VisitAll(func(f *pflag.Flag) {
		value, ok := f.Value.(*options.Value)
		if !ok || value.Words() == nil {
			return
		}
		list := cobra.FixedCompletions(value.Words(), cobra.ShellCompDirectiveNoFileComp)
		if err := cmd.RegisterFlagCompletionFunc(f.Name, list); err != nil {
			panic(err) // two commands share a flag: no test passes
		}
	})
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

// noArguments is the Args of commands that take flags only. It reports required flags that are missing, too:
// before the command runs.
func noArguments(cmd *cobra.Command, args []string) error {
	see := fmt.Sprintf("(see %q)", cmd.CommandPath()+" --help")
	if len(args) > 0 && cmd.HasSubCommands() {
		for _, name := range cmd.SuggestionsFor(args[0]) {
			see = fmt.Sprintf("(did you mean %q?)", cmd.CommandPath()+" "+name)
		}
		return Usagef("unknown command %q %s", args[0], see)
	}
	if len(args) > 0 {
		return Usagef("%s takes no arguments, only flags, but got %q %s", cmd.CommandPath(), args[0], see)
	}
	if err := cmd.ValidateRequiredFlags(); err != nil {
		return Usagef("%w %s", err, see)
	}
	return nil
}
