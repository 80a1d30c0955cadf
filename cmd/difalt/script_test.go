package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/internal/cli"
	"github.com/difalt/difalt/internal/check"
	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/cobra"
)

// The scripts pipe every command into the next one, as processes.
func TestScripts(t *testing.T) {
	inFull(t)
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			env.Setenv("EXAMPLES", filepath.Join(here, "../../examples"))
			for _, name := range []string{"ADDRESS_A", "ADDRESS_B", "ADDRESS_C"} {
				l := check.Listen(t) // whose port stays the test's when it is closed
				env.Setenv(name, l.Addr().String())
				if err := l.Close(); err != nil {
					return err
				}
			}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"setenv": setEnvironment, "split": splitByTask},
	})
}

// Every command of the program is in a script.
func TestScriptsHaveAllCommands(t *testing.T) {
	paths, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, path := range paths {
		all.Write(readFile(t, path))
	}
	visit(newRootCommand(&cli.Streams{}), nil, func(cmd *cobra.Command, path []string) {
		command := strings.Join(path, " ")
		if !cmd.HasSubCommands() && !strings.Contains(all.String(), "exec difalt "+command+" ") {
			t.Errorf("no script has difalt %s", command)
		}
	})
}

// setEnvironment sets a variable to the content of a file without the last line break: setenv NAME FILE.
func setEnvironment(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: setenv NAME FILE")
	}
	ts.Setenv(args[0], strings.TrimSpace(ts.ReadFile(args[1])))
}

// splitByTask deals the tasks of a table, which its first column names, to files with its header: split FROM
// TO...
func splitByTask(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: split FROM TO...")
	}
	lines := strings.SplitAfter(strings.TrimSuffix(ts.ReadFile(args[0]), "\n"), "\n")
	parts, owners := make([]strings.Builder, len(args)-1), map[string]int{}
	for i := range parts {
		parts[i].WriteString(lines[0])
	}
	for _, line := range lines[1:] {
		task, _, _ := strings.Cut(line, ",")
		if _, known := owners[task]; !known {
			owners[task] = len(owners) % len(parts)
		}
		parts[owners[task]].WriteString(strings.TrimSuffix(line, "\n") + "\n")
	}
	for i := range parts {
		ts.Check(os.WriteFile(ts.MkAbs(args[1+i]), []byte(parts[i].String()), 0o666))
	}
}
