package federate

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/difalt/difalt/engine/cluster"
	"github.com/difalt/difalt/internal/atomicfile"
)

// A Local is what processes on this machine need to be the nodes of a network: a temporary
// folder with cluster.json and the keys, and a listener on loopback for each.
type Local struct {
	Addresses []string
	folder    string
	lock      *os.File   // of the folder: who is killed loses it
	listeners []*os.File // they stay open, so that nobody else gets the ports
}

// localPrefix is how the names of the folders begin.
const localPrefix = "difalt-nodes-"

// NewLocal returns a place for so many nodes, which Close removes. It removes those, with the keys
// in them, whose processes were killed.
func NewLocal(nodes int) (*Local, error) {
	removeAbandoned()
	l := &Local{}
	var err error
	if l.folder, l.lock, err = lockedFolder(); err != nil {
		return nil, err
	}
	for range nodes {
		if err := l.listen(); err != nil {
			l.Close()
			return nil, err
		}
	}
	return l, nil
}

func (l *Local) listen() error {
	socket, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer socket.Close()
	file, err := socket.(*net.TCPListener).File()
	if err != nil {
		return err
	}
	l.listeners, l.Addresses = append(l.listeners, file), append(l.Addresses, socket.Addr().String())
	return nil
}

// Write writes the cluster of the nodes, and their keys.
func (l *Local) Write(c *cluster.Cluster, keys [][]byte) error {
	return cluster.Write(l.folder, c, keys)
}

// Command returns a command of this program that is told to be a node, by its number and name.
// It is killed when ctx ends.
func (l *Local) Command(ctx context.Context, node int, name, command string, args ...string) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self, append([]string{
		command, "--cluster", filepath.Join(l.folder, cluster.File), "--key", filepath.Join(l.folder, cluster.KeyFile(name)), "--listen-fd", "3",
	}, args...)...)
	cmd.ExtraFiles = []*os.File{l.listeners[node]}
	return cmd, nil
}

// lockedFolder makes a folder of which this process has the lock. Another one may have taken it
// for one that was left behind, before there was a lock.
func lockedFolder() (path string, lock *os.File, err error) {
	for range 100 {
		if path, err = os.MkdirTemp("", localPrefix); err != nil {
			return "", nil, err
		}
		if lock, err = os.Open(path); err != nil {
			continue
		}
		if atomicfile.Stays(lock) {
			return path, lock, nil
		}
		lock.Close()
		err = fmt.Errorf("%s: somebody else removes it", path)
	}
	return "", nil, err
}

// removeAbandoned removes the folders of processes that were killed, and never one that may be in
// use or that it may not: then it stays where it is.
func removeAbandoned() {
	paths, _ := filepath.Glob(filepath.Join(os.TempDir(), localPrefix+"*"))
	for _, path := range paths {
		if f, err := os.Open(path); err == nil {
			if taken, _ := atomicfile.Lock(f); taken {
				_ = os.RemoveAll(path)
			}
			f.Close()
		}
	}
}

// Close removes the folder, and closes the listeners. No process may need them any more.
func (l *Local) Close() {
	for _, f := range l.listeners {
		f.Close()
	}
	os.RemoveAll(l.folder)
	l.lock.Close() // it may not be there
}
