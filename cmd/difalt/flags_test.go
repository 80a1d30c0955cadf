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
	"cluster new": "--nodes a=a:1,b=b:1 --out no", "cluster key": "--out no",
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
			refuses(t, exitUsage, "--"+f.Name+" is empty", append(path, "--"+f.Name+"=")...)
			if f.Value.Type() == "stringSlice" {
				refuses(t, exitUsage, "--"+f.Name+" is a,,b: one of its entries is empty", append(path, "--"+f.Name+"=a,,b")...)
			}
		})
	})
	if tried < 90 {
		t.Errorf("only %d flags were tried", tried)
	}
}

// A flag is given once, unless it is a list.
func TestRepeatedFlags(t *testing.T) {
	refuses(t, exitUsage, "--data is given twice, as b.csv the second time", "fit", "--data", "a.csv", "--data", "b.csv")
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
			"":              "0 files: up needs a file",
			"--cluster x":   "unknown flag: --cluster",
			"--graph star":  "unknown flag: --graph",
			"--holdout=":    "--holdout is empty",
			"--colluding 1": "--colluding needs --epsilon",
			"--epsilon 1e9": "--epsilon is 1e9: must be a number above 0 to 1e+03",
		},
	} {
		for line, want := range lines {
			refuses(t, exitUsage, want, append(strings.Fields(command), strings.Fields(line)...)...)
		}
	}
}
