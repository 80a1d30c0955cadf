//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/difalt/difalt/cmd/difalt/model"
)

// writeTasks writes a table of tasks with levels and slopes of their own, from one of a number to another.
func writeTasks(t *testing.T, path string, from, to int) {
	t.Helper()
	rng := rand.New(rand.NewPCG(7, uint64(from)))
	var b strings.Builder
	b.WriteString("clinic,dose,age,weight,score\n")
	for task := from; task < to; task++ {
		slope, level := rng.NormFloat64(), rng.NormFloat64()
		for range 8 + task%6 {
			x := []float64{rng.NormFloat64(), 50 + 10*rng.NormFloat64(), rng.NormFloat64()}
			y := 3 + level + slope*(x[0]+x[2]) + .02*x[1] + .3*rng.NormFloat64()
			fmt.Fprintf(&b, "c%d,%v,%v,%v,%v\n", task, x[0], x[1], x[2], y)
		}
	}
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}

// fit with a budget says what was spent, on what, and against whom that holds; the model is one like others.
func TestFitPrivate(t *testing.T) {
	t.Parallel()
	inFull(t)
	path, to := t.TempDir()+"/t.csv", t.TempDir()+"/m.npz"
	writeTasks(t, path, 0, 300)
	args := []string{"fit", "--data", path, "--task", "clinic", "--target", "score", "--rank", "1", "--epsilon", "8"}
	out, stderr, code := difaltCommand(t, append(args, "--model", to, "--report", t.TempDir())...)
	text := strings.Join(strings.Fields(out), " ")
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	for _, want := range []string{
		"private sums along a tree, epsilon 8", "epsilon 8 at delta 0.0019", "against one of the 10 nodes, which knows its own noise, epsilon 8.5", "against 5 of them together, 12",
		"the mean of the coefficients 21 % (6 numbers)", "the directions of the coefficients 64 % (6 numbers)", "below that of the best simpler method",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the report lacks %q: %s", want, text)
		}
	}
	predictions := t.TempDir() + "/p.csv"
	if _, stderr, code := difaltCommand(t, "predict", "--model", to, "--data", path, "--out", predictions); code != 0 {
		t.Errorf("predict: exit code %d: %s", code, stderr)
	}
	out, _, code = difaltCommand(t, append(args, "--json", "--delta", "1e-4", "--colluding", "2")...)
	var r struct {
		Method  string
		Privacy struct {
			Epsilon, Delta, Rho float64
			Tasks               int
			Spent               []struct{ Rho float64 }
		}
	}
	if err := json.Unmarshal([]byte(out), &r); err != nil || code != 0 {
		t.Fatalf("exit code %d: %v", code, err)
	}
	sum := 0.0
	for _, s := range r.Privacy.Spent {
		sum += s.Rho
	}
	if p := r.Privacy; p.Epsilon < 7.999999 || p.Epsilon > 8.000001 || p.Delta != 1e-4 || p.Tasks != 300 || len(p.Spent) != 5 || sum < .999999*p.Rho || sum > 1.000001*p.Rho || r.Method != "private" {
		t.Errorf("the account is %+v of method %q", p, r.Method)
	}
}

// What a budget cannot go with is refused before anything is read, by its name.
func TestFitPrivateRefuses(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"--epsilon 1", "--epsilon needs --rank N"},
		{"--epsilon 1 --rank auto", "--epsilon needs --rank N"},
		{"--epsilon 0 --rank 1", "--epsilon is 0"},
		{"--epsilon -3 --rank 1", "--epsilon is -3"},
		{"--epsilon NaN --rank 1", "--epsilon is NaN"},
		{"--epsilon 5000 --rank 1", "--epsilon is 5000"},
		{"--delta 0.1", "--delta is for --epsilon"},
		{"--colluding 1", "--colluding is for --epsilon"},
		{"--epsilon 1 --rank 1 --delta 1", "--delta is 1"},
		{"--epsilon 1 --rank 1 --agree plain", "drop it or --agree"},
		{"--epsilon 1 --rank 1 --agree chebyshev", "drop it or --agree"},
		{"--epsilon 1 --rank 1 --method dif", "drop it or --method"},
		{"--epsilon 1 --rank 1 --auto", "drop it or --auto"},
		{"--epsilon 1 --rank 1 --compress int8", "drop it or --compress"},
		{"--epsilon 1 --rank 1 --ridge 1", "drop it or --ridge"},
		{"--epsilon 1 --rank 1 --trace t.csv", "drop it or --trace"},
		{"--epsilon 1 --rank 1 --continue m.npz", "drop it or --continue"},
		{"--epsilon 1 --rank 1 --sample-weights w", "drop it or --sample-weights"},
		{"--epsilon 1 --rank 1 --folds-by g", "drop it or --folds-by"},
		{"--epsilon 1 --rank 1 --iterations 9", "drop it or --iterations"},
	} {
		args := append([]string{"fit", "--data", "no.csv", "--task", "t", "--target", "y"}, strings.Fields(c.args)...)
		if _, stderr, code := difaltCommand(t, args...); code != exitUsage || !strings.Contains(stderr, c.want) {
			t.Errorf("%s: exit code %d, %q, want %q", c.args, code, stderr, c.want)
		}
	}
	if _, stderr, code := difaltCommand(t, "fit", "--data", "no.npz", "--rank", "1", "--epsilon", "1"); code != exitUsage || !strings.Contains(stderr, "--epsilon is for tables") {
		t.Errorf("a problem file: exit code %d, %q", code, stderr)
	}
	if _, stderr, code := difaltCommand(t, "up", "--data", "no*.csv", "--task", "t", "--target", "y", "--rank", "1", "--epsilon", "1", "--checkpoint", "d"); code != exitUsage || !strings.Contains(stderr, "drop it or --checkpoint") {
		t.Errorf("checkpoints: exit code %d, %q", code, stderr)
	}
}

// Owners of tables train with a budget over gRPC: all have the same mean, and each reports its own errors.
func TestUpPrivate(t *testing.T) {
	inFull(t)
	dir := t.TempDir()
	for i := range 3 {
		writeTasks(t, fmt.Sprintf("%s/site-%d.csv", dir, i), 40*i, 40*i+40)
	}
	p := launch(t, "up", "--data", dir+"/site-*.csv", "--task", "clinic", "--target", "score", "--rank", "1", "--epsilon", "8", "--model", dir+"/m.npz")
	if code := p.code(t, time.Minute); code != 0 {
		t.Fatalf("exit code %d: %s", code, p.err.String())
	}
	text := strings.Join(strings.Fields(p.out.String()), " ")
	for _, want := range []string{"This process sent", "against one of the 3 nodes, which knows its own noise", "those of the tasks of this process"} {
		if !strings.Contains(text, want) {
			t.Errorf("the report lacks %q: %s", want, text)
		}
	}
	var means [][]float64
	for i := range 3 {
		m, err := model.Load(fmt.Sprintf("%s/m-site-%d.npz", dir, i))
		if err != nil {
			t.Fatal(err)
		}
		means = append(means, m.Parameters().Mean)
		if !slices.Equal(means[0], means[i]) {
			t.Errorf("node %d has the mean %v, and node 0 %v", i, means[i], means[0])
		}
	}
}
