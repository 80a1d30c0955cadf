// The difalt command reproduces the paper's experiments on synthetic data and
// fits, applies and extends shared representations on tables of many small
// regression tasks. Run "difalt help" for examples.
package main

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"unicode"

	"github.com/difalt/difalt/cmd/difalt/internal/federate"
	"github.com/difalt/difalt/cmd/difalt/internal/memory"
	"github.com/difalt/difalt/cmd/difalt/internal/options"
	"github.com/difalt/difalt/cmd/difalt/internal/text"
	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/kernel"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Exit codes other than 0.
const (
	exitFailure     = 1   // a file, its content, memory or a disk is not as needed
	exitUsage       = 2   // the command line is wrong
	exitPeer        = 3   // another node of the network has failed, or refuses this one
	exitDiverged    = 4   // the iterations diverged
	exitInterrupted = 130 // as shells report a program that SIGINT ended
	exitTerminated  = 143 // and one that SIGTERM ended
)

func init() {
	kernel.UseBLAS()           // in all processes that run commands, tests among them: products by other means have other last digits
	runtime.MemProfileRate = 0 // its table would take 1.5 MB, and nobody can ask for it
}

func main() {
	os.Exit(run(untilSignal(), os.Args[1:], os.Stdout, os.Stderr))
}

// errTerminated is the cause of a context that SIGTERM ended.
var errTerminated = errors.New("terminated")

// untilSignal returns a context that ends with SIGINT or SIGTERM. After the first signal
// the default comes back, so that a second one ends a program that does not stop by
// itself.
func untilSignal() context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		s := <-signals
		signal.Stop(signals)
		if s == syscall.SIGTERM {
			cancel(errTerminated)
			return
		}
		cancel(nil)
	}()
	return ctx
}

// run executes the command line and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	root := newRootCommand()
	root.SetArgs(args)
	out := &checkedWriter{out: stdout}
	root.SetOut(out)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		err = out.err
	}
	if reported, ok := errors.AsType[*reportedError](err); ok {
		return reported.code
	}
	return complain(ctx, stderr, err)
}

// complain says what went wrong, if anything did, and returns the exit code for it.
func complain(ctx context.Context, stderr io.Writer, err error) int {
	if err == nil {
		return 0
	}
	fmt.Fprintf(stderr, "difalt: %s\n", sentence(err))
	return exitCode(ctx, err)
}

// sentence returns the message of an error as one line that a terminal can show, and a reader: names of files and
// columns may be of any length. Errors of package difalt carry the prefix that messages of the program begin with.
func sentence(err error) string {
	s := strings.TrimPrefix(err.Error(), "difalt: ")
	s = packagePrefixes.Replace(s)
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return ' '
		}
		return r
	}, s)
	if len(s) > longestSentence { // the middle of a name, most likely
		s = strings.ToValidUTF8(s[:longestSentence/2], "") + "..." + strings.ToValidUTF8(s[len(s)-longestSentence/2:], "")
	}
	return s
}

// packagePrefixes are left out where an error of a package says what is wrong with a flag.
var packagePrefixes = strings.NewReplacer(": difalt: ", ": ", ": consensus: ", ": ", ": topology: ", ": ")

// longestSentence is about how many bytes of an error are shown.
const longestSentence = 4000

// exitCode returns the exit code for an error of a command.
func exitCode(ctx context.Context, err error) int {
	var usage *options.UsageError
	var peer *wire.PeerError
	var child *childError
	switch {
	case errors.As(err, &usage):
		return exitUsage
	case errors.As(err, &child):
		return child.code
	case errors.Is(err, context.Canceled) && errors.Is(context.Cause(ctx), errTerminated):
		return exitTerminated
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	case errors.As(err, &peer), errors.Is(err, wire.ErrUntrue):
		return exitPeer
	case errors.Is(err, difalt.ErrDiverged):
		return exitDiverged
	}
	return exitFailure
}

// A checkedWriter remembers the first error of the writer behind it: a report that
// nobody can read is a failure, wherever it is printed.
type checkedWriter struct {
	out io.Writer
	err error
}

func (w *checkedWriter) Write(b []byte) (int, error) {
	n, err := w.out.Write(b)
	if err != nil && w.err == nil {
		w.err = fmt.Errorf("cannot write to the standard output: %w", text.Cause(err))
	}
	return n, err
}

// Behind returns the writer behind it, for those who ask how wide a terminal is.
func (w *checkedWriter) Behind() io.Writer { return w.out }

// untilCanceled does work that does not watch the context. When that ends, the work is
// left behind: the program ends, too.
func untilCanceled[T any](ctx context.Context, work func() (T, error)) (result T, err error) {
	done := make(chan struct{})
	var late T
	var lateErr error
	go func() {
		defer close(done)
		late, lateErr = work()
	}()
	select {
	case <-done:
		return late, lateErr
	case <-ctx.Done():
		return result, federate.Interrupted("interrupted: nothing was written")
	}
}

// A reportedError has been reported.
type reportedError struct{ code int }

func (e *reportedError) Error() string { return fmt.Sprintf("exit code %d", e.code) }

// flagError turns an error about a parameter, which it starts with, into one about
// the flag of the same name.
func flagError(f *pflag.FlagSet, err error) error {
	name := strings.TrimSuffix(strings.Fields(err.Error())[0], ":")
	if f.Lookup(name) != nil {
		return options.Usagef("--%w", err)
	}
	return &options.UsageError{Err: err}
}

// wantedOf says what a flag of a type takes.
var wantedOf = map[string]string{
	"int": "a whole number", "uint64": "a whole number from 0 to 18446744073709551615", "float64": "a number", "duration": "a time such as 90s or 1h30m",
}

// helpWidth is the width of all help.
const helpWidth = 80

func newRootCommand() *cobra.Command {
	root := newCommand("difalt", "Decentralised multi-task representation learning", nil, func(cmd *cobra.Command, _ []string) error { return cmd.Help() })
	root.Version, root.SilenceUsage, root.SilenceErrors, root.Args = version(), true, true, knownCommand
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		var invalid *pflag.InvalidValueError
		if errors.As(err, &invalid) && wantedOf[invalid.GetFlag().Value.Type()] != "" {
			return options.Usagef("--%s is %q: want %s", invalid.GetFlag().Name, invalid.GetValue(), wantedOf[invalid.GetFlag().Value.Type()])
		}
		return options.Usagef("%w (see %q)", err, cmd.CommandPath()+" --help")
	})
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages", fmt.Sprintf(".FlagUsagesWrapped %d", helpWidth)))
	root.SetVersionTemplate("difalt {{.Version}}\n")
	root.AddCommand(newSimulateCommand(), newSimulateNodeCommand(), newResultsCommand(), newDescribeCommand(), newFitCommand(), newPredictCommand(), newAdaptCommand(), newModelCommand(), newClusterCommand(), newNodeCommand(), newUpCommand(), newPlanCommand(), newInfoCommand())
	root.SetGlobalNormalizationFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		return pflag.NormalizedName(cmp.Or(formerNames[name], name))
	})
	return root
}

// helpTexts say what a command does, in lines of helpWidth; its examples stand after the line "Examples:".
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
		if err := checkEmpty(cmd.Flags()); err != nil {
			return err
		}
		return run(cmd, args)
	}}
	cmd.Flags().SortFlags = false
	cmd.Flags().AddFlagSet(flags)
	return cmd
}

// checkEmpty refuses an empty text, as a variable of a shell that is not set leaves it: a model would not be written.
func checkEmpty(flags *pflag.FlagSet) (err error) {
	flags.Visit(func(f *pflag.Flag) {
		if f.Value.Type() == "string" && f.Value.String() == "" && f.DefValue == "" {
			err = cmp.Or(err, options.Usagef("--%s is empty: leave it out, or say what it is", f.Name))
		}
	})
	return err
}

// formerNames are those that flags had before, by which they can be given, too.
var formerNames = map[string]string{"methods": "method", "stderr": "standard-errors"}

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
