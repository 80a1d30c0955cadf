package federate

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/difalt/difalt/engine/cluster"
)

// A Local is what processes on this machine need to be the nodes of a network: a temporary
// folder with cluster.json and the keys, and a listener on loopback for each.
type Local struct {
	Addresses []string
	folder    string
	listeners []*os.File // they stay open, so that nobody else gets the ports
}

// NewLocal returns a place for so many nodes, which Close removes.
func NewLocal(nodes int) (*Local, error) {
	folder, err := os.MkdirTemp("", "difalt-nodes-")
	if err != nil {
		return nil, err
	}
	l := &Local{folder: folder}
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

// Close removes the folder, and closes the listeners. No process may need them any more.
func (l *Local) Close() {
	for _, f := range l.listeners {
		f.Close()
	}
	os.RemoveAll(l.folder)
}
