package grpc

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func FuzzHello(f *testing.F) {
	c := newParty(f, "ring", 3).c
	own := &hello{Version: protocolVersion, Run: c.Run, Epoch: c.Epoch, From: 0, To: 1, Instance: "x", Terms: c.Terms()}
	their := *own
	their.From, their.To = 1, 0
	text := must2(json.Marshal(their))
	f.Add(text)
	f.Add([]byte(`{"instance":"x","terms":null}`))
	f.Add([]byte(`{"bye":true,"reason":{"node":-1,"kind":255,"text":"x"}}`))
	f.Add([]byte(`{"waits_for":[1,2]}`))
	f.Fuzz(func(t *testing.T, p []byte) {
		if n, err := parseNote(p); err == nil && n.Reason != nil && len(n.Reason.Text) > maxText+3 {
			t.Errorf("a reason of %d bytes", len(n.Reason.Text))
		}
		h, err := parseHello(p)
		if err != nil {
			return
		}
		if len(h.Instance) > 64 {
			t.Errorf("an instance of %d bytes", len(h.Instance))
		}
		err = c.disagree(own, h)
		var r *refusal
		if err != nil && !errors.As(err, &r) {
			t.Errorf("a difference is no refusal: %v", err)
		}
		if err == nil && (h.Run != c.Run || h.Epoch != c.Epoch || h.From != 1 || h.To != 0) {
			t.Errorf("welcome: %s", p)
		}
	})
}

func FuzzCluster(f *testing.F) {
	c := newParty(f, "ring", 3).c
	f.Add(must2(c.Text()))
	f.Add([]byte(`{"version":1,"run":"00000000000000a7","edges":[[0,9]],"nodes":[{},{}]}`))
	f.Fuzz(func(t *testing.T, p []byte) {
		c, err := ParseCluster(p)
		if err != nil {
			return
		}
		if _, err := c.Weights(); err != nil {
			t.Errorf("good, but without weights: %v", err)
		}
		again, err := ParseCluster(must2(c.Text()))
		if err != nil || string(must2(again.Text())) != string(must2(c.Text())) {
			t.Errorf("read again: %v", err)
		}
	})
}

// TestClusterErrors: what is wrong with a file is named.
func TestClusterErrors(t *testing.T) {
	p := newParty(t, "path", 3)
	for want, change := range map[string]func(c *Cluster){
		"version is 2":                func(c *Cluster) { c.Version = 2 },
		`run is "xyz"`:                func(c *Cluster) { c.Run = "xyz" },
		"1 nodes":                     func(c *Cluster) { c.Nodes = c.Nodes[:1] },
		`both called "a"`:             func(c *Cluster) { c.Nodes[1].Name = "a" },
		"both have the address":       func(c *Cluster) { c.Nodes[1].Address = c.Nodes[0].Address },
		"that of nodes 0 and 1":       func(c *Cluster) { c.Nodes[1].Pins = c.Nodes[0].Pins },
		`node 1 ("b"): it has no key`: func(c *Cluster) { c.Nodes[1].Pins = nil },
		`key is "sha256:AAAA"`:        func(c *Cluster) { c.Nodes[1].Pins = []Pin{"sha256:AAAA"} },
		`key is "md5"`:                func(c *Cluster) { c.Nodes[1].Pins = []Pin{"md5"} },
		`address is "b"`:              func(c *Cluster) { c.Nodes[1].Address = "b" },
		"a name has letters":          func(c *Cluster) { c.Nodes[1].Name = "../b" },
		"edges: ":                     func(c *Cluster) { c.Edges = [][2]int{{0, 7}} },
		`weights "heavy"`:             func(c *Cluster) { c.Rule = "heavy" },
	} {
		if err := p.changed(change).Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	for want, text := range map[string]string{
		"not a description": `{"version":1,"nodse":[]}`, "something follows": string(must2(p.c.Text())) + "{}",
	} {
		if _, err := ParseCluster([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	path := filepath.Join(t.TempDir(), "cluster.json")
	if err := os.WriteFile(path, []byte("{}"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadCluster(path); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("%v does not name the file", err)
	}
}

// TestKeyErrors: a key that is none, or that others may read, is refused.
func TestKeyErrors(t *testing.T) {
	_, text, err := NewKey()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "key")
	for _, x := range []struct {
		text []byte
		mode os.FileMode
		want string
	}{{text, 0o600, ""}, {text, 0o640, "chmod 600"}, {[]byte("x"), 0o600, "not a key in PEM"}, {[]byte("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"), 0o600, "asn1"}} {
		os.Remove(path)
		if err := os.WriteFile(path, x.text, x.mode); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadKey(path); (err == nil) != (x.want == "") || err != nil && (!strings.Contains(err.Error(), x.want) || !strings.Contains(err.Error(), path)) {
			t.Errorf("%v, want %q", err, x.want)
		}
	}
}

// TestPrivate: of all modes, owners and users, those that ssh and Postgres take for a
// private key too: u=rwx at most, and g=r where the file is lent by root.
func TestPrivate(t *testing.T) {
	const root, me, somebody = 0, 1000, 1001
	for mode := range fs.FileMode(0o1000) {
		text := mode.String() // -rwxrwxrwx
		group, others := text[4:7], text[7:]
		for _, user := range []int{root, me} {
			for _, owner := range []int{root, me, somebody} {
				want := others == "---" && (group == "---" || group == "r--" && owner == root && user == me)
				if got := private(mode, owner, user); got != want {
					t.Errorf("%s of %d for %d: %v, want %v", text, owner, user, got, want)
				}
			}
		}
	}
}
