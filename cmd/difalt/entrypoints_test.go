//go:build unix

package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/internal/cli"
)

// The end of a run is the part of it that does not depend on the entry point: the process, the network or the
// number of threads.
type endOfRun struct {
	code       int
	status     string
	iterations string
	message    string // of the error
	u, b       []float64
}

var statusLine, iterationsLine = regexp.MustCompile(`(?m)^status +(.*)$`), regexp.MustCompile(`(?m)^iterations +(.*)$`)

// endOf returns the end that a command printed, with the U and b_t that it wrote, if there are any.
func endOf(t *testing.T, err error, stdout, result string) endOfRun {
	var e endOfRun
	if err != nil {
		e.code, e.message = cli.ExitCode(err), err.Error()
	}
	for line, to := range map[*regexp.Regexp]*string{statusLine: &e.status, iterationsLine: &e.iterations} {
		if m := line.FindStringSubmatch(stdout); m != nil {
			*to = m[1]
		}
	}
	if e.status != "" {
		e.u, e.b = array(t, result, "U"), array(t, result, "B")
	}
	return e
}

func (e endOfRun) String() string {
	return fmt.Sprintf("exit code %d, %s after %s iterations: %s", e.code, e.status, e.iterations, e.message)
}

// endsOfNodes runs a process for each node i, on the problem pi.npz of a folder, and returns their ends.
func endsOfNodes(t *testing.T, dir string, nodes int, flags []string) (ends []endOfRun) {
	t.Helper()
	at := func(i int, prefix string) string { return filepath.Join(dir, prefix+strconv.Itoa(i)+".npz") }
	outs, errs := make([]bytes.Buffer, nodes), make([]error, nodes)
	var wait sync.WaitGroup
	for i, m := range newNetwork(t).members {
		r := runOf(t, slices.Concat(flags, []string{"--data", at(i, "p"), "--out", at(i, "")})...)
		r.Out, m.memberOptions = &outs[i], r.member
		wait.Go(func() {
			errs[i] = r.withOthers(t.Context(), m)
			r.files.close()
		})
	}
	wait.Wait()
	for i, err := range errs {
		ends = append(ends, endOf(t, err, outs[i].String(), at(i, "")))
	}
	return ends
}

// exactAndNoise draws rows of features, responses that are multiples of one function of them, by task, and
// responses that are noise.
func exactAndNoise(rows, features, rowsOfTask int) (x, exact, noise []float64) {
	rng := rand.New(rand.NewPCG(21, 22))
	x, exact, noise = make([]float64, rows*features), make([]float64, rows), make([]float64, rows)
	for i := range x {
		x[i] = rng.NormFloat64()
		exact[i/features] += float64(i%features-1) * x[i] * float64(1+i/(features*rowsOfTask))
	}
	for i := range noise {
		noise[i] = rng.NormFloat64()
	}
	return x, exact, noise
}

// endOfOne runs one process that hosts all nodes, and returns its end.
func endOfOne(t *testing.T, result string, args []string) endOfRun {
	t.Helper()
	var out bytes.Buffer
	r := runOf(t, args...)
	r.Out = &out
	err := r.alone(t.Context(), func(int) {})
	r.files.close()
	return endOf(t, err, out.String(), result)
}

// A run ends alike from every entry point: alone with one thread or several, and with one node a process;
// whether it converges, is undetermined, diverges or reaches its limit. From its last state it ends with the
// same status.
func TestEntryPointsOfRun(t *testing.T) {
	const nodes, features, rows = 3, 3, 20 // rows of a node
	x, exact, noise := exactAndNoise(nodes*rows, features, rows/2)
	reached := map[string]bool{}
	for name, c := range map[string]struct {
		y     []float64
		flags string
		code  int
	}{
		"converged":          {exact, "--method accelerated --codec float64", 0},
		"converged with int": {exact, "--method accelerated", 0},
		"dif converged":      {exact, "--rounds 30 --iterations 1000", 0},
		"limit":              {exact, "--method dec --iterations 7", cli.ExitUnconverged},
		"no iteration":       {exact, "--method accelerated --iterations 1", cli.ExitUnconverged},
		"diverged":           {exact, "--method dif --step 1e6", cli.ExitUnconverged},
		"undetermined":       {noise, "--method accelerated --codec float64 --tolerance 1e-6", cli.ExitUnconverged},
		"ridge":              {exact, "--method accelerated --codec float64 --ridge 3", 0},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			at := func(name string) string { return filepath.Join(dir, name) }
			flags := slices.Concat([]string{"--rank", "1", "--any-features", "--seed", "3"}, strings.Fields(c.flags))
			writeProblem(t, at("all.npz"), x, c.y, nodes)
			alone := func(more ...string) endOfRun {
				args := []string{"--data", at("all.npz"), "--graph", "complete", "--out", at("one.npz")}
				return endOfOne(t, at("one.npz"), slices.Concat(flags, args, more))
			}
			want := alone("--workers", "1")
			reached[want.status] = true
			if want.code != c.code || want.status == "" || !finite(want.u) || !finite(want.b) {
				t.Fatalf("%v, want exit code %d", want, c.code)
			}
			same := func(way string, got endOfRun, u, b []float64) {
				t.Helper()
				if got.String() != want.String() || !slices.Equal(got.u, u) || !slices.Equal(got.b, b) {
					t.Errorf("%s: %v\nwant %v", way, got, want)
				}
			}
			same("three threads", alone("--workers", "3", "--snapshot", at("end.state")), want.u, want.b)
			if got := alone("--from", at("end.state")); got.code != want.code || got.status != want.status {
				t.Errorf("from the last state: %v\nwant %v", got, want)
			}

			for i := range nodes {
				own := x[i*rows*features:][:rows*features]
				writeProblem(t, at("p"+strconv.Itoa(i)+".npz"), own, c.y[i*rows:][:rows], 1)
			}
			for i, end := range endsOfNodes(t, dir, nodes, flags) {
				same(fmt.Sprint("node ", i), end, want.u[i*features:][:features], want.b[i*2:][:2])
			}
		})
	}
	for _, status := range []string{"converged", "iteration limit", "diverged", "undetermined"} {
		if !reached[status] {
			t.Errorf("no run ends as %s: %v", status, reached)
		}
	}
}
