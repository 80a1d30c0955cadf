package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/internal/cli"
	"github.com/difalt/difalt/cmd/difalt/internal/problemfile"
	"github.com/difalt/difalt/internal/npz"
	"gonum.org/v1/gonum/floats"
)

// exported returns a problem file with 16 tasks on 4 nodes, without noise.
func exported(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "problem.npz")
	simulate(t, t.TempDir(), "--trials", "1", "--kappa", "1.5", "--export", file)
	return file
}

// array reads an array of an npz file.
func array(t *testing.T, path, name string) []float64 {
	t.Helper()
	r, err := npz.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	a, err := r.Array(name)
	if err != nil {
		t.Fatal(err)
	}
	v, err := a.Float64s()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// finite reports whether all numbers are finite.
func finite(list []float64) bool {
	return !slices.ContainsFunc(list, func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) })
}

// Without noise, U and b_t of the result reproduce every response: y = X U b_t.
func TestRunAlgorithm(t *testing.T) {
	file := exported(t)
	out := filepath.Join(t.TempDir(), "result.npz")
	has(t, must(t, "run", "--data", file, "--rank", "2", "--method", "accelerated", "--out", out),
		"accelerated: 16 tasks on 4 nodes, rank 2", "converged")
	in, err := problemfile.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	if len(in.U0) != 4 || in.Truth == nil || in.Start == nil || in.Weights == nil || in.Nodes != 4 {
		t.Errorf("the problem file is %+v", in)
	}
	p, err := in.Problem(0)
	if err != nil {
		t.Fatal(err)
	}
	const d, r = 12, 2
	u, b, row, k := array(t, out, "U"), array(t, out, "B"), make([]float64, d), 0
	if len(u) != 4*d*r || len(b) != 16*r {
		t.Fatalf("U has %d entries and B %d", len(u), len(b))
	}
	for g, tasks := range p.Nodes {
		for task := range tasks.Len() {
			theta := make([]float64, d)
			for i := range theta {
				theta[i] = floats.Dot(u[(g*d+i)*r:][:r], b[k*r:][:r])
			}
			for i, y := range tasks.Y(task) {
				if got := floats.Dot(tasks.Row(row, task, i), theta); math.Abs(got-y) > 1e-8 {
					t.Fatalf("node %d, task %d, row %d: %v, want %v", g, task, i, got, y)
				}
			}
			k++
		}
	}
}

// A run that continues from the snapshot of an interrupted one comes to the same bits as a run without a
// pause.
func TestRunSnapshots(t *testing.T) {
	file, dir := exported(t), t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	args := []string{"run", "--data", file, "--rank", "2", "--rounds", "5"}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r := runOf(t, append(args[1:], "--snapshot", at("a.state"))...)
	seen := 0 // the number of iterations before which the file was there
	err := r.alone(ctx, func(iteration int) {
		if _, err := os.Stat(at("a.state")); err == nil {
			seen++
		}
		if iteration == 102 {
			cancel()
		}
	})
	if code := cli.ExitCode(err); code != cli.ExitInterrupted || seen != 2 {
		t.Fatalf("exit code %d: %v; the file was there in %d iterations", code, err, seen)
	}
	must(t, append(args, "--from", at("a.state"), "--snapshot", at("b.state"), "--out", at("b.npz"))...)
	must(t, append(args, "--snapshot", at("c.state"), "--out", at("c.npz"))...)
	if !slices.Equal(array(t, at("b.npz"), "U"), array(t, at("c.npz"), "U")) ||
		!bytes.Equal(readFile(t, dir, "b.state"),
			readFile(t, dir, "c.state")) {
		t.Error("the runs end in different states")
	}
}

// runOf returns a run with flags.
func runOf(t *testing.T, flags ...string) *algorithmRun {
	t.Helper()
	o := newRunOptions()
	r := &algorithmRun{runOptions: o, Streams: &cli.Streams{Out: io.Discard, Err: io.Discard}}
	if err := errors.Join(o.flags.Parse(flags), o.check(), o.open(&r.files)); err != nil {
		t.Fatal(err)
	}
	return r
}

// writeProblem writes a problem file with 2 tasks of 10 rows with 3 features at each of some nodes.
func writeProblem(t *testing.T, path string, x, y []float64, nodes int) {
	t.Helper()
	var content bytes.Buffer
	w, task, node := npz.NewWriter(&content), make([]int, len(y)), make([]int, 2*nodes)
	for i := range task {
		task[i] = i / 10
	}
	for k := range node {
		node[k] = k / 2
	}
	w.Float64s("X", []int{len(y), 3}, x)
	w.Float64s("y", []int{len(y)}, y)
	w.Ints("task", task)
	if nodes > 1 {
		w.Ints("node", node)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Dir(path), filepath.Base(path), content.String())
}

// Errors about the graph of a file name the file, and a flag replaces that graph.
func TestRunGraphOfFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "p.npz")
	var content bytes.Buffer
	w, x, y := npz.NewWriter(&content), make([]float64, 80), make([]float64, 40)
	for i := range x {
		x[i] = math.Sin(float64(7 * i))
		y[i/2] += x[i] * float64(1+i/20)
	}
	w.Float64s("X", []int{4, 10, 2}, x)
	w.Float64s("y", []int{4, 10}, y)
	w.Ints("node", []int{0, 0, 1, 1})
	w.Float64s("adjacency", []int{2, 2}, make([]float64, 4))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Dir(path), "p.npz", content.String())
	args := []string{"run", "--data", path, "--rank", "1", "--method", "accelerated", "--any-features"}
	_, stderr, code := difaltCommand(t, args...)
	if code != cli.ExitFailure || !strings.Contains(stderr, `p.npz: array "adjacency": `) ||
		!strings.Contains(stderr, "not connected") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	if _, stderr, code := difaltCommand(t, append(args, "--graph", "path")...); strings.Contains(stderr, "connected") ||
		code == cli.ExitUsage {
		t.Errorf("with --graph: exit code %d: %s", code, stderr)
	}
}

// problemOf writes a problem file with 2 tasks, and returns its path.
func problemOf(t *testing.T, offset, factor float64) string {
	t.Helper()
	x, y, path := make([]float64, 60), make([]float64, 20), filepath.Join(t.TempDir(), "own.npz")
	for i := range x {
		x[i], y[i/3] = offset+math.Sin(float64(7*i)), factor*math.Sin(float64(7*i))
	}
	writeProblem(t, path, x, y, 1)
	return path
}

// A task whose samples do not determine its coefficients is counted in the report, and other runs have no
// such line.
func TestTasksWithoutUniqueCoefficients(t *testing.T) {
	x, y, path := make([]float64, 3*60), make([]float64, 3*20), filepath.Join(t.TempDir(), "p.npz")
	for i := range x {
		x[i] = math.Sin(float64(7 * i))
		y[i/3] += x[i]
	}
	for singular := range 2 {
		clear(x[:30*singular]) // all features of the first task are 0
		writeProblem(t, path, x, y, 3)
		stdout, stderr, _ := difaltCommand(t, "run", "--data", path, "--rank", "1", "--iterations", "5",
			"--any-features")
		flat := strings.Join(strings.Fields(stdout), " ")
		if strings.Contains(flat, "tasks without a unique b 1") != (singular == 1) ||
			strings.Contains(flat, "unique") != (singular == 1) {
			t.Errorf("%d such tasks: %s%s", singular, stdout, stderr)
		}
	}
}

// The report in JSON has what the report in words has.
func TestRunJSON(t *testing.T) {
	var r runReport
	stdout := must(t, "run", "--data", exported(t), "--rank", "2", "--method", "accelerated", "--json")
	if err := json.Unmarshal([]byte(stdout), &r); err != nil {
		t.Fatal(err)
	}
	if r.Schema != 1 || r.Command != "run" || r.Method != "accelerated" || r.Tasks != 16 || r.Nodes != 4 ||
		r.Rank != 2 ||
		!r.Converged || r.Status != "converged" || r.Iterations < 1 || r.Distance <= 0 || r.Distance > 1e-9 {
		t.Errorf("the report is %s", stdout)
	}
	stdout = must(t, "run", "--data", exported(t), "--rank", "2", "--method", "accelerated",
		"--json", "--iterations", "1000", "--quiet")
	if !json.Valid([]byte(stdout)) {
		t.Errorf("with --quiet it prints %q", stdout)
	}
}
