package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/difalt/difalt/cmd/difalt/internal/options"
	"github.com/difalt/difalt/consensus"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// TestHelpNamesWhatIsAccepted parses every codec and polynomial that the help of a
// command offers, and looks for every polynomial there is.
func TestHelpNamesWhatIsAccepted(t *testing.T) {
	codec := regexp.MustCompile(`\b(none|float\d+|int\d+|topk|int\d+:\w+)\b`)
	seen := 0
	for _, cmd := range newRootCommand().Commands() {
		if f := cmd.Flags().Lookup("compress"); f != nil {
			for _, name := range codec.FindAllString(f.Usage, -1) {
				seen++
				if _, err := consensus.ParseCodec(name); err != nil {
					t.Errorf("%s --compress offers %q: %v", cmd.Name(), name, err)
				}
			}
		}
		if f := cmd.Flags().Lookup("agree"); f != nil {
			for _, p := range []consensus.Polynomial{consensus.Plain, consensus.Chebyshev, consensus.Tree} {
				if !regexp.MustCompile(`\b` + p.String() + `\b`).MatchString(f.Usage) {
					t.Errorf("%s --agree does not offer %v", cmd.Name(), p)
				}
			}
		}
	}
	if seen < 8 {
		t.Errorf("only %d names of codecs in the help of all commands", seen)
	}
}

// The help of a command fits in a terminal of 80 columns.
func TestHelpFits(t *testing.T) {
	for _, name := range []string{"", "fit", "fit --help-all", "describe", "predict", "adapt", "plan", "simulate", "results", "info", "model"} {
		stdout, _, code := difaltCommand(t, append(strings.Fields(name), "--help")...)
		if code != 0 || stdout == "" {
			t.Errorf("%s --help: exit code %d", name, code)
		}
		for line := range strings.Lines(stdout) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > helpWidth {
				t.Errorf("%s --help: a line of %d: %s", name, n, line)
			}
		}
	}
}

// What the usage of a command has in brackets is not required.
func TestHelpOfOptionalFlags(t *testing.T) {
	seen := 0
	for _, cmd := range newClusterCommand().Commands() {
		for _, m := range regexp.MustCompile(`\[--([a-z-]+)`).FindAllStringSubmatch(cmd.Use, -1) {
			seen++
			if f := cmd.Flags().Lookup(m[1]); f == nil || strings.HasSuffix(f.Usage, "(required)") {
				t.Errorf("%s: %v", cmd.Use, f)
			}
		}
	}
	if seen == 0 {
		t.Error("nothing is in brackets")
	}
}

// No command says a line of its help twice.
func TestHelpSaysALineOnce(t *testing.T) {
	var commands func(*cobra.Command, ...string)
	commands = func(cmd *cobra.Command, path ...string) {
		stdout, _, _ := difaltCommand(t, append(path, "--help")...)
		said := map[string]bool{}
		for line := range strings.Lines(stdout) {
			if line = strings.TrimSpace(line); len(line) > 25 && said[line] && !strings.HasPrefix(line, "difalt ") {
				t.Errorf("%v --help has twice: %s", path, line)
			}
			said[line] = true
		}
		for _, sub := range cmd.Commands() {
			commands(sub, append(slices.Clone(path), sub.Name())...)
		}
	}
	commands(newRootCommand())
}

// The help of fit is a page of 60 lines; --help-all has every flag.
func TestHelpOfFit(t *testing.T) {
	page, _, code := difaltCommand(t, "fit", "--help")
	all, _, codeAll := difaltCommand(t, "fit", "--help-all")
	if n := strings.Count(page, "\n"); code != 0 || codeAll != 0 || n > 60 || !strings.Contains(page, "--help-all") {
		t.Errorf("exit codes %d and %d, a page of %d lines", code, codeAll, n)
	}
	options.New(options.Fit).Set.VisitAll(func(f *pflag.Flag) {
		if !regexp.MustCompile(`(?m)^ .*--` + f.Name + `\b`).MatchString(all) {
			t.Errorf("--help-all has no --%s", f.Name)
		}
	})
}

// What the help says about exit codes is what there is.
func TestHelpNamesExitCodes(t *testing.T) {
	stdout, _, _ := difaltCommand(t, "--help")
	for _, code := range []int{exitFailure, exitUsage, exitPeer, exitDiverged, exitInterrupted, exitTerminated} {
		if !regexp.MustCompile(fmt.Sprintf(`\b%d\b`, code)).MatchString(stdout) {
			t.Errorf("exit code %d is not there", code)
		}
	}
}
