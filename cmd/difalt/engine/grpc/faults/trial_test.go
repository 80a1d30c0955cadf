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
	"syscall"
	"time"

	"github.com/difalt/difalt/cmd/difalt/model"
	"github.com/difalt/difalt/internal/testnet"
)

// A trial is a training of three nodes during which a fault happens.
type trial struct {
	*world
	bench *bench
	fault *fault
	rng   *rand.Rand
	own   [3][]string // further arguments of a node
	list  [3]*process
	side  []*process // other processes
	began time.Time
}

// A process is a command in a namespace.
type process struct {
	cmd  *exec.Cmd
	out  testnet.Buffer
	done chan struct{}
}

// start starts a command in the namespace of a machine.
func (t *trial) start(space string, args ...string) (*process, error) {
	p := &process{cmd: exec.Command("ip", append([]string{"netns", "exec", t.space(space)}, args...)...), done: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.out
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() { _ = p.cmd.Wait(); close(p.done) }()
	return p, nil
}

func (p *process) signal(s syscall.Signal) error { return p.cmd.Process.Signal(s) }

// over reports whether a process has ended, and waits so long for it.
func (p *process) over(wait time.Duration) bool {
	select {
	case <-p.done:
		return true
	case <-time.After(wait):
		return false
	}
}

// says waits until a process has written a text.
func (p *process) says(text string) error {
	for range 3000 {
		if strings.Contains(p.out.String(), text) {
			return nil
		}
		if p.over(5*time.Millisecond) && !strings.Contains(p.out.String(), text) {
			return fmt.Errorf("ended without saying %q: %s", text, p.tail())
		}
	}
	return fmt.Errorf("never says %q: %s", text, p.tail())
}

// tail is what a process has said, without its progress.
func (p *process) tail() string {
	var lines []string
	for line := range strings.Lines(p.out.String()) {
		if !strings.Contains(line, "msg=progress") {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "")
}

func (t *trial) path(name string) string { return filepath.Join(t.folder, name) }

func (t *trial) arguments(i int) []string {
	args := []string{
		t.bench.command, "node", "--cluster", t.path("cluster.json"), "--key", t.path(nodes[i] + ".key"), "--listen", address(i) + ":7000",
		"--data", filepath.Join(t.bench.folder, nodes[i]+".csv"), "--task", "clinic", "--target", "score", "--drop", "patient",
		"--model", t.path(nodes[i] + ".npz"), "--join-timeout", joining.String(), "--round-timeout", round.String(),
	}
	if t.fault.few {
		args = append(args, "--rank", "0")
	}
	return append(args, t.own[i]...)
}

// The deadlines of all trials.
const (
	joining = 20 * time.Second
	round   = 6 * time.Second
	rejoin  = 30 * time.Second // the default
)

// launch writes the cluster and starts the nodes.
func (t *trial) launch() error { return steps(t.cluster, t.run) }

// cluster writes the cluster and its keys.
func (t *trial) cluster() error {
	var list []string
	for i, name := range nodes {
		list = append(list, name+"="+address(i)+":7000")
	}
	return t.host(t.bench.command, "cluster", "new", "--nodes", strings.Join(list, ","), "--graph", "edges:a-b,b-c", "--out", t.folder)
}

// write returns a function that writes a file of the trial.
func (t *trial) write(name string, text []byte) func() error {
	return func() error { return os.WriteFile(t.path(name), text, 0o600) }
}

// run starts the nodes.
func (t *trial) run() (err error) {
	t.began = time.Now()
	for i := range nodes {
		if t.list[i], err = t.start(nodes[i], t.arguments(i)...); err != nil {
			return err
		}
	}
	return nil
}

// midway waits until all nodes are connected, and a random time more.
func (t *trial) midway() error {
	for _, p := range t.list {
		if err := p.says("connected"); err != nil {
			return err
		}
	}
	time.Sleep(time.Duration(t.rng.IntN(300)) * time.Millisecond)
	return nil
}

// any is a node by chance.
func (t *trial) any() int { return t.rng.IntN(len(nodes)) }

// finish waits for all nodes and judges.
func (t *trial) finish() outcome {
	limit, f := time.Now().Add(t.fault.within+patience), t.fault
	for i, p := range t.list {
		if !p.over(time.Until(limit)) {
			return outcome{hang, nodes[i] + ": " + p.tail(), 0}
		}
	}
	o, wrong := outcome{same, "", time.Since(t.began)}, func(err error) outcome { return outcome{broken, err.Error(), 0} }
	models, _ := filepath.Glob(t.path("*.npz"))
	for _, path := range models {
		if _, err := model.Load(path); err != nil {
			return wrong(err)
		}
	}
	for i, p := range t.list {
		status, _ := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
		if code := status.ExitStatus(); code != 0 && !status.Signaled() && (code < 0 || !strings.Contains(p.tail(), "difalt: ")) {
			return wrong(fmt.Errorf("%s ends with %d: %s", nodes[i], code, p.tail()))
		}
		if !p.cmd.ProcessState.Success() {
			o.verdict = named
		}
	}
	if sums, err := t.sums(); o.verdict == same && (err != nil || sums != t.bench.sums[f.few]) {
		return wrong(fmt.Errorf("other bits: %v", err))
	}
	if o.verdict == named && f.want == named {
		if err := t.says(f.text); err != nil {
			return wrong(err)
		}
	}
	o.note = t.list[0].tail()
	return o
}

// end ends what still runs.
func (t *trial) end() error {
	for _, p := range append(t.side, t.list[:]...) {
		if p == nil {
			continue
		}
		_, _ = p.signal(syscall.SIGCONT), p.signal(syscall.SIGKILL) // it may have ended
		<-p.done
	}
	return errors.Join(t.heal(), os.RemoveAll(t.folder))
}

// sums returns the hashes of the models.
func (t *trial) sums() (sums [3]string, err error) {
	for i, name := range nodes {
		p, err := os.ReadFile(t.path(name + ".npz"))
		if err != nil {
			return sums, err
		}
		sums[i] = fmt.Sprintf("%x", sha256.Sum256(p))
	}
	return sums, nil
}
