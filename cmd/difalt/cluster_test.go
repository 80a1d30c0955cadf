package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/engine/cluster"
)

// The documented way: every owner makes a key, one of them the list. Keys are for their owners only, and no
// file is written over.
func TestClusterFiles(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	own := strings.TrimSpace(must(t, "cluster", "key", "--out", at("a.key")))
	if !strings.HasPrefix(own, "sha256:") {
		t.Fatalf("the key is %q", own)
	}
	stdout := must(t, "cluster", "new", "--nodes", "a=127.0.0.1:7001="+own+",b=127.0.0.1:7002,c=127.0.0.1:7003", "--graph", "star",
		"--out", at("net"))
	has(t, stdout, "3 nodes, 2 edges", "a 127.0.0.1:7001: "+own, "b.key: for b only", "c.key: for c only")
	for name, exists := range map[string]bool{"a.key": false, "b.key": true, "c.key": true, cluster.File: true} {
		info, err := os.Stat(at("net/" + name))
		if exists != (err == nil) || exists && name != cluster.File && info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	before := string(readFile(t, dir, "a.key"))
	refuses(t, exitFailure, "exists", "cluster", "key", "--out", at("a.key"))
	refuses(t, exitFailure, "exists", "cluster", "new", "--nodes", "a=a:1,b=b:1", "--out", at("net"))
	if string(readFile(t, dir, "a.key")) != before {
		t.Error("a key was written over")
	}
}

func TestClusterNewErrors(t *testing.T) {
	out := filepath.Join(t.TempDir(), "net")
	const pin = "=sha256:BSDrCymcRQ47bxtcd4f7FWiObRCt7WUipR2dzcgCzwM"
	for want, args := range map[string]string{
		"1 nodes: want 2":                        "--nodes a=a:1",
		`"b": expected NAME=HOST:PORT`:           "--nodes a=a:1,b",
		`"b:1": expected NAME=HOST:PORT`:         "--nodes a=a:1,b:1",
		"both called":                            "--nodes a=a:1,a=a:2",
		`the port is "70000"`:                    "--nodes a=a:1,b=b:70000",
		`the port is "0"`:                        "--nodes a=a:0,b=b:1",
		"to that node --listen 0.0.0.0:7001":     "--nodes a=0.0.0.0:7001,b=b:1",
		"--graph is ring: must be one of":        "--nodes a=a:1,b=b:1 --graph ring",
		"--nodes: \"a=b:1=sha256:x\"":            "--nodes a=b:1=sha256:x,c=c:1",
		"both have the key":                      "--nodes a=b:1" + pin + ",c=c:1" + pin,
		"--nodes is a=a:1,,b=b:1: one of its en": "--nodes a=a:1,,b=b:1",
	} {
		refuses(t, exitUsage, want, append([]string{"cluster", "new", "--out", out}, strings.Fields(args)...)...)
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("a command that failed leaves a folder")
	}
}
