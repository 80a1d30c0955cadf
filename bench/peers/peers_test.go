//go:build linux

// Package peers runs one iteration of the kernel side by side with the same work in other
// languages and libraries: it builds what it can, checks that all answers agree, times them
// in turns in one run, and reports how many times as long as difalt each of them takes. What
// cannot be built or run is listed with the reason. See README.md in its folder, or run
// "make bench-peers".
package peers

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/difalt/difalt/internal/measure"
)

var (
	threadList = flag.String("threads", "1,2", "numbers of threads")
	seconds    = flag.Float64("seconds", 20, "time to measure each shape and number of threads")
	only       = flag.String("only", "", "measure only the peers whose names match this regular expression")
	store      = flag.String("store", "", "store the result in bench/results under this name; auto makes one up for "+
		"this machine")
	write = flag.Bool("write", false, "write BENCHMARKS.md and README.md from bench/results")
)

// The peers that are this project's run the binary of the tests.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "serve" {
		if err := serveProblem(os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, "peers:", err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// BenchmarkPeers times all peers of a shape and a number of threads in turns, and then reports
// each of them. Peers end with it, also where it is interrupted.
func BenchmarkPeers(b *testing.B) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var threads []int
	for _, word := range strings.Split(*threadList, ",") {
		n, err := strconv.Atoi(word)
		if err != nil || n < 1 || n > max(len(cores()), 1) {
			b.Fatalf("-threads: %q is not a number from 1 to the %d cores", word, len(cores()))
		}
		threads = append(threads, n)
	}
	pattern, err := regexp.Compile(*only)
	if err != nil {
		b.Fatalf("-only: %v", err)
	}
	builds, err := newBuilder()
	if err != nil {
		b.Fatal(err)
	}
	// The floors and the reference are part of every comparison.
	peers := slices.DeleteFunc(catalog(), func(p peer) bool {
		return !slices.Contains(always, p.name) && !pattern.MatchString(p.name)
	})
	for _, shape := range measure.Shapes() {
		b.Run("shape="+shape.Name, func(b *testing.B) {
			r := &runner{builder: builds, peers: peers, shape: shape, seconds: *seconds, folder: b.TempDir()}
			if err := r.draw(); err != nil {
				b.Fatal(err)
			}
			for _, n := range threads {
				b.Run(fmt.Sprintf("threads=%d", n), func(b *testing.B) {
					c, err := r.compare(ctx, n)
					if err != nil {
						b.Fatal(err)
					}
					report(b, c)
					if *store == "" {
						return
					}
					path, err := update(filepath.Join(builds.root, "bench", "results"), *store, *c)
					if err != nil {
						b.Fatal(err)
					}
					fmt.Println("stored in", builds.shown(path))
				})
			}
		})
	}
}

// report makes a benchmark of the time of every peer, and says why others have none.
func report(b *testing.B, c *comparison) {
	floors := []peerTime{{Name: always[readFloor], MS: c.ReadMS}, {Name: always[fmaFloor], MS: c.FMAMS}}
	for _, p := range append(floors, c.Peers...) {
		if p.Absent != "" {
			fmt.Printf("%s is absent: %s\n", p.Name, p.Absent)
			continue
		}
		b.Run("peer="+p.Name, func(b *testing.B) {
			b.ReportMetric(1e6*p.MS, "ns/op")
			b.ReportMetric(p.MS/c.Peers[0].MS, "times-difalt")
			b.ReportMetric(100*c.roofMS()/p.MS, "%roof")
		})
	}
}

var small = measure.Shape{Name: "small", Tasks: 8, Samples: 12, Features: 24, Rank: 4}

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
		return !slices.Contains(append([]string{"difalt, float32 storage", "gonum"}, always...), p.name)
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
	r := &runner{builder: b, peers: peers, shape: small, seconds: 1e-3, folder: t.TempDir()}
	if err := r.draw(); err != nil {
		t.Fatal(err)
	}
	c, err := r.compare(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Peers) != len(peers)-reference || c.ReadMS <= 0 || c.FMAMS <= 0 {
		t.Fatalf("got %+v, want a comparison of %d peers", c, len(peers)-reference)
	}
	for i, p := range c.Peers {
		if i < good-reference && (p.Absent != "" || p.MS <= 0 || p.Version == "") {
			t.Errorf("%s was not measured: %+v", p.Name, p)
		}
	}
	for i, want := range []string{"ended: no such library", `said "hello" instead of ready`, "wrong answer",
		"does not build: x.c:1: error: no header"} {
		if p := c.Peers[good-reference+i]; !strings.Contains(p.Absent, want) || p.MS != 0 {
			t.Errorf("%s is %+v, want absent: %s", p.Name, p, want)
		}
	}
}
