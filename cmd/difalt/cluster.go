package main

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strings"

	"github.com/difalt/difalt/cmd/difalt/engine/cluster"
	"github.com/difalt/difalt/cmd/difalt/internal/cli"
	"github.com/difalt/difalt/cmd/difalt/internal/flagtable"
	"github.com/difalt/difalt/cmd/difalt/internal/options"
	"github.com/difalt/difalt/cmd/difalt/internal/text"
	"github.com/difalt/difalt/topology"
	"github.com/spf13/cobra"
)

func newClusterCommand() *cobra.Command {
	cmd := cli.Command("cluster", "Make the list of nodes that train together", nil, nil)
	cmd.AddCommand(
		newTableCommand(flagtable.ClusterNew, "new --nodes LIST --out DIR", "Write cluster.json, and a key for each node without one",
			newCluster),
		newTableCommand(flagtable.ClusterKey, "key --out FILE", "Make a key for a node, and print its part of cluster.json", newKey))
	return cmd
}

// newKey writes a private key, and prints its hash.
func newKey(_ context.Context, f *flagtable.Flags, std cli.Streams) error {
	key, content := cluster.NewKey()
	if err := cluster.WriteKey(f.Files.Out, content); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	_, err := fmt.Fprintln(std.Out, cluster.PinOf(key.Public().(ed25519.PublicKey)))
	return err
}

// newCluster writes cluster.json.
func newCluster(_ context.Context, f *flagtable.Flags, std cli.Streams) error {
	var names, addresses []string
	var pins []cluster.Pin
	for _, entry := range f.Member.Nodes {
		name, address, pin, err := parseNode(entry)
		if err != nil {
			return options.Usagef("--nodes: %q: %w", entry, err)
		}
		names, addresses, pins = append(names, name), append(addresses, address), append(pins, pin)
	}
	graph, err := topology.Parse(f.Member.Graph, len(names), 0)
	if err != nil {
		return options.Usagef("--nodes: %w", err)
	}
	c, keys, err := cluster.New(names, addresses, pins, graph)
	if err != nil {
		return options.Usagef("--nodes: %w", err)
	}
	if err := cluster.Write(f.Files.Out, c, keys); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	fmt.Fprintf(std.Out, "%s: %s, %s, run %s\n", filepath.Join(f.Files.Out, cluster.File), text.Plural(len(names), "node"),
		text.Plural(len(c.Edges), "edge"), c.Run)
	for i, n := range c.Nodes {
		fmt.Fprintf(std.Out, "  %s %s: %s\n", n.Name, n.Address, n.Pin)
		if keys[i] != nil {
			fmt.Fprintf(std.Out, "  %s: for %s only\n", filepath.Join(f.Files.Out, cluster.KeyFile(n.Name)), n.Name)
		}
	}
	return nil
}

// parseNode returns the parts of NAME=HOST:PORT[=sha256:KEY].
func parseNode(entry string) (name, address string, pin cluster.Pin, err error) {
	name, rest, _ := strings.Cut(entry, "=")
	address, key, hasKey := strings.Cut(rest, "=")
	if _, _, err := net.SplitHostPort(address); err != nil {
		return "", "", "", errors.New("expected NAME=HOST:PORT[=sha256:KEY]")
	}
	err = cluster.CheckAddress(address)
	if pin = cluster.Pin(key); hasKey {
		err = cmp.Or(err, pin.Check())
	}
	return name, address, pin, err
}
