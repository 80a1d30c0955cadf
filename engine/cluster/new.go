package cluster

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/difalt/difalt/internal/atomicfile"
	"github.com/difalt/difalt/topology"
)

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
	run := make([]byte, 8)
	_, _ = rand.Read(run) // never fails
	c = Named(names, g, rule)
	c.Run, c.Epoch = hex.EncodeToString(run), 1
	for i := range c.Nodes {
		key, text, err := NewKey()
		if err != nil {
			return nil, nil, err
		}
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
	return atomicfile.WriteFile(path, text)
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
