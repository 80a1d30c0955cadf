package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/internal/paper"
	"github.com/difalt/difalt/cmd/difalt/internal/simulation"
	"github.com/google/go-cmp/cmp"
)

// tiny are flags of a simulation that takes milliseconds.
var tiny = []string{"--nodes", "4", "--features", "12", "--tasks", "16", "--samples", "10", "--rank", "2",
	"--graph", "ring", "--rounds", "3", "--iterations", "15"}

func simulate(t *testing.T, dir string, flags ...string) (stdout, stderr string) {
	t.Helper()
	args := append(append([]string{"simulate", "--out", dir}, tiny...), flags...)
	stdout, stderr, code := difaltCommand(t, args...)
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	return stdout, stderr
}

func readFile(t *testing.T, path ...string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestSimulate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "folder")
	simulate(t, dir, "--trials", "2")
	has(t, string(readFile(t, dir, "figure.svg")), "<svg")
	trials, err := simulation.ReadTrace(bytes.NewReader(readFile(t, dir, "trace.csv")))
	if err != nil || len(trials) != 2 || len(trials[1].Curves) != 4 || len(trials[1].Curves[3].Rows) != 16 {
		t.Errorf("the trace has %d trials, %v", len(trials), err)
	}
	var sum simulation.Summary
	if err := json.Unmarshal(readFile(t, dir, "summary.json"), &sum); err != nil {
		t.Fatal(err)
	}
	if sum.Trials != 2 || len(sum.Methods) != 4 || sum.Setting.Rank != 2 || !strings.HasPrefix(sum.Command, "difalt simulate --nodes=4 ") || sum.Machine == "" || sum.Setting.Time != simulation.PaperTime {
		t.Errorf("summary is %+v", sum)
	}
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(left) != 3 {
		t.Errorf("the folder holds %v", left)
	}
}

// A preset of several panels has one figure, and results finds its runs.
func TestSimulatePreset(t *testing.T) {
	inFull(t)
	dir := filepath.Join(t.TempDir(), "runs")
	has(t, must(t, "simulate", "--preset", "noise", "--trials", "1", "--iterations", "5", "--tasks", "20", "--out", dir),
		filepath.Join(dir, "noise.svg"), "summary.json\n\nnoise")
	has(t, string(readFile(t, dir, "noise.svg")), "from the minimiser")
	must(t, "results", "--from", dir)
	has(t, string(readFile(t, dir, "results.md")), "## Beyond the paper: noise", "(figures/noise-metropolis.svg)",
		"    difalt simulate --preset=noise --tasks=20 --trials=1 --out="+dir+" --iterations=5")
}

// Ctrl-C after a trial writes the finished trials into a new folder, and leaves one with results alone.
func TestSimulateInterrupted(t *testing.T) {
	dir := t.TempDir()
	for _, held := range []bool{false, true} {
		ctx, cancel := context.WithCancel(t.Context())
		runs := resolve(t, append([]string{"--out", dir, "--trials", "100000", "--workers", "1"}, tiny...)...)
		runs[0].progress = func(share float64) {
			if share > 4./100000 {
				cancel()
			}
		}
		before := map[string][]byte{}
		if held {
			before = folder(t, dir)
		}
		var out, stderr bytes.Buffer
		_, err := runs[0].run(ctx, streams{out: &out, err: &stderr})
		after := folder(t, dir)
		if held {
			if diff := cmp.Diff(before, after); diff != "" || err == nil || !strings.Contains(err.Error(), "nothing was written") {
				t.Errorf("error %v, and the folder changes by %s", err, diff)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), "of 100000 trials") {
			t.Errorf("error %v", err)
		}
		has(t, out.String(), "figure.svg")
		all, err := simulation.LoadResults(dir)
		if err != nil || len(after) != 3 || all[0].Trials < 3 {
			t.Errorf("the folder holds %d files, %+v, %v", len(after), all, err)
		}
	}
}

// run comes from the exported problem of trial 1 to the distance in the trace.
func TestSimulateExport(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "problem.npz")
	simulate(t, dir, "--trials", "1", "--method", "dif", "--export", file)
	trials, err := simulation.ReadTrace(bytes.NewReader(readFile(t, dir, "trace.csv")))
	if err != nil {
		t.Fatal(err)
	}
	stdout, _, _ := difaltCommand(t, "run", "--data", file, "--rank", "2", "--rounds", "3", "--iterations", "15")
	has(t, stdout, fmt.Sprintf("distance from Ustar %.2g", trials[0].Curves[0].Rows[15].SDMax))
}

// resolve parses the flags of simulate as the command does.
func resolve(t *testing.T, args ...string) []*simulateRun {
	t.Helper()
	flags := newSimulateFlags()
	if err := flags.Set.Parse(args); err != nil {
		t.Fatal(err)
	}
	runs, _, err := flags.resolve()
	if err != nil {
		t.Fatal(err)
	}
	return runs
}

// The page about the folder of a single run has its figure, its table and the command that made it.
func TestResultsOfOneRun(t *testing.T) {
	dir := t.TempDir()
	simulate(t, dir, "--trials", "1") // which the second replaces
	simulate(t, dir, "--trials", "2")
	has(t, must(t, "results", "--from", dir), "results.md about 1 run")
	page := string(readFile(t, dir, "results.md"))
	has(t, page, "## Run 1", "(figures/run-1.svg)", "| method | metropolis weights |", "| DGD variant | ends at ",
		"    difalt simulate --nodes=4 ", " --trials=2 --out="+dir+" ")
	for _, not := range []string{"Figure 1", "--trials=1", "NaN", "%!"} {
		if strings.Contains(page, not) {
			t.Errorf("the page contains %q", not)
		}
	}
	has(t, string(readFile(t, dir, "figures", "run-1.svg")), "<svg")
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
		{2, "--preset=fig2b --weights=metropolis --method=dif,dec --trials=2 --time-model=paper-text --out=a --iterations=60",
			func(s *simulation.Setting) {
				s.Iterations, s.Methods, s.Weights, s.Time = 60, []string{"dif", "dec"}, "metropolis", simulation.PaperTextTime
			}},
	} {
		preset, err := paper.PresetByName("fig2b")
		if err != nil {
			t.Fatal(err)
		}
		want := preset.Panels[0].Setting
		c.change(&want)
		s := resolve(t, strings.Fields(c.command)...)[0]
		if diff := cmp.Diff(want, s.setting); diff != "" || s.trials != c.trials || s.session.Command != "difalt simulate "+c.command {
			t.Errorf("%s: %s%d trials by %q", c.command, diff, s.trials, s.session.Command)
		}
	}
	var folders []string
	for _, s := range resolve(t, "--preset", "kappa", "--iterations", "60", "--out", "runs") {
		if folders = append(folders, s.out); s.trials != 5 || s.setting.Iterations != 60 {
			t.Errorf("%s: %d trials of %d iterations", s.setting.Name, s.trials, s.setting.Iterations)
		}
	}
	if want := []string{"runs/kappa-1.5", "runs/kappa-10", "runs/kappa-100", "runs/kappa-1000"}; !slices.Equal(folders, want) {
		t.Errorf("the folders are %q, want %q", folders, want)
	}
}
