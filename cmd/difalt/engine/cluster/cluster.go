// Package cluster says who the nodes of a network are: the list of them in cluster.json, who
// talks to whom, and the keys by which they are known. Every engine is described by it.
package cluster

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"

	"github.com/difalt/difalt/cmd/difalt/internal/atomicfile"
	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/topology"
)

// A Cluster says who the nodes of a network are, where they listen, by which keys they
// are known, and who talks to whom: the content of cluster.json, which all nodes have.
type Cluster struct {
	Version int `json:"version"` // of the file, 1
	// Run tells this network from all others. Epoch grows when its nodes or edges change.
	Run   string   `json:"run"` // 16 hexadecimal digits
	Epoch uint32   `json:"epoch"`
	Rule  string   `json:"weights"` // of mixing, a name that topology.ParseRule knows
	Edges [][2]int `json:"edges"`   // by the numbers of the nodes, in Nodes from 0
	// Authority has certificates in PEM, of whom may say who a node is that has no pins:
	// the one whose name is among the DNS names of its certificate.
	Authority string `json:"authority,omitempty"`
	Nodes     []Node `json:"nodes"`
}

// A Node is a node in cluster.json.
type Node struct {
	Name    string `json:"name"`
	Address string `json:"address"` // host:port
	// Pins of the keys that the node may show: one, and two while it changes its key; none
	// if Cluster.Authority says who it is.
	Pins []Pin `json:"keys,omitempty"`
}

// A Pin is the SHA-256 of the 32 bytes of an Ed25519 public key, "sha256:" and base64.
type Pin string

const (
	version   = 1
	maxSize   = 16 << 20 // bytes of cluster.json
	maxNodes  = 10000
	pinPrefix = "sha256:"
)

var nodeName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$`)

// Read reads and checks the file at path.
func Read(path string) (*Cluster, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxSize+1))
	if err != nil {
		return nil, err
	}
	c, err := Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

// Parse returns the cluster that text describes, or an error that says what is
// wrong with it.
func Parse(text []byte) (*Cluster, error) {
	if len(text) > maxSize {
		return nil, fmt.Errorf("more than %d bytes", maxSize)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	c := &Cluster{}
	if err := d.Decode(c); err != nil {
		return nil, fmt.Errorf("not a description of a cluster: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("not a description of a cluster: something follows it")
	}
	return c, c.Check()
}

// Check returns an error that names what is wrong with c.
func (c *Cluster) Check() error {
	if c.Version != version {
		return fmt.Errorf("version is %d: want %d", c.Version, version)
	}
	if _, err := strconv.ParseUint(c.Run, 16, 64); err != nil || len(c.Run) != 16 {
		return fmt.Errorf("run is %q: want 16 hexadecimal digits", c.Run)
	}
	if n := len(c.Nodes); n < 2 || n > maxNodes {
		return fmt.Errorf("%d nodes: want 2 to %d", n, maxNodes)
	}
	if _, err := c.roots(); err != nil {
		return err
	}
	seen := map[string]int{} // what a node alone may be or have
	for i, node := range c.Nodes {
		if err := node.check(c.Authority != ""); err != nil {
			return fmt.Errorf("node %d (%q): %w", i, node.Name, err)
		}
		own := []string{fmt.Sprintf("are both called %q", node.Name), fmt.Sprintf("both have the address %q", node.Address)}
		for _, pin := range node.Pins {
			own = append(own, fmt.Sprintf("both have the key %s", pin))
		}
		for _, is := range own {
			if j, twice := seen[is]; twice {
				return fmt.Errorf("nodes %d and %d %s", j, i, is)
			}
			seen[is] = i
		}
	}
	_, err := c.Weights()
	return err
}

func (n *Node) check(authority bool) error {
	if !nodeName.MatchString(n.Name) {
		return errors.New("a name has letters, digits, and . _ - but for the first, at most 64")
	}
	if host, port, err := net.SplitHostPort(n.Address); err != nil || host == "" || port == "" {
		return fmt.Errorf("address is %q: want host:port", n.Address)
	}
	if len(n.Pins) == 0 && !authority {
		return errors.New("it has no key, and there is no authority")
	}
	for _, pin := range n.Pins {
		if len(pin) <= len(pinPrefix) || pin[:len(pinPrefix)] != pinPrefix {
			return fmt.Errorf("key is %q: want %q and base64", pin, pinPrefix)
		}
		if hash, err := base64.RawStdEncoding.Strict().DecodeString(string(pin[len(pinPrefix):])); err != nil || len(hash) != 32 {
			return fmt.Errorf("key is %q: want %q and 32 bytes in base64", pin, pinPrefix)
		}
	}
	return nil
}

// Weights returns the mixing weights of the network.
func (c *Cluster) Weights() (*topology.Weights, error) {
	g, err := topology.FromEdges(len(c.Nodes), c.Edges)
	if err != nil {
		return nil, fmt.Errorf("edges: %w", err)
	}
	rule, err := topology.ParseRule(c.Rule)
	if err != nil {
		return nil, fmt.Errorf("weights: %w", err)
	}
	w, err := topology.NewWeights(g, rule)
	if err != nil {
		return nil, fmt.Errorf("weights: %w", err)
	}
	return w, nil
}

// NodeOf returns the number of the node that may show the key of a pin, -1 if none may.
func (c *Cluster) NodeOf(pin Pin) int {
	return slices.IndexFunc(c.Nodes, func(n Node) bool { return slices.Contains(n.Pins, pin) })
}

// Text returns the content of cluster.json, or an error if that is longer than Read takes.
func (c *Cluster) Text() ([]byte, error) {
	text, err := json.MarshalIndent(c, "", "  ")
	if err == nil && len(text) >= maxSize {
		err = fmt.Errorf("a list of %d nodes and %d edges takes %d bytes, more than %d: choose a graph with fewer edges", len(c.Nodes), len(c.Edges), len(text), maxSize)
	}
	return append(text, '\n'), err
}

// RunID returns the run as the number in every frame.
func (c *Cluster) RunID() uint64 {
	id, _ := strconv.ParseUint(c.Run, 16, 64) // Check has seen to that
	return id
}

// Label names a node in messages: its number and, if there is such a node, its name.
func (c *Cluster) Label(i int) string {
	if i < 0 || i >= len(c.Nodes) {
		return fmt.Sprintf("node %d", i)
	}
	return fmt.Sprintf("node %d (%q)", i, c.Nodes[i].Name)
}

// Names returns the names of some nodes in order.
func (c *Cluster) Names(nodes []int) (list []string) {
	for _, i := range nodes {
		list = append(list, c.Nodes[i].Name)
	}
	slices.Sort(list)
	return list
}

// Settings are what neighbours must have alike of the cluster, beyond run and epoch.
// Addresses and keys may differ: names resolve differently from place to place, and
// keys are changed at one node after the other.
func (c *Cluster) Settings() []wire.Setting {
	var names []string
	for _, n := range c.Nodes {
		names = append(names, n.Name)
	}
	edges := make([][2]int, len(c.Edges))
	for k, e := range c.Edges {
		edges[k] = [2]int{min(e[0], e[1]), max(e[0], e[1])}
	}
	slices.SortFunc(edges, func(a, b [2]int) int { return slices.Compare(a[:], b[:]) })
	return []wire.Setting{
		{Name: "the list of nodes", Value: brief(len(names), fmt.Sprintf("%q", names))},
		{Name: "the list of edges", Value: brief(len(edges), fmt.Sprint(edges))},
		{Name: "the rule of the weights", Value: c.Rule},
	}
}

// brief returns a list of so many in words if that is short, or else by its hash: that of a
// large network would fill the greeting of every neighbour.
func brief(n int, list string) string {
	if len(list) <= 400 {
		return list
	}
	return fmt.Sprintf("%d with SHA-256 %.8x", n, sha256.Sum256([]byte(list)))
}

// File is the name of the file that Write writes the cluster to.
const File = "cluster.json"

// Named returns a cluster of which only the names, the edges and the rule of the weights are
// known: enough where a launcher starts the processes and says which node each of them is.
func Named(names []string, g *topology.Graph, rule string) *Cluster {
	c := &Cluster{Version: version, Rule: rule}
	for i, name := range names {
		c.Nodes = append(c.Nodes, Node{Name: name})
		for _, j := range g.Neighbors(i) {
			if j > i {
				c.Edges = append(c.Edges, [2]int{i, j})
			}
		}
	}
	return c
}

// New returns a cluster of a new run with a new key for every node, and the key files.
func New(names, addresses []string, g *topology.Graph, rule string) (c *Cluster, keys [][]byte, err error) {
	switch {
	case len(names) != g.Len():
		return nil, nil, fmt.Errorf("%d names for a graph of %d nodes", len(names), g.Len())
	case len(names) != len(addresses):
		return nil, nil, fmt.Errorf("%d names and %d addresses", len(names), len(addresses))
	}
	run := make([]byte, 8)
	_, _ = rand.Read(run) // never fails
	c = Named(names, g, rule)
	c.Run, c.Epoch = hex.EncodeToString(run), 1
	for i := range c.Nodes {
		key, text := NewKey()
		keys = append(keys, text)
		c.Nodes[i].Address, c.Nodes[i].Pins = addresses[i], []Pin{PinOf(key.Public().(ed25519.PublicKey))}
	}
	return c, keys, c.Check()
}

// KeyFile returns the name of the key file of a node that Write writes.
func KeyFile(node string) string { return node + ".key" }

// Write writes File and the keys of the nodes to a folder. It is an error if one of them
// exists. After an error none of the new files is left.
func Write(folder string, c *Cluster, keys [][]byte) (err error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	path := filepath.Join(folder, File)
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("%s exists: nodes that have it would not talk to those of another", path)
	}
	for i, key := range keys {
		path := filepath.Join(folder, KeyFile(c.Nodes[i].Name))
		if err := WriteKey(path, key); err != nil {
			return err
		}
		defer func() {
			if err != nil {
				os.Remove(path)
			}
		}()
	}
	text, err := c.Text()
	if err != nil {
		return err
	}
	return atomicfile.WriteFile(path, text, 0o666)
}

// WriteKey writes a key file, which must not exist, for its owner only.
func WriteKey(path string, text []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err != nil {
		os.Remove(path) // not a key
	}
	return err
}
