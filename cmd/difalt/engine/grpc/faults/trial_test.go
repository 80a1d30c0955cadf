//go:build faults && linux

package faults

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/difalt/difalt/cmd/difalt/engine/cluster"
	"github.com/difalt/difalt/cmd/difalt/model"
	"github.com/difalt/difalt/internal/testnet"
)

// A trial is a training of three nodes with a fault.
type trial struct {
	*testing.T
	*world
	bench *bench
	fault *fault
	other [3]string // the list of a node, if it is not cluster.json
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
	p := &process{cmd: exec.Command("ip", append([]string{"netns", "exec", t.space(space)}, args...)...), done: make(chan struct{})}
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
		t.bench.command, "node", "--cluster", t.path(cmp.Or(t.other[i], "cluster.json")), "--key", t.path(nodes[i] + ".key"), "--listen", address(i) + ":7000",
		"--data", filepath.Join(t.bench.folder, nodes[i]+".csv"), "--task", "clinic", "--target", "score", "--drop", "patient",
		"--model", t.path(nodes[i] + ".npz"), "--join-timeout", joining.String(), "--round-timeout", limit.String(),
	}
	if t.fault.few {
		args = append(args, "--rank", "0")
	}
	return args
}

// The deadlines of all trials.
const (
	joining = 20 * time.Second
	round   = 6 * time.Second  // of trials that should fail
	rejoin  = 30 * time.Second // the default
)

// cluster writes the cluster, a path, and its keys.
func (t *trial) cluster() {
	var list []string
	for i, name := range nodes {
		list = append(list, name+"="+address(i)+":7000")
	}
	t.host(t.bench.command, "cluster", "new", "--nodes", strings.Join(list, ","), "--out", t.folder)
	t.change("cluster.json", func(c *cluster.Cluster) { c.Edges = [][2]int{{0, 1}, {1, 2}} })
}

// change writes a changed copy of cluster.json to a file.
func (t *trial) change(file string, change func(c *cluster.Cluster)) {
	c, err := cluster.Read(t.path("cluster.json"))
	if err != nil {
		t.Fatal(err)
	}
	change(c)
	if err := os.WriteFile(t.path(file), c.Text(), 0o600); err != nil {
		t.Fatal(err)
	}
}

// run starts the nodes.
func (t *trial) run() {
	t.began = time.Now()
	for i := range nodes {
		t.list[i] = t.start(nodes[i], t.arguments(i)...)
	}
}

// launch writes the cluster and starts the nodes.
func (t *trial) launch() { t.cluster(); t.run() }

// midway starts the nodes and waits until all are connected, and a random time more.
func (t *trial) midway() {
	t.launch()
	for _, p := range t.list {
		for !strings.Contains(p.out.String(), "connected") {
			if p.over(5 * time.Millisecond) {
				t.Fatalf("it ends before it connects: %s", p.out.String())
			}
		}
	}
	time.Sleep(rand.N(300 * time.Millisecond))
}

// any returns a random node.
func (t *trial) any() *process { return t.list[rand.IntN(len(nodes))] }

// finish waits for all nodes and judges.
func (t *trial) finish() {
	limit, f, failed := time.Now().Add(t.fault.within+patience), t.fault, false
	for i, p := range t.list {
		if !p.over(time.Until(limit)) {
			t.Fatalf("%s does not end: %s", nodes[i], p.out.String())
		}
	}
	t.Logf("%.1f s", time.Since(t.began).Seconds())
	models, _ := filepath.Glob(t.path("*.npz"))
	for _, path := range models {
		if _, err := model.Load(path); err != nil {
			t.Error(err)
		}
	}
	log := ""
	for i, p := range t.list {
		status, _ := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
		if code := status.ExitStatus(); code != 0 && !status.Signaled() && (code < 0 || !strings.Contains(p.out.String(), "difalt: ")) {
			t.Errorf("%s ends with %d: %s", nodes[i], code, p.out.String())
		}
		failed = failed || !p.cmd.ProcessState.Success()
		log += p.out.String()
	}
	if failed != f.fails || !failed && t.sums() != t.bench.sums[f.few] || !strings.Contains(log, f.text) {
		t.Errorf("it fails: %v, or has other bits, or no node logs %q:\n%s", failed, f.text, log)
	}
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
