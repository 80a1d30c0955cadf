package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"path/filepath"
	"slices"
	"strings"

	"github.com/difalt/difalt/cmd/difalt/internal/cli"
	"github.com/difalt/difalt/cmd/difalt/internal/engine/cluster"
	"github.com/difalt/difalt/cmd/difalt/internal/terminal"
	"github.com/difalt/difalt/cmd/difalt/internal/text"
	"github.com/difalt/difalt/topology"
	"github.com/spf13/cobra"
)

const (
	clusterHelp = `Make cluster.json, the list of the nodes that train together: their
names, addresses and public keys, and the graph along which they connect. All
nodes have the same file; each has a private key of its own. docs/network.md
shows the steps in five minutes.`
	clusterExamples = `  # every owner makes a key and sends the line that it prints
  difalt cluster key --out a.key
  difalt cluster new --out net \
      --nodes a=host-a:7001=sha256:...,b=host-b:7001=sha256:... \
      --task clinic --target score --drop patient`
)

// newCluster returns the command cluster, with cluster new and cluster key below it.
func newCluster(std *cli.Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "cluster",
		Short:   "Make the list of nodes that train together",
		Long:    clusterHelp,
		Example: clusterExamples,
	}
	cmd.AddCommand(newClusterNew(std), newClusterKey(std))
	return cmd
}

const (
	clusterNewHelp = `Write cluster.json to a folder. An entry of --nodes is NAME=HOST:PORT, or
NAME=HOST:PORT=sha256:KEY with the line that "difalt cluster key" printed for
its owner. A node without a key gets one, in NAME.key: the author of the list
then has the keys of others for a moment.

Give the options of the training here, --task, --target and all others that must
be the same at all nodes: "difalt node" takes them from the file.

All nodes connect along --graph. Where only some pairs can reach each other,
edit "edges" in the file, pairs of places in the list from 0, before it is sent.`
	clusterNewExamples = `  difalt cluster new --nodes a=host-a:7001,b=host-b:7001,c=host-c:7001 \
      --out keys --task clinic --target score --drop patient`
)

// clusterNewOptions are the options of cluster new.
type clusterNewOptions struct {
	nodes      []string
	graph, out string
	shared     jointOptions // of the training, of all owners
	training   map[string]cluster.Value
}

// defaultGraph is the graph of up and cluster new. Its diameter grows with the logarithm of the nodes, and so
// do the rounds of a sum along its tree.
const defaultGraph = "exponential"

// newClusterNew returns the command cluster new.
func newClusterNew(std *cli.Streams) *cobra.Command {
	o := clusterNewOptions{graph: defaultGraph, shared: jointOptions{trainingOptions: newTrainingOptions()}}
	cmd := &cobra.Command{
		Use:     "new --nodes LIST --out DIR",
		Short:   "Write cluster.json, and a key for each node without one",
		Long:    clusterNewHelp,
		Example: clusterNewExamples,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.training = sharedIn(cmd.Flags())
			if err := o.shared.checkShared(cmd.Flags()); err != nil {
				return err
			}
			return runClusterNew(std, o)
		},
	}
	flags := cmd.Flags()
	flags.Var(cli.List(&o.nodes), "nodes", "`LIST` of NAME=HOST:PORT[=sha256:KEY]; a node without KEY gets a key")
	flags.Var(cli.OneOf(&o.graph, defaultGraph, "star"), "graph",
		"connect the nodes by a graph of `KIND` exponential or star")
	flags.StringVar(&o.out, "out", "", "write cluster.json and the keys to the folder `DIR`")
	o.shared.addSharedFlags(flags)
	cli.Require(cmd, "nodes", "out")
	return cmd
}

// runClusterNew writes cluster.json.
func runClusterNew(std *cli.Streams, o clusterNewOptions) error {
	if len(o.nodes) == 0 {
		return cli.WrongValue("nodes", "", "must list two nodes or more")
	}
	var names, addresses []string
	var pins []cluster.Pin
	for _, entry := range o.nodes {
		name, address, pin, err := parseNode(entry)
		if err != nil {
			return cli.WrongValue("nodes", entry, "%w", err)
		}
		names, addresses, pins = append(names, name), append(addresses, address), append(pins, pin)
	}
	graph, err := topology.Parse(o.graph, len(names), 0)
	if err != nil {
		return cli.WrongFlag("nodes", "%w", err)
	}
	c, keys, err := cluster.New(names, addresses, pins, graph)
	if err != nil {
		return cli.WrongFlag("nodes", "%w", err)
	}
	c.Training = o.training
	if err := c.Check(); err != nil {
		return cli.Usagef("%w", err)
	}
	if err := cluster.Write(o.out, c, keys); err != nil {
		return cli.OfFlag("out", err)
	}
	report := &clusterReport{
		Header: cli.NewHeader("cluster new"),
		File:   filepath.Join(o.out, cluster.File),
		Run:    fmt.Sprint(c.Run),
		Edges:  len(c.Edges),
		Shared: c.Training,
	}
	for i, n := range c.Nodes {
		node := nodeReport{Name: n.Name, Address: n.Address, Key: n.Pin}
		if keys[i] != nil {
			node.KeyFile = filepath.Join(o.out, cluster.KeyFile(n.Name))
		}
		report.Nodes = append(report.Nodes, node)
	}
	return std.Report(report, report.text)
}

// A clusterReport is the report of cluster new.
type clusterReport struct {
	cli.Header
	File  string       `json:"file"` // cluster.json
	Run   string       `json:"run"`
	Edges int          `json:"edges"`
	Nodes []nodeReport `json:"nodes"`
	// Shared are the options of the training that all owners share.
	Shared map[string]cluster.Value `json:"training,omitempty"`
}

// A nodeReport is a node of a new cluster.
type nodeReport struct {
	Name    string      `json:"name"`
	Address string      `json:"address"`
	Key     cluster.Pin `json:"key"`                // hash of the public key
	KeyFile string      `json:"key_file,omitempty"` // of the private key, for that node only
}

// text writes the report in words.
func (r *clusterReport) text(w io.Writer) {
	fmt.Fprintf(w, "%s: %s, %s, run %s\n", r.File, text.Plural(len(r.Nodes), "node"), text.Plural(r.Edges, "edge"),
		r.Run)
	for _, n := range r.Nodes {
		fmt.Fprintf(w, "%s at %s\n  %s\n", n.Name, n.Address, n.Key)
		if n.KeyFile != "" {
			fmt.Fprintf(w, "  %s: for %s only\n", n.KeyFile, n.Name)
		}
	}
	var options []string
	for _, name := range slices.Sorted(maps.Keys(r.Shared)) {
		options = append(options, fmt.Sprintf("--%s=%s", name, text.ShellWord(string(r.Shared[name]))))
	}
	if options != nil {
		terminal.Sayf(w, "The training of all owners: %s", strings.Join(options, " "))
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
