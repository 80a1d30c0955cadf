package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/internal/cli"
	"github.com/difalt/difalt/cmd/difalt/internal/engine/cluster"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// base has a command line for commands that need one before their flags matter.
var base = map[string]string{
	"fit":         "--data no.csv --task t --target y",
	"node":        "--data no.csv --task t --target y",
	"up":          "--data no*.csv --task t --target y",
	"predict":     "--model no.npz --data no.csv --out no",
	"adapt":       "--model no.npz --data no.csv --out no.npz",
	"model show":  "no.npz",
	"cluster new": "--nodes a=a:1,b=b:1 --out no",
	"cluster key": "--out no",
}

// Every flag of every command refuses an empty text, but for a list, an empty entry of a list, and numbers
// far beyond the ends of its range, by its name, before anything is read or computed.
func TestEveryFlag(t *testing.T) {
	t.Parallel()
	wrong := map[string][]string{
		"int":         {"-1000000000000", "9000000000000000000"},
		"float64":     {"-1e308", "1.7e308", "NaN", "Inf"},
		"duration":    {"-1s", "2562047h"},
		"stringSlice": {"a,,b"},
	}
	tried := 0
	visit(newRootCommand(&cli.Streams{}), nil, func(cmd *cobra.Command, path []string) {
		if len(path) == 0 || path[0] == "completion" || path[0] == "help" {
			return
		}
		args := append(path, strings.Fields(base[strings.Join(path, " ")])...)
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Name == "help" {
				return
			}
			if f.Value.Type() != "stringSlice" {
				refuses(t, cli.ExitUsage, "--"+f.Name+" is empty", append(path, "--"+f.Name+"=")...)
			}
			for _, value := range wrong[f.Value.Type()] {
				tried++
				refuses(t, cli.ExitUsage, "--"+f.Name+" is ", append(args, fmt.Sprintf("--%s=%s", f.Name, value))...)
			}
		})
	})
	if tried < 50 {
		t.Errorf("only %d values were tried", tried)
	}
}

// visit calls f for a command and all commands below it, with the words that name it.
func visit(cmd *cobra.Command, path []string, f func(cmd *cobra.Command, path []string)) {
	f(cmd, path)
	for _, sub := range cmd.Commands() {
		visit(sub, append(slices.Clone(path), sub.Name()), f)
	}
}

// The documented way: every owner makes a key, one of them the list. Keys are for their owners only, and no
// file is written over.
func TestClusterFiles(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	own := strings.TrimSpace(must(t, "cluster", "key", "--out", at("a.key")))
	if !strings.HasPrefix(own, "sha256:") {
		t.Fatalf("the key is %q", own)
	}
	stdout := must(t, "cluster", "new", "--nodes", "a=127.0.0.1:7001="+own+",b=127.0.0.1:7002,c=127.0.0.1:7003",
		"--graph", "star",
		"--out", at("net"))
	has(t, stdout, "3 nodes, 2 edges", "a at 127.0.0.1:7001\n  "+own, "b.key: for b only", "c.key: for c only")
	for name, exists := range map[string]bool{"a.key": false, "b.key": true, "c.key": true, cluster.File: true} {
		info, err := os.Stat(at("net/" + name))
		if exists != (err == nil) ||
			exists && name != cluster.File && info.Mode().Perm() != 0o600 && runtime.GOOS != "windows" {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	before := string(readFile(t, dir, "a.key"))
	refuses(t, cli.ExitFailure, "exists", "cluster", "key", "--out", at("a.key"))
	refuses(t, cli.ExitFailure, "exists", "cluster", "new", "--nodes", "a=a:1,b=b:1", "--out", at("net"))
	if string(readFile(t, dir, "a.key")) != before {
		t.Error("a key was written over")
	}
}
