package main

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/difalt/difalt/cmd/difalt/engine/cluster"
	"github.com/difalt/difalt/cmd/difalt/internal/federate"
	"github.com/difalt/difalt/cmd/difalt/internal/options"
	"github.com/difalt/difalt/cmd/difalt/internal/terminal"
	"github.com/difalt/difalt/cmd/difalt/internal/text"
	"github.com/difalt/difalt/cmd/difalt/owners"
	"github.com/spf13/cobra"
)

func newUpCommand() *cobra.Command {
	f := &upRun{options.New(options.Up)}
	return newCommand("up --data PATTERN --task COLUMN --target COLUMN",
		"Train on this machine as the owners of several tables would", f.Set, func(cmd *cobra.Command, _ []string) error {
			if err := f.Resolve(); err != nil {
				return err
			}
			return f.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		})
}

// An upRun trains the nodes of several files in one process. They talk over TLS, with temporary keys.
type upRun struct{ *options.Flags }

// paths returns the table of every node, and the names of the nodes.
func (f *upRun) paths() (paths, names []string, err error) {
	if paths, err = filepath.Glob(f.Files.Data); err != nil {
		return nil, nil, options.Usagef("--data: %q is not a pattern of file names: %w", f.Files.Data, err)
	}
	if len(paths) < 2 {
		return nil, nil, options.Usagef("--data: %s for %q: up needs a file for each of at least two nodes", text.Plural(len(paths),
			"file"), f.Files.Data)
	}
	if f.Files.Model == stdio {
		return nil, nil, options.Usagef("--model is the standard output, but every node has a model of its own: name a file")
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

func (f *upRun) run(ctx context.Context, stdout, stderr io.Writer) error {
	paths, names, err := f.paths()
	if err != nil {
		return err
	}
	members, err := f.members(names)
	if err != nil {
		return err
	}
	defer func() {
		for _, m := range members {
			_ = m.listener.Close() // the transport may have closed it
		}
	}()
	bar := terminal.NewProgress(stderr, append([]string{reading}, owners.Stages...)...)
	defer bar.Close()
	var list []*training
	for i, path := range paths {
		flags := *f.Flags
		flags.Files.Data = path
		if f.Files.Model != "" {
			flags.Files.Model = modelOf(f.Files.Model, names[i])
		}
		t := &training{Flags: &flags, stdout: io.Discard, stderr: stderr, bar: bar, workers: max(1, runtime.GOMAXPROCS(0)/len(paths))}
		defer t.close()
		if i == 0 { // its report is shown
			t.stdout = stdout
		}
		if err := t.prepare(ctx); err != nil {
			return err
		}
		list = append(list, t)
	}
	err = f.together(ctx, list, members)
	bar.Close()
	if f.Files.Model != "" && !f.Files.JSON && list[0].report != nil {
		for _, t := range list[1:] {
			fmt.Fprintf(stdout, "model  %s\n", t.Files.Model)
		}
	}
	return err
}

// members returns a member for each name, which listens on a free port of this machine.
func (f *upRun) members(names []string) (list []*member, err error) {
	defer func() {
		for _, m := range list {
			if err != nil {
				_ = m.listener.Close() // the first error counts
			}
		}
	}()
	var addresses []string
	var pins []cluster.Pin
	var private []ed25519.PrivateKey
	for range names {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return list, err
		}
		key, _ := cluster.NewKey()
		private = append(private, key)
		list = append(list, &member{Member: &f.Member, listener: l})
		addresses, pins = append(addresses, l.Addr().String()), append(pins, cluster.PinOf(key.Public().(ed25519.PublicKey)))
	}
	graph, err := parseGraph(f.Network.Graph, names)
	if err != nil {
		return list, err
	}
	c, _, err := cluster.New(names, addresses, pins, graph)
	if err != nil {
		return list, options.Usagef("--data: %w", err)
	}
	for i, m := range list {
		m.cluster = c
		if m.identity, err = cluster.NewIdentity(c, private[i]); err != nil {
			return list, err
		}
	}
	return list, nil
}

// together trains all nodes at once, and returns the first cause: an error of a node itself before one
// about another node.
func (f *upRun) together(ctx context.Context, list []*training, members []*member) error {
	ends := make([]error, len(list))
	var all sync.WaitGroup
	for i, t := range list {
		if i > 0 {
			t.bar = nil // one node shows the progress of all
		}
		all.Go(func() {
			ends[i] = t.federate(ctx, &federate.Node{
				Cluster: members[i].cluster, Number: i, Connect: members[i].connect,
				Log: slog.New(slog.DiscardHandler), LogEvery: logEvery,
			})
		})
	}
	all.Wait()
	worst := slices.MaxFunc(ends, func(a, b error) int { return cmp.Compare(severity(a), severity(b)) })
	if worst == nil || severity(worst) < severity(errors.New("")) {
		return worst
	}
	return fmt.Errorf("node %q: %w", members[0].cluster.Nodes[slices.Index(ends, worst)].Name, worst)
}

// severity orders the ends of nodes: well, not converged, interrupted, by the failure of another node, by
// an error of its own.
func severity(err error) int {
	if err == nil {
		return 0
	}
	return cmp.Or(map[int]int{exitUnconverged: 1, exitInterrupted: 2, exitPeer: 3}[exitCode(err)], 4)
}

// modelOf returns the name of the model of a node.
func modelOf(path, name string) string {
	ext := filepath.Ext(path)
	return strings.TrimSuffix(path, ext) + "-" + name + ext
}
