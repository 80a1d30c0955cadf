//go:build unix

package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/internal/cli"
)

// A result that would go to a standard stream that is closed, or whose reader has gone, is a failure, and so
// is a report that cannot be printed; other files are complete. A report may be discarded by a stream that is
// open for reading and writing at the null device, as Python's subprocess opens it.
func TestLostStandardStreams(t *testing.T) {
	t.Parallel()
	inFull(t)
	x, dir := fixture(t), t.TempDir()
	for name, content := range map[string][]byte{
		"t.csv": readFile(t, x.table),
		"m.npz": readFile(t, x.model),
		"p.npz": readFile(t, exported(t)),
	} {
		write(t, dir, name, string(content))
	}
	fit := strings.Join(fitShops, " ") + " --rank 0 --no-curves"
	results := []string{
		"predict --missing mean --model m.npz t.csv", "predict --missing mean --model m.npz --json --out - t.csv",
		"predict --missing mean --model m.npz --out /dev/stdout t.csv", "model show --out - m.npz",
		"adapt --missing mean --model m.npz --out - t.csv", "fit " + fit + " --model - t.csv",
		"run --data p.npz --rank 2 --iterations 3 --out -", "cluster key --out -",
	}
	reports := []string{
		"predict --missing mean --model m.npz --out p.csv t.csv", "model show m.npz", "check t.csv",
		"check --json t.csv",
		"help", "fit --help", "--version", "completion bash", "info", "generate --out g",
		"fit " + fit + " --model text.npz t.csv", "fit " + fit + " --json --model json.npz t.csv",
	}
	const closed, opened = "the standard output: it is closed", "1<>/dev/null"
	for _, command := range slices.Concat(results, reports) {
		lost := map[string]string{"": "broken pipe"}
		if _, err := os.Stat("/dev/full"); err == nil {
			lost[">/dev/full"] = "no space left on device"
		}
		discarded := []string{">/dev/null"}
		if slices.Contains(results, command) {
			lost[">&-"], lost[opened] = closed, closed
		} else {
			discarded = append(discarded, ">&-", opened)
		}
		for redirection, want := range lost {
			message, code := withoutReader(t, dir, command+" "+redirection)
			if code != cli.ExitFailure || !strings.Contains(message, want) {
				t.Errorf("%s %s: exit code %d: %q", command, redirection, code, message)
			}
		}
		for _, redirection := range discarded {
			message, code := withoutReader(t, dir, command+" "+redirection)
			if code != 0 && code != cli.ExitUnconverged {
				t.Errorf("%s %s: exit code %d: %q", command, redirection, code, message)
			}
		}
	}
	for _, model := range []string{"text.npz", "json.npz"} {
		load(t, filepath.Join(dir, model))
	}
}

// withoutReader runs a command with its redirections in a folder. Its standard output is a pipe whose reader
// has gone, unless it is redirected.
func withoutReader(t *testing.T, dir, command string) (message string, code int) {
	t.Helper()
	reader, unread, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer unread.Close()
	reader.Close()
	var stderr bytes.Buffer
	cmd := exec.Command("sh", "-c", `exec "$0" `+command, os.Args[0])
	cmd.Env = append(os.Environ(), asCommand+"=1")
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, unread, &stderr
	if err, exit := cmd.Run(), new(exec.ExitError); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() == syscall.SIGPIPE {
		return "broken pipe", cli.ExitFailure
	}
	return stderr.String(), cmd.ProcessState.ExitCode()
}
