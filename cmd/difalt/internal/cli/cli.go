// Package cli is what the commands of all programs here share: help, usage errors, exit codes, values of
// flags, and streams that an interruption does not block.
package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"syscall"
	"time"

	"github.com/difalt/difalt/cmd/difalt/internal/text"
	"github.com/difalt/difalt/internal/fault"
	"github.com/difalt/difalt/kernel/blas"
	"github.com/spf13/cobra"
)

func init() {
	// All processes that run commands, tests included, use it: other products have other last digits.
	blas.Use()
	runtime.MemProfileRate = 0 // its table would take 1.5 MB, and no flag reads it
}

// A NewProgram returns the root of the commands of a program, which write to the streams.
type NewProgram func(std *Streams) *cobra.Command

// Main runs the command line of the process until it ends or is interrupted, and exits.
func Main(program NewProgram) {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // nohup has its processes ignore it
		signal.Notify(signals, syscall.SIGHUP)
	}
	go func() {
		cause := context.Canceled
		switch <-signals {
		case syscall.SIGTERM:
			cause = errTerminated
		case syscall.SIGHUP:
			cause = errHungUp
		}
		signal.Stop(signals) // a second signal ends a program that does not stop by itself
		cancel(cause)
	}()
	os.Exit(Run(ctx, program, os.Args[1:], os.Stdout, os.Stderr))
}

// errTerminated and errHungUp are the causes of contexts that SIGTERM and SIGHUP ended.
var (
	errTerminated = errors.New("terminated")
	errHungUp     = errors.New("hung up")
)

// CodeOf returns the exit code for an error of a command that ran in a context.
func CodeOf(ctx context.Context, err error) int {
	code := ExitCode(err)
	if code != ExitInterrupted {
		return code
	}
	switch context.Cause(ctx) {
	case errTerminated:
		return ExitTerminated
	case errHungUp:
		return ExitHungUp
	}
	return code
}

// Run executes a command line and returns the exit code.
func Run(ctx context.Context, program NewProgram, args []string, stdout, stderr io.Writer) int {
	late, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(leaveTime, cancel) })()
	out := &reportWriter{late: late, out: stdout}
	root := program(&Streams{Out: out, Err: stderr})
	root.SetArgs(append([]string{}, args...)) // nil would stand for the arguments of the process
	root.SetOut(out)
	root.SetErr(stderr)
	strictTopics(root)
	err := execute(ctx, root)
	if err == nil {
		err = out.err
	}
	// The flags may be wrong, so the arguments decide how to print the error.
	code := CodeOf(ctx, err)
	asJSON := slices.Contains(args, "--json") || slices.Contains(args, "--json=true")
	Complain(stderr, root.Name(), err, code, asJSON)
	return code
}

// execute runs the command. A panic becomes an error.
func execute(ctx context.Context, root *cobra.Command) (err error) {
	defer func() {
		if p := fault.Of(recover()); p != nil {
			err = p
		}
	}()
	return root.ExecuteContext(ctx)
}

// A reportWriter writes to the standard output. It keeps the first error: a report that cannot be printed is
// a failure. A blocked pipe delays the end of the program until late ends.
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
// background until the program ends; its results must not be read then. A panic of the work becomes an error.
func UntilCanceled(ctx context.Context, work func() error) error {
	done := make(chan error, 1)
	go func() {
		defer func() {
			if p := fault.Of(recover()); p != nil {
				done <- p
			}
		}()
		done <- work()
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return Interrupted("interrupted: nothing was written")
	}
}
