package experiment

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/internal/cli"
	"github.com/difalt/difalt/cmd/difalt/internal/paper"
	"github.com/difalt/difalt/cmd/difalt/internal/simulation"
	"github.com/google/go-cmp/cmp"
)

// resolve parses the flags of simulate as the command does.
func resolve(t *testing.T, args ...string) []*simulateRun {
	t.Helper()
	return resolveFor(t, "difalt", args...)
}

// resolveFor does so for a program.
func resolveFor(t *testing.T, program string, args ...string) []*simulateRun {
	t.Helper()
	o := newSimulateOptions(program)
	if err := o.flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	runs, _, err := o.runs()
	if err != nil {
		t.Fatal(err)
	}
	return runs
}

// folder returns the content of all files in a folder, by name.
func folder(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		content, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all[e.Name()] = string(content)
	}
	return all
}

// Ctrl-C after a trial writes the finished trials into a new folder, and leaves one with results alone.
func TestSimulateInterrupted(t *testing.T) {
	dir := t.TempDir()
	for _, held := range []bool{false, true} {
		ctx, cancel := context.WithCancel(t.Context())
		runs := resolve(t, "--out", dir, "--trials", "100000", "--workers", "1", "--nodes", "4", "--features", "12",
			"--tasks", "16",
			"--samples", "10", "--rank", "2", "--graph", "ring", "--rounds", "3", "--iterations", "15")
		runs[0].progress = func(share float64) {
			if share > 4./100000 {
				cancel()
			}
		}
		before := map[string]string{}
		if held {
			before = folder(t, dir)
		}
		var out, stderr bytes.Buffer
		_, err := runs[0].run(ctx, &cli.Streams{Out: &out, Err: &stderr})
		after := folder(t, dir)
		if held {
			diff := cmp.Diff(before, after)
			if diff != "" || err == nil || !strings.Contains(err.Error(), "nothing was written") {
				t.Errorf("error %v, and the folder changes by %s", err, diff)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), "of 100000 trials") {
			t.Errorf("error %v", err)
		}
		if !strings.Contains(out.String(), "figure.svg") {
			t.Errorf("the output names no figure:\n%s", out.String())
		}
		all, err := simulation.LoadResults(dir)
		if err != nil || len(after) != 3 || all[0].Trials < 3 {
			t.Errorf("the folder holds %d files, %+v, %v", len(after), all, err)
		}
	}
}

// A preset has the values of its panels, which package paper tests, and flags override them.
func TestPresets(t *testing.T) {
	for _, c := range []struct {
		trials  int
		command string // with the flags after difalt simulate
		change  func(s *simulation.Setting)
	}{
		{100, "--preset=fig2b", func(*simulation.Setting) {}},
		{100, "--preset=fig2b --rounds=1", func(s *simulation.Setting) { s.Rounds = 1 }},
		{2, "--preset=fig2b --weights=metropolis --method=dif,dec --trials=2 --time-model=paper-text --out=a " +
			"--iterations=60",
			func(s *simulation.Setting) {
				s.Iterations = 60
				s.Methods = []string{"dif", "dec"}
				s.Weights = "metropolis"
				s.Time = simulation.PaperTextTime
			}},
	} {
		preset, err := paper.PresetByName("fig2b")
		if err != nil {
			t.Fatal(err)
		}
		want := preset.Panels[0].Setting
		c.change(&want)
		s := resolve(t, strings.Fields(c.command)...)[0]
		diff := cmp.Diff(want, s.setting)
		if diff != "" || s.trials != c.trials || s.origin.Command != "difalt simulate "+c.command {
			t.Errorf("%s: %s%d trials by %q", c.command, diff, s.trials, s.origin.Command)
		}
	}
	var folders []string
	for _, s := range resolve(t, "--preset", "kappa", "--iterations", "60", "--out", "runs") {
		if folders = append(folders, filepath.ToSlash(s.out)); s.trials != 5 || s.setting.Iterations != 60 {
			t.Errorf("%s: %d trials of %d iterations", s.setting.Name, s.trials, s.setting.Iterations)
		}
	}
	want := []string{"runs/kappa-1.5", "runs/kappa-10", "runs/kappa-100", "runs/kappa-1000"}
	if !slices.Equal(folders, want) {
		t.Errorf("the folders are %q, want %q", folders, want)
	}
}

// The summary of a run names the program that made it.
func TestProgramOfRun(t *testing.T) {
	runs := resolveFor(t, "paper", "--trials", "3")
	if runs[0].origin.Command != "paper simulate --trials=3" {
		t.Errorf("%+v", runs)
	}
}
