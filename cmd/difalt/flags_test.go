package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// base has a command line for commands that need one before their flags matter.
var base = map[string]string{
	"fit": "--data no.csv --task t --target y", "node": "--data no.csv --task t --target y", "up": "--data no*.csv --task t --target y",
	"predict": "--model no.npz --data no.csv --out no", "adapt": "--model no.npz --data no.csv --out no.npz", "model show": "no.npz",
	"cluster check": "--cluster no.json", "cluster new": "--nodes a:1,b:1 --out no", "cluster key": "--out no",
}

// Every flag of every command refuses an empty text, by its name.
func TestEmptyFlags(t *testing.T) {
	tried := 0
	visit(newRootCommand(), nil, func(cmd *cobra.Command, path []string) {
		if len(path) == 0 || path[0] == "completion" || path[0] == "help" {
			return
		}
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Name == "help" {
				return
			}
			tried++
			want := "--" + f.Name + " is empty"
			refuses(t, exitUsage, want, append(path, "--"+f.Name+"=")...)
			if f.Value.Type() == "stringSlice" {
				refuses(t, exitUsage, want, append(path, "--"+f.Name+"=a,,b")...)
			}
		})
	})
	if tried < 90 {
		t.Errorf("only %d flags were tried", tried)
	}
	refuses(t, exitUsage, "--authority is empty", "cluster", "new", "--nodes", "a:1,b:1", "--out", "no", "--authority", "")
}

// A flag is given once, unless it is a list.
func TestRepeatedFlags(t *testing.T) {
	refuses(t, exitUsage, `--data is given twice, as "b.csv" the second time`, "fit", "--data", "a.csv", "--data", "b.csv")
	refuses(t, exitUsage, "--json is given twice", "fit", "--json", "--json")
	refuses(t, exitUsage, "--rounds is given twice", "simulate", "--rounds", "3", "--rounds", "3")
	refuses(t, exitFailure, "no.csv", "fit", "--data", "no.csv", "--task", "t", "--target", "y", "--drop", "a", "--drop", "b")
}

// Numbers far beyond the ends of their ranges are refused by the name of their flag, before anything is
// read or computed.
func TestNumbersHaveTwoEnds(t *testing.T) {
	t.Parallel()
	beyond := map[string][]string{"int": {"-1000000000000", "9000000000000000000"}, "float64": {"-1e308", "1.7e308", "NaN", "Inf"},
		"duration": {"-1s", "2562047h"}}
	tried := 0
	visit(newRootCommand(), nil, func(cmd *cobra.Command, path []string) {
		args := append(path, strings.Fields(base[strings.Join(path, " ")])...)
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			for _, value := range beyond[f.Value.Type()] {
				tried++
				refuses(t, exitUsage, "--"+f.Name+" is ", append(args, fmt.Sprintf("--%s=%s", f.Name, value))...)
			}
		})
	})
	if tried < 40 {
		t.Errorf("only %d numbers were tried", tried)
	}
}

// A mistake in a command line ends in exit code 2 and one line that names the flag and the value.
func TestUsageErrors(t *testing.T) {
	t.Parallel()
	for command, lines := range map[string]map[string]string{
		"": {
			"simulat":                 `unknown command "simulat": did you mean simulate`,
			"fitt":                    `unknown command "fitt": did you mean fit`,
			"model sow m.npz":         `unknown command "sow"`,
			"cluster nw":              `unknown command "nw"`,
			"predict --data a.csv":    "--model is missing",
			"adapt --model m.npz":     "--data is missing",
			"fit":                     "--data is missing",
			"fit --data a.csv":        "--task COLUMN and --target COLUMN",
			"fit --data a.npz":        `"difalt run" reads problem files`,
			"node --data a.npz":       "this command reads tables",
			"model show":              "takes one model file, but got 0 arguments",
			"simulate extra":          `takes no arguments, only flags, but got "extra"`,
			"simulate --no-such":      `unknown flag: --no-such (see "difalt simulate --help")`,
			"fit --json=maybe":        `--json is "maybe": want true or false`,
			"node --round-timeout 5":  `--round-timeout is "5": want a time such as`,
			"simulate --nodes many":   `--nodes is "many": want a whole number`,
			"simulate --seed -1":      `--seed is "-1": want a whole number from 0`,
			"cluster check":           "--cluster is missing",
			"cluster new --nodes a:1": "--out is missing",
		},
		"fit --data no.csv --task t --target y": {
			"--rank -1":                       `--rank is "-1": want auto or a whole number`,
			"--rank x":                        `--rank is "x": want auto or a whole number`,
			"--missing some":                  `--missing is "some": want refuse, drop or mean`,
			"--decimal ..":                    `--decimal is "..": want one character`,
			"--decimal ;":                     "--decimal",
			"--delimiter ab":                  `--delimiter is "ab": want one character, or tab`,
			"--dates my":                      "--dates",
			"--test-fraction 1":               "--test-fraction is 1: want at least 0 and less than 1",
			"--holdout h --test-fraction .5":  "only one of --test-fraction, --train-rows-per-task and --holdout",
			"--train-rows-per-task 0":         "--train-rows-per-task is 0: need at least 1",
			"--model a.csv":                   "expected a name that ends in .npz",
			"--report x.npz --model x.npz":    "--report and --model would both write x.npz",
			"--report x --model x/index.html": "--report and --model would both write",
			"--epsilon 1":                     "unknown flag: --epsilon",
			"--iterations 5":                  "unknown flag: --iterations",
		},
		"node --data no.csv --task t --target y": {
			"":                                      "--cluster is missing",
			"--delta 1e-5":                          "--delta needs --epsilon",
			"--epsilon 1":                           "--epsilon needs --rank N",
			"--engine tcp":                          `--engine is "tcp": want grpc or mpi`,
			"--engine mpi --cluster c.json":         "--cluster is for --engine grpc",
			"--engine mpi":                          `--data is "no.csv": all processes have one command line`,
			"--engine mpi --model m%s.npz --data x": "given twice",
		},
		"up --data no*.csv --task t --target y": {
			"":               "0 files for",
			"--graph ring":   `--data: 0 files`,
			"--cluster x":    "unknown flag: --cluster",
			"--holdout=":     "--holdout is empty",
			"--colluding 1":  "--colluding needs --epsilon",
			"--epsilon 1e9 ": "--epsilon is 1e+09: must be at most 1000",
		},
	} {
		for line, want := range lines {
			refuses(t, exitUsage, want, append(strings.Fields(command), strings.Fields(line)...)...)
		}
	}
}
