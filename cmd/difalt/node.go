package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"

	"github.com/difalt/difalt/cmd/difalt/dataset"
	"github.com/difalt/difalt/cmd/difalt/engine"
	"github.com/difalt/difalt/cmd/difalt/engine/cluster"
	"github.com/difalt/difalt/cmd/difalt/engine/grpc"
	"github.com/difalt/difalt/cmd/difalt/fit"
	"github.com/difalt/difalt/cmd/difalt/internal/checkpoint"
	"github.com/difalt/difalt/cmd/difalt/internal/federate"
	"github.com/difalt/difalt/cmd/difalt/internal/options"
	"github.com/difalt/difalt/cmd/difalt/internal/report"
	"github.com/difalt/difalt/cmd/difalt/internal/terminal"
	"github.com/difalt/difalt/cmd/difalt/model"
	"github.com/difalt/difalt/topology"
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
	defer saveMemory()()
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

// saveMemory lets the heap grow by 4 MB before it is collected, or by as many bytes as the collector looks through for pointers: not to twice what
// is in use, most of which is a table without pointers, and yet collecting takes a part of the time that does not depend on how much there is.
// Who sets GOGC knows better.
func saveMemory() (restore func()) {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	use := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/scan/heap:bytes"}}
	before, done := debug.SetGCPercent(100), atomic.Bool{}
	var collected func(*[]metrics.Sample)
	collected = func(*[]metrics.Sample) { // once after every collection
		if done.Load() {
			return
		}
		metrics.Read(use)
		debug.SetGCPercent(int(max(min(100*max(4<<20, use[1].Value.Uint64())/max(use[0].Value.Uint64(), 1), 100), 2)))
		runtime.SetFinalizer(new([]metrics.Sample), collected)
	}
	collected(nil)
	return func() {
		done.Store(true)
		debug.SetGCPercent(before)
	}
}

func newNodeLog(w io.Writer, format string) *slog.Logger {
	if format == "json" {
		return slog.New(slog.NewJSONHandler(w, nil))
	}
	return slog.New(slog.NewTextHandler(w, nil))
}

// A nodeTraining is what a node trains on, and what becomes of the result: a federate.Training.
type nodeTraining struct {
	*options.Flags
	node   string
	out    *outputs
	stdout io.Writer
	trace  *report.Trace // of this attempt
	done   bool          // all that the others need has been sent
}

func (r *nodeTraining) Read() (*dataset.Table, *fit.Config, error) {
	t, err := readFiles(r.Files.Data, r.Table)
	if err != nil {
		return nil, nil, err
	}
	if err := t.AssignNode(r.node); err != nil {
		return nil, nil, err
	}
	c, err := r.ConfigOf(t)
	if err != nil {
		return nil, nil, err
	}
	r.trace = &report.Trace{}
	if r.out.trace != nil {
		c.Options.Observer = r.trace.Observe
	}
	return t, c, nil
}

func (r *nodeTraining) Introduce(t *dataset.Table, c *fit.Config, w *topology.Weights) (heading []byte, err error) {
	if r.Files.JSON { // says it in its own words
		return []byte{}, nil
	}
	var b bytes.Buffer
	report.WriteMissing(&b, t)
	for _, words := range report.HeldOut(&r.Table, t, c.Train) {
		terminal.Sayf(&b, "%s", words)
	}
	fmt.Fprintf(&b, "%s: %d tasks, %d features, %d rows\nnode %q of %d, graph %v\n%s\n\n",
		r.Files.Data, len(t.Tasks()), len(t.Features()), t.Rows(), r.node, w.Len(), w, how(c))
	_, err = r.stdout.Write(b.Bytes())
	return b.Bytes(), err
}

func (r *nodeTraining) Outcome(t *dataset.Table, c *fit.Config, m *model.Model, fitted *fit.Report) (*checkpoint.Outcome, error) {
	r.done = true
	o := &checkpoint.Outcome{}
	if r.stdout != io.Discard {
		var b bytes.Buffer
		about := report.New(&report.Inputs{Data: r.Files.Data, Version: version(), Columns: &r.Table, Table: t, Config: c, Model: m, Fit: fitted, Owners: true})
		if err := about.Write(&b, r.Files.JSON); err != nil {
			return nil, err
		}
		o.Report = b.Bytes()
	}
	if r.out.trace != nil {
		o.Trace = r.trace.CSV(m.Parameters().Method)
	}
	var err error
	o.Model, err = m.MarshalBinary()
	return o, err
}

func (r *nodeTraining) Deliver(o *checkpoint.Outcome, heading []byte) error {
	if r.out.trace != nil && o.Trace == nil {
		return fmt.Errorf("--trace: the training is complete, and has kept no trace")
	}
	model := func(w io.Writer) error {
		_, err := w.Write(o.Model)
		return err
	}
	if err := r.out.write(o.Trace, model); err != nil {
		return err
	}
	if err := r.out.commit(); err != nil {
		return err
	}
	for _, text := range [][]byte{heading, o.Report} {
		if _, err := r.stdout.Write(text); err != nil {
			return err
		}
	}
	if !r.Files.JSON {
		printFiles(r.stdout, &r.Files)
	}
	return nil
}

// A member is this process as a node of a network, before it connects to the others.
type member struct {
	*options.Member
	cluster   *cluster.Cluster
	identity  *cluster.Identity
	inherited *os.File // ListenFD, once it has been used
}

func readCluster(o *options.Member) (*cluster.Cluster, error) {
	if o.Cluster == "" {
		return nil, options.Usagef("--cluster is missing: need the file cluster.json")
	}
	c, err := cluster.Read(o.Cluster)
	if err != nil {
		return nil, fmt.Errorf("--cluster: %w", err)
	}
	return c, nil
}

// newMember returns who this process is in the cluster, by the key that it has.
func newMember(o *options.Member) (*member, error) {
	c, err := readCluster(o)
	if err != nil {
		return nil, err
	}
	if o.Key == "" {
		return nil, options.Usagef("--key is missing: need the key of a node")
	}
	id, err := cluster.ReadIdentity(c, o.Key, o.Cert)
	switch {
	case err != nil && o.Cert != "":
		return nil, fmt.Errorf("--cert and --key: %w", err)
	case err != nil:
		return nil, fmt.Errorf("--key: %w", err)
	}
	return &member{Member: o, cluster: c, identity: id}, nil
}

func (m *member) entry() cluster.Node { return m.cluster.Nodes[m.identity.Node] }

func (m *member) listen() (net.Listener, error) {
	if m.ListenFD > 0 {
		if m.inherited == nil {
			m.inherited = os.NewFile(uintptr(m.ListenFD), "listener")
		}
		return net.FileListener(m.inherited)
	}
	l, err := net.Listen("tcp", cmp.Or(m.Listen, m.entry().Address))
	if err != nil {
		return nil, fmt.Errorf("--listen: %w", err)
	}
	return l, nil
}

func (m *member) connect(o engine.Options) (engine.Transport, error) {
	l, err := m.listen()
	if err != nil && o.Failed != nil { // who says that it cannot take part may call from anywhere
		l, err = net.Listen("tcp", "127.0.0.1:0")
	}
	if err != nil {
		return nil, err
	}
	o.JoinTimeout, o.RoundTimeout, o.RejoinTimeout = m.JoinTimeout, m.RoundTimeout, m.RejoinTimeout
	t, err := grpc.New(m.cluster, m.identity, l, o)
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return t, nil
}

// join connects to the neighbours, and returns when all are there. After an error that
// somebody else may be the reason of, the transport is not nil, and knows who is not there.
func (m *member) join(ctx context.Context, o engine.Options) (engine.Transport, error) {
	t, err := m.connect(o)
	if err != nil {
		return nil, err
	}
	switch err := t.Join(ctx); {
	case err == nil:
		return t, nil
	case errors.Is(err, context.Canceled):
		t.Leave(errors.New("interrupted before the start"))
		return t, federate.Interrupted("interrupted while waiting for the neighbours: nothing was written")
	default:
		t.Leave(err)
		return t, federate.Explain(m.cluster, err)
	}
}
