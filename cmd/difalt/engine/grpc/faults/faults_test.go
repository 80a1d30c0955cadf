//go:build faults && linux

package faults

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/difalt/difalt/cmd/difalt/engine/cluster"
)

// A fault is an event during a training.
type fault struct {
	name string
	want verdict
	text string // in the log of a node, if the training fails
	// within is how long the training may take beside patience.
	within time.Duration
	long   bool // it trains for long enough for an event, or waits for a timeout
	few    bool // with few rounds: the network is slow
	do     func(t *trial) error
	said   string // in the log of a node, whatever the verdict
}

// patience is for a machine with other work.
const patience = 90 * time.Second

var faults = slices.Concat([]fault{
	{name: "none", do: func(t *trial) error { return t.launch() }},
	{name: "SIGTERM", want: named, text: "interrupted", do: midway(func(t *trial) error { return t.list[t.any()].signal(syscall.SIGTERM) })},
	{name: "kill -9", long: true, want: named, text: "has failed (closed", within: rejoin, do: midway(func(t *trial) error {
		return t.list[t.any()].signal(syscall.SIGKILL)
	})},
	{name: "SIGSTOP, SIGCONT after a second", do: stop(time.Second)},
	{name: "SIGSTOP beyond --round-timeout", want: named, text: "has failed (timeout", within: 2 * round, do: stop(round + 2*time.Second)},
	{name: "full partition for a second", do: partition(time.Second, "input", "output")},
	{name: "nothing arrives for a second", do: partition(time.Second, "input")},
	{name: "one edge without packets for a second", do: partition(time.Second, "input ip saddr 10.77.0.12", "output ip daddr 10.77.0.12")},
	{name: "full partition", long: true, want: named, text: "has failed", within: round + rejoin, do: partition(0, "input", "output")},
	{name: "link down for a second", do: link(time.Second)},
	{name: "link down", long: true, want: named, text: "has failed", within: round + rejoin, do: link(0)},
	{name: "two processes with one key", long: true, said: "another process", do: midway(func(t *trial) error {
		p, err := t.start("hub", append(t.arguments(2), "--listen", hub+":7000", "--model", t.path("twin"))...)
		t.side = append(t.side, p)
		return err
	})},
	{name: "another run at the start", want: named, text: "refuse", do: func(t *trial) error {
		if err := t.cluster(); err != nil {
			return err
		}
		t.own[t.any()] = []string{"--cluster", t.path("odd.json")}
		c, err := cluster.Read(t.path("cluster.json"))
		if err != nil {
			return err
		}
		c.Run = "0123456789abcdef"
		text, err := c.Text()
		if err != nil {
			return err
		}
		return steps(t.write("odd.json", text), t.run)
	}},
}, mangled(map[string]string{
	"5 % of the packets lost":        "nft add rule inet f input numgen random mod 100 < 5 drop",
	"10 % of the packets lost":       "nft add rule inet f input numgen random mod 100 < 10 drop",
	"every seventh packet lost":      "nft add rule inet f output numgen inc mod 7 == 0 drop",
	"a fifth of short packets lost":  "nft add rule inet f output meta length < 100 numgen random mod 100 < 20 drop",
	"a tenth of long packets lost":   "nft add rule inet f input meta length > 300 numgen random mod 10 == 0 drop",
	"a byte of long packets changed": "nft add rule inet f input meta l4proto tcp meta length > 300 numgen random mod 100 == 0 @th,1600,8 set 0",
	"connections reset by the path":  "nft add rule inet f input meta l4proto tcp numgen random mod 300 == 0 reject with tcp reset",
	"at most 100 packets per second": "nft add rule inet f input limit rate over 100/second drop",
	"20 Mbit/s":                      "tc qdisc add dev eth0 root tbf rate 20mbit burst 16kb latency 50ms",
	"1 Mbit/s and a long queue":      "tc qdisc add dev eth0 root tbf rate 1mbit burst 3kb latency 1000ms",
	"a queue of three packets":       "tc qdisc add dev eth0 root pfifo limit 3",
	"packets of at most 600 bytes":   "ip link set eth0 mtu 600",
}))

// mangled returns a fault for each command that spoils the network of every node from the start to the end.
func mangled(commands map[string]string) (list []fault) {
	for _, name := range slices.Sorted(maps.Keys(commands)) {
		list = append(list, fault{name: name, few: true, within: time.Minute, do: func(t *trial) error {
			for _, s := range nodes {
				if err := t.in(s, strings.Fields(commands[name])...); err != nil {
					return err
				}
			}
			return t.launch()
		}})
	}
	return list
}

func steps(list ...func() error) error {
	for _, f := range list {
		if err := f(); err != nil {
			return err
		}
	}
	return nil
}

// midway does something at a random moment of the training.
func midway(do func(t *trial) error) func(t *trial) error {
	return func(t *trial) error { return steps(t.launch, t.midway, func() error { return do(t) }) }
}

// partition drops packets of a node by rules, for a time or until the end.
func partition(last time.Duration, rules ...string) func(t *trial) error {
	return midway(func(t *trial) error {
		node := nodes[2*t.rng.IntN(2)] // one of the two ends of the path
		for _, rule := range rules {
			if err := t.in(node, strings.Fields("nft add rule inet f "+rule+" drop")...); err != nil {
				return err
			}
		}
		return t.healAfter(last)
	})
}

func link(last time.Duration) func(t *trial) error {
	return midway(func(t *trial) error {
		return steps(func() error { return t.in("hub", "ip", "link", "set", "v"+nodes[t.any()], "down") }, func() error { return t.healAfter(last) })
	})
}

func stop(last time.Duration) func(t *trial) error {
	return midway(func(t *trial) error {
		victim := t.list[t.any()]
		_ = victim.signal(syscall.SIGSTOP)
		time.Sleep(last)
		return victim.signal(syscall.SIGCONT)
	})
}

func (t *trial) healAfter(last time.Duration) error {
	if last == 0 {
		return nil
	}
	time.Sleep(last)
	return t.heal()
}

// says reports whether one of the nodes has logged a text.
func (t *trial) says(text string) error {
	for _, p := range t.list {
		if strings.Contains(p.out.String(), text) {
			return nil
		}
	}
	return fmt.Errorf("nobody logs %q: %s", text, t.list[0].tail())
}
