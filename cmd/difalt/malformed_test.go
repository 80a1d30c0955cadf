//go:build unix

package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/difalt/difalt/internal/longtest"
)

var malformedCases = flag.Int("malformed", 0, "number of malformed or unusual inputs to try: 40, or 120 with long tests by default")

// How many kB of addresses a process may have, for ulimit.
const malformedKB = "2097152"

// A malformedCase is a command line with the files that it reads, by name.
type malformedCase struct {
	kind  string
	args  []string // names of files stand for their paths
	files map[string][]byte
}

// Malformed and unusual inputs, drawn from a seed: each process ends within a bounded memory, without a
// panic, and if it fails, with one sentence that names a file or a flag. Files that it has written are
// complete.
func TestMalformed(t *testing.T) {
	t.Parallel()
	inFull(t)
	n := 40 // some of every kind
	switch {
	case *malformedCases > 0:
		n = *malformedCases
	case longtest.Enabled():
		n = 120
	}
	models := newMalformedSources(t)
	var mu sync.Mutex
	ends := map[string]int{}
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	var running sync.WaitGroup
	for i := range n {
		c := models.draw(rand.New(rand.NewPCG(uint64(i), 15)), i)
		slots <- struct{}{}
		running.Go(func() {
			defer func() { <-slots }()
			dir := t.TempDir()
			end, problem := c.run(t.Context(), dir)
			mu.Lock()
			defer mu.Unlock()
			ends[fmt.Sprintf("%-8s %s", c.kind, end)]++
			if problem != "" {
				t.Errorf("input %d, %s %q: %s", i, c.kind, c.args, problem)
			}
		})
	}
	running.Wait()
	for _, end := range slices.Sorted(maps.Keys(ends)) {
		t.Logf("%s: %d", end, ends[end])
	}
}

// run runs the case in a folder. It returns the end of the process, and its fault, if there is one.
func (c *malformedCase) run(ctx context.Context, dir string) (end, problem string) {
	for name, content := range c.files {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o666); err != nil {
			return "", err.Error()
		}
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", append([]string{"-c", fmt.Sprintf(`ulimit -v %s; exec "$0" "$@"`, malformedKB),
		os.Args[0]}, c.args...)...)
	cmd.Dir = dir
	// Where the process is linked with libc, every thread may reserve 64 MB of addresses for its heap.
	cmd.Env = append(os.Environ(), asCommand+"=1", "GOMEMLIMIT=1GiB", "GOMAXPROCS=2", "MALLOC_ARENA_MAX=1")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return "", err.Error()
	}
	code := cmd.ProcessState.ExitCode()
	end = fmt.Sprintf("exit %d", code)
	said := stderr.String()
	switch {
	case ctx.Err() != nil:
		return end, fmt.Sprintf("not done after %v", patience)
	case strings.Contains(said, "goroutine ") || strings.Contains(said, "panic") || code < 0 || code > exitUnconverged:
		return end, fmt.Sprintf("exit code %d: %.600s", code, said)
	case code == 0 || code == exitUnconverged:
		return end, c.checkOutputs(dir)
	}
	return end, c.checkMessage(said)
}

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
	}
	if strings.Contains(last, "--") || strings.Contains(last, "command") || strings.Contains(last, "arguments") {
		return ""
	}
	named := slices.Collect(maps.Keys(c.files))
	for _, arg := range c.args {
		if _, value, ok := strings.Cut(arg, "="); ok && value != "" {
			named = append(named, value)
		}
	}
	for _, name := range named {
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
		if _, err := loadModel(path); err != nil {
			return err.Error()
		}
	}
	if content, _ := os.ReadFile(filepath.Join(dir, "out.csv")); bytes.Contains(bytes.ToLower(content), []byte("nan")) ||
		bytes.Contains(content, []byte("Inf")) {
		return "out.csv has numbers that are not finite"
	}
	return ""
}
