package fit

import (
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/topology"
)

// All that Fit computes over the nodes must be what one computer with all rows
// would compute.
func TestDecentralisedEqualsPooled(t *testing.T) {
	k := newTruth(8, 6, 1)
	tab := k.table(t, 22, 5, 30, 8)
	for _, w := range []*topology.Weights{weights(t, "er:0.4", 8, topology.EqualNeighbor), weights(t, "path", 8, topology.Metropolis)} {
		c := testConfig(t, 2, 2)
		c.Network = network(t, w)
		d, err := newDesign(t.Context(), tab, &c)
		if err != nil {
			t.Fatal(err)
		}
		n := float64(tab.Rows())
		x := make([]float64, 6)
		mean, square, target := make([]float64, 6), make([]float64, 6), 0.0
		for i := range tab.Rows() {
			for j, v := range tab.X(x, i) {
				mean[j] += v / n
			}
			target += tab.Y(i) / n
		}
		for i := range tab.Rows() {
			for j, v := range tab.X(x, i) {
				square[j] += (v - mean[j]) * (v - mean[j]) / n
			}
		}
		for j := range square {
			square[j] = math.Sqrt(square[j])
		}
		checkClose(t, "means", d.Center, mean)
		checkClose(t, "deviations", d.Scale, square)
		checkClose(t, "mean of the target", []float64{d.Target}, []float64{target})
	}
}

// A node whose sums are over one row gives it away, and Fit must say so.
func TestExposed(t *testing.T) {
	k := newTruth(4, 3, 1)
	tab := emptyTable(t, 3)
	k.add(t, tab, "a", 20)
	k.add(t, tab, "b", 7)
	k.add(t, tab, "c", 10)
	if err := tab.AssignBlocks(3); err != nil {
		t.Fatal(err)
	}
	c := testConfig(t, 3, 1)
	_, r := fit(t, tab, c)
	// The 7 rows of b are in 5 folds, and the others have fewer in a fold than features.
	// Every node has a single task.
	all := []string{`"0"`, `"1"`, `"2"`}
	want := Exposed{Rows: []string{`"1"`}, Grams: []string{`"1"`, `"2"`}, Coefficients: all}
	if !reflect.DeepEqual(r.Exposed, want) {
		t.Errorf("exposed are %+v, want %+v", r.Exposed, want)
	}
	c.Plain, c.Starts = true, 1
	c.Train = slices.Repeat([]bool{true}, tab.Rows())
	c.Train[25] = false // of b
	c.Options, c.Rank = difalt.Options{Iterations: 200, Seed: 1, EveryIteration: true}, 2
	if _, r = fit(t, tab, c); !reflect.DeepEqual(r.Exposed, Exposed{Rows: []string{`"1"`}}) {
		t.Errorf("exposed are %+v with a single row held out", r.Exposed)
	}
	c.Train = nil
	if _, r = fit(t, tab, c); !reflect.DeepEqual(r.Exposed, Exposed{}) {
		t.Errorf("exposed are %+v without sums of b b'", r.Exposed)
	}
	for name, change := range map[string]func(c *Config){
		"judged":   func(c *Config) { c.Options.EveryIteration = false },
		"search":   func(c *Config) { c.Starts = 2 },
		"scaled":   func(c *Config) { c.Options.Method = difalt.ScaledDiffusion },
		"tracking": func(c *Config) { c.Options.Method = difalt.GradientTracking },
	} {
		c := c
		change(&c)
		if _, r = fit(t, tab, c); !reflect.DeepEqual(r.Exposed, Exposed{Coefficients: all}) {
			t.Errorf("%s: exposed are %+v", name, r.Exposed)
		}
	}
}
