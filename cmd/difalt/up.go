package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/difalt/difalt/cmd/difalt/engine/cluster"
	"github.com/difalt/difalt/cmd/difalt/internal/federate"
	"github.com/difalt/difalt/cmd/difalt/internal/options"
	"github.com/difalt/difalt/cmd/difalt/internal/report"
	"github.com/difalt/difalt/cmd/difalt/internal/terminal"
	"github.com/difalt/difalt/cmd/difalt/internal/text"
	"github.com/difalt/difalt/topology"
	"github.com/spf13/cobra"
)

type upFlags struct{ *options.Flags }

func newUpCommand() *cobra.Command {
	f := &upFlags{options.New(options.Up)}
	return newCommand("up --data PATTERN", "Train on this machine with one process per file", f.Set, func(cmd *cobra.Command, _ []string) error {
		if err := f.Resolve(); err != nil {
			return err
		}
		return f.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
	})
}

// files returns the table of every node, and the names of the nodes.
func (f *upFlags) files() (paths, names []string, err error) {
	if paths, err = filepath.Glob(f.Files.Data); err != nil {
		return nil, nil, options.Usagef("--data: %q is not a pattern of file names: %w", f.Files.Data, err)
	}
	if len(paths) < 2 {
		return nil, nil, options.Usagef("--data: %s for %q: up needs a file for each of at least two nodes", text.Plural(len(paths), "file"), f.Files.Data)
	}
	if f.Files.Model == stdio {
		return nil, nil, options.Usagef("--model is the standard output, but every node has a model of its own: name a file")
	}
	if f.Changed("processes") && f.Processes != len(paths) {
		return nil, nil, options.Usagef("--processes is %d, but %q is %d files: need one a node", f.Processes, f.Files.Data, len(paths))
	}
	seen := map[string]string{}
	for _, path := range paths {
		name, _, _ := strings.Cut(filepath.Base(path), ".")
		if other, twice := seen[name]; twice {
			return nil, nil, options.Usagef("--data: %s and %s would both be node %q", other, path, name)
		}
		seen[name] = path
		names = append(names, name)
	}
	return paths, names, nil
}

func (f *upFlags) run(ctx context.Context, stdout, stderr io.Writer) error {
	paths, names, err := f.files()
	if err != nil {
		return err
	}
	graph, err := topology.Parse(f.Graph, len(paths), f.Config.Options.Seed)
	if err != nil {
		return options.Usagef("--graph: %w", err)
	}
	local, err := federate.NewLocal(len(paths))
	if err != nil {
		return err
	}
	defer local.Close()
	c, keys, err := cluster.New(names, local.Addresses, graph, f.Rule.String())
	if err != nil {
		return options.Usagef("--data, --graph and --weights: %w", err)
	}
	if err := local.Write(c, keys); err != nil {
		return err
	}
	var said []string
	if !f.Config.Auto {
		said = report.Seen(&f.Config.Options, f.Config.Privacy, len(names))
	}
	for _, sentence := range said {
		terminal.Sayf(stderr, "%s", sentence)
	}
	var children []*federate.Child
	for i, name := range names {
		args := f.arguments(name, paths[i], len(names))
		if i > 0 { // the report of the first is shown
			args = append(args, "--no-report")
		}
		child := local.Child(i, name, "node", args...)
		if f.Checkpoints.Folder != "" {
			child.Restarts = maxRestarts
		}
		children = append(children, child)
	}
	ends, err := federate.RunChildren(ctx, children, federate.NewBoard(stderr, names))
	if err != nil {
		return err
	}
	for _, e := range ends {
		for _, warning := range e.Warnings {
			if !slices.Contains(said, warning) {
				terminal.Sayf(stderr, "%s: %s", e.Name, warning)
			}
		}
	}
	return f.outcome(stdout, ends)
}

// maxRestarts is how often a process that was killed is started again.
const maxRestarts = 5

// arguments returns what a node is told beside who it is.
func (f *upFlags) arguments(name, path string, nodes int) []string {
	args := []string{"--data", path, "--log", "json", "--log-every", "250ms", "--until-eof"}
	args = append(args, f.Arguments(options.Node, "data", "graph", "weights", "model")...) // the graph is in cluster.json
	if f.Files.Model != "" {
		args = append(args, "--model="+modelOf(f.Files.Model, name))
	}
	if !f.Changed("workers") {
		args = append(args, fmt.Sprintf("--workers=%d", max(1, runtime.GOMAXPROCS(0)/nodes)))
	}
	return args
}

func modelOf(path, name string) string {
	ext := filepath.Ext(path)
	return strings.TrimSuffix(path, ext) + "-" + name + ext
}

// A childError is that of a process, with its exit code.
type childError struct {
	error
	code int
}

// severity orders the ends of processes: well, interrupted, by the failure of another one,
// by an error of its own.
func severity(e federate.End) int {
	switch e.Code {
	case 0:
		return 0
	case exitInterrupted, exitTerminated:
		return 1
	case exitPeer:
		return 2
	}
	return 3
}

// failureOf returns why processes failed: the error of one that does not blame another, with its
// exit code, or a federate.Interrupted.
func failureOf(ends []federate.End) error {
	worst := slices.MaxFunc(ends, func(a, b federate.End) int { return cmp.Compare(severity(a), severity(b)) })
	switch severity(worst) {
	case 0:
		return nil
	case 1:
		return federate.Interrupted(worst.Why)
	}
	code := worst.Code
	if code < 0 { // a signal
		code = exitFailure
	}
	return &childError{fmt.Errorf("node %q: %s", worst.Name, worst.Why), code}
}

// outcome prints the report of the first node, unless a process has failed.
func (f *upFlags) outcome(stdout io.Writer, ends []federate.End) error {
	failure := failureOf(ends)
	if _, failed := failure.(*childError); failed {
		return failure
	}
	_, err := stdout.Write(ends[0].Stdout)
	if f.Files.Model != "" && !f.Files.JSON {
		for _, e := range ends[1:] {
			fmt.Fprintf(stdout, "model  %s\n", modelOf(f.Files.Model, e.Name))
		}
	}
	return errors.Join(err, failure)
}
