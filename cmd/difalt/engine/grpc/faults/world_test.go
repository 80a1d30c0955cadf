//go:build faults && linux

package faults

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// A world is a network of three machines: namespaces joined by a bridge, which has one of its own.
type world struct {
	name   string
	folder string // of one run
}

var nodes = []string{"a", "b", "c"}

// address returns the address of node i; that of the bridge is hub.
func address(i int) string { return fmt.Sprintf("10.77.0.%d", 11+i) }

const hub = "10.77.0.1"

func (w *world) space(node string) string { return w.name + "-" + node }

// newWorld makes the namespaces.
func newWorld(name string) (*world, error) {
	w := &world{name: name}
	spaces := append([]string{"hub"}, nodes...)
	for _, s := range spaces {
		if err := w.host("ip", "netns", "add", w.space(s)); err != nil {
			w.end()
			return nil, err
		}
	}
	do := func(space, line string) error { return w.in(space, strings.Fields(line)...) }
	lines := []struct{ space, line string }{
		{"hub", "ip link add br0 type bridge"}, {"hub", "ip link set br0 up"}, {"hub", "ip addr add " + hub + "/24 dev br0"},
	}
	for i, s := range nodes {
		lines = append(lines,
			struct{ space, line string }{"hub", fmt.Sprintf("ip link add v%s type veth peer name eth0 netns %s", s, w.space(s))},
			struct{ space, line string }{"hub", fmt.Sprintf("ip link set v%s master br0 up", s)},
			struct{ space, line string }{s, fmt.Sprintf("ip addr add %s/24 dev eth0", address(i))},
			struct{ space, line string }{s, "ip link set eth0 up"},
			struct{ space, line string }{s, "ip link set lo up"},
			struct{ space, line string }{s, "nft add table inet f"},
			struct{ space, line string }{s, "nft add chain inet f input { type filter hook input priority 0 ; }"},
			struct{ space, line string }{s, "nft add chain inet f output { type filter hook output priority 0 ; }"},
		)
	}
	for _, l := range lines {
		if err := do(l.space, l.line); err != nil {
			w.end()
			return nil, err
		}
	}
	return w, nil
}

// host runs a program; in runs one in a namespace.
func (w *world) host(args ...string) error {
	var errs bytes.Buffer
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stderr = &errs
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(args, " "), err, errs.String())
	}
	return nil
}

func (w *world) in(space string, args ...string) error {
	return w.host(append([]string{"ip", "netns", "exec", w.space(space)}, args...)...)
}

// heal removes all faults of the network.
func (w *world) heal() error {
	for _, s := range nodes {
		_ = w.in(s, "tc", "qdisc", "del", "dev", "eth0", "root") // there may be none
		_ = w.in(s, "ip", "link", "set", "eth0", "mtu", "1500")
		for _, line := range []string{"nft flush chain inet f input", "nft flush chain inet f output"} {
			if err := w.in(s, strings.Fields(line)...); err != nil {
				return err
			}
		}
		if err := w.in("hub", "ip", "link", "set", "v"+s, "up"); err != nil {
			return err
		}
	}
	return nil
}

// end removes the namespaces, and with them what is in them.
func (w *world) end() {
	for _, s := range append([]string{"hub"}, nodes...) {
		_ = exec.Command("ip", "netns", "del", w.space(s)).Run() // some may not be there
	}
}

// able returns why this machine cannot make such networks, or nil.
func able() error {
	if os.Geteuid() != 0 {
		return fmt.Errorf("needs root, for network namespaces")
	}
	for _, program := range []string{"ip", "nft", "tc"} {
		if _, err := exec.LookPath(program); err != nil {
			return fmt.Errorf("needs %s", program)
		}
	}
	w, err := newWorld(fmt.Sprintf("difalt-try-%d", os.Getpid()))
	if err != nil {
		return err
	}
	w.end()
	return nil
}

// split writes the tables of the three owners to a folder.
func split(table, folder string) error {
	text, err := os.ReadFile(table)
	if err != nil {
		return err
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	parts := make([]string, len(nodes))
	for _, line := range lines[1:] {
		var clinic int
		if _, err := fmt.Sscanf(line, "C%d,", &clinic); err != nil {
			return fmt.Errorf("%s: %q: %w", table, line, err)
		}
		parts[(clinic-1)*len(nodes)/40] += line + "\n"
	}
	for i, part := range parts {
		if err := os.WriteFile(filepath.Join(folder, nodes[i]+".csv"), []byte(lines[0]+"\n"+part), 0o600); err != nil {
			return err
		}
	}
	return nil
}
