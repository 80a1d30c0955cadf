package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/difalt/difalt/engine/cluster"
	"github.com/difalt/difalt/internal/options"
	"github.com/difalt/difalt/internal/text"
	"github.com/difalt/difalt/topology"
	"github.com/spf13/cobra"
)

const upHelp = `Train on this machine as the owners of several tables would: one process a file, each of
which reads its own file only and talks to the others over TLS, with keys that are thrown
away. The models have the same bits as those of "difalt node" on as many machines.

A line a process says how far it is; under them is for which node all others wait. The
report is that of the first node: the errors are those of all nodes, the tasks its own.
With --model m.npz node a writes m-a.npz. Ctrl-C ends the training at all nodes together.
With --checkpoint a process that is killed is started again, and when up itself has ended
the same command goes on from where all nodes can.`

const upExamples = `  difalt up --data 'site-*.csv' --task clinic --target score --drop patient --model m.npz
  difalt up -n 4 --data 'site-*.csv' --task clinic --target score --graph path --agree plain --compress int8`

// upFlags are those of node, the network, and the number of processes.
type upFlags struct{ *options.Flags }

func newUpCommand() *cobra.Command {
	f := &upFlags{options.New(options.Up)}
	cmd := &cobra.Command{
		Use: "up --data PATTERN", Short: "Train on this machine with one process a file", Long: upHelp, Example: upExamples, Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.Resolve(); err != nil {
				return err
			}
			return f.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().AddFlagSet(f.Set)
	return cmd
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

// run starts the processes and waits for them.
func (f *upFlags) run(ctx context.Context, stdout, stderr io.Writer) error {
	paths, names, err := f.files()
	if err != nil {
		return err
	}
	graph, err := topology.Parse(f.Graph, len(paths), f.Config.Options.Seed)
	if err != nil {
		return options.Usagef("--graph: %w", err)
	}
	folder, err := os.MkdirTemp("", "difalt-up-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	listeners, addresses, err := loopback(len(paths))
	if err != nil {
		return err
	}
	defer closeAll(listeners)
	c, keys, err := cluster.New(names, addresses, graph, f.Rule.String())
	if err != nil {
		return options.Usagef("--data, --graph and --weights: %w", err)
	}
	if err := cluster.Write(folder, c, keys); err != nil {
		return err
	}
	board := newBoard(stderr, names)
	var children []*child
	for i, name := range names {
		ch := &child{name: name, arguments: f.arguments(folder, name, paths[i], len(names)), listener: listeners[i], line: board.of(i)}
		if f.Checkpoints.Folder != "" {
			ch.revivals = maxRevivals
		}
		if err := ch.launch(); err != nil {
			stopAll(children)
			return fmt.Errorf("node %q: %w", name, err)
		}
		children = append(children, ch)
	}
	board.show(ctx, children)
	return f.outcome(stdout, children)
}

// loopback returns as many listeners on free ports, and their addresses.
func loopback(n int) (files []*os.File, addresses []string, err error) {
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			closeAll(files)
			return nil, nil, err
		}
		file, err := l.(*net.TCPListener).File()
		addresses = append(addresses, l.Addr().String())
		l.Close()
		if err != nil {
			closeAll(files)
			return nil, nil, err
		}
		files = append(files, file)
	}
	return files, addresses, nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		f.Close()
	}
}

// A child is the process of a node.
type child struct {
	name      string
	arguments []string
	listener  *os.File // stays open, so that nobody else gets the port
	revivals  int      // how often it may still be started again
	cmd       *exec.Cmd
	stdin     io.Closer // the process leaves when it ends, also if this one is killed
	stdout    bytes.Buffer
	read      sync.WaitGroup // of its log
	line      *boardLine
	err       error
}

// maxRevivals is how often a process that was killed is started again.
const maxRevivals = 5

// launch starts the process of a node.
func (c *child) launch() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	c.stdout.Reset()
	c.cmd = exec.Command(self, c.arguments...)
	c.cmd.ExtraFiles = []*os.File{c.listener}
	c.cmd.Stdout = &c.stdout
	if c.stdin, err = c.cmd.StdinPipe(); err != nil {
		return err
	}
	log, err := c.cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := c.cmd.Start(); err != nil {
		return err
	}
	c.read.Go(func() { c.line.follow(log) })
	return nil
}

// revive starts a process again that a signal has ended, if it has kept its state.
func (c *child) revive() bool {
	if c.revivals == 0 || c.err == nil || c.cmd.ProcessState.Exited() {
		return false
	}
	c.revivals--
	return c.launch() == nil
}

// arguments returns the command line of a node.
func (f *upFlags) arguments(folder, name, path string, nodes int) []string {
	args := []string{
		"node", "--cluster", filepath.Join(folder, cluster.File), "--key", filepath.Join(folder, name+".key"),
		"--data", path, "--listen-fd", "3", "--log", "json", "--log-every", "250ms", "--until-eof",
	}
	args = append(args, f.Arguments(options.Node, "data", "graph", "weights", "model")...) // the graph is in cluster.json
	if f.Files.Model != "" {
		args = append(args, "--model="+modelOf(f.Files.Model, name))
	}
	if !f.Changed("workers") {
		args = append(args, fmt.Sprintf("--workers=%d", max(1, runtime.GOMAXPROCS(0)/nodes)))
	}
	return args
}

// modelOf returns the model file of a node.
func modelOf(path, name string) string {
	ext := filepath.Ext(path)
	return strings.TrimSuffix(path, ext) + "-" + name + ext
}

// stopAll asks the processes to leave.
func stopAll(children []*child) {
	for _, c := range children {
		c.stdin.Close()
	}
}

// patience is how long processes that were asked to leave may take for it.
const patience = 30 * time.Second

// wait waits for a process, and for those that take its place; it ends it when it has been
// asked to leave and does not.
func (c *child) wait(ctx context.Context, done chan<- *child) {
	for again := true; again; again = ctx.Err() == nil && c.revive() {
		ended := make(chan struct{})
		go func() {
			c.read.Wait()
			c.err = c.cmd.Wait()
			close(ended)
		}()
		select {
		case <-ended:
		case <-ctx.Done():
			c.stdin.Close()
			select {
			case <-ended:
			case <-time.After(patience):
				_ = c.cmd.Process.Kill()
				<-ended
			}
		}
	}
	done <- c
}

// A childError is that of a process, with its exit code.
type childError struct {
	error
	code int
}

// severity orders the ends of processes: well, interrupted, by the failure of another one,
// by an error of its own.
func (c *child) severity() int {
	switch c.cmd.ProcessState.ExitCode() {
	case 0:
		return 0
	case exitInterrupted, exitTerminated:
		return 1
	case exitPeer:
		return 2
	}
	return 3
}

// outcome prints the report of the first node, or returns why the processes failed: the
// error of one that does not blame another, and its exit code.
func (f *upFlags) outcome(stdout io.Writer, children []*child) error {
	worst := slices.MaxFunc(children, func(a, b *child) int { return cmp.Compare(a.severity(), b.severity()) })
	if worst.severity() > 1 {
		code := worst.cmd.ProcessState.ExitCode()
		if code < 0 { // a signal
			code = exitFailure
		}
		return &childError{fmt.Errorf("node %q: %s", worst.name, worst.line.lastError()), code}
	}
	_, err := children[0].stdout.WriteTo(stdout)
	if f.Files.Model != "" && !f.Files.JSON {
		for _, c := range children[1:] {
			fmt.Fprintf(stdout, "model  %s\n", modelOf(f.Files.Model, c.name))
		}
	}
	if worst.severity() > 0 {
		return errors.Join(err, &interruptedError{worst.line.lastError()})
	}
	return err
}
