// The difalt command reproduces the paper's experiments on synthetic data and fits, applies and extends
// linear mixed models on tables of many small regression tasks, for one owner or several. Run "difalt help"
// for examples.
package main

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"time"
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
	exitFailure = 1 // a file, its content, memory or a disk has a fault
	exitUsage   = 2 // the command line is wrong

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
	out := &reportWriter{ctx: ctx, out: stdout}
	root.SetOut(out)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		err = out.err
	}
	if end, ok := errors.AsType[*endError](err); ok && end.text == "" {
		return end.code
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
	var end *endError
	switch {
	case errors.As(err, &usage):
		return exitUsage
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	case errors.As(err, &peer), errors.Is(err, wire.ErrContradiction), errors.Is(err, wire.ErrInconsistent):
		return exitPeer
	case errors.As(err, &end):
		return end.code
	case errors.Is(err, difalt.ErrDiverged):
		return exitUnconverged
	}
	return exitFailure
}

// An endError ends the program with an exit code of its own.
type endError struct {
	code int
	text string // empty if it was printed before
}

func (e *endError) Error() string { return e.text }

// Unwrap returns context.Canceled for interrupted work.
func (e *endError) Unwrap() error {
	if e.code == exitInterrupted {
		return context.Canceled
	}
	return nil
}

// interrupted describes the files that interrupted work left.
func interrupted(format string, args ...any) error {
	return &endError{exitInterrupted, fmt.Sprintf(format, args...)}
}

// unconverged describes a result that was written and has not converged.
func unconverged(format string, args ...any) error {
	return &endError{exitUnconverged, fmt.Sprintf(format, args...)}
}

// A reportWriter writes to the standard output. It keeps the first error: a report that cannot be printed is
// a failure. A reader of a pipe that stops reading does not block it beyond the end of ctx.
type reportWriter struct {
	ctx context.Context
	out io.Writer
	err error
}

// leaveTime is how long a write may take after ctx has ended.
const leaveTime = time.Second

func (w *reportWriter) Write(b []byte) (int, error) {
	if w.err != nil {
		return 0, w.err
	}
	late, cancel := context.WithCancel(context.WithoutCancel(w.ctx))
	defer cancel()
	stop := context.AfterFunc(w.ctx, func() { time.AfterFunc(leaveTime, cancel) })
	defer stop()
	content := bytes.Clone(b)
	w.err = untilCanceled(late, func() error {
		_, err := w.out.Write(content)
		return err
	})
	if late.Err() != nil {
		w.err = interrupted("interrupted while writing to the standard output")
	} else if w.err != nil {
		w.err = fmt.Errorf("cannot write to the standard output: %w", text.Cause(w.err))
	}
	if w.err != nil {
		return 0, w.err
	}
	return len(b), nil
}

// Behind returns the writer behind it, which may be a terminal with a width.
func (w *reportWriter) Behind() io.Writer { return w.out }

// untilCanceled does work that does not watch the context. When the context ends, the work goes on in the
// background until the program ends; its results must not be read then.
func untilCanceled(ctx context.Context, work func() error) error {
	done := make(chan error, 1)
	go func() { done <- work() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return interrupted("interrupted: nothing was written")
	}
}

// capitals are those inside the name of a parameter.
var capitals = regexp.MustCompile(`(.)([A-Z])`)

// flagError turns an error that begins with the name of a parameter into one about the flag of that name, if
// there is one.
func flagError(f *pflag.FlagSet, err error) error {
	name, rest, _ := strings.Cut(strings.TrimPrefix(err.Error(), "difalt: "), " ")
	parameter := strings.TrimSuffix(name, ":")
	if flag := strings.ToLower(capitals.ReplaceAllString(parameter, "$1-$2")); f.Lookup(flag) != nil {
		return options.Usagef("--%s%s %s", flag, name[len(parameter):], rest)
	}
	return err
}

func newRootCommand() *cobra.Command {
	root := newCommand("difalt", "Decentralised multi-task representation learning", nil, nil)
	root.Version, root.SilenceUsage, root.SilenceErrors = version(), true, true
	root.SetFlagErrorFunc(wrongFlag)
	for _, group := range []struct {
		title string
		list  []*cobra.Command
	}{
		{"One table:", []*cobra.Command{newFitCommand(), newPredictCommand(), newAdaptCommand(), newModelCommand()}},
		{"Tables of several owners:", []*cobra.Command{newClusterCommand(), newNodeCommand(), newUpCommand()}},
		{"The paper's algorithm:", []*cobra.Command{newSimulateCommand(), newResultsCommand(), newRunCommand()}},
	} {
		root.AddGroup(&cobra.Group{ID: group.title, Title: group.title})
		for _, cmd := range group.list {
			cmd.GroupID = group.title
			root.AddCommand(cmd)
		}
	}
	root.AddCommand(newInfoCommand())
	return root
}

// wrongFlag describes an error in the flags.
func wrongFlag(cmd *cobra.Command, err error) error {
	if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		return options.Usagef("--%s %w", invalid.GetFlag().Name, invalid.Unwrap())
	}
	return options.Usagef("%w (see %q)", err, cmd.CommandPath()+" --help")
}

// helpTexts describe the commands in lines of helpWidth; examples follow the line "Examples:".
//
//go:embed help
var helpTexts embed.FS

// newCommand returns a command that takes flags only, or subcommands if it has no flags. Its help is the text
// of its name.
func newCommand(use, short string, flags *pflag.FlagSet, run func(ctx context.Context, std streams) error) *cobra.Command {
	name, _, _ := strings.Cut(use, " ")
	help, err := helpTexts.ReadFile("help/" + name + ".txt")
	if err != nil {
		panic(err) // a command without a text: no test passes
	}
	long, examples, _ := strings.Cut(strings.TrimSuffix(string(help), "\n"), "\n\nExamples:\n")
	cmd := &cobra.Command{Use: use, Short: short, Long: long, Example: examples, Args: knownCommand, SuggestionsMinimumDistance: 2}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if run == nil {
			return cmd.Help()
		}
		return run(cmd.Context(), streams{cmd.OutOrStdout(), cmd.ErrOrStderr()})
	}
	if flags != nil {
		cmd.Args = noArguments
		cmd.Flags().SortFlags = false
		cmd.Flags().AddFlagSet(flags)
		cmd.SetUsageFunc(usage)
	}
	return cmd
}

// streams are the standard output and the standard error of a command.
type streams struct{ out, err io.Writer }

// newTableCommand returns a command of the table of flags, which run reads after they were checked.
func newTableCommand(c options.Command, use, short string,
	run func(ctx context.Context, f *options.Flags, std streams) error) *cobra.Command {
	f := options.New(c)
	return newCommand(use, short, f.Set, func(ctx context.Context, std streams) error {
		if err := f.Resolve(); err != nil {
			return err
		}
		return run(ctx, f, std)
	})
}

// helpWidth is the width of all help.
const helpWidth = 80

// usage prints the usage of a command without subcommands as cobra does, with lines of helpWidth.
func usage(cmd *cobra.Command) error {
	w := cmd.OutOrStderr()
	fmt.Fprintf(w, "Usage:\n  %s\n", cmd.UseLine())
	if cmd.HasExample() {
		fmt.Fprintf(w, "\nExamples:\n%s\n", cmd.Example)
	}
	_, err := fmt.Fprintf(w, "\nFlags:\n%s\n", strings.TrimRight(cmd.LocalFlags().FlagUsagesWrapped(helpWidth), "\n"))
	return err
}

// knownCommand reports a word that is not a subcommand.
func knownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var proposals []string
	for _, name := range cmd.SuggestionsFor(args[0]) {
		proposals = append(proposals, cmd.CommandPath()+" "+name)
	}
	switch _, err := os.Stat(args[0]); {
	case err != nil && !options.IsProblem(args[0]):
	case cmd.Name() == "model":
		proposals = []string{"difalt model show " + text.ShellWord(args[0])}
	case !cmd.HasParent():
		proposals = []string{"difalt fit --data " + text.ShellWord(args[0])}
	}
	if proposals != nil {
		return options.Usagef("unknown command %q: did you mean %q?", args[0], strings.Join(proposals, " or "))
	}
	return options.Usagef("unknown command %q (see %q)", args[0], cmd.CommandPath()+" --help")
}

// noArguments is the Args of commands that take flags only. It reports required flags that are missing, too:
// before the command runs.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		hint := ""
		if f := cmd.Flags().Lookup("data"); f != nil && !f.Changed {
			hint = fmt.Sprintf(": did you mean \"%s --data %s\"?", cmd.CommandPath(), text.ShellWord(args[0]))
		}
		return options.Usagef("%s takes no arguments, only flags, but got %q%s", cmd.CommandPath(), args[0], hint)
	}
	if err := cmd.ValidateRequiredFlags(); err != nil {
		return options.Usagef("%w (see %q)", err, cmd.CommandPath()+" --help")
	}
	return nil
}
