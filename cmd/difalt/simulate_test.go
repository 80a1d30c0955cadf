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
	stdout, _ := simulate(t, dir, "--trials", "2")
	has(t, stdout, "L = 4, d = 12, T = 16, n = 10, r = 2, graph ring, metropolis weights", "3 rounds of averaging", "method", "dif",
		"altgdmin", "dec", "dgd", "Medians of 2 trials", filepath.Join(dir, "figure.svg"), filepath.Join(dir, "trace.csv"))
	has(t, string(readFile(t, dir, "figure.svg")), "<svg")
	lines := strings.Split(strings.TrimSpace(string(readFile(t, dir, "trace.csv"))), "\n")
	if lines[0] != "method,trial,iteration,sd_node1,sd_max,sd_mean,disagreement,objective,rounds,messages,bytes,seconds" {
		t.Errorf("header is %q", lines[0])
	}
	if want := 1 + 2*4*16; len(lines) != want {
		t.Errorf("trace has %d lines, want %d", len(lines), want)
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
		filepath.Join(dir, "noise.svg"))
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
		runs := resolve(t, append([]string{"--out", dir, "--trials", "100000"}, tiny...)...)
		runs[0].delivered = func(number int) {
			if number == 3 {
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

// Values that no machine can hold, and outputs that cannot be written, are refused before anything is drawn.
func TestSimulateErrors(t *testing.T) {
	file := write(t, t.TempDir(), "file", "")
	refuses(t, exitFailure, "it is not a folder", "simulate", "--out", file)
	refuses(t, exitFailure, "p.npz", "simulate", "--out", t.TempDir(), "--export", filepath.Join(file, "p.npz"))
	for flags, want := range map[string]string{
		"--trials=1000000000": "--trials x methods x --iterations is 2e+12", "--iterations=1000000000": "--iterations is 1.6e+10",
		"--tasks=1000000000": "tasks x samples x features is 3.6e+12", "--nodes=1000000000": "--nodes is 1000000000: must be a whole number from 1 to 10000",
		"--graph=exponential:1e9": "--graph", "--kappa=0.5": "--kappa", "--method=dif:int8": "--method: dif:int8: only accelerated has a codec",
		"--preset=fig3": "--preset", "--export=x.csv": "--export",
	} {
		refuses(t, exitUsage, want, "simulate", "--out", t.TempDir(), flags)
	}
}

// A preset has the values of its panels, and flags override them.
func TestPresets(t *testing.T) {
	fig2b := simulation.Setting{
		Name: "fig2b", Nodes: 100, Problem: simulation.Problem{Features: 100, Tasks: 100, Samples: 50, Rank: 10},
		Graph: "er:0.1", Weights: "equal", Methods: []string{"dif", "altgdmin", "dec", "dgd", "accelerated:float64", "accelerated:int8"},
		Reference: simulation.Truth, Rounds: 10, InitRounds: 10, Iterations: 1500, Seed: 1, Time: simulation.PaperTime,
	}
	other := fig2b
	other.Iterations, other.Methods, other.Weights, other.Time = 60, []string{"dif", "dec"}, "metropolis", simulation.PaperTextTime
	short := fig2b
	short.Rounds = 1
	for _, c := range []struct {
		args    []string
		trials  int
		out     string
		command string
		want    simulation.Setting
	}{
		{[]string{"--preset", "fig2b"}, 100, "difalt-out/fig2b", "difalt simulate --preset=fig2b", fig2b},
		{[]string{"--preset", "fig2b", "--rounds", "1"}, 100, "difalt-out/fig2b", "difalt simulate --preset=fig2b --rounds=1", short},
		{[]string{"--preset", "fig2b", "--trials", "2", "--iterations", "60", "--method", "dif,dec", "--weights", "metropolis",
			"--time-model", "paper-text", "--out", "a folder"}, 2, "a folder", "difalt simulate --preset=fig2b --weights=metropolis " +
			"--method=dif,dec --trials=2 --time-model=paper-text '--out=a folder' --iterations=60", other},
	} {
		s := resolve(t, c.args...)[0]
		if s.trials != c.trials || s.out != filepath.FromSlash(c.out) || s.session.Command != c.command {
			t.Errorf("%q: %d trials in %s by %q", c.args, s.trials, s.out, s.session.Command)
		}
		if diff := cmp.Diff(c.want, s.setting); diff != "" {
			t.Errorf("%q: %s", c.args, diff)
		}
	}
	for name, rounds := range map[string]int{"fig1a": 10, "fig1b": 20, "fig1c": 30} {
		if s := resolve(t, "--preset", name)[0].setting; s.Rounds != rounds || s.InitRounds != rounds || s.Features != 600 || s.Iterations != 500 {
			t.Errorf("%s is %+v", name, s)
		}
	}
	var folders []string
	for _, s := range resolve(t, "--preset", "kappa", "--iterations", "60", "--out", "runs") {
		if folders = append(folders, filepath.Base(s.out)); s.trials != 5 || s.setting.Iterations != 60 {
			t.Errorf("%s: %d trials of %d iterations", s.setting.Name, s.trials, s.setting.Iterations)
		}
	}
	if want := []string{"kappa-1.5", "kappa-10", "kappa-100", "kappa-1000"}; !slices.Equal(folders, want) {
		t.Errorf("the folders are %q, want %q", folders, want)
	}
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

func TestResultsErrors(t *testing.T) {
	empty, broken, bare := t.TempDir(), t.TempDir(), t.TempDir()
	write(t, broken, "summary.json", "{")
	write(t, bare, "summary.json", "{}")
	for dir, want := range map[string]string{empty: "no results", filepath.Join(empty, "none"): "none", broken: "summary.json", bare: "summary.json"} {
		refuses(t, exitFailure, want, "results", "--from", dir)
	}
}
