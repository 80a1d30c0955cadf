//go:build unix

package main

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/difalt/difalt/cmd/difalt/engine/cluster"
)

// TestHealth: a node is ready when all its neighbours are there, and not before; who
// shows another key, or asks where nobody is, hears no.
func TestHealth(t *testing.T) {
	t.Parallel()
	f, other := newFederation(t, "path", nil), newFederation(t, "path", nil)
	ask := func(f *federation, node, at int) (string, int) {
		out, errs, code := difaltCommand(t, "cluster", "health", "--cluster", f.path(cluster.File), "--key", f.path(nodeNames[node]+".key"), "--address", other.listen[at])
		return out + errs, code
	}
	if text, code := ask(other, 0, 0); code != exitFailure {
		t.Errorf("nobody there: %d: %s", code, text)
	}
	list := []*process{launch(t, other.arguments(0, long...)...), launch(t, other.arguments(1, long...)...)}
	for range 100 { // until they listen and have found each other
		if _, code := ask(other, 0, 0); code == 0 {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if text, code := ask(other, 1, 1); code != exitFailure || !strings.Contains(text, "not ready") {
		t.Errorf("without site-c: %d: %s", code, text)
	}
	training(t, append(list, launch(t, other.arguments(2, long...)...)))
	for i := range nodeNames {
		if text, code := ask(other, i, i); code != 0 || !strings.Contains(text, nodeNames[i]+": ready") {
			t.Errorf("all there: %d: %s", code, text)
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0") // where nobody answers
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	silent := l.Addr().String()
	if _, errs, code := difaltCommand(t, "cluster", "health", "--cluster", f.path(cluster.File), "--key", f.path("site-a.key"), "--address", silent, "--timeout", "300ms"); code != exitFailure || !strings.Contains(errs, silent+": no answer for 300ms") {
		t.Errorf("no answer: %d: %s", code, errs)
	}
	if text, code := ask(f, 0, 0); code != exitFailure {
		t.Errorf("another cluster: %d: %s", code, text)
	}
}

// TestStay: a node that shall stay does so when it is done, until it gets SIGTERM.
func TestStay(t *testing.T) {
	f := newFederation(t, "path", nil)
	list := f.launch(t, "--stay", "--ridge", "1")
	for i, p := range list {
		p.said(t, "done, waits to be ended")
		load(t, f.path("m-"+nodeNames[i]+".npz"))
		_ = p.cmd.Process.Signal(syscall.SIGTERM)
		if code := p.code(t, 10*time.Second); code != 0 {
			t.Errorf("node %d: exit code %d: %s", i, code, tail(p))
		}
	}
}

// TestLentKey: a user may read a key of root through its group, as containers get their
// secrets, but not one that others may read too, and not one of its own that its group
// may read.
func TestLentKey(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("needs root, to become another user")
	}
	const user = 65532
	folder := t.TempDir()
	program := filepath.Join(folder, "difalt")
	text, err := os.ReadFile(os.Args[0])
	if err == nil {
		err = os.WriteFile(program, text, 0o755)
	}
	if err == nil {
		err = os.Chmod(filepath.Dir(folder), 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	f := newFederation(t, "path", nil)
	key, err := os.ReadFile(f.path("site-a.key"))
	if err != nil {
		t.Fatal(err)
	}
	list, err := os.ReadFile(f.path(cluster.File))
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, cluster.File), list, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		owner int
		mode  os.FileMode
		fine  bool
	}{{0, 0o440, true}, {0, 0o444, false}, {0, 0o460, false}, {user, 0o400, true}, {user, 0o440, false}} {
		path := filepath.Join(folder, "node.key")
		_ = os.Remove(path)
		if err := os.WriteFile(path, key, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(path, x.owner, user); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, x.mode); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(program, "cluster", "health", "--cluster", filepath.Join(folder, cluster.File), "--key", path, "--timeout", "100ms")
		cmd.Env = append(os.Environ(), asCommand+"=1")
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user}}
		var errs bytes.Buffer
		cmd.Stderr = &errs
		_ = cmd.Run()
		if refused := strings.Contains(errs.String(), "others may read this key"); refused == x.fine || errs.Len() == 0 {
			t.Errorf("owner %d, mode %#o: %s", x.owner, x.mode, errs.String())
		}
	}
}
