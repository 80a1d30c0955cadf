package main

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/dataset/problemfile"
	"github.com/difalt/difalt/cmd/difalt/internal/simulation"
	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/mat"
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

// contents returns the files of a folder.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, e := range entries {
		all[e.Name()] = string(readFile(t, dir, e.Name()))
	}
	return all
}

// withoutSeconds is a trace without its last column.
func withoutSeconds(trace []byte) string {
	lines := strings.Split(string(trace), "\n")
	for i, l := range lines {
		if k := strings.LastIndexByte(l, ','); k >= 0 {
			lines[i] = l[:k]
		}
	}
	return strings.Join(lines, "\n")
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

// Results do not depend on workers, and codes of 8 bits take fewer bytes than float64.
func TestSimulateCodecs(t *testing.T) {
	t.Parallel()
	inFull(t)
	base := t.TempDir()
	flags := []string{"--trials", "3", "--method", "dif,accelerated:int8,accelerated:float64"}
	simulate(t, filepath.Join(base, "a"), append(flags, "--workers", "1")...)
	simulate(t, filepath.Join(base, "b"), append(flags, "--workers", "3")...)
	a := readFile(t, base, "a", "trace.csv")
	if withoutSeconds(a) != withoutSeconds(readFile(t, base, "b", "trace.csv")) {
		t.Error("the trace depends on the number of workers")
	}
	trials, err := simulation.ReadTrace(bytes.NewReader(a))
	if err != nil {
		t.Fatal(err)
	}
	sent := func(curve int) int64 {
		rows := trials[0].Curves[curve].Rows
		return rows[len(rows)-1].Bytes - rows[0].Bytes // without the initialisation
	}
	if sent(1) > sent(2)/2 {
		t.Errorf("%d bytes with eight bits an entry, %d with float64", sent(1), sent(2))
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
		"    difalt simulate --preset=noise --tasks=20 --iterations=5 --trials=1 --out="+dir)
}

// Ctrl-C after a trial writes the finished trials into a new folder, and leaves one with results alone.
func TestSimulateInterrupted(t *testing.T) {
	dir := t.TempDir()
	for _, held := range []bool{false, true} {
		ctx, cancel := context.WithCancel(t.Context())
		flags := newSimulateFlags()
		if err := flags.Set.Parse(append([]string{"--out", dir, "--trials", "100000"}, tiny...)); err != nil {
			t.Fatal(err)
		}
		runs, _, err := flags.resolve()
		if err != nil {
			t.Fatal(err)
		}
		runs[0].delivered = func(number int) {
			if number == 3 {
				cancel()
			}
		}
		before := map[string]string{}
		if held {
			before = contents(t, dir)
		}
		var out, stderr bytes.Buffer
		_, err = runs[0].run(ctx, streams{out: &out, err: &stderr})
		after := contents(t, dir)
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

// The exported problem is that of trial 1: from its start and network, the first
// distance of the trace comes out again.
func TestSimulateExport(t *testing.T) {
	inFull(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "problem.npz")
	simulate(t, dir, "--trials", "1", "--export", file)
	p, err := problemfile.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.U0) != 4 || p.Truth == nil || p.Start == nil || p.Weights == nil || p.Nodes != 4 {
		t.Fatalf("problem file is %+v", p)
	}
	trials, err := simulation.ReadTrace(bytes.NewReader(readFile(t, dir, "trace.csv")))
	if err != nil {
		t.Fatal(err)
	}
	// SD = |U* - U (U'U*)|_2.
	var inner, outer, diff mat.Dense
	inner.Mul(p.U0[0].T(), p.Truth)
	outer.Mul(p.U0[0], &inner)
	diff.Sub(p.Truth, &outer)
	if got, want := spectral(&diff), trials[0].Curves[0].Rows[0].SDFirst; math.Abs(got-want) > 1e-12 {
		t.Errorf("the exported start is at %g, the trace begins at %g", got, want)
	}
}

// spectral returns the largest singular value.
func spectral(m mat.Matrix) float64 {
	var svd mat.SVD
	svd.Factorize(m, mat.SVDNone)
	return svd.Values(nil)[0]
}

// Values that no machine can hold are refused before anything is drawn.
func TestSimulateTooMuch(t *testing.T) {
	for flags, want := range map[string]string{
		"--trials=1000000000": "--trials x methods x --iterations is 2e+12", "--iterations=1000000000": "--iterations is 1.6e+10",
		"--tasks=1000000000": "tasks x samples x features is 3.6e+12", "--nodes=1000000000": "--nodes is 1000000000: must be a whole number from 1 to 10000",
		"--graph=exponential:1e9": "--graph", "--kappa=0.5": "--kappa", "--method=dif:int8": "--method: dif:int8: only accelerated has a codec",
		"--preset=fig3": "--preset", "--export=x.csv": "--export",
	} {
		refuses(t, exitUsage, want, "simulate", "--out", t.TempDir(), flags)
	}
}

func TestSimulateUnwritable(t *testing.T) {
	file := write(t, t.TempDir(), "file", "")
	refuses(t, exitFailure, "it is not a folder", "simulate", "--out", file)
	refuses(t, exitFailure, "p.npz", "simulate", "--out", t.TempDir(), "--export", filepath.Join(file, "p.npz"))
}
