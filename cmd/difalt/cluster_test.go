//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/difalt/difalt/cmd/difalt/engine/cluster"
	"github.com/difalt/difalt/cmd/difalt/internal/options"
)

// TestCluster: new writes what node and check want, keys for their owners only, and
// never over what is there.
func TestCluster(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "keys")
	out, errs, code := difaltCommand(t, "cluster", "new", "--nodes", "a=127.0.0.1:7001,b=127.0.0.1:7002,c=127.0.0.1:7003", "--graph", "path", "--out", folder)
	if code != 0 || !strings.Contains(out, "3 nodes, 2 edges") {
		t.Fatalf("exit code %d: %s%s", code, out, errs)
	}
	for _, name := range []string{"a.key", "b.key", "c.key"} {
		info, err := os.Stat(filepath.Join(folder, name))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
	if out, errs, code := difaltCommand(t, "cluster", "check", "--cluster", filepath.Join(folder, cluster.File)); code != 0 || !strings.Contains(out, "3 nodes") {
		t.Errorf("check: %d %s%s", code, out, errs)
	}
	before, _ := os.ReadFile(filepath.Join(folder, "a.key"))
	if err := os.WriteFile(filepath.Join(folder, "..", "a.key"), nil, 0o600); err != nil { // in the way
		t.Fatal(err)
	}
	for _, x := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"new", "--nodes", "a:1,b:1", "--out", folder}, exitFailure, "exists"},
		{[]string{"new", "--nodes", "a:1,b:1"}, exitUsage, "--out is missing"},
		{[]string{"new", "--nodes", "a:1", "--out", folder + "2"}, exitUsage, "need at least 2"},
		{[]string{"new", "--nodes", "a:1,b", "--out", folder + "2"}, exitUsage, `"b"`},
		{[]string{"new", "--nodes", "a:1,a:2", "--out", folder + "2"}, exitUsage, "both called"},
		{[]string{"new", "--nodes", "a:1,../x=b:2", "--out", folder + "2"}, exitUsage, "a name has"},
		{[]string{"new", "--nodes", "a:1,b:1", "--graph", "blob", "--out", folder + "2"}, exitUsage, "--graph"},
		{[]string{"new", "--nodes", "a:1,b:70000", "--out", folder + "2"}, exitUsage, `the port is "70000"`},
		{[]string{"new", "--nodes", "a:0,b:1", "--out", folder + "2"}, exitUsage, `the port is "0"`},
		{[]string{"new", "--nodes", "a=0.0.0.0:7001,b:1", "--out", folder + "2"}, exitUsage, "to that node --listen 0.0.0.0:7001"},
		{[]string{"new", "--nodes", "x:1,a:1", "--out", folder + "/.."}, exitFailure, "a.key"},
		{[]string{"key", "--out", filepath.Join(folder, "a.key")}, exitFailure, "exists"},
		{[]string{"check"}, exitUsage, "--cluster is missing"},
	} {
		_, errs, code := difaltCommand(t, append([]string{"cluster"}, x.args...)...)
		if code != x.code || !strings.Contains(errs, x.want) {
			t.Errorf("%q: exit code %d: %s, want %d and %q", x.args, code, errs, x.code, x.want)
		}
	}
	for _, name := range []string{"x.key", cluster.File} {
		if _, err := os.Stat(filepath.Join(folder, "..", name)); err == nil {
			t.Errorf("a command that failed leaves %s", name)
		}
	}
	if after, _ := os.ReadFile(filepath.Join(folder, "a.key")); string(after) != string(before) {
		t.Error("a key was written over")
	}
	if out, errs, code := difaltCommand(t, "cluster", "key", "--out", filepath.Join(folder, "new.key")); code != 0 || !strings.HasPrefix(out, "sha256:") {
		t.Errorf("key: %d %s%s", code, out, errs)
	}
}

// TestClusterHasTheGraphOfFit: without flags, nodes talk along the edges along which fit adds,
// and so come to the same bits.
func TestClusterHasTheGraphOfFit(t *testing.T) {
	fit, cluster := options.New(options.Fit).Set, newClusterNewCommand().Flags()
	for _, name := range []string{"graph", "weights", "seed"} {
		if f, c := fit.Lookup(name).DefValue, cluster.Lookup(name).DefValue; f != c {
			t.Errorf("--%s is %s in fit, and %s in cluster new", name, f, c)
		}
	}
}

// TestClusterCheck: all edges are tried, also when a neighbour waits in node, which is
// not disturbed; and the one that is missing is named.
func TestClusterCheck(t *testing.T) {
	t.Parallel()
	inFull(t)
	f := newFederation(t, "path", nil)
	check := func(i int, timeout string) *process {
		return launch(t, "cluster", "check", "--cluster", f.path(cluster.File), "--key", f.path(nodeNames[i]+".key"), "--listen", f.listen[i], "--join-timeout", timeout)
	}
	waiting := launch(t, f.arguments(0)...)
	for i, p := range []*process{check(1, "20s"), check(2, "20s")} {
		if code := p.code(t, 20*time.Second); code != 0 || !strings.Contains(p.out.String(), "all neighbours can be reached") {
			t.Errorf("check of node %d: %d: %s", i+1, code, tail(p))
		}
		if strings.Contains(p.err.String(), "EOF") {
			t.Errorf("check of node %d is well, and says %q", i+1, p.err.String())
		}
	}
	if p := check(1, "2s"); p.code(t, 10*time.Second) != exitPeer || !strings.Contains(p.out.String(), "site-b: not reached: site-c\n") {
		t.Errorf("site-c is not there: %s%s", p.out.String(), tail(p))
	}
	if p := check(2, "300ms"); p.code(t, 10*time.Second) != exitPeer || !strings.Contains(p.err.String(), `node "site-b" has failed`) || !strings.Contains(p.err.String(), "refused") {
		t.Errorf("nobody there: %s", tail(p))
	}
	for i, p := range []*process{waiting, launch(t, f.arguments(1)...), launch(t, f.arguments(2)...)} {
		if code := p.code(t, 30*time.Second); code != 0 {
			t.Errorf("node %d after the check: %d: %s", i, code, tail(p))
		}
	}
}
