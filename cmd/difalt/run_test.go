package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/dataset/problemfile"
	"github.com/difalt/difalt/cmd/difalt/internal/npz"
	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/internal/testnet"
	"github.com/difalt/difalt/topology"
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

// A run that continues from the snapshot of an interrupted one comes to the same bits as a run without a pause.
func TestRunSnapshots(t *testing.T) {
	file, dir := exported(t), t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	args := []string{"run", "--data", file, "--rank", "2", "--rounds", "5"}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r := runOf(t, append(args[1:], "--snapshot", at("a.state"))...)
	if err := r.read(ctx); err != nil {
		t.Fatal(err)
	}
	problem, w := problemAt(t, r, 4)
	net, err := consensus.New(w, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = r.run(ctx, problem, net, func(_ string, share float64) {
		if share >= 0.05 { // in iteration 25
			cancel()
		}
	})
	if code := exitCode(err); code != exitInterrupted {
		t.Fatalf("exit code %d: %v", code, err)
	}
	must(t, append(args, "--from", at("a.state"), "--snapshot", at("b.state"), "--out", at("b.npz"))...)
	must(t, append(args, "--snapshot", at("c.state"), "--out", at("c.npz"))...)
	if !slices.Equal(array(t, at("b.npz"), "U"), array(t, at("c.npz"), "U")) || !bytes.Equal(readFile(t, dir, "b.state"),
		readFile(t, dir, "c.state")) {
		t.Error("the runs end in different states")
	}
}

// runOf returns a run with flags.
func runOf(t *testing.T, flags ...string) *algorithmRun {
	t.Helper()
	f := newRunFlags()
	r := &algorithmRun{runFlags: f, streams: streams{io.Discard, io.Discard}}
	if err := errors.Join(f.Set.Parse(flags), f.resolve(), f.open(&r.files)); err != nil {
		t.Fatal(err)
	}
	return r
}

// problemAt returns the problem of a run that has read it, and the network of its nodes.
func problemAt(t *testing.T, r *algorithmRun, nodes int) (*difalt.Problem, *topology.Weights) {
	t.Helper()
	problem, err := r.file.Problem(0)
	if err != nil {
		t.Fatal(err)
	}
	w, err := r.weights(nodes)
	if err != nil {
		t.Fatal(err)
	}
	return problem, w
}

// problemOf writes a problem file with 2 tasks of 10 rows with 3 features.
func problemOf(t *testing.T, x, y func(i int) float64) string {
	t.Helper()
	var content bytes.Buffer
	w, xs, ys, task := npz.NewWriter(&content), make([]float64, 60), make([]float64, 20), make([]int, 20)
	for i := range xs {
		xs[i] = x(i)
	}
	for i := range ys {
		ys[i], task[i] = y(i), i/10
	}
	w.Float64s("X", []int{20, 3}, xs)
	w.Float64s("y", []int{20}, ys)
	w.Ints("task", task)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return write(t, t.TempDir(), "own.npz", content.String())
}

func TestRunErrors(t *testing.T) {
	file, dir := exported(t), t.TempDir()
	before := readFile(t, file)
	write(t, dir, "broken.npz", string(before[:100]))
	zero := func(int) float64 { return 0 }
	wave := func(i int) float64 { return math.Sin(float64(7 * i)) }
	for name, c := range map[string]struct {
		args []string
		code int
		want string
	}{
		"no data":       {[]string{"--rank", "2"}, exitUsage, `required flag(s) "data" not set`},
		"no rank":       {[]string{"--data", file}, exitUsage, `required flag(s) "rank" not set`},
		"large rank":    {[]string{"--data", file, "--rank", "13"}, exitUsage, "--rank is 13: must be at most the 12 features"},
		"overwrites":    {[]string{"--data", file, "--rank", "2", "--out", file}, exitUsage, "which --data reads"},
		"same outputs":  {[]string{"--data", file, "--rank", "2", "--snapshot", filepath.Join(dir, "x.npz"), "--out", filepath.Join(dir, "x.npz")}, exitUsage, "would both write"},
		"codec":         {[]string{"--data", file, "--rank", "2", "--codec", "int8"}, exitUsage, "--codec is int8: only Accelerated uses codes"},
		"no folder":     {[]string{"--data", file, "--rank", "2", "--out", filepath.Join(dir, "no", "r.npz")}, exitFailure, "r.npz"},
		"broken":        {[]string{"--data", filepath.Join(dir, "broken.npz"), "--rank", "2"}, exitFailure, "broken.npz"},
		"nodes":         {[]string{"--data", file, "--rank", "2", "--nodes", "3"}, exitFailure, "number of nodes"},
		"many nodes":    {[]string{"--data", problemOf(t, wave, wave), "--rank", "1", "--nodes", "9"}, exitFailure, "the number of nodes is 9: expected 1 to 2"},
		"key alone":     {[]string{"--data", file, "--rank", "2", "--key", "k"}, exitUsage, "--key is for a run with --cluster"},
		"no snapshot":   {[]string{"--data", file, "--rank", "2", "--from", filepath.Join(dir, "none")}, exitFailure, "--from"},
		"other file":    {[]string{"--data", file, "--rank", "2", "--from", filepath.Join(dir, "broken.npz")}, exitFailure, "--from"},
		"no responses":  {[]string{"--data", problemOf(t, wave, zero), "--rank", "1", "--nodes", "1"}, exitFailure, "all responses zero"},
		"offsets":       {[]string{"--data", problemOf(t, func(i int) float64 { return 100 + wave(i) }, wave), "--rank", "1", "--nodes", "1"}, exitFailure, "standardise them first, or give --any-features"},
		"not converged": {[]string{"--data", file, "--rank", "2", "--iterations", "3"}, exitUnconverged, "not converged: iteration limit after 3 iterations"},
	} {
		t.Run(name, func(t *testing.T) { refuses(t, c.code, c.want, append([]string{"run"}, c.args...)...) })
	}
	if !bytes.Equal(before, readFile(t, file)) {
		t.Error("the problem file has changed")
	}
}

// Nodes in different processes come to the U and b_t of one process.
func TestRunApart(t *testing.T) {
	file, dir := exported(t), t.TempDir()
	flags := func(out string) []string {
		return []string{"--data", file, "--rank", "2", "--method", "accelerated", "--out", filepath.Join(dir, out)}
	}
	must(t, append([]string{"run"}, flags("one.npz")...)...)
	whole := runOf(t, flags("0.npz")...)
	if err := whole.read(t.Context()); err != nil {
		t.Fatal(err)
	}
	problem, w := problemAt(t, whole, 4)
	transports, err := testnet.Connect(w.Graph(), [][]int{{0}, {1}, {2}, {3}}, testnet.Options{})
	if err != nil {
		t.Fatal(err)
	}
	results := make([]*difalt.Result, 4)
	errs := make([]error, 4)
	var wg sync.WaitGroup
	for i, transport := range transports {
		wg.Go(func() {
			net, err := consensus.New(w, transport)
			if err == nil {
				own := *problem
				own.Nodes, own.U0 = problem.Nodes[i:i+1], problem.U0[i:i+1]
				results[i], err = difalt.Run(t.Context(), &own, net, whole.Options)
			}
			errs[i] = err
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	u, b := array(t, filepath.Join(dir, "one.npz"), "U"), array(t, filepath.Join(dir, "one.npz"), "B")
	for i, r := range results {
		for k := range 24 {
			if r.U[0].At(k/2, k%2) != u[i*24+k] {
				t.Fatalf("node %d comes to another U", i)
			}
		}
		if !slices.Equal(r.B[0], b[i*8:][:8]) {
			t.Errorf("node %d comes to other b_t", i)
		}
	}
}
