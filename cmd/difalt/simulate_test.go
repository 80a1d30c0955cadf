package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/internal/simulation"
)

// tiny are flags of a simulation that takes milliseconds: of its problem, and of the algorithm.
var (
	tinyProblem = []string{"--nodes", "4", "--features", "12", "--tasks", "16", "--samples", "10", "--rank", "2",
		"--graph", "ring"}
	tiny = append(slices.Clip(tinyProblem), "--rounds", "3", "--iterations", "15")
)

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
	if err != nil || len(trials) != 2 || len(trials[1].Curves) != 5 || len(trials[1].Curves[3].Rows) != 16 {
		t.Errorf("the trace has %d trials, %v", len(trials), err)
	}
	var sum simulation.Summary
	if err := json.Unmarshal(readFile(t, dir, "summary.json"), &sum); err != nil {
		t.Fatal(err)
	}
	if sum.Trials != 2 || len(sum.Methods) != 5 || sum.Setting.Rank != 2 ||
		!strings.HasPrefix(sum.Command, "difalt simulate --nodes=4 ") || sum.Machine == "" ||
		sum.Setting.Time != simulation.PaperTime {
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
	const dir = "runs"
	t.Chdir(t.TempDir())
	has(t, must(t, "simulate", "--preset", "noise", "--trials", "1", "--iterations", "5", "--tasks", "20",
		"--out", dir),
		filepath.Join(dir, "noise.svg"), "summary.json\n\nnoise")
	has(t, string(readFile(t, dir, "noise.svg")), "from the minimiser")
	must(t, "results", "--from", dir)
	has(t, string(readFile(t, dir, "results.md")), "## Beyond the paper: noise", "(figures/noise-metropolis.svg)",
		"    difalt simulate --preset=noise --tasks=20 --trials=1 --out="+dir+" --iterations=5")
}

// run comes from the exported problem of trial 1 to the distance in the trace, by every method of the paper.
// All options mean the same to both commands. (The exported start is theirs: Accelerated makes its own.)
func TestSimulateExport(t *testing.T) {
	for _, flags := range []string{
		"--method dif", "--method dec", "--method dgd", "--method altgdmin", "--seed 7",
		"--rounds 2 --init-rounds 5 --power-iterations 9", "--rounds 1", "--iterations 4", "--workers 1",
	} {
		t.Run(flags, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, "problem.npz")
			both := strings.Fields(flags)
			for flag, value := range map[string]string{"--method": "dif", "--rounds": "3", "--iterations": "15"} {
				if !slices.Contains(both, flag) {
					both = append(both, flag, value)
				}
			}
			must(t, slices.Concat([]string{"simulate", "--out", dir, "--trials", "1", "--export", file}, tinyProblem,
				both)...)
			trials, err := simulation.ReadTrace(bytes.NewReader(readFile(t, dir, "trace.csv")))
			if err != nil {
				t.Fatal(err)
			}
			run := []string{"run", "--data", file, "--rank", "2", "--tolerance", "1e-300"}
			stdout, _, _ := difaltCommand(t, append(run, both...)...)
			rows := trials[0].Curves[0].Rows
			last := len(rows) - 1
			has(t, stdout, fmt.Sprintf("iterations %d ", last),
				fmt.Sprintf("distance from Ustar %.2g", rows[last].SDMax))
		})
	}
}

// The page about the folder of a single run has its figure, its table and the command that made it.
func TestResultsOfOneRun(t *testing.T) {
	const dir = "out" // the page has it as one would type it: a path in some other folder might need quotes
	t.Chdir(t.TempDir())
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
