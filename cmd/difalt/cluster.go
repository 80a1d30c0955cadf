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
	"strconv"
	"strings"

	"github.com/difalt/difalt/cmd/difalt/engine/cluster"
	"github.com/difalt/difalt/cmd/difalt/internal/atomicfile"
	"github.com/difalt/difalt/cmd/difalt/internal/cli"
	"github.com/difalt/difalt/cmd/difalt/internal/flagtable"
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

// A keyReport is the report of cluster key.
type keyReport struct {
	cli.Header
	Key cluster.Pin `json:"key"` // hash of the public key
}

// newKey writes a private key, and prints its hash: to the standard error if the key goes to the standard
// output.
func newKey(_ context.Context, f *flagtable.Flags, std cli.Streams) error {
	key, content := cluster.NewKey()
	write := cluster.WriteKey
	if atomicfile.IsStdout(f.Files.Out) {
		write, std.Out = atomicfile.WriteFile, std.Err
	}
	if err := write(f.Files.Out, content); err != nil {
		return cli.OfFlag("out", err)
	}
	report := &keyReport{cli.NewHeader("cluster key"), cluster.PinOf(key.Public().(ed25519.PublicKey))}
	return std.Report(report, func(w io.Writer) { fmt.Fprintln(w, report.Key) })
}

// A clusterReport is the report of cluster new.
type clusterReport struct {
	cli.Header
	File  string       `json:"file"` // cluster.json
	Run   string       `json:"run"`
	Edges int          `json:"edges"`
	Nodes []nodeReport `json:"nodes"`
}

// A nodeReport is a node of a new cluster.
type nodeReport struct {
	Name    string      `json:"name"`
	Address string      `json:"address"`
	Key     cluster.Pin `json:"key"`                // hash of the public key
	KeyFile string      `json:"key_file,omitempty"` // of the private key, for that node only
}

// newCluster writes cluster.json.
func newCluster(_ context.Context, f *flagtable.Flags, std cli.Streams) error {
	var names, addresses []string
	var pins []cluster.Pin
	for _, entry := range f.Member.Nodes {
		name, address, pin, err := parseNode(entry)
		if err != nil {
			return cli.WrongValue("nodes", strconv.Quote(entry), "%w", err)
		}
		names, addresses, pins = append(names, name), append(addresses, address), append(pins, pin)
	}
	graph, err := topology.Parse(f.Member.Graph, len(names), 0)
	if err != nil {
		return cli.WrongFlag("nodes", "%w", err)
	}
	c, keys, err := cluster.New(names, addresses, pins, graph)
	if err != nil {
		return cli.WrongFlag("nodes", "%w", err)
	}
	if err := cluster.Write(f.Files.Out, c, keys); err != nil {
		return cli.OfFlag("out", err)
	}
	report := &clusterReport{Header: cli.NewHeader("cluster new"), File: filepath.Join(f.Files.Out, cluster.File), Run: fmt.Sprint(c.Run),
		Edges: len(c.Edges)}
	for i, n := range c.Nodes {
		node := nodeReport{Name: n.Name, Address: n.Address, Key: n.Pin}
		if keys[i] != nil {
			node.KeyFile = filepath.Join(f.Files.Out, cluster.KeyFile(n.Name))
		}
		report.Nodes = append(report.Nodes, node)
	}
	return std.Report(report, report.text)
}

// text writes the report in words.
func (r *clusterReport) text(w io.Writer) {
	fmt.Fprintf(w, "%s: %s, %s, run %s\n", r.File, text.Plural(len(r.Nodes), "node"), text.Plural(r.Edges, "edge"), r.Run)
	for _, n := range r.Nodes {
		fmt.Fprintf(w, "  %s %s: %s\n", n.Name, n.Address, n.Key)
		if n.KeyFile != "" {
			fmt.Fprintf(w, "  %s: for %s only\n", n.KeyFile, n.Name)
		}
	}
}

// parseNode returns the parts of NAME=HOST:PORT[=sha256:KEY].
func parseNode(entry string) (name, address string, pin cluster.Pin, err error) {
	name, rest, _ := strings.Cut(entry, "=")
	address, key, hasKey := strings.Cut(rest, "=")
	if _, _, err := net.SplitHostPort(address); err != nil {
		return "", "", "", errors.New("expected NAME=HOST:PORT[=sha256:KEY]")
	}
	err = cluster.CheckAddress(address)
	pin = cluster.Pin(key)
	if hasKey {
		err = cmp.Or(err, pin.Check())
	}
	return name, address, pin, err
}
