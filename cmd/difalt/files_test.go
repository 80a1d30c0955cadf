//go:build unix

package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A command is the command line as a process of its own.
type command struct {
	stdin, stdout string // files to redirect from and to, if set
	args          []string
}

// run runs the process and returns what it wrote and its exit code.
func (c command) run(t *testing.T) (stdout, stderr string, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], c.args...)
	cmd.Env = append(os.Environ(), asCommand+"=1")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if c.stdin != "" {
		in, err := os.Open(c.stdin)
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		cmd.Stdin = in
	}
	if c.stdout != "" {
		to, err := os.OpenFile(c.stdout, os.O_WRONLY, 0)
		if err != nil {
			t.Skip(err)
		}
		defer to.Close()
		cmd.Stdout = to
	}
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// A report that nobody can read is a failure, of every command.
func TestFullStandardOutput(t *testing.T) {
	t.Parallel()
	inFull(t)
	model := clinicModel(t)
	for _, args := range [][]string{
		{"info"}, {"plan"}, {"plan", "--json"}, {"help"}, {"model", "show", model}, {"--version"},
		{"fit", "--data", clinics, "--task", "clinic", "--target", "score", "--drop", "patient", "--iterations", "20", "--ridge", "3"},
		{"predict", "--model", model, "--data", clinics, "--out", "-"},
		{"predict", "--model", model, "--data", clinics, "--out", filepath.Join(t.TempDir(), "p.csv")},
		{"adapt", "--model", model, "--data", newClinics, "--out", "-"},
	} {
		_, stderr, code := command{args: args, stdout: "/dev/full"}.run(t)
		if code != exitFailure || !strings.Contains(stderr, "no space left on device") {
			t.Errorf("%q: exit code %d, message %q", args, code, stderr)
		}
	}
}

// Tables and models come from the standard input and go to the standard output.
func TestStandardStreams(t *testing.T) {
	t.Parallel()
	inFull(t)
	model := clinicModel(t)
	path := filepath.Join(t.TempDir(), "p.csv")
	if _, stderr, code := difaltCommand(t, "predict", "--model", model, "--data", clinics, "--out", path); code != 0 {
		t.Fatal(stderr)
	}
	want := string(readFile(t, path))
	for _, c := range []command{
		{stdin: clinics, args: []string{"predict", "--model", model, "--data", "-", "--out", "-"}},
		{stdin: model, args: []string{"predict", "--model", "-", "--data", clinics, "--out", "-"}},
		{stdin: clinics, args: []string{"predict", "--model", model, "--data", "/dev/stdin", "--out", "/dev/stdout"}},
	} {
		stdout, stderr, code := c.run(t)
		if text, _, _ := strings.Cut(stdout, "/dev/stdout: predictions"); code != 0 || text != want {
			t.Errorf("%q: exit code %d, %d bytes of %d: %s", c.args, code, len(stdout), len(want), stderr)
		}
	}
	adapted, stderr, code := command{args: []string{"adapt", "--model", model, "--data", newClinics, "--out", "-"}}.run(t)
	if code != 0 || !strings.Contains(stderr, "3 tasks added") {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	if err := os.WriteFile(path, []byte(adapted), 0o666); err != nil {
		t.Fatal(err)
	}
	if m := load(t, path); len(m.Tasks()) != 43 {
		t.Errorf("the model knows %d tasks", len(m.Tasks()))
	}
	fitted, stderr, code := command{stdin: clinics, args: []string{
		"fit", "--data", "-", "--task", "clinic", "--target", "score", "--drop", "patient", "--iterations", "20", "--ridge", "3", "--model", "-"}}.run(t)
	if code != 0 || !strings.Contains(stderr, "40 tasks") {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	if err := os.WriteFile(path, []byte(fitted), 0o666); err != nil {
		t.Fatal(err)
	}
	if m := load(t, path); len(m.Tasks()) != 40 {
		t.Errorf("the model knows %d tasks", len(m.Tasks()))
	}
}

// No output is an input, whatever its name, nor another output.
func TestOutputsAreNotInputs(t *testing.T) {
	t.Parallel()
	inFull(t)
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	copyFile := func(from, to string) {
		if err := os.WriteFile(to, readFile(t, from), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	copyFile(clinicModel(t), at("m.npz"))
	copyFile(clinics, at("t.csv"))
	copyFile(newClinics, at("index.html"))
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
	fit := func(more ...string) []string {
		return append([]string{"fit", "--data", at("t.csv"), "--task", "clinic", "--target", "score", "--drop", "patient", "--iterations", "20", "--ridge", "3"}, more...)
	}
	predict := func(out string) []string {
		return []string{"predict", "--model", at("m.npz"), "--data", at("t.csv"), "--out", out}
	}
	for _, c := range []struct {
		want string
		command
	}{
		{"--data reads", command{args: predict(at("t.csv"))}},
		{"--data reads", command{args: predict(filepath.Join(other, "t.csv"))}},
		{"--data reads", command{args: predict(at("t-link"))}},
		{"--data reads", command{args: predict(at("t-link-hard"))}},
		{"--model reads", command{args: predict(at("m-link"))}},
		{"--model reads", command{args: []string{"adapt", "--model", at("m.npz"), "--data", newClinics, "--out", at("m-link-hard")}}},
		{"--data reads", command{args: fit("--model", at("t.csv"))}},
		{"--data reads", command{args: fit("--data", at("t.*sv"), "--trace", at("t.csv"))}},
		{"--data reads", command{stdin: at("t.csv"), args: fit("--data", "-", "--model", at("t-link"))}},
		{"--trace and --model", command{args: fit("--trace", at("x"), "--model", filepath.Join(other, "x"))}},
		{"--data reads", command{args: append(fit("--report", dir), "--data", at("index.html"))}},
		{"are both the standard input", command{stdin: at("t.csv"), args: []string{"predict", "--model", "-", "--data", "-", "--out", at("p")}}},
	} {
		_, stderr, code := c.run(t)
		if code != exitUsage || !strings.Contains(stderr, c.want) {
			t.Errorf("%q: exit code %d, message %q", c.args, code, stderr)
		}
	}
	after := folder(t, dir)
	if len(after) != len(before) {
		t.Errorf("%d files, want %d", len(after), len(before))
	}
	for name, content := range before {
		if !bytes.Equal(after[name], content) {
			t.Errorf("%s was replaced", name)
		}
	}
}

// An interrupt ends every stage within a second or so, with the exit code of its signal,
// and leaves nothing: here the table never ends.
func TestInterruptedWhileReading(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(t.TempDir(), "pipe.csv")
	if err := syscall.Mkfifo(pipe, 0o666); err != nil {
		t.Skip(err)
	}
	model := clinicModel(t)
	for _, c := range []struct {
		signal syscall.Signal
		code   int
		args   []string
	}{
		{syscall.SIGINT, exitInterrupted, []string{"fit", "--data", pipe, "--task", "clinic", "--target", "score", "--model", filepath.Join(dir, "m.npz"), "--report", filepath.Join(dir, "r")}},
		{syscall.SIGTERM, exitTerminated, []string{"fit", "--data", pipe, "--task", "clinic", "--target", "score", "--model", filepath.Join(dir, "m.npz")}},
		{syscall.SIGINT, exitInterrupted, []string{"predict", "--data", pipe, "--model", model, "--out", filepath.Join(dir, "p.csv")}},
		{syscall.SIGTERM, exitTerminated, []string{"adapt", "--data", pipe, "--model", model, "--out", filepath.Join(dir, "m.npz")}},
	} {
		p := launch(t, c.args...)
		w, err := os.OpenFile(pipe, os.O_WRONLY, 0) // waits for the reader
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		if _, err := w.WriteString("clinic,score,a\nC1,2,3\n"); err != nil {
			t.Fatal(err)
		}
		_ = p.cmd.Process.Signal(c.signal)
		if code := p.code(t, 5*time.Second); code != c.code || !strings.Contains(p.err.String(), "interrupted") {
			t.Errorf("%q: exit code %d, message %q", c.args, code, p.err.String())
		}
		if left := folder(t, dir); len(left) != 0 {
			t.Errorf("%q left %d files", c.args, len(left))
		}
	}
}

// TestContinuedModelStays: what a fit starts from is an input.
func TestContinuedModelStays(t *testing.T) {
	inFull(t)
	m := clinicModel(t)
	before := folder(t, filepath.Dir(m))
	_, stderr, code := difaltCommand(t, "fit", "--data", clinics, "--task", "clinic", "--target", "score", "--drop", "patient", "--iterations", "20", "--continue", m, "--model", m)
	if code != exitUsage || !strings.Contains(stderr, "--model would overwrite "+m+", which --continue reads") {
		t.Errorf("exit code %d, message %q", code, stderr)
	}
	if after := folder(t, filepath.Dir(m)); len(after) != len(before) || !bytes.Equal(after[m], before[m]) {
		t.Error("the model is another one")
	}
}

// A page that cannot be written leaves model and trace as they were, too.
func TestFailedReportKeepsModel(t *testing.T) {
	t.Parallel()
	inFull(t)
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{"m.npz", "t.csv"} {
		if err := os.WriteFile(at(name), []byte("old"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(at("report/index.html"), 0o777); err != nil {
		t.Fatal(err)
	}
	_, stderr, code := difaltCommand(t, "fit", "--data", clinics, "--task", "clinic", "--target", "score", "--drop", "patient", "--iterations", "20", "--ridge", "3",
		"--model", at("m.npz"), "--trace", at("t.csv"), "--report", at("report"))
	if code != exitFailure || !strings.Contains(stderr, "it is a folder") {
		t.Errorf("exit code %d, message %q", code, stderr)
	}
	if left := folder(t, dir); len(left) != 2 || string(left[at("m.npz")]) != "old" || string(left[at("t.csv")]) != "old" {
		t.Errorf("%d files are there, the model is %.20q", len(left), left[at("m.npz")])
	}
}
