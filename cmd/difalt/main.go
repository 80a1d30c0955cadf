// The difalt command reproduces the paper's experiments on synthetic data and fits, applies and extends
// linear mixed models on tables of many small regression tasks, for one owner or several. Run "difalt help"
// for examples.
package main

import (
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
	"unicode"

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
	exitFailure     = 1   // a file, its content, memory or a disk has a fault
	exitUsage       = 2   // the command line is wrong
	exitPeer        = 3   // another node of the network failed or sent different totals, or refuses this one
	exitUnconverged = 5   // the result was written, but has not converged; or the iterations diverged
	exitInterrupted = 130 // as shells report a program that SIGINT ended
)

func init() {
	kernel.UseBLAS()           // in all processes that run commands, tests included: other products have other last digits
	runtime.MemProfileRate = 0 // its table would take 1.5 MB, and no flag reads it
}

func main() {
	os.Exit(run(untilSignal(), os.Args[1:], os.Stdout, os.Stderr))
}

// untilSignal returns a context that ends with SIGINT or SIGTERM. After the first signal the default comes
// back, so that a second one ends a program that does not stop by itself.
func untilSignal() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		signal.Stop(signals)
		cancel()
	}()
	return ctx
}

// run executes the command line and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	root := newRootCommand()
	root.SetArgs(append([]string{}, args...)) // nil would stand for the arguments of the process
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
	return complain(stderr, err)
}

// complain prints an error, if there is one, and returns its exit code.
func complain(stderr io.Writer, err error) int {
	if err == nil {
		return 0
	}
	fmt.Fprintf(stderr, "difalt: %s\n", sentence(err))
	return exitCode(err)
}

// sentence returns the message of an error as one line of bounded length without control characters. Errors
// of package difalt carry the prefix with which messages of the program begin.
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

// packagePrefixes are left out where an error of a package describes the fault of a flag.
var packagePrefixes = strings.NewReplacer(": difalt: ", ": ", ": consensus: ", ": ", ": topology: ", ": ")

// longestSentence is the number of bytes of an error that are shown.
const longestSentence = 4000

// exitCode returns the exit code for an error of a command.
func exitCode(err error) int {
	var usage *options.UsageError
	var peer *wire.PeerError
	var unconverged unconvergedError
	switch {
	case errors.As(err, &usage):
		return exitUsage
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	case errors.As(err, &peer), errors.Is(err, wire.ErrContradiction), errors.Is(err, wire.ErrInconsistent):
		return exitPeer
	case errors.As(err, &unconverged), errors.Is(err, difalt.ErrDiverged):
		return exitUnconverged
	}
	return exitFailure
}

// An interrupted describes the files that interrupted work left.
type interrupted string

func (e interrupted) Error() string { return string(e) }

func (e interrupted) Unwrap() error { return context.Canceled }

// An unconvergedError describes a result that was written and has not converged.
type unconvergedError string

func (e unconvergedError) Error() string { return string(e) }

// A reportedError has been reported.
type reportedError struct{ code int }

func (e *reportedError) Error() string { return fmt.Sprintf("exit code %d", e.code) }

// A checkedWriter keeps the first error of the writer behind it: a report that cannot be printed is a
// failure.
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

// Behind returns the writer behind it, which may be a terminal with a width.
func (w *checkedWriter) Behind() io.Writer { return w.out }

// untilCanceled does work that does not watch the context. When the context ends, the work goes on in the
// background until the program ends.
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
		return result, interrupted("interrupted: nothing was written")
	}
}

// flagError turns an error about a parameter, which begins with its name, into one about the flag of that
// name.
func flagError(f *pflag.FlagSet, err error) error {
	name := strings.TrimSuffix(strings.Fields(err.Error())[0], ":")
	if f.Lookup(name) != nil {
		return options.Usagef("--%w", err)
	}
	return &options.UsageError{Err: err}
}

// helpWidth is the width of all help.
const helpWidth = 80

func newRootCommand() *cobra.Command {
	help := func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	root := newCommand("difalt", "Decentralised multi-task representation learning", nil, help)
	root.SuggestionsMinimumDistance = 2
	root.Version, root.SilenceUsage, root.SilenceErrors, root.Args = version(), true, true, knownCommand
	root.SetFlagErrorFunc(wrongFlag)
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages", fmt.Sprintf(".FlagUsagesWrapped %d", helpWidth)))
	root.SetVersionTemplate("difalt {{.Version}}\n")
	root.AddGroup(&cobra.Group{ID: groupOne, Title: "One table:"}, &cobra.Group{ID: groupOwners, Title: "Tables of several owners:"},
		&cobra.Group{ID: groupPaper, Title: "The paper's algorithm:"})
	for group, list := range map[string][]*cobra.Command{
		groupOne:    {newFitCommand(), newPredictCommand(), newAdaptCommand(), newModelCommand()},
		groupOwners: {newClusterCommand(), newNodeCommand(), newUpCommand()},
		groupPaper:  {newSimulateCommand(), newResultsCommand(), newRunCommand()},
		"":          {newInfoCommand()},
	} {
		for _, cmd := range list {
			cmd.GroupID = group
			root.AddCommand(cmd)
		}
	}
	return root
}

// The groups of commands on the first screen of the help.
const (
	groupOne    = "one"
	groupOwners = "owners"
	groupPaper  = "paper"
)

// wantedOf describes the values of the types of flags.
var wantedOf = map[string]string{
	"int": "a whole number", "uint64": "a whole number from 0 to 18446744073709551615", "float64": "a number",
	"duration": "a time such as 90s or 1h30m", "bool": "true or false",
}

// wrongFlag describes an error in the flags.
func wrongFlag(cmd *cobra.Command, err error) error {
	var invalid *pflag.InvalidValueError
	switch {
	case !errors.As(err, &invalid):
	case errors.Is(err, errTwice):
		return options.Usagef("--%s is given twice, as %q the second time: give it once", invalid.GetFlag().Name, invalid.GetValue())
	case errors.Is(err, errEmpty):
		return options.Usagef("--%s is empty: leave it out, or give it a value", invalid.GetFlag().Name)
	case wantedOf[invalid.GetFlag().Value.Type()] != "":
		return options.Usagef("--%s is %q: want %s", invalid.GetFlag().Name, invalid.GetValue(), wantedOf[invalid.GetFlag().Value.Type()])
	}
	return options.Usagef("%w (see %q)", err, cmd.CommandPath()+" --help")
}

// helpTexts describe the commands in lines of helpWidth; examples follow the line "Examples:".
//
//go:embed help
var helpTexts embed.FS

// newCommand returns a command that takes flags only. Its help is the text of its name. An empty value of a
// flag, and a flag that is given twice, are errors.
func newCommand(use, short string, flags *pflag.FlagSet, run func(cmd *cobra.Command, args []string) error) *cobra.Command {
	name, _, _ := strings.Cut(use, " ")
	help, err := helpTexts.ReadFile("help/" + name + ".txt")
	if err != nil {
		panic(err) // a command without a text: no test passes
	}
	long, examples, _ := strings.Cut(strings.TrimSuffix(string(help), "\n"), "\n\nExamples:\n")
	cmd := &cobra.Command{Use: use, Short: short, Long: long, Example: examples, Args: noArguments, RunE: run}
	cmd.Flags().SortFlags = false
	if flags != nil {
		cmd.Flags().AddFlagSet(flags)
		flags.VisitAll(func(f *pflag.Flag) {
			f.Value = &onceValue{Value: f.Value}
			if f.DefValue == "[]" {
				f.DefValue = "" // pflag leaves it out of the help
			}
		})
	}
	return cmd
}

// Faults of a value that flags of all types refuse.
var (
	errTwice = errors.New("it is given twice")
	errEmpty = errors.New("it is empty")
)

// A onceValue is the value of a flag that is set at most once, and never to an empty text or to a list with
// an empty entry.
type onceValue struct {
	pflag.Value
	set bool
}

// Set implements pflag.Value. Shells leave an empty text where a variable is not set.
func (v *onceValue) Set(s string) error {
	switch isList := v.Type() == "stringSlice"; {
	case s == "", isList && slices.Contains(strings.Split(s, ","), ""):
		return errEmpty
	case v.set && !isList:
		return errTwice
	}
	v.set = true
	return v.Value.Set(s)
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
	return options.Usagef("unknown command %q%s (see %q)", args[0], hint, cmd.CommandPath()+" --help")
}

// noArguments is the Args of commands that take flags only.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return options.Usagef("%s takes no arguments, only flags, but got %q", cmd.CommandPath(), args[0])
	}
	return nil
}
