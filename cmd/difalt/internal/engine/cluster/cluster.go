// Package cluster reads and writes cluster.json, the list of the nodes of a network: their names, addresses,
// keys and edges. It also identifies a node by the key that it shows, and signs and verifies statements of
// nodes.
package cluster

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/difalt/difalt/cmd/difalt/internal/atomicfile"
	"github.com/difalt/difalt/cmd/difalt/internal/place"
	"github.com/difalt/difalt/cmd/difalt/internal/text"
	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/topology"
)

// A Cluster is the content of cluster.json, which all nodes have.
type Cluster struct {
	Version int `json:"version"` // of the file, 1
	// Run identifies this network: 16 hexadecimal digits. A changed list gets a new run.
	Run string `json:"run"`
	// Edges are pairs of indices into Nodes.
	Edges EdgeList `json:"edges"`
	Nodes []Node   `json:"nodes"`
	// Training holds the options of the training that all owners share, by their names. The caller that
	// trains knows which names there are.
	Training map[string]Value `json:"training,omitempty"`
}

// A Node is a node in cluster.json.
type Node struct {
	Name    string `json:"name"`
	Address string `json:"address"` // host:port
	Pin     Pin    `json:"key"`     // of the node's key
}

// A Pin is the SHA-256 of the 32 bytes of an Ed25519 public key, "sha256:" and base64.
type Pin string

const (
	version   = 1
	maxSize   = 32 << 20 // bytes of cluster.json, enough for every graph
	maxNodes  = consensus.MaxMasked
	pinPrefix = "sha256:"
)

var nodeName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$`)

// Read reads and checks the file at path.
func Read(path string) (c *Cluster, err error) {
	var content []byte
	f, err := os.Open(path)
	if err == nil {
		defer f.Close()
		content, err = io.ReadAll(io.LimitReader(f, maxSize+1))
	}
	if err == nil {
		c, err = Parse(content)
	}
	if err != nil {
		return nil, place.Named(path, text.Cause(err))
	}
	return c, nil
}

// Check returns an error that names the field or node at fault.
func (c *Cluster) Check() error {
	if c.Version != version {
		return fmt.Errorf("its version is %d: this program reads version %d", c.Version, version)
	}
	if _, err := strconv.ParseUint(c.Run, 16, 64); err != nil || len(c.Run) != 16 {
		return fmt.Errorf("run is %.60q: expected 16 hexadecimal digits", c.Run)
	}
	if n := len(c.Nodes); n < 2 || n > maxNodes {
		return fmt.Errorf("the list has %d of 2 to %d nodes", n, maxNodes)
	}
	seen := map[string]int{} // names, addresses and keys, which are unique
	for i, node := range c.Nodes {
		if err := node.check(); err != nil {
			return fmt.Errorf("node %d (%.60q): %w", i, node.Name, err)
		}
		for _, is := range []string{
			fmt.Sprintf("are both called %q", node.Name), fmt.Sprintf("both have the address %q", node.Address),
			fmt.Sprintf("both have the key %s", node.Pin),
		} {
			if j, twice := seen[is]; twice {
				return fmt.Errorf("nodes %d and %d %s", j, i, is)
			}
			seen[is] = i
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Training)) {
		if err := checkOption(name, string(c.Training[name])); err != nil {
			return fmt.Errorf("training: %w", err)
		}
	}
	_, err := c.Graph()
	return err
}

var optionName = regexp.MustCompile(`^[a-z][a-z-]{0,39}$`)

// longestValue is the number of bytes of the value of an option.
const longestValue = 1 << 14

// checkOption checks an option of the training as far as that is possible without knowing it.
func checkOption(name, value string) error {
	switch {
	case !optionName.MatchString(name):
		return fmt.Errorf("the name of an option is %.50q: must be of small letters and hyphens", name)
	case len(value) > longestValue:
		return fmt.Errorf("the value of %s has %d bytes: at most %d", name, len(value), longestValue)
	case text.Line(value) != value || !utf8.ValidString(value):
		return fmt.Errorf("the value of %s is %.50q: must be one line of text", name, value)
	}
	return nil
}

func (n *Node) check() error {
	if !nodeName.MatchString(n.Name) {
		return errors.New("a name has letters, digits, and . _ - but for the first, at most 64")
	}
	if err := CheckAddress(n.Address); err != nil {
		return fmt.Errorf("address is %.60q: %w", n.Address, err)
	}
	return n.Pin.Check()
}

// hostName is a name of a host, also in other alphabets, or an IP address, perhaps with a zone.
var hostName = regexp.MustCompile(`^[\pL\pN._:%-]+$`)

// CheckAddress returns an error unless other nodes can dial an address, host:port. It looks up no name.
func CheckAddress(address string) error {
	host, port, err := net.SplitHostPort(address)
	if err != nil || host == "" || port == "" {
		return errors.New("expected host:port")
	}
	if !hostName.MatchString(host) {
		return fmt.Errorf("the host is %.60q: a name has letters, digits, and . _ -", host)
	}
	if number, err := net.LookupPort("tcp", port); err != nil || number == 0 {
		return fmt.Errorf("the port is %.60q: it must be from 1 to 65535", port)
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		return fmt.Errorf("no other node can reach %s: give the node's address here, and to that node --listen %s",
			host, address)
	}
	return nil
}

// Check returns an error unless p is the prefix "sha256:" and 32 bytes in base64 without padding.
func (p Pin) Check() error {
	digits, ok := strings.CutPrefix(string(p), pinPrefix)
	if hash, err := base64.RawStdEncoding.Strict().DecodeString(digits); !ok || err != nil || len(hash) != sha256.Size {
		return fmt.Errorf("key is %.60q: expected %q and %d bytes in base64", p, pinPrefix, sha256.Size)
	}
	return nil
}

// Graph returns the graph of the network, or an error that names the edge at fault.
func (c *Cluster) Graph() (*topology.Graph, error) {
	g, err := topology.FromEdges(len(c.Nodes), c.Edges)
	if err != nil {
		return nil, fmt.Errorf("edges: %w", err)
	}
	return g, nil
}

// Text returns the content of cluster.json.
func (c *Cluster) Text() []byte {
	text, _ := json.MarshalIndent(c, "", "  ") // numbers and texts
	return append(text, '\n')
}

// RunID returns the run as a number, which every frame contains.
func (c *Cluster) RunID() uint64 {
	id, _ := strconv.ParseUint(c.Run, 16, 64) // Check refuses anything else
	return id
}

// Label names a node in messages: its index and, if it exists, its name.
func (c *Cluster) Label(i int) string {
	if i < 0 || i >= len(c.Nodes) {
		return fmt.Sprintf("node %d", i)
	}
	return fmt.Sprintf("node %d (%q)", i, c.Nodes[i].Name)
}

// Names returns the names of some nodes.
func (c *Cluster) Names(nodes []int) (list []string) {
	for _, i := range nodes {
		list = append(list, c.Nodes[i].Name)
	}
	return list
}

// Settings returns the parts of the list that neighbours compare, beyond the run: names, edges, and options
// of the training. Addresses may differ, since host names resolve differently from place to place.
func (c *Cluster) Settings() []consensus.Setting {
	var names []string
	for _, n := range c.Nodes {
		names = append(names, n.Name)
	}
	edges := make([][2]int, len(c.Edges))
	for k, e := range c.Edges {
		edges[k] = [2]int{min(e[0], e[1]), max(e[0], e[1])}
	}
	slices.SortFunc(edges, func(a, b [2]int) int { return slices.Compare(a[:], b[:]) })
	list := []consensus.Setting{
		{Name: "the list of nodes", Value: brief(len(names), fmt.Sprintf("%q", names))},
		{Name: "the list of edges", Value: brief(len(edges), fmt.Sprint(edges))},
	}
	for _, name := range slices.Sorted(maps.Keys(c.Training)) {
		value := string(c.Training[name])
		option := consensus.Setting{Name: "option " + name + " of the training", Value: brief(len(value), value)}
		list = append(list, option)
	}
	return list
}

// brief returns a list of n entries as it is, or its length and hash if it is long: handshakes stay short in
// large networks.
func brief(n int, list string) string {
	if len(list) <= 400 {
		return list
	}
	return fmt.Sprintf("%d with SHA-256 %.8x", n, sha256.Sum256([]byte(list)))
}

// File is the name of the file that Write writes the cluster to.
const File = "cluster.json"

// Named returns a cluster with names and edges only: enough where a launcher such as mpirun starts the
// processes and identifies them.
func Named(names []string, g *topology.Graph) *Cluster {
	c := &Cluster{Version: version}
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

// New returns the cluster of a new run, whose lists have an entry for each node of g. Node i has the key of
// pins[i]; where that is empty, New makes a key and returns the text of its file in keys[i].
func New(names, addresses []string, pins []Pin, g *topology.Graph) (c *Cluster, keys [][]byte, err error) {
	run := make([]byte, 8)
	_, _ = rand.Read(run) // never fails
	c = Named(names, g)
	c.Run, keys = hex.EncodeToString(run), make([][]byte, len(pins))
	for i, pin := range pins {
		if pin == "" {
			key, text := NewKey()
			pin, keys[i] = PinOf(key.Public().(ed25519.PublicKey)), text
		}
		c.Nodes[i].Address, c.Nodes[i].Pin = addresses[i], pin
	}
	return c, keys, c.Check()
}

// KeyFile returns the name of a node's key file, as Write writes it.
func KeyFile(node string) string { return node + ".key" }

// Write writes File and the keys to a folder; nil keys are left out. It is an error if one of the files
// exists. After an error no new file or folder is left.
func Write(folder string, c *Cluster, keys [][]byte) (err error) {
	made, err := atomicfile.MakeFolder(folder, 0o700)
	defer func() {
		for _, path := range made { // the files before their folder
			if err != nil {
				_ = os.Remove(path)
			}
		}
	}()
	if err != nil {
		return err
	}
	path := filepath.Join(folder, File)
	if _, err := os.Lstat(path); err == nil {
		return place.In(path, fmt.Errorf("%s exists: nodes with that list would refuse nodes with a new one", path))
	}
	for i, key := range keys {
		if key == nil {
			continue
		}
		path := filepath.Join(folder, KeyFile(c.Nodes[i].Name))
		if err := WriteKey(path, key); err != nil {
			return err
		}
		made = append([]string{path}, made...)
	}
	return atomicfile.WriteFile(path, c.Text())
}

// WriteKey writes a key file that only its owner can read. It is an error if the file exists.
func WriteKey(path string, content []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		_, err = f.Write(content)
		if err = errors.Join(err, f.Close()); err != nil {
			os.Remove(path) // it is incomplete
		}
	}
	if err != nil {
		return place.In(path, fmt.Errorf("cannot write %s: %w", path, text.Cause(err)))
	}
	return nil
}
