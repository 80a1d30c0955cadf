//go:build faults && linux

package faults

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
)

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
		w.in("hub", fmt.Sprintf("ip link add v%s type veth peer name eth0 netns %s", s, w.space(s)), "ip link set v"+s+" master br0 up")
		w.in(s, "ip addr add "+address(i)+"/24 dev eth0", "ip link set eth0 up", "ip link set lo up", "nft add table inet f",
			"nft add chain inet f input { type filter hook input priority 0 ; }", "nft add chain inet f output { type filter hook output priority 0 ; }")
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
