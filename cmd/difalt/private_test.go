package main

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
)

// manyTasks writes tables of three owners, of tasks that differ by an intercept and a slope, and returns the
// pattern of their names. Without them the mean slope is 2 and noise has the standard deviation .3.
func manyTasks(t *testing.T, tasks, rows int) string {
	t.Helper()
	dir, rng := t.TempDir(), rand.New(rand.NewPCG(11, 12))
	for owner := range 3 {
		var b strings.Builder
		b.WriteString("task,x,z,y\n")
		for task := range tasks {
			level, slope := rng.NormFloat64(), rng.NormFloat64()
			for range rows {
				x, z := rng.NormFloat64(), rng.NormFloat64()
				fmt.Fprintf(&b, "o%d-%d,%.4f,%.4f,%.4f\n", owner, task, x, z,
					5+level+(2+slope)*x-z+.3*rng.NormFloat64())
			}
		}
		write(t, dir, fmt.Sprintf("owner-%d.csv", owner), b.String())
	}
	return filepath.Join(dir, "owner-*.csv")
}

// gaussianDelta returns the delta of totals with Gaussian noise of rho together (Balle and Wang 2018, theorem
// 8).
func gaussianDelta(epsilon, rho float64) float64 {
	normal := func(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }
	mu := math.Sqrt(2 * rho)
	return normal(mu/2-epsilon/mu) - math.Exp(epsilon)*normal(-mu/2-epsilon/mu)
}

// root returns the x from 0 to 100 at which a function that rises reaches 0, by bisection.
func root(f func(x float64) float64) float64 {
	low, high := 0.0, 100.0
	for range 200 {
		if x := (low + high) / 2; f(x) < 0 {
			low = x
		} else {
			high = x
		}
	}
	return low
}

// A private training of the program spends its budget and no more, says what protection is left against one
// of the nodes, and predicts.
func TestPrivateTraining(t *testing.T) {
	t.Parallel()
	inFull(t)
	const epsilon, delta, nodes = 8, 1e-3, 3
	tables := manyTasks(t, 100, 12)
	model := filepath.Join(t.TempDir(), "m.npz")
	up := []string{"up", "--data", tables, "--task", "task", "--target", "y", "--rank", "1", "--epsilon", "8",
		"--delta", "1e-3"}
	budget := root(func(rho float64) float64 { return gaussianDelta(epsilon, rho) - delta })
	for colluding, rho := range map[string]float64{
		// Each node knows its own share of the noise: of three shares two are left, and the rho is 3/2.
		"0": budget * nodes / (nodes - 1),
		// The budget holds against one node.
		"1": budget,
	} {
		against := root(func(e float64) float64 { return delta - gaussianDelta(e, rho) })
		args := append(append([]string{}, up...), "--colluding", colluding)
		var r struct {
			Owners struct {
				Epsilon, Delta float64
				AgainstOne     float64 `json:"epsilon_against_a_node"`
				Nodes, Tasks   int
			}
		}
		text := must(t, append(args, "--json")...)
		if err := json.Unmarshal([]byte(text), &r); err != nil {
			t.Fatal(err)
		}
		o := r.Owners
		if !(o.Epsilon > 7.9 && o.Epsilon <= epsilon*(1+1e-9)) || o.Delta != delta || o.Nodes != nodes ||
			o.Tasks != 300 {
			t.Errorf("--colluding %s: %+v", colluding, o)
		}
		if math.Abs(o.AgainstOne-against) > .001*against {
			t.Errorf("--colluding %s: epsilon against a node is %v, want %v", colluding, o.AgainstOne, against)
		}
		text = must(t, append(args, "--model", model)...)
		has(t, text, "The totals are over 300 tasks of 3 nodes.",
			fmt.Sprintf("Against one of the nodes, epsilon is %.3g.", o.AgainstOne),
			"The rows of a task have differential privacy, epsilon 8 at delta 0.001; another training spends as "+
				"much again.",
			"Errors and strengths are those of the tasks of this process.")
		if strings.Contains(text, "Errors are those of the tasks of all nodes") {
			t.Errorf("a private training adds up errors: %s", text)
		}
	}
	if m := load(t, model); len(m.Tasks()) != 300 {
		t.Errorf("the model has %d tasks", len(m.Tasks()))
	}
	y, _, err := load(t, model).Predict("a new task", []float64{1, 0})
	if zero, _, _ := load(t, model).Predict("a new task", []float64{0, 0}); err != nil || math.Abs(y-zero-2) > .5 {
		t.Errorf("the mean slope is %v, want about 2 (%v)", y-zero, err)
	}
	// Without a budget nothing is said about one.
	if text := must(t, up[:9]...); strings.Contains(text, "epsilon") || strings.Contains(text, "privacy") {
		t.Errorf("a training without --epsilon mentions it: %s", text)
	}
}
