//go:build faults && linux

package faults

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/difalt/difalt/cmd/difalt/engine/cluster"
)

// A fault is something that happens during a training.
type fault struct {
	name string
	want []verdict
	// text is what one of the nodes must say if the training fails.
	text string
	// within is how long the training may take; nobody may take longer than that and
	// patience.
	within time.Duration
	// long ones train for so long that somebody can come meanwhile, or wait for a timeout.
	long  bool
	do    func(t *trial) error
	after func(t *trial) error // looks at what was said
}

// patience is for a machine with much else to do.
const patience = 60 * time.Second

func (f *fault) wrong(v verdict) bool {
	for _, w := range f.want {
		if v == w {
			return false
		}
	}
	return true
}

// victim is the node whose process is not expected to say anything: it was killed.
func (f *fault) victim(t *trial) int {
	for i, p := range t.list {
		if status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			return i
		}
	}
	return -1
}

var (
	bits  = []verdict{same}
	fails = []verdict{named}
)

var faults = []fault{
	{name: "SIGTERM", want: fails, text: "interrupted", do: func(t *trial) error {
		return steps(t.launch, t.midway, func() error { t.list[t.any()].signal(syscall.SIGTERM); return nil })
	}},
	{name: "none", want: bits, do: func(t *trial) error { return t.launch() }},
	{name: "kill -9 at a random round", long: true, want: fails, text: "has failed (closed", within: rejoin, do: func(t *trial) error {
		return steps(t.launch, t.midway, func() error { t.list[t.any()].signal(syscall.SIGKILL); return nil })
	}},
	{name: "full partition of a node for a second", want: bits, do: partition(func(i, _ int) [][2]string { return [][2]string{{"input", ""}, {"output", ""}} }, time.Second)},
	{name: "half partition: a node and one neighbour, for a second", want: bits, do: partition(func(_, j int) [][2]string {
		return [][2]string{{"input", "ip saddr " + address(j)}, {"output", "ip daddr " + address(j)}}
	}, time.Second)},
	{name: "one-way partition: nothing comes in, for a second", want: bits, do: partition(func(_, _ int) [][2]string { return [][2]string{{"input", ""}} }, time.Second)},
	{name: "full partition of a node for good", long: true, want: fails, text: "has failed", within: round + rejoin, do: partition(func(_, _ int) [][2]string { return [][2]string{{"input", ""}, {"output", ""}} }, 0)},
	{name: "link down for a second", want: bits, do: link(time.Second)},
	{name: "link down for good", long: true, want: fails, text: "has failed", within: round + rejoin, do: link(0)},
	{name: "SIGSTOP, SIGCONT after a second", want: bits, do: stop(time.Second)},
	{name: "SIGSTOP beyond --round-timeout", want: fails, text: "has failed (timeout", within: 2 * round, do: stop(round + 2*time.Second)},
	{name: "5 % of the packets lost", want: bits, do: func(t *trial) error {
		for _, s := range nodes {
			if err := t.drop(s, "input", "numgen random mod 100 < 5"); err != nil {
				return err
			}
		}
		return t.launch()
	}},
	{name: "20 Mbit/s", want: bits, do: func(t *trial) error {
		for _, s := range nodes {
			if err := t.in(s, strings.Fields("tc qdisc add dev eth0 root tbf rate 20mbit burst 16kb latency 50ms")...); err != nil {
				return err
			}
		}
		return t.launch()
	}},
	{name: "a byte changed on the wire", want: bits, do: between("wire")},
	{name: "frame sent twice", want: bits, do: between("duplicate")},
	{name: "old frame sent again", want: bits, do: between("replay")},
	{name: "frames in another order", want: fails, text: "has failed (", do: between("reorder")},
	{name: "frame of the future", want: fails, text: "(protocol", do: between("future")},
	{name: "frame with another byte, from a member", want: fails, text: "(corrupt", do: between("flip")},
	{name: "wrong key", long: true, want: bits, do: intruder("stranger"), after: said("which is not in the list of nodes")},
	{name: "no certificate", long: true, want: bits, do: intruder("bare")},
	{name: "member on the wrong edge", long: true, want: bits, do: intruder("wrong-edge"), after: said("has no edge on which it dials")},
	{name: "another run", long: true, want: bits, do: intruder("run"), after: said("the run is")},
	{name: "two processes with one id", long: true, want: bits, do: func(t *trial) error {
		return steps(t.launch, t.midway, func() error {
			p, err := t.start("hub", append(t.arguments(2), "--listen", hub+":7000", "--model", t.path("twin"))...)
			t.side = append(t.side, p)
			return err
		})
	}, after: said("another process")},
	{name: "certificate that has expired", long: true, want: fails, text: "expired", do: func(t *trial) error {
		i := t.any()
		if err := t.cluster(); err != nil {
			return err
		}
		if err := t.certify(i); err != nil {
			return err
		}
		return t.run()
	}},
	{name: "certificates of an authority", want: bits, do: func(t *trial) error {
		return steps(t.cluster, func() error { return t.certify(-1) }, t.run)
	}},
	{name: "another run at the start", want: fails, text: "refuse", do: func(t *trial) error {
		i := t.any()
		t.own[i] = []string{"--cluster", t.path("odd.json")}
		if err := t.cluster(); err != nil {
			return err
		}
		if err := t.odd(); err != nil {
			return err
		}
		return t.run()
	}},
}

func steps(list ...func() error) error {
	for _, f := range list {
		if err := f(); err != nil {
			return err
		}
	}
	return nil
}

// partition drops packets of node i, which has a neighbour j, for a while or for good.
func partition(which func(i, j int) [][2]string, last time.Duration) func(t *trial) error {
	return func(t *trial) error {
		i := t.any()
		j := 1 // the neighbour of both others
		if i == 1 {
			j = 2 * t.rng.IntN(2)
		}
		return steps(t.launch, t.midway, func() error {
			for _, rule := range which(i, j) {
				if err := t.drop(nodes[i], rule[0], rule[1]); err != nil {
					return err
				}
			}
			return t.healAfter(last)
		})
	}
}

func (t *trial) healAfter(last time.Duration) error {
	if last == 0 {
		return nil
	}
	time.Sleep(last)
	return t.heal()
}

func link(last time.Duration) func(t *trial) error {
	return func(t *trial) error {
		return steps(t.launch, t.midway,
			func() error { return t.in("hub", "ip", "link", "set", "v"+nodes[t.any()], "down") },
			func() error { return t.healAfter(last) })
	}
}

func stop(last time.Duration) func(t *trial) error {
	return func(t *trial) error {
		p := func() *process { return t.list[t.any()] }
		return steps(t.launch, t.midway, func() error {
			victim := p()
			victim.signal(syscall.SIGSTOP)
			time.Sleep(last)
			victim.signal(syscall.SIGCONT)
			return nil
		})
	}
}

// between puts somebody between the nodes and a node that they dial.
func between(how string) func(t *trial) error {
	return func(t *trial) error {
		i := t.rng.IntN(2) // nobody dials the last one
		t.through[i] = hub + ":7000"
		if err := t.cluster(); err != nil {
			return err
		}
		if err := t.stand("hub", how, t.folder, nodes[i], nodes[i+1], address(i)+":7000", fmt.Sprint(t.rng.Uint64())); err != nil {
			return err
		}
		return t.run()
	}
}

// intruder lets somebody connect to the node in the middle during a training.
func intruder(how string) func(t *trial) error {
	return func(t *trial) error {
		return steps(t.cluster, func() error {
			return t.stand("hub", how, t.folder, "a", "c", address(1)+":7000", "0")
		}, t.run, t.midway, func() error { return os.WriteFile(t.path(signal), nil, 0o600) })
	}
}

// stand starts this program in another part, and waits until it has begun.
func (t *trial) stand(space, how string, args ...string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	p, err := t.start(space, append([]string{"env", asPart + "=" + how, self}, args...)...)
	if err != nil {
		return err
	}
	t.side = append(t.side, p)
	return p.says(ready)
}

// said checks that one of the nodes has said something.
func said(text string) func(t *trial) error {
	return func(t *trial) error {
		for _, p := range t.list {
			if strings.Contains(p.out.String(), text) {
				return nil
			}
		}
		return fmt.Errorf("nobody says %q: %s", text, t.list[1].tail())
	}
}

// odd writes a cluster of another run.
func (t *trial) odd() error {
	c, err := cluster.Read(t.path("cluster.json"))
	if err != nil {
		return err
	}
	c.Run = "0123456789abcdef"
	text, err := c.Text()
	if err != nil {
		return err
	}
	return os.WriteFile(t.path("odd.json"), text, 0o600)
}
