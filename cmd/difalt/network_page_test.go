//go:build unix

package main

import (
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/difalt/difalt/internal/longtest"
	"github.com/difalt/difalt/internal/testnet"
)

// networkPage returns docs/network.md.
func networkPage(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/network.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(page)
}

// TestNetworkPage runs the commands of the five minutes of docs/network.md as they stand there, but
// for the ports: the last of them compares the files of up with those of three nodes.
func TestNetworkPage(t *testing.T) {
	inFull(t)
	t.Parallel()
	examples, err := filepath.Abs("../../examples")
	if err != nil {
		t.Fatal(err)
	}
	_, page, _ := strings.Cut(networkPage(t), "## Five minutes")
	page, _, _ = strings.Cut(page, "\n## ")
	folder := t.TempDir()
	page = regexp.MustCompile(`127\.0\.0\.1:\d+`).ReplaceAllStringFunc(page, func(string) string { return testnet.FreeAddress() })
	script := fmt.Sprintf("set -e\nln -s %s examples\ndifalt() { %s=1 %s \"$@\"; }\n", examples, asCommand, os.Args[0])
	blocks := codeBlocks(page)
	for _, block := range blocks {
		if strings.HasPrefix(block, "difalt node") { // in three terminals
			block = strings.ReplaceAll(block, "\n", " &\n") + " &\nwait"
		}
		script += block + "\n"
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-c", script)
	cmd.Dir = folder
	if out, err := cmd.CombinedOutput(); err != nil || len(blocks) != 5 {
		t.Errorf("%d blocks, %v: %s", len(blocks), err, out)
	}
	if models, _ := filepath.Glob(filepath.Join(folder, "*.npz")); len(models) != 6 {
		t.Errorf("the models are %q", models)
	}
}

// TestGettingPage: the program is where docs/network.md says that it can be had from.
func TestGettingPage(t *testing.T) {
	_, page, _ := strings.Cut(networkPage(t), "## Getting the program")
	page, _, _ = strings.Cut(page, "\n## ")
	where, err := exec.Command("go", "list", "-f", "{{.Name}} {{.ImportPath}}", ".").Output()
	if err != nil {
		t.Skip("skipped: no go in the path")
	}
	if name, path, _ := strings.Cut(strings.TrimSpace(string(where)), " "); name != "main" || !strings.Contains(page, "go install "+path+"@latest") {
		t.Errorf("%s: it is not what the page says", where)
	}
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil || !strings.Contains(string(makefile), "\nbuild: ") || !strings.Contains(string(makefile), "-o bin/difalt ./cmd/difalt") || !strings.Contains(page, "`make build` makes `bin/difalt`") {
		t.Errorf("make build: %v", err)
	}
}

// TestBuildPage: what the page says how to build needs no library.
func TestBuildPage(t *testing.T) {
	longtest.Only(t)
	_, page, _ := strings.Cut(networkPage(t), "## Getting the program")
	page, _, _ = strings.Cut(page, "\n## ")
	program := filepath.Join(t.TempDir(), "difalt")
	for _, block := range codeBlocks(page) {
		build, _, is := strings.Cut(block, "\n")
		if is && strings.Contains(build, "go build") {
			cmd := exec.Command("sh", "-c", strings.Replace(build, "-o difalt", "-o "+program, 1))
			cmd.Dir = "../.."
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%s: %v: %s", build, err, out)
			}
		}
	}
	if out, err := exec.Command(program, "--version").Output(); err != nil || !strings.HasPrefix(string(out), "difalt ") {
		t.Fatalf("%s, %v", out, err)
	}
	f, err := elf.Open(program)
	if err != nil {
		t.Skip(err) // another system
	}
	defer f.Close()
	if libraries, err := f.ImportedLibraries(); err != nil || len(libraries) > 0 {
		t.Errorf("it needs %q, %v", libraries, err)
	}
}
