package cluster

import (
	"crypto/ed25519"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/internal/check"
	"github.com/difalt/difalt/topology"
)

// three returns a cluster of the nodes a, b and c on a path.
func three(t testing.TB) *Cluster {
	c, _, err := New([]string{"a", "b", "c"}, []string{"h:1", "h:2", "h:3"}, make([]Pin, 3), check.OK(topology.Path(3)))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// changed returns a copy of c with a change.
func changed(c *Cluster, change func(c *Cluster)) *Cluster {
	other := *c
	other.Nodes, other.Edges = slices.Clone(c.Nodes), slices.Clone(c.Edges)
	change(&other)
	return &other
}

func textOf(c *Cluster) string { return string(c.Text()) }

func FuzzCluster(f *testing.F) {
	c := three(f)
	f.Add([]byte(textOf(c)))
	f.Add([]byte(`{"version":1,"run":"00000000000000a7","edges":[[0,9]],"nodes":[{},{}]}`))
	f.Fuzz(func(t *testing.T, p []byte) {
		c, err := Parse(p)
		if err != nil {
			return
		}
		if _, err := c.Graph(); err != nil {
			t.Errorf("good, but without a graph: %v", err)
		}
		again, err := Parse([]byte(textOf(c)))
		if err != nil || textOf(again) != textOf(c) {
			t.Errorf("read again: %v", err)
		}
	})
}

// clusterErrorsCases are the cases of TestClusterErrors.
var clusterErrorsCases = map[string]string{
	"":  "not a description of a cluster: it is empty",
	"{": "not a description of a cluster: it ends too early",
	"{\n\"version\": 1,,\n}": "line 2: not a description of a cluster: invalid character ',' looking for " +
		"beginning of object key string",
	"[1]": "line 1: not a description of a cluster: it is a list: must be an object",
	`{"version": "1"}`: "line 1: not a description of a cluster: version is a text: must be a " +
		"whole number",
	`{"version": 1.5}`: "line 1: not a description of a cluster: version is a number: must be a " +
		"whole number",
	"{\n\n\"run\": {}}":          "line 3: not a description of a cluster: run is an object: must be a text",
	`{"nodes": {"a": 1}}`:        "line 1: not a description of a cluster: nodes is an object: must be a list",
	`{"nodes": [5]}`:             "line 1: not a description of a cluster: nodes is a number: must be an object",
	`{"nodes": [{"name": []}]}`:  "line 1: not a description of a cluster: nodes.name is a list: must be a text",
	`{"edges": [[0]]}`:           "not a description of a cluster: edges: edge 0 has 1 nodes: must have 2",
	`{"edges": [[0,1],[0,1,2]]}`: "not a description of a cluster: edges: edge 1 has 3 nodes: must have 2",
	`{"edges": [[0, 1.5]]}`: "not a description of a cluster: edges must be a list of pairs of places in " +
		"the list of nodes, such as [[0, 1], [1, 2]]",
	`{"nodse": 1}`:     `not a description of a cluster: unknown field "nodse"`,
	`{"training": []}`: "line 1: not a description of a cluster: training is a list: must be an object",
	`{"training": {"rank": []}}`: "not a description of a cluster: the value of an option is []: must be a " +
		"text, a number, true or false",
	`{"version": 1, "run": "` + strings.Repeat("y", 1000) + `"}`: `run is "` + strings.Repeat("y", 60) +
		`": expected 16 hexadecimal digits`,
}

// TestClusterErrors: what is wrong with a file is named.
func TestClusterErrors(t *testing.T) {
	c := three(t)
	for want, change := range map[string]func(c *Cluster){
		"version is 2":                    func(c *Cluster) { c.Version = 2 },
		`run is "xyz"`:                    func(c *Cluster) { c.Run = "xyz" },
		"has 1 of 2 to 1000 nodes":        func(c *Cluster) { c.Nodes = c.Nodes[:1] },
		`both called "a"`:                 func(c *Cluster) { c.Nodes[1].Name = "a" },
		"both have the address":           func(c *Cluster) { c.Nodes[1].Address = c.Nodes[0].Address },
		"nodes 0 and 1 both have the key": func(c *Cluster) { c.Nodes[1].Pin = c.Nodes[0].Pin },
		`node 1 ("b"): key is ""`:         func(c *Cluster) { c.Nodes[1].Pin = "" },
		`key is "sha256:AAAA"`:            func(c *Cluster) { c.Nodes[1].Pin = "sha256:AAAA" },
		`key is "md5"`:                    func(c *Cluster) { c.Nodes[1].Pin = "md5" },
		`address is "b"`:                  func(c *Cluster) { c.Nodes[1].Address = "b" },
		`address is "b:"`:                 func(c *Cluster) { c.Nodes[1].Address = "b:" },
		`address is ":1"`:                 func(c *Cluster) { c.Nodes[1].Address = ":1" },
		`address is "b :7001": the host`:  func(c *Cluster) { c.Nodes[1].Address = "b :7001" },
		`the host is " b": a name has`:    func(c *Cluster) { c.Nodes[1].Address = " b:7001" },
		`the host is "a/b"`:               func(c *Cluster) { c.Nodes[1].Address = "a/b:7001" },
		`the port is "0"`:                 func(c *Cluster) { c.Nodes[1].Address = "b:0" },
		`the port is "65536"`:             func(c *Cluster) { c.Nodes[1].Address = "b:65536" },
		`the port is "7001/x"`:            func(c *Cluster) { c.Nodes[1].Address = "b:7001/x" },
		"no other node can reach ::":      func(c *Cluster) { c.Nodes[1].Address = "[::]:7001" },
		"no other node can reach 0.0":     func(c *Cluster) { c.Nodes[1].Address = "0.0.0.0:7001" },
		"a name has letters":              func(c *Cluster) { c.Nodes[1].Name = "../b" },
		"edges: ":                         func(c *Cluster) { c.Edges = [][2]int{{0, 7}} },
	} {
		if err := changed(c, change).Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	for want, content := range map[string]string{
		"not a description": `{"version":1,"nodse":[]}`, "something follows": textOf(c) + "{}",
	} {
		if _, err := Parse([]byte(content)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	for content, want := range clusterErrorsCases {
		if _, err := Parse([]byte(content)); err == nil || err.Error() != want {
			t.Errorf("%.60s: %v, want %s", content, err, want)
		}
	}
	if again, err := Parse([]byte("\ufeff" + textOf(c))); err != nil || textOf(again) != textOf(c) {
		t.Errorf("with a byte order mark: %v", err)
	}
	path := filepath.Join(t.TempDir(), "cluster.json")
	if _, err := Read("/dev/zero"); !errors.Is(err, fs.ErrNotExist) && !strings.Contains(fmt.Sprint(err), "more than") {
		t.Errorf("an endless file: %v", err)
	}
	for _, want := range []string{": no such file", ": its version is 0"} {
		if _, err := Read(path); err == nil || !strings.HasPrefix(err.Error(), path+want) {
			t.Errorf("%v, want the path and %q", err, want)
		}
		check.Done(os.WriteFile(path, []byte("{}"), 0o666))
	}
}

// TestGoodAddresses: names of hosts as containers and other alphabets have them, and addresses with a zone.
func TestGoodAddresses(t *testing.T) {
	for _, address := range []string{
		"host:7001", "HOST.:7001", "site_a.local_net:7001", "büro:7001", "127.0.0.1:1", "[::1]:65535",
		"[fe80::1%eth0]:7001",
	} {
		if err := CheckAddress(address); err != nil {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// TestManyNodes: the largest list of nodes with any graph can be written and read, and what neighbours
// compare of it fits into a handshake and shows every difference.
func TestManyNodes(t *testing.T) {
	described := func(graph string, nodes int) *Cluster {
		names := make([]string, nodes)
		for i := range names {
			names[i] = fmt.Sprintf("node-%d", i)
		}
		c := Named(names, check.OK(topology.Parse(graph, nodes, 1)))
		c.Run = strings.Repeat("a", 16)
		for i := range c.Nodes {
			c.Nodes[i].Address = names[i] + ".example.org:7001"
			c.Nodes[i].Pin = PinOf(binary.BigEndian.AppendUint64(nil, uint64(i)))
		}
		return c
	}
	c := described("exponential", maxNodes)
	again := check.OK(Parse([]byte(textOf(c))))
	if d := consensus.Difference(c.Settings(), "here", again.Settings(), "there"); d != "" {
		t.Error(d)
	}
	size := 0
	for _, s := range c.Settings() {
		size += len(s.Name) + len(s.Value)
	}
	if size > 1000 {
		t.Errorf("neighbours compare %d bytes", size)
	}
	for want, change := range map[string]func(c *Cluster){
		"the list of nodes": func(c *Cluster) { c.Nodes[7].Name = "site-x" },
		"the list of edges": func(c *Cluster) { c.Edges[7][1]++ },
		`there is no option rank of the training there`: func(c *Cluster) {
			c.Training = map[string]Value{"rank": "2"}
		},
	} {
		d := consensus.Difference(changed(c, change).Settings(), "here", c.Settings(), "there")
		if !strings.HasPrefix(d, want) {
			t.Errorf("%q, want %s", d, want)
		}
	}
	if _, err := Parse(described("complete", maxNodes).Text()); err != nil {
		t.Errorf("a list of 499,500 edges: %v", err)
	}
}

// TestKeyErrors: a key that is none, or that others may read, is refused, with the path and without an
// operation.
func TestKeyErrors(t *testing.T) {
	key, text := NewKey()
	c, path := three(t), filepath.Join(t.TempDir(), "key")
	c.Nodes[2].Pin = PinOf(key.Public().(ed25519.PublicKey))
	for _, x := range []struct {
		text []byte
		mode os.FileMode
		want string
	}{
		{nil, 0, "no such file"}, {text, 0o600, ""}, {text, 0o640, "chmod 600"},
		{[]byte("x"), 0o600, "not a key in PEM"},
		{[]byte("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"), 0o600, "asn1"},
	} {
		if runtime.GOOS == "windows" && x.mode == 0o640 {
			continue // it has no modes
		}
		os.Remove(path)
		if x.mode != 0 {
			check.Done(os.WriteFile(path, x.text, x.mode))
			check.Done(os.Chmod(path, x.mode)) // whatever the umask
		}
		id, err := ReadIdentity(c, path)
		if x.want == "" && (err != nil || id.Node != 2) ||
			x.want != "" && (!strings.HasPrefix(fmt.Sprint(err), path+": ") || !strings.Contains(err.Error(), x.want)) {
			t.Errorf("%+v, %v, want %q", id, err, x.want)
		}
	}
}

// TestPrivate: a private key may be readable by its user only; the group may read a key of root, for a user
// that is not root.
func TestPrivate(t *testing.T) {
	const root, me, other = 0, 1000, 1001
	for mode := range fs.FileMode(0o1000) {
		for _, who := range [][2]int{{root, root}, {root, me}, {me, root}, {me, me}, {other, me}} {
			lent := who[0] == root && who[1] == me && mode&^0o740 == 0
			if got := private(mode, who[0], who[1]); got != (mode&^0o700 == 0 || lent) {
				t.Errorf("%v of %d for %d: %v", mode, who[0], who[1], got)
			}
		}
	}
}

// TestNew: a node keeps the key that it brings, and gets a new one otherwise. Write leaves all files or none.
func TestNew(t *testing.T) {
	g := check.OK(topology.Ring(3))
	own, _ := NewKey()
	pin := PinOf(own.Public().(ed25519.PublicKey))
	c, keys, err := New([]string{"a", "b", "c"}, []string{"a:1", "b:1", "c:1"}, []Pin{"", pin, ""}, g)
	if err != nil {
		t.Fatal(err)
	}
	if c.Nodes[1].Pin != pin || keys[1] != nil {
		t.Errorf("node b has key %s, and a key file: %v; want %s and none", c.Nodes[1].Pin, keys[1] != nil, pin)
	}
	above := filepath.Join(t.TempDir(), "above")
	folder := filepath.Join(above, "keys")
	// a key whose name is too long for the file system: nothing is left of the keys before it
	long := changed(c, func(c *Cluster) { c.Nodes[2].Name = strings.Repeat("c", 300) })
	if err := Write(folder, long, keys); err == nil || !strings.HasPrefix(err.Error(), "cannot write "+folder) {
		t.Errorf("%v, want that a key cannot be written", err)
	}
	if _, err := os.Lstat(above); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after an error the folder is there: %v", err)
	}
	check.Done(Write(folder, c, keys))
	for i, name := range []string{"a", "b", "c"} {
		id, err := ReadIdentity(c, filepath.Join(folder, KeyFile(name)))
		switch {
		case i == 1 && !errors.Is(err, fs.ErrNotExist):
			t.Errorf("the key of b: %v, want none", err)
		case i != 1 && (err != nil || id.Node != i):
			t.Errorf("the key of %s: %+v, %v", name, id, err)
		}
	}
}
