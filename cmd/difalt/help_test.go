package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/difalt/difalt/cmd/difalt/internal/options"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

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

func TestHelpNamesExitCodes(t *testing.T) {
	stdout := must(t, "--help")
	for _, code := range []int{exitFailure, exitUsage, exitPeer, exitUnconverged, exitInterrupted} {
		if !regexp.MustCompile(fmt.Sprintf(`(?m)^ *%d  `, code)).MatchString(stdout) {
			t.Errorf("exit code %d is not there", code)
		}
	}
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
