package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/engine/cluster"
)

// The documented way: every owner makes a key, one of them the list, all check it. Keys are for their
// owners only, and no file is written over.
func TestClusterFiles(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	own := strings.TrimSpace(must(t, "cluster", "key", "--out", at("a.key")))
	if !strings.HasPrefix(own, "sha256:") {
		t.Fatalf("the key is %q", own)
	}
	list := write(t, dir, "nodes.txt", "# the nodes\na=127.0.0.1:7001="+own+"\n\nb=127.0.0.1:7002\n  c=127.0.0.1:7003\n")
	stdout := must(t, "cluster", "new", "--nodes", "@"+list, "--graph", "edges:a-b,b-c", "--out", at("net"))
	has(t, stdout, "3 nodes, 2 edges", "a 127.0.0.1:7001: "+own, "b.key: for b only", "c.key: for c only")
	for name, exists := range map[string]bool{"a.key": false, "b.key": true, "c.key": true, cluster.File: true} {
		info, err := os.Stat(at("net/" + name))
		if exists != (err == nil) || exists && name != cluster.File && info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	if stdout := must(t, "cluster", "check", "--cluster", at("net/"+cluster.File)); strings.Count(stdout, ": sha256:") != 3 {
		t.Errorf("check: %s", stdout)
	}
	before := string(readFile(t, dir, "a.key"))
	refuses(t, exitFailure, "exists", "cluster", "key", "--out", at("a.key"))
	refuses(t, exitFailure, "exists", "cluster", "new", "--nodes", "a:1,b:1", "--out", at("net"))
	if string(readFile(t, dir, "a.key")) != before {
		t.Error("a key was written over")
	}
}

func TestClusterNewErrors(t *testing.T) {
	out := filepath.Join(t.TempDir(), "net")
	const pin = "=sha256:BSDrCymcRQ47bxtcd4f7FWiObRCt7WUipR2dzcgCzwM"
	for want, args := range map[string]string{
		"need at least 2":                    "--nodes a:1",
		`"b": expected [NAME=]HOST:PORT`:     "--nodes a:1,b",
		"both called":                        "--nodes a:1,a:2",
		`the port is "70000"`:                "--nodes a:1,b:70000",
		`the port is "0"`:                    "--nodes a:0,b:1",
		"to that node --listen 0.0.0.0:7001": "--nodes a=0.0.0.0:7001,b:1",
		"--graph is \"ring\"":                "--nodes a:1,b:1 --graph ring",
		`"a-c" is not an edge`:               "--nodes a:1,b:1 --graph edges:a-c",
		"--nodes: \"a=b:1=sha256:x\"":        "--nodes a=b:1=sha256:x,c:1",
		"--authority certifies keys":         "--authority no.pem --nodes a=b:1" + pin + ",c:1",
		"both have the key":                  "--nodes a=b:1" + pin + ",c:1" + pin,
		"--nodes is a:1,,b:1: one of its":    "--nodes a:1,,b:1",
	} {
		refuses(t, exitUsage, want, append([]string{"cluster", "new", "--out", out}, strings.Fields(args)...)...)
	}
	refuses(t, exitFailure, "--authority: ", "cluster", "new", "--nodes", "a:1,b:1", "--out", out, "--authority", clinics)
	refuses(t, exitFailure, "no.txt", "cluster", "new", "--nodes", "@no.txt", "--out", out)
	if _, err := os.Stat(out); err == nil {
		t.Error("a command that failed leaves a folder")
	}
}

// Names of nodes may have hyphens in edges.
func TestParseGraph(t *testing.T) {
	g, err := parseGraph("edges:site-a-site-b,site-b-x", []string{"site-a", "site-b", "x"})
	if err != nil || g.Edges() != 2 || len(g.Neighbors(1)) != 2 {
		t.Errorf("%v, %v", g, err)
	}
}
