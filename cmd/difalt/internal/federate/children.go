package federate

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/difalt/difalt/cmd/difalt/engine/cluster"
	"github.com/difalt/difalt/cmd/difalt/internal/atomicfile"
)

// A Child is a node that runs in a process of its own. The process must leave when its
// standard input ends, and log in JSON to its standard error.
type Child struct {
	Name string
	// Command returns the command of the process, anew for every start.
	Command func() (*exec.Cmd, error)
	// Restarts is how often a process that a signal has ended may be started again.
	Restarts int
}

// An End is what has become of a child.
type End struct {
	Name   string
	Code   int    // of exit; -1 after a signal
	Why    string // the last error that it has logged
	Stdout []byte
	// Warnings are the messages that it has logged as such.
	Warnings []string
}

// A childProcess is the process of a child, or one that has taken its place.
type childProcess struct {
	*Child
	line     *line // of the board
	restarts int   // that are left
	cmd      *exec.Cmd
	stdin    io.Closer // the process leaves when it ends, also if this one is killed
	stdout   bytes.Buffer
	read     sync.WaitGroup // of its log
	err      error
}

// RunChildren starts all processes, and shows on the board how far they are until all have
// ended. When ctx ends they are asked to leave. When one cannot be started those before it are
// asked to leave too, and RunChildren returns the error when they have.
func RunChildren(ctx context.Context, children []*Child, b *Board) ([]End, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var started []*childProcess
	var failed error
	for i, c := range children {
		p := &childProcess{Child: c, line: b.lines[i], restarts: c.Restarts}
		if err := p.start(); err != nil {
			failed = fmt.Errorf("node %q: %w", c.Name, err)
			cancel()
			break
		}
		started = append(started, p)
	}
	var wg sync.WaitGroup
	for _, p := range started {
		wg.Go(func() { p.wait(ctx) })
	}
	stop := every(b.interval, b.draw)
	wg.Wait()
	stop()
	b.draw()
	if failed != nil {
		return nil, failed
	}
	var ends []End
	for _, p := range started {
		ends = append(ends, p.line.becameOf(p.cmd.ProcessState.ExitCode(), p.stdout.Bytes()))
	}
	return ends, nil
}

func (p *childProcess) start() (err error) {
	if p.cmd, err = p.Command(); err != nil {
		return err
	}
	p.stdout.Reset()
	p.cmd.Stdout = &p.stdout
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return err
	}
	log, err := p.cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := p.cmd.Start(); err != nil {
		return err
	}
	p.read.Go(func() { p.line.follow(log) })
	return nil
}

// restart starts a process again that a signal has ended, if it may.
func (p *childProcess) restart() bool {
	if p.restarts == 0 || p.err == nil || p.cmd.ProcessState.Exited() {
		return false
	}
	p.restarts--
	return p.start() == nil
}

// leaveTimeout is how long processes that were asked to leave may take for it.
const leaveTimeout = 30 * time.Second

// wait waits for a process, and for those that take its place; it ends it when it has been
// asked to leave and does not.
func (p *childProcess) wait(ctx context.Context) {
	for again := true; again; again = ctx.Err() == nil && p.restart() {
		ended := make(chan struct{})
		go func() {
			p.read.Wait()
			p.err = p.cmd.Wait()
			close(ended)
		}()
		select {
		case <-ended:
		case <-ctx.Done():
			p.stdin.Close()
			select {
			case <-ended:
			case <-time.After(leaveTimeout):
				_ = p.cmd.Process.Kill()
				<-ended
			}
		}
	}
	p.line.end(p.err)
}

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

// Child returns a process that runs a command of this program as a node, by its number and name.
func (l *Local) Child(node int, name, command string, args ...string) *Child {
	args = append([]string{
		command, "--cluster", filepath.Join(l.folder, cluster.File), "--key", filepath.Join(l.folder, cluster.KeyFile(name)), "--listen-fd", "3",
	}, args...)
	return &Child{Name: name, Command: func() (*exec.Cmd, error) {
		self, err := os.Executable()
		cmd := exec.Command(self, args...)
		cmd.ExtraFiles = []*os.File{l.listeners[node]}
		return cmd, err
	}}
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
