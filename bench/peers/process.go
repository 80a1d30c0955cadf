//go:build unix

package main

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	startLimit   = 5 * time.Minute // reading 1 GB into cells, compiling, trying variants
	requestLimit = 2 * time.Minute
)

// A process is a running peer. It is stopped by SIGSTOP except while it answers a
// request, since the thread pools of several libraries go on spinning for up to a
// second after their work and would disturb the next peer.
type process struct {
	peer
	version string
	cmd     *exec.Cmd
	in      io.WriteCloser
	lines   chan string
	errors  bytes.Buffer
}

// start runs a peer on a problem file and waits until it is ready.
func start(p peer, command []string, problem string, threads int) (*process, error) {
	argv := append(append([]string(nil), command...), problem, strconv.Itoa(threads))
	if p.variant != "" {
		argv = append(argv, p.variant)
	}
	if pin := pinning(threads); pin != nil {
		argv = append(pin, argv...)
	} else if p.pinned {
		return nil, fmt.Errorf("cannot be held to %d threads without taskset", threads)
	}
	k := &process{peer: p, cmd: exec.Command(argv[0], argv[1:]...), lines: make(chan string)}
	n := strconv.Itoa(threads)
	k.cmd.Env = append(os.Environ(), "OPENBLAS_NUM_THREADS="+n, "MKL_NUM_THREADS="+n, "OMP_NUM_THREADS="+n,
		"NUMBA_NUM_THREADS="+n, "PYTHONDONTWRITEBYTECODE=1")
	if p.env != nil {
		k.cmd.Env = append(k.cmd.Env, p.env()...)
	}
	k.cmd.Stderr = &k.errors
	var err error
	if k.in, err = k.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := k.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := k.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(k.lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			k.lines <- s.Text()
		}
	}()
	line, err := k.answer(startLimit)
	if err != nil {
		k.end()
		return nil, err
	}
	version, ok := strings.CutPrefix(line, "ready ")
	if !ok {
		k.end()
		return nil, fmt.Errorf("said %q instead of ready", line)
	}
	k.version = version
	return k, nil
}

// answer waits for a line and stops the process.
func (k *process) answer(limit time.Duration) (string, error) {
	select {
	case line, ok := <-k.lines:
		if !ok {
			k.cmd.Wait() // which also collects the last of what it said to stderr
			return "", fmt.Errorf("ended: %s", cmp.Or(k.lastLine(), "no message"))
		}
		return line, k.cmd.Process.Signal(syscall.SIGSTOP)
	case <-time.After(limit):
		return "", fmt.Errorf("no answer in %v", limit)
	}
}

func (k *process) request(line string) (string, error) {
	if err := k.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		return "", err
	}
	fmt.Fprintln(k.in, line) // to a peer that has ended: answer says so
	return k.answer(requestLimit)
}

// run returns the mean milliseconds of count iterations.
func (k *process) run(count int) (float64, error) {
	line, err := k.request(fmt.Sprintf("run %d", count))
	if err != nil {
		return 0, err
	}
	ms, err := strconv.ParseFloat(line, 64)
	if err != nil || !(ms > 0) {
		return 0, fmt.Errorf("said %q instead of milliseconds", line)
	}
	return ms, nil
}

// end kills the process and collects it.
func (k *process) end() {
	k.in.Close()
	k.cmd.Process.Kill()
	for range k.lines {
	}
	k.cmd.Wait()
}

// lastLine is what the peer said last to stderr. It has ended.
func (k *process) lastLine() string {
	text := strings.TrimSpace(k.errors.String())
	return text[strings.LastIndexByte(text, '\n')+1:]
}
