//go:build unix

package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/internal/cli"
	"github.com/difalt/difalt/internal/longtest"
)

var malformedCases = flag.Int("malformed", 0,
	"number of malformed or unusual inputs to try: 78, or 156 with long tests by default")

// How many kB of addresses a process may have, for ulimit.
const malformedKB = "2097152"

// A malformedCase is a command line with the files that it reads, by name.
type malformedCase struct {
	args  []string
	files map[string][]byte // nil for a folder
}

// Malformed and unusual inputs, drawn from a seed: each process ends within a bounded memory, without a
// panic, and if it fails, with one sentence that names a file or a flag. Files that it has written are
// complete.
func TestMalformed(t *testing.T) {
	t.Parallel()
	inFull(t)
	n := 78 // six of every kind
	switch {
	case *malformedCases > 0:
		n = *malformedCases
	case longtest.Enabled():
		n = 156
	}
	sources := newMalformedSources(t)
	for i := range n {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			t.Parallel()
			c := sources.draw(rand.New(rand.NewPCG(uint64(i), 15)), i)
			if fault := c.run(t); fault != "" {
				t.Errorf("%q: %s", c.args, fault)
			}
		})
	}
}

// run runs the case, and returns its fault, if there is one.
func (c *malformedCase) run(t *testing.T) string {
	dir := t.TempDir()
	for name, content := range c.files {
		if content == nil {
			if err := os.Mkdir(filepath.Join(dir, name), 0o777); err != nil {
				t.Fatal(err)
			}
			continue
		}
		write(t, dir, name, string(content))
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	limited := fmt.Sprintf(`ulimit -v %s; exec "$0" "$@"`, malformedKB)
	cmd := exec.CommandContext(ctx, "sh", append([]string{"-c", limited, os.Args[0]}, c.args...)...)
	cmd.Dir = dir
	// Where the process is linked with libc, every thread may reserve 64 MB of addresses for its heap.
	cmd.Env = append(os.Environ(), asCommand+"=1", "GOMEMLIMIT=1GiB", "GOMAXPROCS=2", "MALLOC_ARENA_MAX=1")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	_ = cmd.Run() // the exit code has the error
	switch code, said := cmd.ProcessState.ExitCode(), stderr.String(); {
	case ctx.Err() != nil:
		return fmt.Sprintf("not done after %v", patience)
	case strings.Contains(said, "goroutine ") || strings.Contains(said, "panic") || code < 0 ||
		code > cli.ExitUnconverged:
		return fmt.Sprintf("exit code %d: %.600s", code, said)
	case code == 0 || code == cli.ExitUnconverged:
		return c.checkOutputs(dir)
	default:
		return c.checkMessage(said)
	}
}

// wordsOfGo are in errors of the standard library that say nothing to users of a program.
var wordsOfGo = regexp.MustCompile(`(^|: )(json|gob|strconv|reflect|runtime): |unmarshal|\bEOF\b|Go ` +
	`(value|struct)|interface \{`)

// checkMessage returns the fault of the message of a failed process.
func (c *malformedCase) checkMessage(said string) string {
	lines := strings.Split(strings.TrimSpace(said), "\n")
	last := lines[len(lines)-1]
	switch {
	case !strings.HasPrefix(last, "difalt: ") || strings.Count(said, "difalt: ") != 1:
		return fmt.Sprintf("not one sentence: %.600q", said)
	case len(last) > 1200:
		return fmt.Sprintf("a sentence of %d bytes: %.600q", len(last), last)
	case strings.ContainsFunc(last, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return fmt.Sprintf("a sentence with control characters: %.600q", last)
	case wordsOfGo.MatchString(last):
		return fmt.Sprintf("words of the language: %.600q", last)
	}
	if strings.Contains(last, "--") {
		return ""
	}
	for name := range c.files {
		if strings.Contains(last, name) {
			return ""
		}
	}
	return fmt.Sprintf("names neither a file nor a flag: %.600q", last)
}

// checkOutputs returns the fault of the files that a process has written.
func (c *malformedCase) checkOutputs(dir string) string {
	left, _ := filepath.Glob(filepath.Join(dir, ".*"))
	if len(left) > 0 {
		return fmt.Sprintf("leaves %q", left)
	}
	models, _ := filepath.Glob(filepath.Join(dir, "out-model*"))
	for _, path := range models {
		if _, err := loadModel("", path); err != nil {
			return err.Error()
		}
	}
	content, _ := os.ReadFile(filepath.Join(dir, "out.csv"))
	if bytes.Contains(bytes.ToLower(content), []byte("nan")) ||
		bytes.Contains(content, []byte("Inf")) {
		return "out.csv has numbers that are not finite"
	}
	return ""
}
