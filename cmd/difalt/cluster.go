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
	"slices"
	"strings"
	"time"

	"github.com/difalt/difalt/cmd/difalt/engine"
	"github.com/difalt/difalt/cmd/difalt/engine/cluster"
	"github.com/difalt/difalt/cmd/difalt/internal/federate"
	"github.com/difalt/difalt/cmd/difalt/internal/options"
	"github.com/difalt/difalt/cmd/difalt/internal/text"
	"github.com/difalt/difalt/topology"
	"github.com/spf13/cobra"
)

func newClusterCommand() *cobra.Command {
	cmd := newCommand("cluster", "Make and check the list of nodes that train together", nil, nil)
	cmd.AddCommand(newClusterNewCommand(), newClusterCheckCommand(), newClusterKeyCommand())
	return cmd
}

func newClusterNewCommand() *cobra.Command {
	return newTableCommand(options.ClusterNew, "new --nodes LIST --out DIR", "Write cluster.json, and a key for each node without one",
		func(_ context.Context, f *options.Flags, std streams) error {
			return (&clusterRun{Flags: f}).run(std.out)
		})
}

// A clusterRun writes cluster.json.
type clusterRun struct {
	*options.Flags
	names, addresses []string
	pins             []cluster.Pin
}

func (f *clusterRun) run(stdout io.Writer) error {
	if err := f.parseNodes(); err != nil {
		return err
	}
	graph, err := parseGraph(f.Network.Graph, f.names)
	if err != nil {
		return err
	}
	c, keys, err := cluster.New(f.names, f.addresses, f.pins, graph)
	if err != nil {
		return options.Usagef("--nodes: %w", err)
	}
	if f.Network.Authority != "" {
		if slices.ContainsFunc(f.pins, func(p cluster.Pin) bool { return p != "" }) {
			return options.Usagef("--authority certifies keys: leave out the sha256: of --nodes")
		}
		content, err := os.ReadFile(f.Network.Authority)
		if err != nil {
			return fmt.Errorf("--authority: %w", err)
		}
		for i := range c.Nodes {
			c.Nodes[i].Pin = ""
		}
		c.Authority, keys = string(content), make([][]byte, len(keys))
		if err := c.Check(); err != nil {
			return fmt.Errorf("--authority: %s: %w", f.Network.Authority, err)
		}
	}
	if err := cluster.Write(f.Files.Out, c, keys); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	describeCluster(stdout, filepath.Join(f.Files.Out, cluster.File), c)
	for i, name := range f.names {
		if keys[i] != nil {
			fmt.Fprintf(stdout, "%s: for %s only\n", filepath.Join(f.Files.Out, cluster.KeyFile(name)), name)
		}
	}
	return nil
}

// describeCluster prints the nodes of a cluster with their keys.
func describeCluster(w io.Writer, path string, c *cluster.Cluster) {
	fmt.Fprintf(w, "%s: %s, %s, run %s\n", path, text.Plural(len(c.Nodes), "node"), text.Plural(len(c.Edges), "edge"), c.Run)
	for _, n := range c.Nodes {
		fmt.Fprintf(w, "  %s %s: %s\n", n.Name, n.Address, cmp.Or(string(n.Pin), "certified by the authority"))
	}
}

// entries returns the nodes of --nodes: its entries, or the lines of the file that it names.
func (f *clusterRun) entries() (list []string, err error) {
	for _, s := range f.Network.Nodes {
		path, isFile := strings.CutPrefix(s, "@")
		if !isFile {
			list = append(list, s)
			continue
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("--nodes: %w", err)
		}
		for line := range strings.Lines(string(content)) {
			if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
				list = append(list, line)
			}
		}
	}
	return list, nil
}

// parseNodes sets names, addresses and pins from [NAME=]HOST:PORT[=sha256:KEY]; the host is the name of a
// node without one.
func (f *clusterRun) parseNodes() error {
	list, err := f.entries()
	if err != nil {
		return err
	}
	for _, s := range list {
		parts, pin := strings.Split(s, "="), cluster.Pin("")
		if last := parts[len(parts)-1]; len(parts) > 1 && strings.HasPrefix(last, "sha256:") {
			parts, pin = parts[:len(parts)-1], cluster.Pin(last)
			if err := pin.Check(); err != nil {
				return options.Usagef("--nodes: %q: %w", s, err)
			}
		}
		host, port, err := net.SplitHostPort(parts[len(parts)-1])
		if err != nil || len(parts) > 2 {
			return options.Usagef("--nodes: %q: expected [NAME=]HOST:PORT[=sha256:KEY]", s)
		}
		if number, err := net.LookupPort("tcp", port); err != nil || number == 0 {
			return options.Usagef("--nodes: %q: the port is %q: it must be from 1 to 65535", s, port)
		}
		if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
			return options.Usagef("--nodes: %q: no other node can reach %s: give the node's address here, and to that node --listen "+
				"%s", s, host, parts[len(parts)-1])
		}
		name := host
		if len(parts) == 2 {
			name = parts[0]
		}
		f.names, f.addresses, f.pins = append(f.names, name), append(f.addresses, parts[len(parts)-1]), append(f.pins, pin)
	}
	if len(f.names) < 2 {
		return options.Usagef("--nodes has %d: need at least 2", len(f.names))
	}
	return nil
}

// parseGraph returns the graph of nodes: exponential, star, or edges:A-B,B-C with names of nodes.
func parseGraph(spec string, names []string) (*topology.Graph, error) {
	list, hasEdges := strings.CutPrefix(spec, "edges:")
	if !hasEdges {
		if spec != "exponential" && spec != "star" {
			return nil, options.Usagef("--graph is %q: expected exponential, star or edges:A-B,B-C", spec)
		}
		g, err := topology.Parse(spec, len(names), 0)
		if err != nil {
			return nil, options.Usagef("--graph: %w", err)
		}
		return g, nil
	}
	var edges [][2]int
	for entry := range strings.SplitSeq(list, ",") {
		e, found := [2]int{-1, -1}, false
		for at := range len(entry) { // names may have a hyphen, too
			if entry[at] == '-' {
				if a, b := slices.Index(names, entry[:at]), slices.Index(names, entry[at+1:]); a >= 0 && b >= 0 {
					e, found = [2]int{a, b}, true
				}
			}
		}
		if !found {
			return nil, options.Usagef("--graph: %q is not an edge A-B between two of the nodes %q", entry, names)
		}
		edges = append(edges, e)
	}
	g, err := topology.FromEdges(len(names), edges)
	if err != nil {
		return nil, options.Usagef("--graph: %w", err)
	}
	return g, nil
}

func newClusterKeyCommand() *cobra.Command {
	return newTableCommand(options.ClusterKey, "key --out FILE", "Make a key for a node, and print its part of cluster.json",
		func(_ context.Context, f *options.Flags, std streams) error {
			key, content := cluster.NewKey()
			if err := cluster.WriteKey(f.Files.Out, content); err != nil {
				return fmt.Errorf("--out: %w", err)
			}
			_, err := fmt.Fprintln(std.out, cluster.PinOf(key.Public().(ed25519.PublicKey)))
			return err
		})
}

func newClusterCheckCommand() *cobra.Command {
	return newTableCommand(options.ClusterCheck, "check --cluster FILE [--key FILE]", "Check cluster.json and whether the neighbours agree",
		func(ctx context.Context, f *options.Flags, std streams) error {
			c, err := readCluster(&f.Member)
			if err != nil {
				return err
			}
			describeCluster(std.out, f.Member.Cluster, c)
			if f.Member.Key == "" {
				return nil
			}
			m, err := newMember(&f.Member)
			if err != nil {
				return err
			}
			return m.probe(ctx, std)
		})
}

// probe connects to all neighbours once, and names those that cannot be reached.
func (m *member) probe(ctx context.Context, std streams) error {
	t, err := m.connect(engine.Options{Probe: true, Report: func(s string) { fmt.Fprintln(std.err, s) }})
	if err != nil {
		return err
	}
	waiting := time.AfterFunc(logEvery, func() {
		if absent, _ := t.Waiting(); len(absent) > 0 {
			fmt.Fprintf(std.err, "%s: waits for %s\n", m.entry().Name, strings.Join(m.cluster.Names(absent), ", "))
		}
	})
	defer waiting.Stop()
	err = t.Join(ctx)
	t.Leave(err)
	if err == nil {
		fmt.Fprintf(std.out, "%s: all neighbours can be reached and agree\n", m.entry().Name)
		return nil
	}
	if absent, _ := t.Waiting(); len(absent) > 0 {
		fmt.Fprintf(std.out, "%s: not reached: %s\n", m.entry().Name, strings.Join(m.cluster.Names(absent), ", "))
	}
	if errors.Is(err, context.Canceled) {
		return interrupted("interrupted while waiting for the neighbours")
	}
	return federate.Explain(m.cluster, err)
}
