//go:build unix

package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// A builder compiles peers into bench/peers/.build, each program once.
type builder struct {
	root   string // of the module
	dir    string // bench/peers
	python string // interpreter
	done   map[string]error
}

// newBuilder finds the module that the working directory is in.
func newBuilder() (*builder, error) {
	mod := firstLine("go", "env", "GOMOD")
	if mod == "" || mod == os.DevNull {
		return nil, errors.New("run this in the checkout of difalt")
	}
	b := &builder{root: filepath.Dir(mod), done: make(map[string]error)}
	b.dir = filepath.Join(b.root, "bench", "peers")
	b.python = cmp.Or(os.Getenv("PEERS_PYTHON"), filepath.Join(b.dir, ".venv", "bin", "python"))
	return b, os.MkdirAll(b.out(""), 0o755)
}

// out returns where a program is built.
func (b *builder) out(name string) string { return filepath.Join(b.dir, ".build", name) }

// shown returns a path as it is reported: relative to the module where it is in it.
func (b *builder) shown(path string) string {
	if rel, err := filepath.Rel(b.root, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}

// compile runs a compiler in dir unless it has built the program already.
func (b *builder) compile(name, dir string, env []string, command ...string) ([]string, error) {
	err, done := b.done[name]
	if !done {
		err = b.execute(dir, env, command)
		b.done[name] = err
	}
	return []string{b.out(name)}, err
}

func (b *builder) execute(dir string, env, command []string) error {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err == nil {
		return nil
	}
	for line := range strings.SplitSeq(string(out), "\n") {
		if strings.Contains(line, "error") || strings.Contains(line, "cannot find") {
			return fmt.Errorf("does not build: %s", strings.ReplaceAll(strings.TrimSpace(line), b.root+"/", ""))
		}
	}
	return fmt.Errorf("does not build: %w", err)
}
