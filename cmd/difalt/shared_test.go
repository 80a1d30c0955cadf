package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/internal/cli"
	"github.com/difalt/difalt/cmd/difalt/internal/engine/cluster"
	"github.com/difalt/difalt/internal/check"
	"github.com/spf13/pflag"
)

// nodeFlags returns the flags of node after some arguments.
func nodeFlags(t *testing.T, args ...string) (*nodeOptions, *pflag.FlagSet) {
	t.Helper()
	o, flags := newNodeOptions(), pflag.NewFlagSet("node", pflag.ContinueOnError)
	o.addFlags(flags)
	check.Done(flags.Parse(args))
	return o, flags
}

// sharedList writes a list of two nodes with options of the training.
func sharedList(t *testing.T, args ...string) (path string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "net")
	must(t, slices.Concat([]string{"cluster", "new", "--nodes", "a=h:1,b=h:2", "--out", dir}, args)...)
	return filepath.Join(dir, cluster.File)
}

// Every option that owners share goes from cluster new through the file to node, as if it were given there.
func TestSharedOptions(t *testing.T) {
	values := map[string]string{
		"task":           "clinic",
		"target":         "the score",
		"features":       `age,"a, b"`,
		"drop":           `x,"with ""quotes""",ü`,
		"categorical":    "k,l",
		"numbers":        "true",
		"sample-weights": "w",
		"rank":           "2",
		"no-curves":      "true",
		"log-target":     "true",
		"common-noise":   "true",
		"epsilon":        "4",
		"delta":          "0.001",
		"colluding":      "1",
	}
	for _, name := range sharedOptions {
		args := []string{"--" + name + "=" + values[name]}
		switch name {
		case "delta", "colluding":
			args = append(args, "--epsilon=4", "--rank=2")
		case "epsilon":
			args = append(args, "--rank=2")
		}
		path := sharedList(t, args...)
		o, flags := nodeFlags(t, "--cluster", path)
		check.Done(takeShared(flags, path, check.OK(cluster.Read(path)).Training))
		direct, given := nodeFlags(t, args...)
		if a, b := flags.Lookup(name).Value.String(), given.Lookup(name).Value.String(); a != b ||
			!flags.Changed(name) {
			t.Errorf("%s is %q, want %q", name, a, b)
		}
		o.member = direct.member
		got := fmt.Sprintf("%+v %+v", o.table, o.privacy)
		want := fmt.Sprintf("%+v %+v", direct.table, direct.privacy)
		if got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// An owner that gives another value than the file has is told both; a file with an option that is unknown or
// impossible is refused by the name of that option.
func TestSharedOptionsDiffer(t *testing.T) {
	path := sharedList(t, "--task", "clinic", "--target", "score", "--rank", "2")
	for args, want := range map[string]string{
		"":         "",
		"--rank 2": "",
		"--rank 3": "--rank: it is 3 here, and 2 in " + path + " for all owners: leave it out",
		"--target y": "--target: it is \"y\" here, and \"score\" in " + path +
			" for all owners: leave it out",
		"--no-curves":               "",
		"--rank 2 --least-level 20": "",
	} {
		o, flags := nodeFlags(t, append([]string{"--cluster", path, "--data", "x.csv"}, strings.Fields(args)...)...)
		told(t, args, o.take(flags, nil), want, cli.ExitUsage)
	}
	for training, want := range map[string]string{
		`{"task": "clinic"}`: "--target must be given, here or in cluster.json",
		`{"task": "t", "target": "y", "rank": -1}`: "the training has rank -1: must be auto or a " +
			"whole number from 0",
		`{"task": "t", "target": "y", "least-rows": 1}`: `the training has an option "least-rows": ` +
			`must be one of task, target,`,
		`{"task": "t", "target": "y", "numbers": "perhaps"}`:    `the training has numbers "perhaps": `,
		`{"task": "t", "target": "y", "drop": ["a"]}`:           `must be a text, a number, true or false`,
		`{"task": "two\nlines", "target": "y"}`:                 "training: the value of task is",
		`{"--task": "t", "target": "y"}`:                        `training: the name of an option is "--task"`,
		`{"task": "t", "target": "y", "rank": 2, "epsilon": 4}`: "",
		`{"task": "t", "target": "y", "epsilon": 4}`: "the training is not possible: --epsilon: it " +
			"needs --rank N",
		`{"task": "t", "target": "y", "drop": "a", "features": "b"}`: "the training is not possible: only one of " +
			"--features and --drop may be given",
	} {
		var list map[string]json.RawMessage
		check.Done(json.Unmarshal(readFile(t, path), &list))
		list["training"] = json.RawMessage(training)
		dir := t.TempDir()
		write(t, dir, "c.json", string(check.OK(json.Marshal(list))))
		o, flags := nodeFlags(t, "--cluster", filepath.Join(dir, "c.json"), "--data", "x.csv")
		code := cli.ExitFailure // of the file
		if strings.Contains(want, "must be given, here or in") {
			code = cli.ExitUsage
		}
		told(t, training, o.take(flags, nil), want, code)
	}
}

// An empty text in the file is what it is on the command line: a list without entries, and no value of any
// other option.
func TestEmptySharedOptions(t *testing.T) {
	path := sharedList(t, "--task=clinic", "--target=score", "--features=")
	o, flags := nodeFlags(t, "--cluster", path)
	check.Done(takeShared(flags, path, check.OK(cluster.Read(path)).Training))
	if o.table.Features == nil || len(o.table.Features) > 0 {
		t.Errorf("features %q, want an empty list", o.table.Features)
	}
	text := strings.Replace(string(readFile(t, path)), `"clinic"`, `""`, 1)
	path = write(t, t.TempDir(), "c.json", text)
	const want = `the training has task empty: leave it out, or give it a value`
	refuses(t, cli.ExitFailure, want, "node", "--cluster", path, "--key", "k", "t.csv")
}

// told asserts what the last line of a command would be; empty for no error.
func told(t *testing.T, what string, err error, want string, code int) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("%s: %v", what, err)
	case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
		t.Errorf("%s: %v, want %s", what, err, want)
	case want != "" && cli.ExitCode(err) != code:
		t.Errorf("%s: exit code %d", what, cli.ExitCode(err))
	}
}
