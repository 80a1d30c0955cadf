package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/difalt/difalt/cmd/difalt/engine/cluster"
	"github.com/difalt/difalt/cmd/difalt/internal/options"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// base has a command line for commands that need one before their flags matter.
var base = map[string]string{
	"fit": "--data no.csv --task t --target y", "node": "--data no.csv --task t --target y", "up": "--data no*.csv --task t --target y",
	"predict": "--model no.npz --data no.csv --out no", "adapt": "--model no.npz --data no.csv --out no.npz", "model show": "no.npz",
	"cluster new": "--nodes a=a:1,b=b:1 --out no", "cluster key": "--out no",
}

// Every flag of every command refuses an empty text, an empty entry of a list, and numbers far beyond the ends
// of its range, by its name, before anything is read or computed.
func TestEveryFlag(t *testing.T) {
	t.Parallel()
	wrong := map[string][]string{"int": {"-1000000000000", "9000000000000000000"}, "float64": {"-1e308", "1.7e308", "NaN", "Inf"},
		"duration": {"-1s", "2562047h"}, "stringSlice": {"a,,b"}}
	tried := 0
	visit(newRootCommand(), nil, func(cmd *cobra.Command, path []string) {
		if len(path) == 0 || path[0] == "completion" || path[0] == "help" {
			return
		}
		args := append(path, strings.Fields(base[strings.Join(path, " ")])...)
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Name == "help" {
				return
			}
			refuses(t, exitUsage, "--"+f.Name+" is empty", append(path, "--"+f.Name+"=")...)
			for _, value := range wrong[f.Value.Type()] {
				tried++
				refuses(t, exitUsage, "--"+f.Name+" is ", append(args, fmt.Sprintf("--%s=%s", f.Name, value))...)
			}
		})
	})
	if tried < 50 {
		t.Errorf("only %d values were tried", tried)
	}
	refuses(t, exitFailure, "no.csv", "fit", "--data", "no.csv", "--task", "t", "--target", "y", "--drop", "a", "--drop", "b")
}

const pin = "=sha256:BSDrCymcRQ47bxtcd4f7FWiObRCt7WUipR2dzcgCzwM"

// usageErrors has the message for the rest of a command line, by its beginning.
var usageErrors = map[string]map[string]string{
	"": {
		"simulat":                   `unknown command "simulat" (did you mean "difalt simulate"?)`,
		"fitt":                      `unknown command "fitt" (did you mean "difalt fit"?)`,
		"model sow m.npz":           `unknown command "sow" (did you mean "difalt model show"?)`,
		"cluster nw":                `unknown command "nw" (did you mean "difalt cluster new"?)`,
		"predict --data a.csv":      `required flag(s) "model", "out" not set (see "difalt predict --help")`,
		"adapt --model m.npz":       `required flag(s) "data", "out" not set`,
		"fit --data a.csv":          `required flag(s) "task", "target" not set`,
		"fit a.csv":                 `takes no arguments, only flags, but got "a.csv" (see "difalt fit --help")`,
		"run --data a.csv --rank 3": `run reads problem files (.npz): "difalt fit --data a.csv" reads tables`,
		"run":                       `required flag(s) "data", "rank" not set`,
		"model show":                "takes one model file, but got 0 arguments",
		"simulate extra":            `takes no arguments, only flags, but got "extra"`,
		"simulate --no-such":        `unknown flag: --no-such (see "difalt simulate --help")`,
		"fit --json=maybe":          "--json is maybe: must be true or false",
		"node --round-timeout 5":    "--round-timeout is 5: must be a time such as 90s",
		"simulate --nodes many":     "--nodes is many: must be a whole number from 1 to 10000",
		"simulate --seed -1":        "--seed is -1: must be a whole number from 0",
		"cluster new --nodes a=a:1": `required flag(s) "out" not set`,
		"fit --data a --data b":     "--data is given twice, as b the second time",
		"fit --json --json":         "--json is given twice",
	},
	"cluster new --out no --nodes": {
		"a=a:1":                        "1 nodes: want 2",
		"a=a:1,b":                      `"b": expected NAME=HOST:PORT`,
		"a=a:1,b:1":                    `"b:1": expected NAME=HOST:PORT`,
		"a=a:1,a=a:2":                  "both called",
		"a=a:1,b=b:70000":              `the port is "70000"`,
		"a=a:0,b=b:1":                  `the port is "0"`,
		"a=0.0.0.0:7001,b=b:1":         "to that node --listen 0.0.0.0:7001",
		"a=a:1,b=b:1 --graph x":        "--graph is x: must be one of",
		"a=b:1=sha256:x,c=c:1":         "--nodes: \"a=b:1=sha256:x\"",
		"a=a:1" + pin + ",b=b:1" + pin: "both have the key",
	},
	"fit --task t --target y": {"--data a.npz": `"difalt run --data a.npz" reads problem files`},
	"fit --data no.csv --task t --target y": {
		"--rank -1":                       "--rank is -1: must be auto or a whole number",
		"--rank x":                        "--rank is x: must be auto or a whole number",
		"--missing some":                  "--missing is some: must be one of refuse, drop, mean",
		"--decimal ..":                    "--decimal is ..: must be . or ,",
		"--decimal ;":                     "--decimal",
		"--dates my":                      "--dates",
		"--test-fraction 1":               "--test-fraction is 1: must be a number from 0 to 1",
		"--holdout h --test-fraction .5":  "only one of --test-fraction and --holdout",
		"--model a.csv":                   "expected a name that ends in .npz",
		"--report x.npz --model x.npz":    "--report and --model would both write x.npz",
		"--report x --model x/index.html": "--report and --model would both write",
		"--epsilon 1":                     "unknown flag: --epsilon",
		"--iterations 5":                  "unknown flag: --iterations",
	},
	"node --data no.csv --task t --target y": {
		"":                              "--cluster and --key are required",
		"--delta 1e-5":                  "--delta needs --epsilon",
		"--epsilon 1":                   "--epsilon needs --rank N",
		"--engine tcp":                  "--engine is tcp: must be one of grpc, mpi",
		"--engine mpi --cluster c.json": "--cluster is for --engine grpc",
	},
	"up --data no*.csv --task t --target y": {
		"":                        "0 files: up needs a file",
		"--cluster x":             "unknown flag: --cluster",
		"--graph star":            "unknown flag: --graph",
		"--holdout=":              "--holdout is empty",
		"--colluding 1":           "--colluding needs --epsilon",
		"--epsilon 1e9":           "--epsilon is 1e9: must be a number above 0 to 1e+03",
		"--epsilon 1000 --rank 1": "0 files: up needs a file",
	},
}

// A mistake in a command line ends in exit code 2 and one line that names the flag and the value.
func TestUsageErrors(t *testing.T) {
	t.Parallel()
	for command, lines := range usageErrors {
		for line, want := range lines {
			refuses(t, exitUsage, want, append(strings.Fields(command), strings.Fields(line)...)...)
		}
	}
}

// visit calls f for a command and all commands below it, with the words that name it.
func visit(cmd *cobra.Command, path []string, f func(cmd *cobra.Command, path []string)) {
	f(cmd, path)
	for _, sub := range cmd.Commands() {
		visit(sub, append(slices.Clone(path), sub.Name()), f)
	}
}

// Help fits in 80 columns, has no line twice, and every flag has a placeholder that is a word of its text.
func TestHelp(t *testing.T) {
	visit(newRootCommand(), nil, func(cmd *cobra.Command, path []string) {
		seen := map[string]bool{}
		for line := range strings.Lines(must(t, append(path, "--help")...)) {
			line = strings.TrimRight(line, "\n")
			if n := utf8.RuneCountInString(line); n > helpWidth {
				t.Errorf("%v --help: a line of %d: %s", path, n, line)
			}
			if line = strings.TrimSpace(line); len(line) > 25 && seen[line] && !strings.HasPrefix(line, "difalt ") {
				t.Errorf("%v --help has twice: %s", path, line)
			}
			seen[line] = true
		}
	})
}

// The numbers of flags stay as they were decided.
func TestNumbersOfFlags(t *testing.T) {
	names := map[string]bool{}
	for _, c := range []options.Command{options.Fit, options.Node, options.Up, options.Predict, options.Adapt, options.Show,
		options.ClusterNew, options.ClusterKey} {
		options.New(c).Set.VisitAll(func(f *pflag.Flag) { names[f.Name] = true })
	}
	if len(names) > 40 {
		t.Errorf("the table has %d rows", len(names))
	}
	for name, most := range map[string]int{"fit": 22, "node": 26, "simulate": 34} {
		cmd, _, err := newRootCommand().Find([]string{name})
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		cmd.LocalNonPersistentFlags().VisitAll(func(*pflag.Flag) { n++ })
		if n > most || n < most/2 {
			t.Errorf("%s has %d flags, want at most %d", name, n, most)
		}
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
	stdout := must(t, "cluster", "new", "--nodes", "a=127.0.0.1:7001="+own+",b=127.0.0.1:7002,c=127.0.0.1:7003", "--graph", "star",
		"--out", at("net"))
	has(t, stdout, "3 nodes, 2 edges", "a 127.0.0.1:7001: "+own, "b.key: for b only", "c.key: for c only")
	for name, exists := range map[string]bool{"a.key": false, "b.key": true, "c.key": true, cluster.File: true} {
		info, err := os.Stat(at("net/" + name))
		if exists != (err == nil) || exists && name != cluster.File && info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	before := string(readFile(t, dir, "a.key"))
	refuses(t, exitFailure, "exists", "cluster", "key", "--out", at("a.key"))
	refuses(t, exitFailure, "exists", "cluster", "new", "--nodes", "a=a:1,b=b:1", "--out", at("net"))
	if string(readFile(t, dir, "a.key")) != before {
		t.Error("a key was written over")
	}
}
