//go:build unix

package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/difalt/difalt/cmd/difalt/internal/cli"
	"github.com/difalt/difalt/cmd/difalt/internal/report"
	"github.com/difalt/difalt/internal/check"
	"github.com/difalt/difalt/internal/testnet"
	"github.com/google/go-cmp/cmp"
)

// patience is how long a test waits for a process that is healthy: no machine is that slow.
const patience = 2 * time.Minute

// A process is a command that runs in a process of its own.
type process struct {
	cmd      *exec.Cmd
	out, err testnet.Buffer
	done     chan struct{}
}

// launch starts the command; it ends with the test. stdin and stdout are files to redirect, or empty.
func launch(t *testing.T, stdin, stdout string, args ...string) *process {
	t.Helper()
	p := &process{cmd: exec.Command(os.Args[0], args...), done: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), asCommand+"=1")
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.err
	if stdin != "" {
		in, err := os.Open(stdin)
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		p.cmd.Stdin = in
	}
	if stdout != "" {
		to, err := os.OpenFile(stdout, os.O_WRONLY, 0)
		if err != nil {
			t.Skip(err)
		}
		defer to.Close()
		p.cmd.Stdout = to
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { _ = p.cmd.Wait(); close(p.done) }()
	t.Cleanup(func() { _ = p.cmd.Process.Kill(); <-p.done })
	return p
}

// code waits for the end of a process, and returns its exit code.
func (p *process) code(t *testing.T) int {
	t.Helper()
	select {
	case <-p.done:
	case <-time.After(patience):
		t.Fatalf("%q is still there: %s", p.cmd.Args[1:], p.err.String())
	}
	return p.cmd.ProcessState.ExitCode()
}

// A kernel that is not there is refused by all commands, whether they would use it or not.
func TestUnknownKernel(t *testing.T) {
	t.Setenv("DIFALT_KERNEL", "none")
	p := launch(t, "", "", "cluster", "key", "--out", "/")
	if p.code(t) != cli.ExitFailure || !strings.Contains(p.err.String(), "DIFALT_KERNEL=none") {
		t.Errorf("message %q", p.err.String())
	}
}

// Tables and models come from the standard input and go to the standard output.
func TestStandardStreams(t *testing.T) {
	t.Parallel()
	inFull(t)
	x := fixture(t)
	path := filepath.Join(t.TempDir(), "p.csv")
	must(t, "predict", "--model", x.model, "--data", x.table, "--missing", "mean", "--out", path)
	want := string(readFile(t, path))
	for _, c := range []struct {
		stdin string
		args  []string
	}{
		{x.table, []string{"--model", x.model, "--data", "-", "--out", "-"}},
		{x.model, []string{"--model", "-", "--data", x.table, "--out", "-"}},
		{x.table, []string{"--model", x.model, "--data", "/dev/stdin", "--out", "/dev/stdout"}},
	} {
		p := launch(t, c.stdin, "", slices.Concat([]string{"predict", "--missing", "mean"}, c.args)...)
		if code := p.code(t); code != 0 || !strings.HasPrefix(p.out.String(), want) {
			t.Errorf("%q: exit code %d, %d bytes of %d: %s", c.args, code, len(p.out.String()), len(want),
				p.err.String())
		}
	}
	p := launch(t, "", "", "predict", "--quiet", "--missing", "mean", "--model", x.model, "--data", x.table,
		"--out", "-")
	if code := p.code(t); code != 0 || p.out.String() != want || p.err.String() != "" {
		t.Errorf("with --quiet: exit code %d, %d bytes of %d, message %q", code, len(p.out.String()), len(want),
			p.err.String())
	}
	p = launch(t, x.table, "",
		slices.Concat([]string{"fit", "--data", "-", "--rank", "0", "--no-curves", "--model", "-"}, fitShops)...)
	if code := p.code(t); code != 0 || !strings.Contains(p.err.String(), "12 tasks") {
		t.Fatalf("exit code %d: %s", code, p.err.String())
	}
	if m := load(t, write(t, t.TempDir(), "m.npz", p.out.String())); len(m.Tasks()) != 12 {
		t.Errorf("the model has %d tasks", len(m.Tasks()))
	}
}

// A standard stream that was redirected to a file keeps what is there, under any name of it; the report does
// not go to the same stream as an output.
func TestRedirectedStreams(t *testing.T) {
	t.Parallel()
	inFull(t)
	x, dir := fixture(t), t.TempDir()
	link := filepath.Join(dir, "link")
	if err := os.Symlink("/dev/stdout", link); err != nil {
		t.Skip(err)
	}
	want := filepath.Join(dir, "want.csv")
	predict := []string{"predict", "--model", x.model, "--data", x.table, "--missing", "mean", "--out"}
	must(t, append(slices.Clone(predict), want)...)
	for _, name := range []string{"-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", link} {
		to := filepath.Join(dir, "kept")
		write(t, dir, "kept", "KEEP\n")
		f, err := os.OpenFile(to, os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(os.Args[0], append(slices.Clone(predict), name)...)
		cmd.Env, cmd.Stdout = append(os.Environ(), asCommand+"=1"), f
		if _, err := os.Stat(name); err != nil && name != "-" {
			continue // a system without that name
		}
		err = errors.Join(cmd.Run(), f.Close())
		if got := string(readFile(t, to)); err != nil || got != "KEEP\n"+string(readFile(t, want)) {
			t.Errorf("--out %s: %v: %d bytes: %.80q", name, err, len(got), got)
		}
	}
}

// A result that is worse than the one in the file of --out goes beside it: a run that has diverged does not
// replace one that has not converged, nor this one a run that has.
func TestWorseResultGoesBeside(t *testing.T) {
	t.Parallel()
	file, dir := exported(t), t.TempDir()
	out, other := filepath.Join(dir, "r.npz"), filepath.Join(dir, "r.unfinished.npz")
	exact := []string{"--method", "accelerated"}
	limit, diverged := []string{"--method", "dif", "--iterations", "3"}, []string{"--method", "dif", "--step", "1e6"}
	for i, c := range []struct {
		flags []string
		code  int
		moved bool
	}{
		{diverged, cli.ExitUnconverged, false}, {limit, cli.ExitUnconverged, false},
		{diverged, cli.ExitUnconverged, true},
		{limit, cli.ExitUnconverged, false}, {exact, 0, false}, {limit, cli.ExitUnconverged, true},
		{diverged, cli.ExitUnconverged, true}, {exact, 0, false},
	} {
		before := folder(t, dir)
		os.Remove(other)
		_, stderr, code := difaltCommand(t,
			slices.Concat([]string{"run", "--data", file, "--rank", "2", "--out", out}, c.flags)...)
		after := folder(t, dir)
		kept := bytes.Equal(before[out], after[out])
		if code != c.code || c.moved != (after[other] != nil) || c.moved && !kept ||
			c.moved != strings.Contains(stderr, other) {
			t.Errorf("%d: exit code %d, want %d: %s: %q", i, code, c.code, stderr, slices.Sorted(maps.Keys(after)))
		}
	}
	write(t, dir, "r.npz", "something else")
	_, _, _ = difaltCommand(t, slices.Concat([]string{"run", "--data", file, "--rank", "2", "--out", out}, limit)...)
	if string(readFile(t, out)) != "something else" {
		t.Error("an unfinished result replaces a file that is none")
	}
}

// No output is an input, under any name of it, nor another output.
func TestOutputsAreNotInputs(t *testing.T) {
	t.Parallel()
	x := fixture(t)
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	write(t, dir, "m.npz", string(readFile(t, x.model)))
	write(t, dir, "t.csv", string(readFile(t, x.table)))
	for from, to := range map[string]string{"t.csv": "t-link", "m.npz": "m-link"} {
		if err := errors.Join(os.Symlink(from, at(to)), os.Link(at(from), at(to+"-hard"))); err != nil {
			t.Skip(err)
		}
	}
	other := filepath.Join(t.TempDir(), "folder")
	if err := os.Symlink(dir, other); err != nil {
		t.Skip(err)
	}
	before := folder(t, dir)
	fit := func(more ...string) []string { return slices.Concat([]string{"fit"}, fitShops, more) }
	for _, out := range []string{filepath.Join(other, "t.csv"), at("t-link"), at("t-link-hard")} {
		refuses(t, cli.ExitUsage, "which is read", "predict", "--model", at("m.npz"), "--data", at("t.csv"),
			"--out", out)
	}
	refuses(t, cli.ExitUsage, "--model reads", "adapt", "--model", at("m.npz"), "--data", newClinics,
		"--out", at("m-link-hard"))
	refuses(t, cli.ExitUsage, "which is read", fit("--data", at("t.*sv"), "--model", at("t-link"))...)
	refuses(t, cli.ExitUsage,
		"--report and --model",
		fit("--data", at("t.csv"), "--report", at("x"), "--model", filepath.Join(other, "x"))...)
	p := launch(t, at("t.csv"), "", fit("--data", "-", "--model", at("t-link"))...)
	if code := p.code(t); code != cli.ExitUsage || !strings.Contains(p.err.String(), "which is read") {
		t.Errorf("exit code %d: %s", code, p.err.String())
	}
	if diff := cmp.Diff(before, folder(t, dir)); diff != "" {
		t.Errorf("files have changed: %s", diff)
	}
}

// An output pipe that nobody reads does not outlive the command.
func TestPipeWithoutReader(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "p.csv")
	if err := syscall.Mkfifo(pipe, 0o666); err != nil {
		t.Skip(err)
	}
	x := fixture(t)
	refuses(t, cli.ExitFailure, "p.csv", "predict", "--model", x.model, "--data", x.table, "--missing", "mean",
		"--out", pipe)
}

// A command ends with code 130 at one signal while it writes to a pipe whose reader has stopped.
func TestReaderThatStops(t *testing.T) {
	t.Parallel()
	x := fixture(t)
	dir := t.TempDir()
	pipe, asCSV := filepath.Join(dir, "p.npz"), filepath.Join(dir, "p.csv")
	if err := errors.Join(syscall.Mkfifo(pipe, 0o666), os.Symlink(pipe, asCSV)); err != nil {
		t.Skip(err)
	}
	fd, err := syscall.Open(pipe, syscall.O_RDWR|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { _ = syscall.Close(fd) })
	for err == nil { // until the pipe is full
		_, err = syscall.Write(fd, make([]byte, 4096))
	}
	table := []string{"--data", x.table, "--missing", "mean", "--model", x.model, "--out"}
	for name, args := range map[string][]string{
		"adapt":   append(append([]string{"adapt"}, table...), pipe),
		"predict": append(append([]string{"predict"}, table...), asCSV),
		"fit": slices.Concat([]string{"fit", "--data", x.table, "--model", pipe, "--rank", "0", "--no-curves"},
			fitShops),
		"show":     {"model", "show", x.model, "--out", asCSV},
		"standard": {"model", "show", x.model},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			_, stdout := io.Pipe() // nobody reads
			time.AfterFunc(100*time.Millisecond, cancel)
			done := make(chan int, 1)
			go func() { done <- run(ctx, args, stdout, io.Discard) }()
			select {
			case code := <-done:
				if code != cli.ExitInterrupted {
					t.Errorf("exit code %d", code)
				}
			case <-time.After(patience):
				t.Error("it does not end")
			}
		})
	}
}

// A model that has not converged goes beside a file that is there, and takes the name itself where there is
// none.
func TestUnconvergedModelGoesBeside(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, other := filepath.Join(dir, "m.npz"), filepath.Join(dir, "m.unfinished.npz")
	m := load(t, fixture(t).model)
	for i, want := range []struct {
		converged bool
		written   string
	}{{false, path}, {true, path}, {false, other}} {
		before := folder(t, dir)
		x := &training{Streams: &cli.Streams{Out: io.Discard, Err: io.Discard}}
		x.out = path
		if err := x.used.createResult("model", path, ".npz"); err != nil {
			t.Fatal(err)
		}
		err := x.finish(t.Context(), m, &report.Result{Converged: want.converged})
		if err != nil || want.converged != (x.unconverged == nil) {
			t.Fatalf("%d: %v, %v", i, err, x.unconverged)
		}
		after := folder(t, dir)
		if after[want.written] == nil || want.written == other && !bytes.Equal(before[path], after[path]) ||
			(after[other] != nil) != (want.written == other) {
			t.Errorf("%d: the files are %q", i, slices.Sorted(maps.Keys(after)))
		}
		if want.written == other && !strings.Contains(x.unconverged.Error(), other) {
			t.Errorf("%d: the message is %v", i, x.unconverged)
		}
	}
}

// Garbage takes less memory beside a large table, and less time beside small ones alone, unless the
// environment says how much.
func TestSpareMemory(t *testing.T) {
	for _, c := range []struct {
		tables      []int // their bytes
		environment string
		want        int
	}{
		{[]int{largeTable - 1}, "", usualShare},
		{[]int{largeTable}, "", garbageShare},
		{[]int{largeTable}, "100", usualShare},
		{[]int{tinyTable}, "", usualShare},
		{[]int{tinyTable - 1, 1}, "", tinyShare},
		{[]int{1}, "100", usualShare},
		{[]int{largeTable, 1}, "", garbageShare},
		{[]int{1, largeTable}, "", garbageShare},
	} {
		if t.Setenv("GOGC", c.environment); c.environment == "" {
			check.Done(os.Unsetenv("GOGC"))
		}
		before := debug.SetGCPercent(usualShare)
		for _, bytes := range c.tables {
			spareMemory(bytes)
		}
		got := debug.SetGCPercent(before)
		check.FailIf(t, got != c.want, "%d bytes, GOGC=%q: %d %%", c.tables, c.environment, got)
	}
}

// The standard input is refused where a flag names a file that is not a stream, and the standard output where
// a flag names a folder: both are mistakes in the command line.
func TestStreamsThatAreRefused(t *testing.T) {
	table, problem := absolute(t, clinics), exported(t)
	t.Chdir(t.TempDir())
	must(t, "cluster", "new", "--nodes", "a=127.0.0.1:7001,b=127.0.0.1:7002", "--out", "net", "--task", "clinic",
		"--target", "score")
	fit := []string{"fit", "--task", "clinic", "--target", "score", table}
	for _, c := range []struct {
		flag string
		args []string
	}{
		{"from", []string{"run", "--data", problem, "--rank", "2"}},
		{"cluster", []string{"run", "--data", problem, "--rank", "2", "--key", "net/a.key"}},
		{"key", []string{"node", "--cluster", "net/cluster.json", table}},
		{"cluster", []string{"node", "--key", "net/a.key", table}},
		{"from", []string{"results"}},
		{"snapshot", []string{"run", "--data", problem, "--rank", "2"}},
		{"report", fit}, {"out", []string{"results", "--from", "runs"}}, {"out", []string{"generate"}},
		{"out", []string{"simulate", "--trials", "1", "--iterations", "1"}},
		{"out", []string{"cluster", "new", "--nodes", "a=127.0.0.1:7001,b=127.0.0.1:7002"}},
	} {
		if c.args[0] == "results" && c.flag == "out" {
			must(t, "simulate", "--trials", "1", "--iterations", "1", "--out", "runs")
		}
		refuses(t, cli.ExitUsage, "--"+c.flag, append(c.args, "--"+c.flag, stdio)...)
	}
}

// absolute returns a path that does not depend on the current folder.
func absolute(t *testing.T, path string) string {
	t.Helper()
	path, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}
