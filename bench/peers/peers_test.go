//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/difalt/difalt/internal/measure"
)

var small = measure.Shape{Name: "small", Tasks: 8, Samples: 12, Features: 24, Rank: 4}

// The peers that are this program run the tests' binary here.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "serve" {
		main()
		return
	}
	os.Exit(m.Run())
}

// scriptPeer is a peer written in shell.
func scriptPeer(t *testing.T, name, script string) peer {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	return peer{name: name, build: func(*builder) ([]string, error) { return []string{path}, nil }}
}

// TestCompare runs the peers that need nothing but Go, and some that fail in every
// way that is reported as absent.
func TestCompare(t *testing.T) {
	if testing.Short() {
		t.Skip("builds programs")
	}
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("needs the go command")
	}
	b, err := newBuilder()
	if err != nil {
		t.Fatal(err)
	}
	peers := slices.DeleteFunc(catalog(), func(p peer) bool {
		return !slices.Contains(append([]string{"difalt, float32 storage", "difalt, 16 bits between anchors", "gonum"}, always...), p.name)
	})
	good := len(peers)
	const echo = `echo ready v; read v a; head -c 1024 /dev/zero >"$a"; echo ok; read v; `
	peers = append(peers,
		scriptPeer(t, "dies", "echo no such library >&2; exit 1"),
		scriptPeer(t, "mumbles", "echo hello; read x"),
		scriptPeer(t, "lies", echo),
		peer{name: "unbuilt", build: func(b *builder) ([]string, error) {
			return b.compile("unbuilt", b.dir, nil, "sh", "-c", "echo x.c:1: error: no header; exit 1")
		}},
	)
	r := &runner{builder: b, peers: peers, shape: small, seconds: 1e-3}
	all, err := r.compare(t.Context(), []int{1})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 1 || len(all[0].Peers) != len(peers)-reference || all[0].ReadMS <= 0 || all[0].FMAMS <= 0 {
		t.Fatalf("got %+v, want one comparison of %d peers", all, len(peers)-reference)
	}
	for i, p := range all[0].Peers {
		if i < good-reference && (p.Absent != "" || p.MS <= 0 || p.Version == "") {
			t.Errorf("%s was not measured: %+v", p.Name, p)
		}
	}
	for i, want := range []string{"ended: no such library", `said "hello" instead of ready`, "wrong answer", "does not build: x.c:1: error: no header"} {
		if p := all[0].Peers[good-reference+i]; !strings.Contains(p.Absent, want) || p.MS != 0 {
			t.Errorf("%s is %+v, want absent: %s", p.Name, p, want)
		}
	}
}
