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
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"time"
	"unicode"

	"github.com/difalt/difalt/cmd/difalt/internal/options"
	"github.com/difalt/difalt/cmd/difalt/internal/text"
	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/transport"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/kernel/blas"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Exit codes other than 0.
const (
	ExitFailure = 1 // a file, its content, memory or a disk has a fault
	ExitUsage   = 2 // the command line is wrong

	ExitPeer        = 3   // another node of the network failed or sent different totals, or refuses this one
	ExitUnconverged = 5   // the result was written, but has not converged; or the iterations diverged
	ExitInterrupted = 130 // as shells report a program that SIGINT ended
)

func init() {
	// All processes that run commands, tests included, use it: other products have other last digits.
	blas.Use()
	runtime.MemProfileRate = 0 // its table would take 1.5 MB, and no flag reads it
}

// Main runs the command line of the process until it ends or is interrupted, and exits.
func Main(root *cobra.Command) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends a program that does not stop by itself
	os.Exit(Run(ctx, root, os.Args[1:], os.Stdout, os.Stderr))
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
	if end, ok := errors.AsType[*EndError](err); ok && end.Text == "" {
		return end.Code
	}
	return Complain(stderr, root.Name(), err)
}

// Complain prints an error of a program, if there is one, and returns its exit code.
func Complain(stderr io.Writer, program string, err error) int {
	if err == nil {
		return 0
	}
	fmt.Fprintf(stderr, "%s: %s\n", program, sentence(err))
	return ExitCode(err)
}

// packagePrefixes are left out of messages, where an error of a package describes the fault of a flag.
var packagePrefixes = strings.NewReplacer(": difalt: ", ": ", ": consensus: ", ": ", ": topology: ", ": ")

// longestSentence is the number of bytes of an error that are shown.
const longestSentence = 4000

// sentence returns the message of an error as one line of bounded length without control characters. Errors
// of package difalt carry the prefix with which messages of the program begin.
func sentence(err error) string {
	s := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return ' '
		}
		return r
	}, packagePrefixes.Replace(strings.TrimPrefix(err.Error(), "difalt: ")))
	if n := len(s); n > longestSentence { // the middle of a name, most likely
		s = strings.ToValidUTF8(s[:longestSentence/2]+"..."+s[n-longestSentence/2:], "")
	}
	return s
}

// ExitCode returns the exit code for an error of a command.
func ExitCode(err error) int {
	_, usage := errors.AsType[*options.UsageError](err)
	_, peer := errors.AsType[*transport.PeerError](err)
	end, ends := errors.AsType[*EndError](err)
	switch {
	case usage:
		return ExitUsage
	case errors.Is(err, context.Canceled):
		return ExitInterrupted
	case peer || errors.Is(err, consensus.ErrContradiction) || errors.Is(err, consensus.ErrInconsistent):
		return ExitPeer
	case ends:
		return end.Code
	case errors.Is(err, difalt.ErrDiverged):
		return ExitUnconverged
	}
	return ExitFailure
}

// An EndError ends the program with an exit code of its own. Its text is empty if it was printed before.
type EndError struct {
	Code int
	Text string
}

func (e *EndError) Error() string { return e.Text }

// Is reports whether the work was interrupted, for context.Canceled.
func (e *EndError) Is(err error) bool { return e.Code == ExitInterrupted && err == context.Canceled }

// Interrupted describes the files that interrupted work left.
func Interrupted(format string, args ...any) error {
	return &EndError{ExitInterrupted, fmt.Sprintf(format, args...)}
}

// Unconverged describes a result that was written and has not converged.
func Unconverged(format string, args ...any) error {
	return &EndError{ExitUnconverged, fmt.Sprintf(format, args...)}
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

// capitals are those inside the name of a parameter.
var capitals = regexp.MustCompile(`(.)([A-Z])`)

// FlagError turns an error that begins with the name of a parameter into one about the flag of that name, if
// there is one.
func FlagError(f *pflag.FlagSet, err error) error {
	words := strings.TrimPrefix(strings.TrimPrefix(err.Error(), "difalt: "), "the ")
	name := words[:strings.IndexAny(words+" ", " :")]
	if flag := strings.ToLower(capitals.ReplaceAllString(name, "$1-$2")); f.Lookup(flag) != nil {
		return options.Usagef("--%s%s", flag, words[len(name):])
	}
	return err
}

// Program returns a program without commands.
func Program(name, short string) *cobra.Command {
	root := Command(name, short, nil, nil)
	root.Version, root.SilenceUsage, root.SilenceErrors = Version(), true, true
	root.SetFlagErrorFunc(wrongFlag)
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
		return options.Usagef("--%s %w", invalid.GetFlag().Name, invalid.Unwrap())
	}
	return options.Usagef("%w (see %q)", err, cmd.CommandPath()+" --help")
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
		return run(cmd.Context(), Streams{cmd.OutOrStdout(), cmd.ErrOrStderr()})
	}
	if flags != nil {
		cmd.Flags().SortFlags = false
		cmd.Flags().AddFlagSet(flags)
		cmd.SetUsageFunc(usage)
	}
	return cmd
}

// Streams are the standard output and the standard error of a command.
type Streams struct{ Out, Err io.Writer }

// HelpWidth is the width of all help.
const HelpWidth = 80

// usage prints the usage of a command without subcommands as cobra does, with lines of HelpWidth.
func usage(cmd *cobra.Command) error {
	w := cmd.OutOrStderr()
	fmt.Fprintf(w, "Usage:\n  %s\n", cmd.UseLine())
	if cmd.HasExample() {
		fmt.Fprintf(w, "\nExamples:\n%s\n", cmd.Example)
	}
	_, err := fmt.Fprintf(w, "\nFlags:\n%s\n", strings.TrimRight(cmd.LocalFlags().FlagUsagesWrapped(HelpWidth), "\n"))
	return err
}

// noArguments is the Args of commands that take flags only. It reports required flags that are missing, too:
// before the command runs.
func noArguments(cmd *cobra.Command, args []string) error {
	see := fmt.Sprintf("(see %q)", cmd.CommandPath()+" --help")
	if len(args) > 0 && cmd.HasSubCommands() {
		for _, name := range cmd.SuggestionsFor(args[0]) {
			see = fmt.Sprintf("(did you mean %q?)", cmd.CommandPath()+" "+name)
		}
		return options.Usagef("unknown command %q %s", args[0], see)
	}
	if len(args) > 0 {
		return options.Usagef("%s takes no arguments, only flags, but got %q %s", cmd.CommandPath(), args[0], see)
	}
	if err := cmd.ValidateRequiredFlags(); err != nil {
		return options.Usagef("%w %s", err, see)
	}
	return nil
}
