//go:build unix

package main

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/difalt/difalt/cmd/difalt/internal/cli"
	"github.com/difalt/difalt/cmd/difalt/internal/engine"
	"github.com/difalt/difalt/cmd/difalt/internal/engine/cluster"
	"github.com/difalt/difalt/cmd/difalt/internal/federate"
	"github.com/difalt/difalt/internal/check"
	"github.com/difalt/difalt/topology"
	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
)

var siteNames = []string{"site-a", "site-b", "site-c"}

// sites cuts the example table in three files by clinic, and returns their folder.
func sites(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	lines := strings.Split(strings.TrimSpace(string(readFile(t, clinics))), "\n")
	parts := []string{lines[0], lines[0], lines[0]}
	for _, l := range lines[1:] {
		var clinic int
		if _, err := fmt.Sscanf(l, "C%d,", &clinic); err != nil {
			t.Fatal(err)
		}
		parts[(clinic-1)*3/40] += "\n" + l
	}
	for i, part := range parts {
		write(t, dir, siteNames[i]+".csv", part+"\n")
	}
	return dir
}

// siteFlags are the flags of a training on these files, in little time.
var siteFlags = []string{"--task", "clinic", "--target", "score", "--drop", "patient", "--rank", "1"}

// A network is a cluster of the three sites, whose nodes are in this process.
type network struct {
	dir     string
	members []*member
	keys    []ed25519.PrivateKey
	wrap    func(node int, n *federate.Node)
	begins  func(node int) // at the first output of a node, when it is connected; nil for nothing
}

func newNetwork(t *testing.T) *network {
	t.Helper()
	check.Limit(t)
	n := &network{dir: sites(t)}
	graph, err := topology.Parse(defaultGraph, len(siteNames), 0)
	if err != nil {
		t.Fatal(err)
	}
	c := cluster.Named(siteNames, graph)
	c.Run = "0123456789abcdef"
	for i := range siteNames {
		l := check.Listen(t)
		key, _ := cluster.NewKey()
		c.Nodes[i].Address, c.Nodes[i].Pin = l.Addr().String(), cluster.PinOf(key.Public().(ed25519.PublicKey))
		n.members, n.keys = append(n.members, &member{listener: l, cluster: c}), append(n.keys, key)
	}
	for i, m := range n.members {
		if m.identity, err = cluster.NewIdentity(c, n.keys[i]); err != nil {
			t.Fatal(err)
		}
	}
	return n
}

// An outcome is the end of a node.
type outcome struct {
	err         error
	stdout, log string
	model       string // path
}

// train trains at all nodes, each with its flags, until ctx[i] ends.
func (n *network) train(t *testing.T, ctx []context.Context, more ...[]string) []outcome {
	t.Helper()
	ends := make([]outcome, len(siteNames))
	var all sync.WaitGroup
	for i, name := range siteNames {
		ends[i].model = filepath.Join(n.dir, "m-"+name+".npz")
		o, flags := newNodeOptions(), pflag.NewFlagSet("node", pflag.ContinueOnError)
		o.addFlags(flags)
		args := append([]string{"--data", filepath.Join(n.dir, name+".csv"), "--join-timeout", "2m"}, siteFlags...)
		if more != nil {
			args = append(args, more[i]...)
		}
		if !slices.Contains(args, "--model") {
			args = append(args, "--model", ends[i].model)
		}
		if err := errors.Join(flags.Parse(args), o.take(flags, nil)); err != nil {
			t.Fatal(err)
		}
		m := *n.members[i]
		m.memberOptions = o.member
		all.Go(func() {
			var log bytes.Buffer
			stdout := reportOf{begins: func() {
				if n.begins != nil {
					n.begins(i)
				}
			}}
			x := newNodeTraining(&cli.Streams{Out: &stdout, Err: &log}, *o)
			node := m.node(x.Log())
			node.Connect = func(o engine.Options) (engine.Transport, error) {
				o.RejoinTimeout, o.Linger = patience, patience // of a healthy node on a busy machine
				return m.connect(o)
			}
			if n.wrap != nil {
				n.wrap(i, node)
			}
			ends[i].err = x.federate(ctx[i], node)
			ends[i].stdout, ends[i].log = stdout.String(), log.String()
		})
	}
	all.Wait()
	return ends
}

// A reportOf is the output of a node. It calls begins before the first text.
type reportOf struct {
	bytes.Buffer
	begins func()
}

// Write implements io.Writer.
func (r *reportOf) Write(b []byte) (int, error) {
	if r.Len() == 0 {
		r.begins()
	}
	return r.Buffer.Write(b)
}

// together is the same context for all nodes.
func together(ctx context.Context) []context.Context { return []context.Context{ctx, ctx, ctx} }

// The parameters that all share have the same bits at all nodes and in the model of up, and node and up have
// the same numbers of tasks and rounds. Each process reports the bytes that it has sent.
func TestNodesAndUpAgree(t *testing.T) {
	t.Parallel()
	inFull(t)
	n := newNetwork(t)
	up := filepath.Join(n.dir, "u.npz")
	report := must(t,
		append([]string{"up", "--data", filepath.Join(n.dir, "site-*.csv"), "--model", up}, siteFlags...)...)
	all, tasks, left := load(t, up).Parameters(), 0, sentIn(report)
	for _, want := range []string{"site-a.csv: 57", "site-b.csv: 34", "site-c.csv: 24"} { // notes name their owner
		has(t, report, want+" training rows of")
	}
	n.wrap = func(_ int, node *federate.Node) { node.LogEvery = time.Millisecond }
	for i, e := range n.train(t, together(t.Context())) {
		sent := sentIn(e.stdout)
		progressGrows(t, e.log)
		if left[0] -= sent[0]; e.err != nil || sent[0] == 0 || sent[1] != left[1] {
			t.Fatalf("%s: %v, %v left: %s", siteNames[i], e.err, left, e.stdout)
		}
		own := ownFits(e.stdout) // a node learns how its own fit compares, and up says it of every file
		if len(own) != 1 || !strings.Contains(own[0], "RMSE of the shared model") ||
			!slices.Contains(ownFits(report), filepath.Join(n.dir, siteNames[i]+".csv: "+own[0])) {
			t.Errorf("%s compares %q, and up %q", siteNames[i], own, ownFits(report))
		}
		p := load(t, e.model).Parameters()
		tasks += len(p.Tasks.Names)
		diff := cmp.Diff(all.Mean, p.Mean) + cmp.Diff(all.Prior, p.Prior) + cmp.Diff(all.Design.Center, p.Design.Center)
		if diff != "" {
			t.Errorf("%s: node and up have other shared parameters: %s", siteNames[i], diff)
		}
	}
	if len(all.Tasks.Names) != 40 || tasks != 40 || math.Abs(left[0]) > 2 {
		t.Errorf("up has %d tasks, the nodes have %d; %v MB more than the nodes", len(all.Tasks.Names), tasks, left[0])
	}
}

// ownFits returns the paragraphs of a report that compare the shared model with fits of single owners.
func ownFits(report string) (list []string) {
	for paragraph := range strings.SplitSeq(report, "\n\n") {
		if line := strings.Join(strings.Fields(paragraph), " "); strings.Contains(line, "the owner's own fit") {
			list = append(list, line)
		}
	}
	return list
}

// A mistake that needs no other node to be seen ends a node at once: it neither listens nor waits for its
// neighbours.
func TestNodeEndsBeforeTheNetwork(t *testing.T) {
	dir := sites(t)
	at := func(name string) string { return filepath.Join(dir, name) }
	must(t, "cluster", "new", "--nodes", "a=127.0.0.1:1,b=127.0.0.1:2", "--out", at("net"))
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"node site-x.csv", cli.ExitFailure, "site-x.csv: no such file or directory"},
		{"node site-a.csv site-x.csv", cli.ExitFailure, "site-x.csv: no such file or directory"},
		{"node --data site-x*.csv", cli.ExitUsage, `no file matches "site-x*.csv"`},
		{"node --model m.csv site-a.csv", cli.ExitUsage, "--model: "},
		{"node --model site-a.csv site-a.csv", cli.ExitUsage, "--model: "},
		{"node --model no/m.npz site-a.csv", cli.ExitFailure, "--model: "},
		{"run --rank 1 --data no.npz", cli.ExitFailure, "no.npz: no such file or directory"},
	} {
		t.Run(c.args, func(t *testing.T) {
			t.Chdir(dir)
			args := append(strings.Fields(c.args), "--cluster", at("net/cluster.json"), "--key", at("net/a.key"))
			if args[0] == "node" {
				args = append(args, siteFlags...)
			}
			_, stderr, code := difaltCommand(t, args...)
			if code != c.code || !strings.Contains(stderr, c.want) || strings.Count(stderr, "\n") != 1 {
				t.Errorf("exit code %d, want %d and only %q: %s", code, c.code, c.want, stderr)
			}
		})
	}
}

// progressGrows asserts that a log counts sums, never fewer than before, and steps within their limit.
func progressGrows(t *testing.T, log string) {
	t.Helper()
	sums := 0
	progress := regexp.MustCompile(`stage=\S+(?: done=(\d+) of_at_most=(\d+))? sums=(\d+)`)
	for _, m := range progress.FindAllStringSubmatch(log, -1) {
		done, _ := strconv.Atoi(m[1])
		most, _ := strconv.Atoi(m[2])
		now, _ := strconv.Atoi(m[3])
		if now < sums || most > 0 && done >= most {
			t.Errorf("%s after %d sums", m[0], sums)
		}
		sums = now
	}
	if sums < 10 {
		t.Errorf("the log counts %d sums: %s", sums, log)
	}
}

// sentIn returns the megabytes and rounds of the process in a report of three nodes with 40 tasks, of which
// 26 are in totals.
func sentIn(report string) (sent [2]float64) {
	_, last, _ := strings.Cut(report, "The totals are over 26 tasks of 3 nodes. ")
	unit := ""
	fmt.Sscanf(last, "This process sent %f %s in %f rounds.", &sent[0], &unit, &sent[1])
	if unit == "kB" {
		sent[0] /= 1000
	}
	return sent
}

// A node that cannot write its model at the end has the only exit code of its own: the models of the others
// are complete, and right.
func TestDiskGoneAtTheEnd(t *testing.T) {
	t.Parallel()
	n := newNetwork(t)
	gone := filepath.Join(t.TempDir(), "gone")
	if err := os.Mkdir(gone, 0o700); err != nil {
		t.Fatal(err)
	}
	n.begins = func(node int) {
		if node == 1 {
			_ = os.RemoveAll(gone)
		}
	}
	for i, e := range n.train(t, together(t.Context()), nil, []string{"--model", filepath.Join(gone, "m.npz")}, nil) {
		want := map[bool]int{true: cli.ExitFailure, false: 0}[i == 1]
		code := 0
		if e.err != nil {
			code = cli.ExitCode(e.err)
		}
		if code != want {
			t.Errorf("%s: exit code %d: %v", siteNames[i], code, e.err)
		}
		if i != 1 && len(load(t, e.model).Parameters().Tasks.Names) == 0 {
			t.Errorf("%s has no model", siteNames[i])
		}
	}
}

// The process of a node ends at a signal, and says so: alone, while it waits for the others.
func TestNodeProcess(t *testing.T) {
	t.Parallel()
	inFull(t)
	dir := sites(t)
	// Nothing listens on these two ports, and site-a on another one.
	at := func(port string) string { return net.JoinHostPort(check.Loopback(t), port) }
	must(t, "cluster", "new", "--nodes", "site-a="+at("1")+",site-b="+at("2"), "--out", filepath.Join(dir, "net"))
	member := []string{"--cluster", filepath.Join(dir, "net", cluster.File),
		"--key", filepath.Join(dir, "net/site-a.key"), "--listen",
		at("0")}
	args := slices.Concat([]string{"node", "--data", filepath.Join(dir, "site-a.csv")}, member, siteFlags)
	late := launch(t, "", "", append(slices.Clone(args), "--join-timeout", "100ms")...)
	p := launch(t, "", "", append(args, "--metrics", at("0"))...)
	for start := time.Now(); !strings.Contains(p.err.String(), "site-b"); time.Sleep(10 * time.Millisecond) {
		if time.Since(start) > patience {
			t.Fatalf("it does not name the node that it waits for: %s", p.err.String())
		}
	}
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	if code := p.code(t); code != cli.ExitTerminated || !strings.Contains(p.err.String(), "difalt: interrupted") {
		t.Errorf("exit code %d: %s", code, p.err.String())
	}
	const want = `difalt: node "site-b" has not connected after 100ms: `
	if code := late.code(t); code != cli.ExitPeer || !strings.Contains(late.err.String(), want) {
		t.Errorf("exit code %d, %s: want %q", code, late.err.String(), want)
	}
}

// Nodes that each have their own tasks come to the U and b_t of one process with all of them.
func TestRunTogether(t *testing.T) {
	n, dir := newNetwork(t), t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	flags := []string{"--method", "accelerated", "--any-features", "--codec", "float64", "--rank", "1", "--data"}
	x, y := make([]float64, 3*60), make([]float64, 3*20)
	for i := range x {
		x[i] = math.Sin(float64(7 * i))
		y[i/3] += float64(i%3-1) * x[i]
	}
	writeProblem(t, at("all.npz"), x, y, 3)
	must(t, slices.Concat([]string{"run"}, flags,
		[]string{at("all.npz"), "--out", at("one.npz"), "--graph", "complete"})...)
	together := func(n *network, problem func(i int) string) error {
		var wg sync.WaitGroup
		errs := make([]error, 3)
		for i, m := range n.members {
			r := runOf(t, slices.Concat(flags, []string{problem(i), "--out", at(strconv.Itoa(i) + ".npz")})...)
			m.memberOptions = r.member
			wg.Go(func() { errs[i] = r.withOthers(t.Context(), m) })
		}
		wg.Wait()
		return errors.Join(errs...)
	}
	// What one node can see is refused before the network: nobody else is there.
	first := at("first.npz")
	writeProblem(t, first, x[:60], y[:20], 1)
	for _, c := range [][]string{
		{"its tasks are on 3 nodes: with --cluster it holds the tasks of this one", at("all.npz")},
		{"--from: ", first, "--from", write(t, dir, "a.state", "no snapshot")},
		{"--rank is 4: ", first, "--rank", "4"},
	} {
		alone := newNetwork(t).members[0]
		own := runOf(t, slices.Concat(flags, c[1:], []string{"--out", at("none.npz")})...)
		alone.memberOptions = own.member
		alone.joinTimeout = time.Second
		if err := own.withOthers(t.Context(), alone); err == nil || !strings.Contains(err.Error(), c[0]) {
			t.Errorf("error %v, want %s", err, c[0])
		}
	}
	if err := together(n, func(i int) string {
		path := at("p" + strconv.Itoa(i) + ".npz")
		writeProblem(t, path, x[i*60:][:60], y[i*20:][:20], 1)
		return path
	}); err != nil {
		t.Fatal(err)
	}
	u, b := array(t, at("one.npz"), "U"), array(t, at("one.npz"), "B")
	for i := range 3 {
		own := at(strconv.Itoa(i) + ".npz")
		if !slices.Equal(array(t, own, "U"), u[i*3:][:3]) || !slices.Equal(array(t, own, "B"), b[i*2:][:2]) {
			t.Errorf("node %d comes to another result", i)
		}
	}
}
