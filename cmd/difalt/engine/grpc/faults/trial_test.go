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
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/difalt/difalt/cmd/difalt/model"
	"github.com/difalt/difalt/internal/testnet"
)

// A trial is a training of three nodes during which a fault happens.
type trial struct {
	*world
	bench   *bench
	rng     *rand.Rand
	own     [3][]string
	through [3]string // what the others dial in place of a node
	list    [3]*process
	side    []*process // who else runs
	began   time.Time
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

func (p *process) signal(s syscall.Signal) { _ = p.cmd.Process.Signal(s) }

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
	return slices.Concat(args, t.own[i])
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
		dialled := address(i) + ":7000"
		if t.through[i] != "" {
			dialled = t.through[i]
		}
		list = append(list, name+"="+dialled)
	}
	return t.host(t.bench.command, "cluster", "new", "--nodes", strings.Join(list, ","), "--graph", "edges:a-b,b-c", "--out", t.folder)
}

// run starts the nodes.
func (t *trial) run() error {
	t.began = time.Now()
	for i := range nodes {
		if err := t.again(i); err != nil {
			return err
		}
	}
	return nil
}

// again starts a node, for the first time or anew.
func (t *trial) again(i int) (err error) {
	t.list[i], err = t.start(nodes[i], t.arguments(i)...)
	return err
}

// midway waits until all nodes train, and a random time more.
func (t *trial) midway() error {
	for _, p := range t.list {
		if err := p.says("connected"); err != nil {
			return err
		}
	}
	t.pause(0, 300)
	return nil
}

func (t *trial) pause(least, most int) {
	time.Sleep(time.Duration(least+t.rng.IntN(most-least+1)) * time.Millisecond)
}

// any is a node by chance.
func (t *trial) any() int { return t.rng.IntN(len(nodes)) }

// finish waits for all nodes and judges.
func (t *trial) finish(f *fault) (o outcome) {
	limit := time.After(f.within + patience)
	for i, p := range t.list {
		select {
		case <-p.done:
		case <-limit:
			o.verdict, o.note = hang, nodes[i]+": "+p.tail()
			return o
		}
	}
	o.took = time.Since(t.began)
	if err := t.whole(); err != nil {
		o.verdict, o.note = broken, err.Error()
		return o
	}
	codes := make([]int, len(nodes))
	for i, p := range t.list {
		codes[i] = p.cmd.ProcessState.ExitCode()
	}
	switch {
	case slices.Equal(codes, []int{0, 0, 0}):
		sums, err := t.sums()
		if o.verdict = same; err != nil || sums != t.bench.sums {
			o.verdict, o.note = broken, fmt.Sprintf("other bits: %v", err)
		}
	default:
		o.verdict = named
		for i, p := range t.list {
			if text := p.tail(); codes[i] <= 0 && i != f.victim(t) || codes[i] > 0 && !strings.Contains(text, "difalt: ") {
				o.verdict, o.note = broken, fmt.Sprintf("%s ends with %d: %s", nodes[i], codes[i], text)
			}
		}
	}
	if o.verdict == broken {
		return o
	}
	if o.verdict == named && f.text != "" && !slices.ContainsFunc(t.list[:], func(p *process) bool { return strings.Contains(p.out.String(), f.text) }) {
		o.verdict, o.note = broken, fmt.Sprintf("nobody says %q: %s", f.text, t.list[0].tail())
	}
	return o
}

// whole returns an error if a file is there that is not complete.
func (t *trial) whole() error {
	models, _ := filepath.Glob(t.path("*.npz"))
	for _, path := range models {
		if _, err := model.Load(path); err != nil {
			return err
		}
	}
	return nil
}

// end ends what still runs.
func (t *trial) end() error {
	for _, p := range append(t.side, t.list[:]...) {
		if p == nil {
			continue
		}
		p.signal(syscall.SIGCONT)
		p.signal(syscall.SIGKILL)
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
