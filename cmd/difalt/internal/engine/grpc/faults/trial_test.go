//go:build faults && linux

package faults

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/difalt/difalt/cmd/difalt/internal/engine/cluster"
	"github.com/difalt/difalt/internal/testnet"
	"github.com/difalt/difalt/mixed"
)

// A trial is a training of three nodes with a fault.
type trial struct {
	*testing.T
	*world
	bench *bench
	fault *fault
	list  [3]*process
	began time.Time
}

// A process is a command in a namespace.
type process struct {
	cmd  *exec.Cmd
	out  testnet.Buffer
	done chan struct{}
}

// start starts a command in the namespace of a machine. It is killed at the end of the test.
func (t *trial) start(space string, args ...string) *process {
	t.Helper()
	p := &process{cmd: exec.Command("ip", append([]string{"netns", "exec", t.space(space)}, args...)...),
		done: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.out
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { _ = p.cmd.Wait(); close(p.done) }()
	t.Cleanup(func() {
		p.signal(syscall.SIGCONT)
		p.signal(syscall.SIGKILL)
		<-p.done
	})
	return p
}

func (p *process) signal(s syscall.Signal) { _ = p.cmd.Process.Signal(s) } // it may have ended

// over waits for the end of a process, and reports whether it has come in time.
func (p *process) over(wait time.Duration) bool {
	select {
	case <-p.done:
		return true
	case <-time.After(wait):
		return false
	}
}

func (t *trial) path(name string) string { return filepath.Join(t.folder, name) }

func (t *trial) arguments(i int) []string {
	limit := round
	if !t.fault.fails { // lost packets are sent again after twice the time each: few losses in a row take 6 s
		limit = patience
	}
	args := []string{
		t.bench.command, "node", "--cluster", t.path("cluster.json"), "--key", t.path(nodes[i] + ".key"),
		"--listen", address(i) + ":7000", "--data", filepath.Join(t.bench.folder, nodes[i]+".csv"),
		"--task", "clinic", "--target", "score", "--drop", "patient",
		"--model", t.path(nodes[i] + ".npz"), "--join-timeout", joining.String(), "--round-timeout", limit.String(),
	}
	switch {
	case t.fault.few:
		args = append(args, "--rank", "0")
	case t.fault.fails: // with all rows and curves, so that the event comes before the end
		args = append(args, "--least-rows", "0", "--least-level", "0", "--least-small", "0")
	}
	return args
}

// The deadlines of all trials.
const (
	joining = 20 * time.Second
	round   = 6 * time.Second  // of trials that should fail
	rejoin  = 30 * time.Second // the default
)

// launch writes the cluster, a path, and its keys, and starts the nodes.
func (t *trial) launch() {
	var list []string
	for i, name := range nodes {
		list = append(list, name+"="+address(i)+":7000")
	}
	t.host(t.bench.command, "cluster", "new", "--nodes", strings.Join(list, ","), "--out", t.folder)
	path := t.path("cluster.json")
	c, err := cluster.Read(path)
	if err == nil {
		c.Edges = [][2]int{{0, 1}, {1, 2}}
		err = os.WriteFile(path, c.Text(), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.began = time.Now()
	for i := range nodes {
		t.list[i] = t.start(nodes[i], t.arguments(i)...)
	}
}

// midway starts the nodes and waits until all are connected, and a random time more: a training takes less
// than a second.
func (t *trial) midway() {
	t.launch()
	for _, p := range t.list {
		for !strings.Contains(p.out.String(), "connected") {
			if p.over(5*time.Millisecond) && !strings.Contains(p.out.String(), "connected") {
				t.Fatalf("it ends before it connects: %s", p.out.String())
			}
		}
	}
	time.Sleep(rand.N(50 * time.Millisecond))
}

// any returns a random node.
func (t *trial) any() *process { return t.list[rand.IntN(len(nodes))] }

// finish waits for all nodes and judges. It reports whether the training has ended well before a fault that
// should have it fail: the trial says nothing then.
func (t *trial) finish() (early bool) {
	limit, f, failed := time.Now().Add(t.fault.within+patience), t.fault, false
	for i, p := range t.list {
		if !p.over(time.Until(limit)) {
			t.Fatalf("%s does not end: %s", nodes[i], p.out.String())
		}
	}
	t.Logf("%.1f s", time.Since(t.began).Seconds())
	models, _ := filepath.Glob(t.path("*.npz"))
	for _, path := range models {
		if _, err := mixed.LoadFile(path); err != nil {
			t.Error(err)
		}
	}
	log := ""
	for i, p := range t.list {
		status, _ := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
		code := status.ExitStatus()
		if code != 0 && !status.Signaled() && (code < 0 || !strings.Contains(p.out.String(), "difalt: ")) {
			t.Errorf("%s ends with %d: %s", nodes[i], code, p.out.String())
		}
		failed = failed || !p.cmd.ProcessState.Success() && !status.Signaled() // by the trial
		log += p.out.String()
	}
	if f.fails && !failed {
		return true
	}
	if failed != f.fails || !failed && t.sums() != t.bench.sums[f.few] || !strings.Contains(log, f.text) {
		t.Errorf("it fails: %v, or has other bits, or no node logs %q:\n%s", failed, f.text, log)
	}
	return false
}

// sums returns the hashes of the models.
func (t *trial) sums() (sums [3]string) {
	for i, name := range nodes {
		p, err := os.ReadFile(t.path(name + ".npz"))
		if err != nil {
			t.Fatalf("%v: %s", err, t.list[i].out.String())
		}
		sums[i] = fmt.Sprintf("%x", sha256.Sum256(p))
	}
	return sums
}

// A world is a network of three machines: namespaces joined by a bridge, which has one of its own.
type world struct {
	name, folder string
	fail         func(args ...any)
}

var nodes = []string{"a", "b", "c"}

// address returns the address of node i; hub is that of the bridge.
func address(i int) string { return fmt.Sprintf("10.77.0.%d", 11+i) }

const hub = "10.77.0.1"

func (w *world) space(node string) string { return w.name + "-" + node }

var worlds atomic.Int64

// newWorld makes the namespaces, and removes them at the end of the test.
func newWorld(t testing.TB) *world {
	w := &world{fmt.Sprintf("difalt-%d-%d", os.Getpid(), worlds.Add(1)), t.TempDir(), t.Fatal}
	t.Cleanup(func() {
		for _, s := range append([]string{"hub"}, nodes...) {
			_ = exec.Command("ip", "netns", "del", w.space(s)).Run() // some may not be there
		}
	})
	for _, s := range append([]string{"hub"}, nodes...) {
		w.host("ip", "netns", "add", w.space(s))
	}
	w.in("hub", "ip link add br0 type bridge", "ip link set br0 up", "ip addr add "+hub+"/24 dev br0")
	for i, s := range nodes {
		w.in("hub", fmt.Sprintf("ip link add v%s type veth peer name eth0 netns %s", s, w.space(s)),
			"ip link set v"+s+" master br0 up")
		w.in(s, "ip addr add "+address(i)+"/24 dev eth0", "ip link set eth0 up", "ip link set lo up",
			"nft add table inet f",
			"nft add chain inet f input { type filter hook input priority 0 ; }",
			"nft add chain inet f output { type filter hook output priority 0 ; }")
	}
	return w
}

// host runs a program, which must succeed.
func (w *world) host(args ...string) {
	if text, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
		w.fail(fmt.Sprintf("%s: %v: %s", strings.Join(args, " "), err, text))
	}
}

// in runs commands in a namespace.
func (w *world) in(space string, commands ...string) {
	for _, c := range commands {
		w.host(append([]string{"ip", "netns", "exec", w.space(space)}, strings.Fields(c)...)...)
	}
}

// heal removes the rules and brings all links up.
func (w *world) heal() {
	for _, s := range nodes {
		w.in(s, "nft flush chain inet f input", "nft flush chain inet f output")
		w.in("hub", "ip link set v"+s+" up")
	}
}

// able returns why this machine cannot make such networks, or nil.
func able() error {
	if os.Geteuid() != 0 {
		return errors.New("needs root, for network namespaces")
	}
	try := fmt.Sprintf("difalt-try-%d", os.Getpid())
	if text, err := exec.Command("ip", "netns", "add", try).CombinedOutput(); err != nil {
		return fmt.Errorf("ip netns add: %w: %s", err, text)
	}
	return exec.Command("ip", "netns", "del", try).Run()
}
