//go:build linux

package peers

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/difalt/difalt/internal/measure"
)

// tolerance is the largest relative Frobenius distance of an answer from the
// reference's.
const tolerance = 1e-9

type runner struct {
	*builder
	peers   []peer
	shape   measure.Shape
	seconds float64
	folder  string // of the problem and answers
}

// draw writes the data of the shape.
func (r *runner) draw() error {
	fmt.Fprintf(os.Stderr, "%s: drawing the data\n", r.shape.Name)
	return writeProblem(r.problem(), measure.NewProblem(r.shape, 1))
}

func (r *runner) problem() string { return filepath.Join(r.folder, "problem") }

// compare starts, checks and times all peers on n threads, of which the first are the floors and the
// reference. A process that fails on the way becomes absent.
func (r *runner) compare(ctx context.Context, n int) (*comparison, error) {
	times := make([]peerTime, len(r.peers))
	var timers []measure.Timer
	var of []int // the peer of each timer
	var want *answer
	absent := func(i int, err error) error {
		if times[i].Absent = err.Error(); i < len(always) {
			return fmt.Errorf("%s: %w", times[i].Name, err)
		}
		return nil
	}
	for i, p := range r.peers {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		fmt.Fprintf(os.Stderr, "%s, threads %d: starting %s\n", r.shape.Name, n, p.name)
		times[i].Name = p.name
		k, err := r.ready(p, n, &want)
		if err != nil {
			if err := absent(i, err); err != nil {
				return nil, err
			}
			continue
		}
		defer k.end()
		times[i].Version = k.version
		timers, of = append(timers, k.run), append(of, i)
	}
	fmt.Fprintf(os.Stderr, "%s, threads %d: measuring\n", r.shape.Name, n)
	timings, err := measure.Turns(ctx, time.Duration(r.seconds*float64(time.Second)), timers...)
	if err != nil {
		return nil, err
	}
	for j, t := range timings {
		if times[of[j]].MS = t.MS; t.Err != nil {
			if err := absent(of[j], t.Err); err != nil {
				return nil, err
			}
		}
	}
	for i := range times {
		times[i].Ratio = times[i].MS / times[reference].MS
	}
	return &comparison{
		Shape: r.shape.Name, Threads: n, ReadMS: times[readFloor].MS, FMAMS: times[fmaFloor].MS,
		Peers: times[reference:],
	}, nil
}

// ready builds and starts a peer and checks its answer. The reference's is kept in
// want.
func (r *runner) ready(p peer, n int, want **answer) (*process, error) {
	command, err := p.build(r.builder)
	if err != nil {
		return nil, err
	}
	k, err := start(p, command, r.problem(), n)
	if err != nil || p.name == always[readFloor] || p.name == always[fmaFloor] {
		return k, err
	}
	err = r.check(k, want)
	if err != nil {
		k.end()
		return nil, err
	}
	return k, nil
}

// check compares a peer's answer with want; the first answer becomes want.
func (r *runner) check(k *process, want **answer) error {
	path := filepath.Join(r.folder, "answer")
	line, err := k.request("check " + path)
	if err != nil {
		return err
	}
	if line != "ok" {
		return fmt.Errorf("said %q instead of ok", line)
	}
	got, err := readAnswer(path, r.shape.Tasks, r.shape.Features, r.shape.Rank)
	if err != nil {
		return err
	}
	if *want == nil {
		*want = got
		return nil
	}
	if dist := got.distance(*want); !(dist <= tolerance) {
		return fmt.Errorf("wrong answer: relative distance %.1e", dist)
	}
	return nil
}

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
