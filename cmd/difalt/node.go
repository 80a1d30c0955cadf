package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"runtime/debug"
	"sync"

	"github.com/difalt/difalt/internal/federate"
	"github.com/difalt/difalt/internal/options"
	"github.com/difalt/difalt/internal/report"
	"github.com/spf13/cobra"
)

func newNodeCommand() *cobra.Command {
	o := options.New(options.Node)
	return newCommand("node --cluster FILE --key FILE --data FILE", "Train with the owners of other tables", o.Set, func(cmd *cobra.Command, _ []string) error {
		n := &nodeCommand{Flags: o, stdout: cmd.OutOrStdout(), stderr: cmd.ErrOrStderr()}
		err := n.run(cmd.Context())
		var reported *reportedError
		if err == nil || errors.As(err, &reported) {
			return err
		}
		return &reportedError{n.complain(cmd.Context(), err)}
	})
}

// A nodeCommand is what node has been told. The report goes to stdout, the log to stderr.
type nodeCommand struct {
	*options.Flags
	stdout, stderr io.Writer
}

func (n *nodeCommand) run(ctx context.Context) error {
	if err := n.Resolve(); err != nil {
		return err
	}
	defer saveMemory(50)()
	if n.UntilEOF {
		ignoreBrokenPipes()
		var cancel context.CancelFunc
		ctx, cancel = untilEOF(ctx)
		defer cancel()
	}
	if n.NoReport {
		n.stdout = io.Discard
	}
	if n.Engine == "mpi" {
		return n.runMPI(ctx)
	}
	m, err := newMember(&n.Member)
	if err != nil {
		return err
	}
	return n.train(ctx, &federate.Node{Cluster: m.cluster, Number: m.identity.Node, Connect: m.connect}, &nodeTraining{})
}

// untilEOF returns a context that also ends with the standard input.
func untilEOF(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	return ctx, cancel
}

// train trains as a node of which nothing is said yet but who and where it is.
func (n *nodeCommand) train(ctx context.Context, node *federate.Node, t *nodeTraining) error {
	node.Training, node.Log, node.LogEvery, node.Metrics, node.Stay = t, newNodeLog(n.stderr, n.Log.Format), n.Log.Every, n.Log.Metrics, n.Stay
	node.JoinTimeout, node.Settings = n.Member.JoinTimeout, n.Settings(options.AllNodes)
	if n.Checkpoints.Folder != "" {
		node.Checkpoints = &federate.Checkpoints{
			Folder: n.Checkpoints.Folder, Every: n.Checkpoints.Every, Data: n.Files.Data, Settings: n.Settings(options.Checkpoint),
		}
	}
	out, err := openOutputs(&n.Files)
	if err != nil {
		return node.Excuse(err)
	}
	defer out.close()
	t.Flags, t.node, t.out, t.stdout = n.Flags, node.Cluster.Nodes[node.Number].Name, out, out.textOutput(n.stdout, n.stderr)
	if !n.Config.Auto { // then it is said when it is known
		for _, sentence := range report.Seen(&n.Config.Options, n.Config.Privacy, len(node.Cluster.Nodes)) {
			node.Log.Warn(sentence)
		}
	}
	return node.Run(ctx)
}

// complain says what went wrong, in JSON if the log is, and returns the exit code for it.
func (n *nodeCommand) complain(ctx context.Context, err error) int {
	if err == nil || n.Log.Format != "json" {
		return complain(ctx, n.stderr, err)
	}
	code := exitCode(ctx, err)
	newNodeLog(n.stderr, n.Log.Format).Error(federate.FailureMessage, "why", sentence(err), "exit_code", code)
	return code
}

// saveMemory lets the heap grow by so many percent, not to twice what is in use, before it is
// collected: most of it is a table, which costs the collector nothing. A small heap may grow by as much of heapFloor, which counts
// as in use, but is never written to, and so takes no memory: with a small table a third of the time would go into the collector.
// Who sets GOGC knows better.
func saveMemory(percent int) (restore func()) {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	heapFloor()
	before := debug.SetGCPercent(percent)
	return func() { debug.SetGCPercent(before) }
}

var heapFloor = sync.OnceValue(func() []byte { return make([]byte, 32<<20) })

// newNodeLog returns the log of a node.
func newNodeLog(w io.Writer, format string) *slog.Logger {
	if format == "json" {
		return slog.New(slog.NewJSONHandler(w, nil))
	}
	return slog.New(slog.NewTextHandler(w, nil))
}
