package main

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/difalt/difalt/cmd/difalt/engine"
	"github.com/difalt/difalt/cmd/difalt/engine/cluster"
	"github.com/difalt/difalt/cmd/difalt/engine/grpc"
	"github.com/difalt/difalt/cmd/difalt/internal/options"
	"github.com/difalt/difalt/topology"
	"github.com/spf13/cobra"
)

func newClusterCommand() *cobra.Command {
	cmd := newCommand("cluster", "Make and check the list of nodes that train together", nil, func(cmd *cobra.Command, _ []string) error { return cmd.Help() })
	cmd.AddCommand(newClusterNewCommand(), newClusterCheckCommand(), newClusterHealthCommand(), newClusterKeyCommand())
	return cmd
}

type clusterFlags struct {
	nodes                  []string
	graph, weights, folder string
	authority              string
	seed                   uint64
	epoch                  uint32
}

func newClusterNewCommand() *cobra.Command {
	f := &clusterFlags{}
	cmd := &cobra.Command{
		Use: "new --nodes LIST --out DIR", Short: "Write cluster.json, and a key for each node", Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd.OutOrStdout()) },
	}
	s := cmd.Flags()
	s.SortFlags = false
	s.StringSliceVar(&f.nodes, "nodes", nil, "[NAME=]HOST:PORT of every node, `LIST`; a name is the host unless it is given (required)")
	s.StringVar(&f.graph, "graph", options.DefaultGraph, "who talks to whom, `KIND`: "+topology.Specs())
	s.StringVar(&f.weights, "weights", "metropolis", "mixing weights `KIND`: metropolis, equal, lazy-metropolis, lazy-equal, best-constant")
	s.Uint64Var(&f.seed, "seed", 1, "seed of a random graph")
	s.Uint32Var(&f.epoch, "epoch", 1, "number of this version of the network: nodes of another one are refused")
	s.StringVar(&f.authority, "authority", "", "make no keys: a node is who has a certificate for its name from one of those in `FILE`, in PEM")
	s.StringVar(&f.folder, "out", "", "write cluster.json and NAME.key to the folder `DIR` (required)")
	return cmd
}

func (f *clusterFlags) run(stdout io.Writer) error {
	if f.folder == "" {
		return options.Usagef("--out is missing: need a folder")
	}
	names, addresses, err := f.parseNodes()
	if err != nil {
		return err
	}
	graph, err := topology.Parse(f.graph, len(names), f.seed)
	if err != nil {
		return options.Usagef("--graph: %w", err)
	}
	c, keys, err := cluster.New(names, addresses, graph, f.weights)
	if err != nil {
		return options.Usagef("--nodes, --graph and --weights: %w", err)
	}
	c.Epoch = f.epoch
	if f.authority != "" {
		text, err := os.ReadFile(f.authority)
		if err != nil {
			return fmt.Errorf("--authority: %w", err)
		}
		for i := range c.Nodes {
			c.Nodes[i].Pins = nil
		}
		c.Authority, keys, names = string(text), nil, nil
		if err := c.Check(); err != nil {
			return fmt.Errorf("--authority: %s: %w", f.authority, err)
		}
	}
	if err := cluster.Write(f.folder, c, keys); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	fmt.Fprintf(stdout, "%s: %d nodes, %d edges, run %s, epoch %d\n", filepath.Join(f.folder, cluster.File), len(c.Nodes), graph.Edges(), c.Run, c.Epoch)
	for _, name := range names {
		fmt.Fprintf(stdout, "%s: for %s only\n", filepath.Join(f.folder, cluster.KeyFile(name)), name)
	}
	return nil
}

func (f *clusterFlags) parseNodes() (names, addresses []string, err error) {
	for _, s := range f.nodes {
		name, address, named := strings.Cut(s, "=")
		if !named {
			address = s
		}
		host, port, err := net.SplitHostPort(address)
		if err != nil {
			return nil, nil, options.Usagef("--nodes: %q: want [NAME=]HOST:PORT", s)
		}
		if number, err := net.LookupPort("tcp", port); err != nil || number == 0 {
			return nil, nil, options.Usagef("--nodes: %q: the port is %q: want 1 to 65535", s, port)
		}
		if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
			return nil, nil, options.Usagef("--nodes: %q: nobody else can reach a node at %s: give its address here, and to that node --listen %s", s, host, address)
		}
		if !named {
			name = host
		}
		names, addresses = append(names, name), append(addresses, address)
	}
	if len(names) < 2 {
		return nil, nil, options.Usagef("--nodes has %d: need at least 2", len(names))
	}
	return names, addresses, nil
}

func newClusterKeyCommand() *cobra.Command {
	var out string
	cmd := newCommand("key --out FILE", "Make a new key for a node, and print what to write in cluster.json", nil, func(cmd *cobra.Command, _ []string) error {
		if out == "" {
			return options.Usagef("--out is missing: need a file")
		}
		key, text := cluster.NewKey()
		if err := cluster.WriteKey(out, text); err != nil {
			return fmt.Errorf("--out: %w", err)
		}
		fmt.Fprintln(cmd.OutOrStdout(), cluster.PinOf(key.Public().(ed25519.PublicKey)))
		return nil
	})
	cmd.Flags().StringVar(&out, "out", "", "write the key to `FILE`, which must not exist (required)")
	return cmd
}

func newClusterCheckCommand() *cobra.Command {
	o := options.New(options.ClusterCheck)
	return newCommand("check --cluster FILE [--key FILE]", "Check cluster.json, and whether the neighbours can be reached and agree", o.Set, func(cmd *cobra.Command, _ []string) error {
		if err := o.Resolve(); err != nil {
			return err
		}
		c, err := readCluster(&o.Member)
		if err != nil {
			return err
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%s: %d nodes, %d edges, run %s, epoch %d\n", o.Member.Cluster, len(c.Nodes), len(c.Edges), c.Run, c.Epoch)
		if o.Member.Key == "" {
			return nil
		}
		m, err := newMember(&o.Member)
		if err != nil {
			return err
		}
		t, err := m.join(cmd.Context(), engine.Options{
			Probe: true, Report: func(s string) { fmt.Fprintln(cmd.ErrOrStderr(), s) },
		})
		if err != nil && t != nil {
			if absent, _ := t.Waiting(); len(absent) > 0 {
				fmt.Fprintf(cmd.OutOrStdout(), "%s: not reached: %s\n", m.entry().Name, strings.Join(c.Names(absent), ", "))
			}
		}
		if err != nil {
			return err
		}
		t.Close()
		fmt.Fprintf(cmd.OutOrStdout(), "%s: all neighbours can be reached and agree\n", m.entry().Name)
		return nil
	})
}

func newClusterHealthCommand() *cobra.Command {
	o := options.New(options.ClusterHealth)
	var address string
	var timeout time.Duration
	cmd := newCommand("health --cluster FILE --key FILE", "Ask whether a node is running and connected to its neighbours", o.Set, func(cmd *cobra.Command, _ []string) error {
		if err := o.Resolve(); err != nil {
			return err
		}
		m, err := newMember(&o.Member)
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
		defer cancel()
		at := cmp.Or(address, m.entry().Address)
		err = grpc.Ready(ctx, m.cluster, m.identity, at)
		if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return fmt.Errorf("%s: no answer for %v", at, timeout)
		}
		if err != nil {
			return err
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%s: ready\n", m.entry().Name)
		return nil
	})
	cmd.Flags().StringVar(&address, "address", "", "`ADDRESS` to ask (default: that of the node in cluster.json)")
	cmd.Flags().DurationVar(&timeout, "timeout", 4*time.Second, "how long to wait for the answer, `TIME`")
	return cmd
}
