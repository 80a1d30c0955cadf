package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/dataset/problemfile"
	"github.com/difalt/difalt/cmd/difalt/internal/npz"
	"github.com/difalt/difalt/cmd/difalt/internal/simulation"
	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/internal/testnet"
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

// A run that continues from a snapshot goes on where the first one was interrupted, and ends at the same
// distance.
func TestRunSnapshots(t *testing.T) {
	file, dir := exported(t), t.TempDir()
	state, second, curve := filepath.Join(dir, "a.state"), filepath.Join(dir, "b.state"), filepath.Join(dir, "c.csv")
	args := []string{"run", "--data", file, "--rank", "2", "--rounds", "5", "--iterations", "60", "--every-iteration"}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var out, errs bytes.Buffer
	f := newRunFlags()
	if err := f.Set.Parse(append(args[1:], "--snapshot", state, "--every", "20")); err != nil {
		t.Fatal(err)
	}
	if err := f.resolve(); err != nil {
		t.Fatal(err)
	}
	r := &algorithmRun{runFlags: f, streams: streams{&out, &errs}}
	r.progress = func(_ string, share float64) {
		if share >= 0.5 { // an interruption in iteration 30
			cancel()
		}
	}
	if code := exitCode(r.alone(ctx)); code != exitInterrupted {
		t.Fatalf("exit code %d: %s", code, errs.String())
	}
	must(t, append(args, "--from", state, "--snapshot", second, "--curves", curve)...)
	trials, err := simulation.ReadTrace(strings.NewReader(rest(t, curve)))
	if err != nil {
		t.Fatal(err)
	}
	rows := trials[0].Curves[0].Rows
	whole := filepath.Join(dir, "whole.csv")
	must(t, append(args, "--curves", whole)...)
	trials, err = simulation.ReadTrace(bytes.NewReader(readFile(t, whole)))
	if err != nil {
		t.Fatal(err)
	}
	all := trials[0].Curves[0].Rows
	if n := len(rows); n < 29 || n > 32 || rows[n-1].SDMax != all[60].SDMax {
		t.Errorf("%d rows end at %v, those of one run at %v", n, rows[n-1].SDMax, all[60].SDMax)
	}
}

// rest returns a curve that begins later, numbered from 0.
func rest(t *testing.T, path string) string {
	t.Helper()
	lines := strings.Split(string(readFile(t, path)), "\n")
	for i, line := range lines[1 : len(lines)-1] {
		cells := strings.Split(line, ",")
		cells[2] = strconv.Itoa(i)
		lines[i+1] = strings.Join(cells, ",")
	}
	return strings.Join(lines, "\n")
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
		"same outputs":  {[]string{"--data", file, "--rank", "2", "--snapshot", filepath.Join(dir, "x.csv"), "--curves", filepath.Join(dir, "x.csv")}, exitUsage, "would both write"},
		"codec":         {[]string{"--data", file, "--rank", "2", "--codec", "int8"}, exitUsage, "--codec is int8: only Accelerated uses codes"},
		"no folder":     {[]string{"--data", file, "--rank", "2", "--out", filepath.Join(dir, "no", "r.npz")}, exitFailure, "r.npz"},
		"broken":        {[]string{"--data", filepath.Join(dir, "broken.npz"), "--rank", "2"}, exitFailure, "broken.npz"},
		"nodes":         {[]string{"--data", file, "--rank", "2", "--nodes", "3"}, exitFailure, "number of nodes"},
		"many nodes":    {[]string{"--data", problemOf(t, wave, wave), "--rank", "1", "--nodes", "1000000000"}, exitFailure, "1000000000 nodes are more than its 2 tasks"},
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

// Each of several processes with the whole file runs its own node: together they come to the U of one
// process.
func TestRunApart(t *testing.T) {
	file := exported(t)
	flags := []string{"--data", file, "--rank", "2", "--method", "accelerated", "--out"}
	runOf := func(out string) *algorithmRun {
		f := newRunFlags()
		if err := f.Set.Parse(append(flags, out)); err != nil {
			t.Fatal(err)
		}
		if err := f.resolve(); err != nil {
			t.Fatal(err)
		}
		r := &algorithmRun{runFlags: f, streams: streams{io.Discard, io.Discard}, progress: func(string, float64) {}}
		if err := r.read(t.Context()); err != nil {
			t.Fatal(err)
		}
		r.member.Cluster = "cluster.json" // as withOthers has it
		return r
	}
	dir := t.TempDir()
	one := filepath.Join(dir, "one.npz")
	must(t, append(append([]string{"run"}, flags...), one)...)
	w, err := runOf(one).weights(4)
	if err != nil {
		t.Fatal(err)
	}
	transports, err := testnet.Connect(w.Graph(), [][]int{{0}, {1}, {2}, {3}}, testnet.Options{})
	if err != nil {
		t.Fatal(err)
	}
	errs := make([]error, 4)
	var wg sync.WaitGroup
	for i, transport := range transports {
		r := runOf(filepath.Join(dir, strconv.Itoa(i)+".npz"))
		wg.Go(func() {
			net, err := consensus.New(w, transport)
			if err == nil {
				err = r.job(t.Context(), net)
			}
			errs[i] = err
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	u, b := array(t, one, "U"), array(t, one, "B")
	for i := range 4 {
		out := filepath.Join(dir, strconv.Itoa(i)+".npz")
		if own := array(t, out, "U"); !slices.Equal(own, u[i*24:][:24]) {
			t.Errorf("node %d comes to another U", i)
		}
		for k, v := range array(t, out, "B") {
			if task := k / 2; task/4 == i && v != b[k] || task/4 != i && !math.IsNaN(v) {
				t.Errorf("node %d, task %d: b is %v, in one process %v", i, task, v, b[k])
			}
		}
	}
}
