package main

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/difalt/difalt/cmd/difalt/engine/cluster"
	"github.com/difalt/difalt/cmd/difalt/internal/options"
	"github.com/difalt/difalt/cmd/difalt/internal/terminal"
	"github.com/difalt/difalt/cmd/difalt/internal/text"
	"github.com/difalt/difalt/cmd/difalt/owners"
	"github.com/spf13/cobra"
)

func newUpCommand() *cobra.Command {
	return newTableCommand(options.Up, "up --data PATTERN --task COLUMN --target COLUMN",
		"Train on this machine as the owners of several tables would", func(ctx context.Context, f *options.Flags, std streams) error {
			return (&upRun{f}).run(ctx, std)
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

func (f *upRun) run(ctx context.Context, std streams) error {
	paths, names, err := f.paths()
	if err != nil {
		return err
	}
	members, err := f.members(names)
	defer func() {
		for _, m := range members {
			_ = m.listener.Close() // the transport may have closed it
		}
	}()
	if err != nil {
		return err
	}
	bar := terminal.NewProgress(std.err, append([]string{reading}, owners.Stages...)...)
	defer bar.Close()
	var list []*training
	for i, path := range paths {
		flags := *f.Flags
		flags.Files.Data, flags.Model.Workers = path, max(1, runtime.GOMAXPROCS(0)/len(paths))
		if f.Files.Model != "" {
			flags.Files.Model = modelOf(f.Files.Model, names[i])
		}
		t := &training{Flags: &flags, streams: streams{io.Discard, io.Discard}, bar: bar}
		defer t.files.close()
		if i == 0 { // its report is shown
			t.out = std.out
		}
		if err := t.prepare(ctx, io.Discard); err != nil {
			return err
		}
		list = append(list, t)
	}
	err = f.together(ctx, list, members)
	bar.Close()
	if f.Files.Model != "" && !f.Files.JSON && list[0].report != nil {
		for _, t := range list[1:] {
			fmt.Fprintf(std.out, "model  %s\n", t.Files.Model)
		}
	}
	return err
}

// members returns a member for each name, which listens on a free port of this machine. The caller closes the
// listeners, after an error too.
func (f *upRun) members(names []string) (list []*member, err error) {
	graph, err := parseGraph(f.Network.Graph, names)
	if err != nil {
		return nil, err
	}
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

// together trains all nodes, and returns the first cause: an error of a node itself rather than
// one about another node.
func (f *upRun) together(ctx context.Context, list []*training, members []*member) error {
	ends := make([]error, len(list))
	var all sync.WaitGroup
	for i, t := range list {
		if i > 0 {
			t.bar = nil // one node shows the progress of all
		}
		all.Go(func() {
			ends[i] = t.federate(ctx, members[i].node(io.Discard))
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
