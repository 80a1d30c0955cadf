// The difalt command reproduces the paper's experiments on synthetic data and
// fits, applies and extends shared representations on tables of many small
// regression tasks. Run "difalt help" for examples.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/kernel"
	"github.com/spf13/pflag"
)

// Exit codes other than 0.
const (
	exitFailure     = 1
	exitUsage       = 2
	exitPeer        = 3   // another node of the network has failed, or refuses this one
	exitInterrupted = 130 // as shells report a program that SIGINT ended
)

func main() {
	kernel.UseOpenBLAS()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// After the first signal the default comes back, so that a second one ends a
	// program that does not stop by itself.
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run executes the command line and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	root := newRootCommand()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	// Errors of package difalt carry the same prefix.
	fmt.Fprintf(stderr, "difalt: %s\n", strings.TrimPrefix(err.Error(), "difalt: "))
	var usage *usageError
	var peer *consensus.PeerError
	switch {
	case errors.As(err, &usage):
		return exitUsage
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	case errors.As(err, &peer):
		return exitPeer
	}
	return exitFailure
}

// A usageError is a mistake in the command line: it ends the program with
// exitUsage.
type usageError struct{ error }

func (e *usageError) Unwrap() error { return e.error }

// usagef returns a usageError.
func usagef(format string, args ...any) error {
	return &usageError{fmt.Errorf(format, args...)}
}

// flagError turns an error about a parameter, which it starts with, into one about
// the flag of the same name.
func flagError(f *pflag.FlagSet, err error) error {
	name := strings.TrimSuffix(strings.Fields(err.Error())[0], ":")
	if f.Lookup(name) != nil {
		return usagef("--%w", err)
	}
	return &usageError{err}
}
