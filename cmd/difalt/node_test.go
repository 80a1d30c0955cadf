//go:build unix

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/difalt/difalt/cmd/difalt/engine/cluster"
	"github.com/difalt/difalt/cmd/difalt/internal/atomicfile"
)

// TestNodesSameBits: three processes, one a node, come to the bits of one process, for
// several methods, codecs and ways of averaging; started one by one, or by up.
func TestNodesSameBits(t *testing.T) {
	t.Parallel()
	for _, flags := range firstOf([][]string{
		{"--ridge", "1"}, // the default
		{"--auto", "--ridge", "1", "--rank", "2"},
		{"--method", "dif", "--agree", "plain", "--compress", "int8", "--folds", "2", "--rank", "2", "--iterations", "8"},
		{"--method", "dec", "--agree", "chebyshev", "--test-last", "x1"},
		{"--method", "altgdmin", "--intercept", "0", "--ridge", "inf", "--folds-by", "patient"},
		{"--method", "dgd", "--compress", "float32", "--mean-ridge", "3", "--step", "1e-4"},
	}) {
		what := strings.Join(flags, " ")
		f := newFederation(t, "path", nil)
		f.smallSites(t)
		for i, p := range f.launch(t, flags...) {
			if code := p.code(t, time.Minute); code != 0 {
				t.Fatalf("%s: node %d: exit code %d: %s", what, i, code, tail(p))
			}
			if i == 0 && !strings.Contains(p.out.String(), "held-out  held-out") {
				t.Errorf("%s: report is %s", what, p.out.String())
			}
		}
		f.sameBits(t, what, f.whole(t, "path", flags...))
	}
}

// TestUp: up comes to the same bits, prints the report of one process, and leaves
// nothing behind.
func TestUp(t *testing.T) {
	t.Parallel()
	for _, flags := range firstOf([][]string{
		{"-n", "3", "--compress", "int4", "--graph", "ring"},
		{"--method", "dec", "--graph", "star"},
	}) {
		f := &federation{folder: sites(t)}
		p := launch(t, append(append([]string{"up", "--data", f.path("site-*.csv"), "--model", f.path("m.npz")}, clinicFlags...), flags...)...)
		if code := p.code(t, time.Minute); code != 0 {
			t.Fatalf("exit code %d: %s", code, p.err.String())
		}
		for _, want := range []string{"held-out  held-out", "m-site-a.npz", "m-site-c.npz"} {
			if !strings.Contains(p.out.String(), want) {
				t.Errorf("no %q in %s", want, p.out.String())
			}
		}
		if left, _ := os.ReadDir(p.temporary); len(left) > 0 {
			t.Errorf("up leaves %v", left)
		}
		if flags[0] == "-n" {
			flags = flags[2:]
		}
		graph := flags[len(flags)-1]
		f.sameBits(t, fmt.Sprint(flags), f.whole(t, graph, flags[:len(flags)-2]...))
	}
}

// TestUpEnds: when up is told to end its processes leave together, in the same iteration;
// when it is killed they do too, and none is left.
func TestUpEnds(t *testing.T) {
	t.Parallel()
	var list []*process
	folders := []*federation{{folder: sites(t)}, {folder: sites(t)}}
	for _, f := range folders {
		list = append(list, launch(t, append(append([]string{"up", "--data", f.path("site-*.csv"), "--model", f.path("m.npz")}, clinicFlags...), long...)...))
	}
	for _, p := range list {
		p.said(t, "site-c  iterations")
	}
	_ = list[0].cmd.Process.Signal(syscall.SIGTERM)
	_ = list[1].cmd.Process.Kill()
	if code := list[0].code(t, 20*time.Second); code != exitTerminated || !strings.Contains(list[0].err.String(), "difalt: interrupted after") {
		t.Errorf("exit code %d: %s", code, tail(list[0]))
	}
	for i, f := range folders {
		complete := func() bool {
			models, _ := filepath.Glob(f.path("m-*.npz"))
			begun, _ := filepath.Glob(f.path(".m-*"))
			return len(models) == len(nodeNames) && len(begun) == 0
		}
		for k := 0; !complete(); k++ {
			if k == 1000 {
				t.Fatalf("run %d: the processes do not leave", i)
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
}

// long are flags of a training that does not end by itself.
var long = []string{"--iterations", "10000000", "--method", "dif", "--agree", "plain", "--starts", "1", "--ridge", "2", "--rank", "2", "--step", "1e-5", "--round-timeout", "2s", "--rejoin-timeout", "500ms"}

// training waits until all nodes are in the iterations.
func training(t *testing.T, list []*process) {
	t.Helper()
	for _, p := range list {
		p.said(t, "stage=iterations")
	}
}

// TestKilled: when a node is killed the others end in the documented time, with an error
// that names it, and write no model; also the one that is not its neighbour.
func TestKilled(t *testing.T) {
	t.Parallel()
	for seed, victim := range firstOf([]int{2, 0, 1}) {
		f := newFederation(t, "path", nil)
		list := f.launch(t, long...)
		training(t, list)
		time.Sleep(time.Duration(seed*37) * time.Millisecond)
		began := time.Now()
		_ = list[victim].cmd.Process.Kill()
		for i, p := range list {
			if i == victim {
				p.code(t, 10*time.Second)
				continue
			}
			// At the end node 1 the others do not see each other: both see that it is gone.
			if code := p.code(t, 10*time.Second); code != exitPeer || !strings.Contains(p.err.String(), fmt.Sprintf("node %q has failed (closed", nodeNames[victim])) {
				t.Errorf("%s killed: %s ends with %d: %s", nodeNames[victim], nodeNames[i], code, tail(p))
			}
		}
		if d := time.Since(began); d > 8*time.Second {
			t.Errorf("%s killed: the others took %v", nodeNames[victim], d)
		}
		f.clean(t, nodeNames[victim]+" killed", list[victim])
	}
}

// tail returns what a process has written but for its progress.
func tail(p *process) string {
	var lines []string
	for line := range strings.Lines(p.err.String()) {
		if !strings.Contains(line, "msg=progress") {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "")
}

// TestTerminated: SIGTERM to one node ends all of them in the same iteration, with the
// models as far as they got.
func TestTerminated(t *testing.T) {
	t.Parallel()
	inFull(t)
	f := newFederation(t, "path", nil)
	list := f.launch(t, long...)
	training(t, list)
	_ = list[0].cmd.Process.Signal(syscall.SIGTERM)
	after := regexp.MustCompile(`interrupted after (\d+) of`)
	var iterations []string
	for i, p := range list {
		code := p.code(t, 10*time.Second)
		m := after.FindStringSubmatch(p.err.String())
		want := exitInterrupted
		if i == 0 {
			want = exitTerminated
		}
		if code != want || m == nil {
			t.Fatalf("%s ends with %d: %s", nodeNames[i], code, tail(p))
		}
		iterations = append(iterations, m[1])
		load(t, f.path("m-"+nodeNames[i]+".npz"))
	}
	if iterations[0] != iterations[1] || iterations[0] != iterations[2] || iterations[0] == "0" {
		t.Errorf("the nodes left after %q iterations", iterations)
	}

	// And one that waits.
	alone := launch(t, newFederation(t, "path", nil).arguments(0)...)
	alone.said(t, "stage=joining")
	_ = alone.cmd.Process.Signal(syscall.SIGTERM)
	if code := alone.code(t, 5*time.Second); code != exitTerminated || !strings.Contains(alone.err.String(), "waiting for the neighbours") {
		t.Errorf("alone: exit code %d: %s", code, tail(alone))
	}
}

// TestNodesRefuse: what differs between nodes is refused by its name, at both.
func TestNodesRefuse(t *testing.T) {
	t.Parallel()
	inFull(t)
	odd := func(f *federation, change func(c *cluster.Cluster)) []string {
		c := *f.cluster
		change(&c)
		text, err := c.Text()
		if err == nil {
			err = atomicfile.WriteFile(f.path("odd.json"), text, 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
		return []string{"--cluster", f.path("odd.json")}
	}
	for name, x := range map[string]struct {
		flags func(f *federation) []string // of node 2
		want  string
	}{
		"rank":   {func(*federation) []string { return []string{"--rank", "2"} }, `--rank is `},
		"method": {func(*federation) []string { return []string{"--method", "dec"} }, `--method is `},
		"groups": {func(*federation) []string { return []string{"--folds-by", "patient"} }, `--folds-by is `},
		"column": {func(*federation) []string { return []string{"--drop", "patient,age"} }, `the number of feature columns is 7 at node 2`},
		"epoch":  {func(f *federation) []string { return odd(f, func(c *cluster.Cluster) { c.Epoch = 7 }) }, `the epoch is `},
		"run":    {func(f *federation) []string { return odd(f, func(c *cluster.Cluster) { c.Run = "0123456789abcdef" }) }, `the run is `},
		"graph": {func(f *federation) []string {
			return odd(f, func(c *cluster.Cluster) { c.Edges = [][2]int{{0, 1}, {1, 2}, {0, 2}} })
		}, `edge`},
	} {
		f := newFederation(t, "path", nil)
		list := []*process{launch(t, f.arguments(0)...), launch(t, f.arguments(1)...), launch(t, f.arguments(2, x.flags(f)...)...)}
		for i, p := range list {
			code := p.code(t, 20*time.Second)
			if code == 0 || (i > 0 || name == "column") && !strings.Contains(p.err.String(), x.want) {
				t.Errorf("%s: %s ends with %d: %s", name, nodeNames[i], code, tail(p))
			}
		}
		f.clean(t, name, nil)
	}
}

// TestNodeErrors: mistakes that a node can see alone.
func TestNodeErrors(t *testing.T) {
	t.Parallel()
	inFull(t)
	f := newFederation(t, "path", nil)
	other := newFederation(t, "path", nil)
	loose := f.path("loose.key")
	text, _ := os.ReadFile(f.path("site-a.key"))
	if err := os.WriteFile(loose, text, 0o644); err != nil {
		t.Fatal(err)
	}
	base := append([]string{"--data", f.path("site-a.csv")}, clinicFlags...)
	for _, x := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"node"}, exitUsage, "--cluster is missing"},
		{[]string{"node", "--cluster", f.path(cluster.File)}, exitUsage, "--key is missing"},
		{[]string{"node", "--cluster", f.path("none.json")}, exitFailure, "none.json"},
		{[]string{"node", "--cluster", f.path(cluster.File), "--key", other.path("site-a.key")}, exitFailure, "that of no node"},
		{[]string{"node", "--cluster", f.path(cluster.File), "--key", loose}, exitFailure, "others may read this key"},
		{[]string{"node", "--cluster", f.path(cluster.File), "--key", f.path("site-a.key"), "--rank", "99"}, exitUsage, "--rank is 99"},
		{[]string{"node", "--cluster", f.path(cluster.File), "--key", f.path("site-a.key"), "--compress", "zip"}, exitUsage, "--compress"},
		{[]string{"node", "--cluster", f.path(cluster.File), "--key", f.path("site-a.key"), "--round-timeout", "0s"}, exitUsage, "--round-timeout is 0s"},
		{[]string{"node", "--cluster", f.path(cluster.File), "--key", f.path("site-a.key"), "--listen", "192.0.2.1:1"}, exitFailure, "--listen"},
		{[]string{"node", "--data", "-", "--checkpoint", f.path("state")}, exitUsage, "--data is the standard input, which cannot be read again"},
		{[]string{"up", "--data", f.path("site-*.csv"), "--model", "-"}, exitUsage, "--model is the standard output"},
		{[]string{"up"}, exitUsage, "at least two nodes"},
		{[]string{"up", "-n", "2", "--data", f.path("site-*.csv")}, exitUsage, "--processes is 2"},
		{[]string{"up", "--data", f.path("site-*.csv"), "--target", "nothing"}, exitFailure, `node "site-`},
	} {
		args := append([]string{x.args[0]}, append(base, x.args[1:]...)...)
		p := launch(t, args...)
		if code := p.code(t, 20*time.Second); code != x.code || !strings.Contains(p.err.String(), x.want) {
			t.Errorf("%q: exit code %d: %s, want %d and %q", x.args, code, tail(p), x.code, x.want)
		}
	}
}
