//go:build faults && linux

// Package faults runs three nodes in network namespaces with faults between and inside them. Every trial must
// end with models of the same bits as without the fault, or with errors that name a node, in the documented
// time, and without an incomplete file. It needs root, ip, nft and tc. -count repeats the trials, -parallel
// limits those at once, and -short leaves out those that take long.
package faults

import (
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A bench is what all trials have in common.
type bench struct {
	command string             // difalt
	folder  string             // of the tables
	sums    map[bool][3]string // of the models without a fault, with few rounds and with many
}

func TestFaults(t *testing.T) {
	if err := able(); err != nil {
		t.Fatalf("SKIPPED, which is not passed: %v", err)
	}
	folder := t.TempDir()
	b := &bench{filepath.Join(folder, "difalt"), folder, map[bool][3]string{}}
	build := exec.Command("go", "build", "-o", b.command, "github.com/difalt/difalt/cmd/difalt")
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v: %s", err, text)
	}
	b.split(t)
	for _, few := range []bool{true, false} {
		reference := &trial{T: t, world: newWorld(t), bench: b, fault: &fault{few: few}}
		reference.launch()
		for _, p := range reference.list {
			p.over(time.Minute)
		}
		b.sums[few] = reference.sums()
		reference.finish()
	}
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			if t.Parallel(); testing.Short() && f.long {
				t.Skip("it takes long")
			}
			for tries := 1; ; tries++ {
				tr := &trial{T: t, world: newWorld(t), bench: b, fault: &f}
				if f.do(tr); !tr.finish() {
					return
				}
				if tries == mostTries {
					t.Fatalf("none of %d trainings fails", tries)
				}
			}
		})
	}
}

// split writes the tables of the three owners: a third of the rows of the example each.
func (b *bench) split(t *testing.T) {
	text, err := os.ReadFile("../../../../../../examples/clinics.csv")
	if err != nil {
		t.Fatal(err)
	}
	lines := slices.Collect(strings.Lines(string(text)))
	i := 0
	for rows := range slices.Chunk(lines[1:], (len(lines)+1)/len(nodes)) {
		path := filepath.Join(b.folder, nodes[i]+".csv")
		if err := os.WriteFile(path, []byte(lines[0]+strings.Join(rows, "")), 0o600); err != nil {
			t.Fatal(err)
		}
		i++
	}
}

// A fault is an event during a training.
type fault struct {
	name  string
	fails bool
	text  string // in the log of a node
	// within is how long the training may take beside patience.
	within time.Duration
	long   bool // it trains for long enough for an event, or waits for a timeout
	few    bool // with few rounds: the network is slow
	do     func(t *trial)
}

// mostTries is how often a training may end before its fault comes.
const mostTries = 20

// patience is for a machine with other work.
const patience = 90 * time.Second

var faults = slices.Concat([]fault{
	{name: "SIGTERM", fails: true, text: "interrupted",
		do: func(t *trial) { t.midway(); t.any().signal(syscall.SIGTERM) }},
	{name: "kill -9", long: true, fails: true, text: "has failed (", within: rejoin,
		do: func(t *trial) { t.midway(); t.any().signal(syscall.SIGKILL) }},
	{name: "SIGSTOP, SIGCONT after a second", do: stop(time.Second)},
	{name: "SIGSTOP beyond --round-timeout", fails: true, text: "has failed (timeout", within: 2 * round,
		do: stopUntilEnd},
	{name: "full partition for a second", do: partition(time.Second, "input", "output")},
	{name: "nothing arrives for a second", do: partition(time.Second, "input")},
	{name: "one edge without packets for a second",
		do: partition(time.Second, "input ip saddr "+address(1), "output ip daddr "+address(1))},
	{name: "full partition", long: true, fails: true, text: "has failed", within: round + rejoin,
		do: partition(0, "input", "output")},
	{name: "link down for a second", do: link(time.Second)},
	{name: "link down", long: true, fails: true, text: "has failed", within: round + rejoin, do: link(0)},
}, mangled(map[string]string{
	"5 % of the packets lost":       "nft add rule inet f input numgen random mod 100 < 5 drop",
	"10 % of the packets lost":      "nft add rule inet f input numgen random mod 100 < 10 drop",
	"every seventh packet lost":     "nft add rule inet f output numgen inc mod 7 == 0 drop",
	"a fifth of short packets lost": "nft add rule inet f output meta length < 100 numgen random mod 100 < 20 drop",
	"a tenth of long packets lost":  "nft add rule inet f input meta length > 300 numgen random mod 10 == 0 drop",
	"a byte of long packets changed": "nft add rule inet f input meta l4proto tcp meta length > 300 numgen random " +
		"mod 100 == 0 @th,1600,8 set 0",
	"connections reset by the path": "nft add rule inet f input meta l4proto tcp numgen random mod 300 == 0 reject " +
		"with tcp reset",
	"at most 100 packets per second": "nft add rule inet f input limit rate over 100/second drop",
	"20 Mbit/s":                      "tc qdisc add dev eth0 root tbf rate 20mbit burst 16kb latency 50ms",
	"1 Mbit/s and a long queue":      "tc qdisc add dev eth0 root tbf rate 1mbit burst 3kb latency 1000ms",
	"a queue of three packets":       "tc qdisc add dev eth0 root pfifo limit 3",
	"packets of at most 600 bytes":   "ip link set eth0 mtu 600",
}))

// mangled returns a fault for each command that spoils the network of every node from the start to the end.
func mangled(commands map[string]string) (list []fault) {
	for _, name := range slices.Sorted(maps.Keys(commands)) {
		list = append(list, fault{name: name, few: true, within: time.Minute, do: func(t *trial) {
			for _, s := range nodes {
				t.in(s, commands[name])
			}
			t.launch()
		}})
	}
	return list
}

// partition drops packets of a node by rules, for a time or until the end.
func partition(last time.Duration, rules ...string) func(t *trial) {
	return func(t *trial) {
		t.midway()
		node := nodes[2*rand.IntN(2)] // one of the two ends of the path
		for _, rule := range rules {
			t.in(node, "nft add rule inet f "+rule+" drop")
		}
		t.healAfter(last)
	}
}

func link(last time.Duration) func(t *trial) {
	return func(t *trial) {
		t.midway()
		t.in("hub", "ip link set v"+nodes[rand.IntN(len(nodes))]+" down")
		t.healAfter(last)
	}
}

func stop(last time.Duration) func(t *trial) {
	return func(t *trial) {
		t.midway()
		victim := t.any()
		victim.signal(syscall.SIGSTOP)
		time.Sleep(last)
		victim.signal(syscall.SIGCONT)
	}
}

// stopUntilEnd stops a node until one that waits for it has ended.
func stopUntilEnd(t *trial) {
	t.midway()
	victim, limit := t.any(), time.Now().Add(t.fault.within+patience)
	victim.signal(syscall.SIGSTOP)
	ended := func(p *process) bool { return p != victim && p.over(10*time.Millisecond) }
	for time.Now().Before(limit) && !slices.ContainsFunc(t.list[:], ended) {
	}
	victim.signal(syscall.SIGCONT)
}

// healAfter ends a fault after some time; 0: it stays.
func (t *trial) healAfter(last time.Duration) {
	if last > 0 {
		time.Sleep(last)
		t.heal()
	}
}
