package federate

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"time"
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
	over := make(chan struct{})
	go func() { wg.Wait(); close(over) }()
	b.show(over)
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
