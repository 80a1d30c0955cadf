package fit

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/dataset"
	"github.com/difalt/difalt/topology"
)

// TestMemory: what a fit needs at the least is not more than what it asks for in all, and not
// nothing: with features by the dozen it is about its rows, once for the evidence and once for
// the algorithm.
func TestMemory(t *testing.T) {
	const tasks, rows, features = 12, 60, 40
	rng := rand.New(rand.NewPCG(1, 7))
	var text strings.Builder
	text.WriteString("task,y")
	for j := range features {
		fmt.Fprintf(&text, ",x%d", j)
	}
	for i := range tasks * rows {
		fmt.Fprintf(&text, "\nt%d,%v", i%tasks, rng.NormFloat64())
		for range features {
			fmt.Fprintf(&text, ",%v", rng.NormFloat64())
		}
	}
	table, err := dataset.ReadCSV(strings.NewReader(text.String()), dataset.TableOptions{Task: "task", Target: "y"})
	if err == nil {
		err = table.AssignBlocks(2)
	}
	if err != nil {
		t.Fatal(err)
	}
	c := Config{Options: DefaultOptions(0), TaskColumn: "task", TargetColumn: "y", Rank: 1, Network: network(t, weights(t, "path", 2, topology.Metropolis))}
	need := Memory(table, &c)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, _, err := Fit(t.Context(), table, c); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	asked := float64(after.TotalAlloc - before.TotalAlloc)
	if least := 2.0 * 8 * tasks * features * features; need < least || need > asked || need > 1.1*least {
		t.Errorf("needs %v bytes at the least, asks for %v in all: want at least %v", need, asked, least)
	}
}

// Rows of tasks are kept where there are more of them than coefficients, and read where they are otherwise: the same, weights and all.
func TestRowsAreReadWhereTheyAre(t *testing.T) {
	w := newWorld(4, 4)
	tab, _ := w.uneven(t, "t", 40, 9, 0.7, map[string]float64{})
	c := testConfig(t, 2, -1)
	c.Weights, c.Train = make([]float64, tab.Rows()), make([]bool, tab.Rows())
	for i := range c.Weights {
		c.Weights[i], c.Train[i] = 1+float64(i%3), i%9 > tab.Task(i)%5+2 // 2 to 6 of 9
	}
	d, err := newDesign(t.Context(), tab, &c)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := d.sufficientRows(t.Context(), 2)
	if err != nil {
		t.Fatal(err)
	}
	read := 0
	for g, tasks := range d.layout {
		for i, k := range tasks {
			want := d.taskOf(k, func(int) bool { return true })
			got, memory := rows.Task(g, i)
			if !slices.Equal(got.Z, want.Z) || !slices.Equal(got.Y, want.Y) || got.Rest != want.Rest || got.Rows != want.Rows {
				t.Errorf("task %d has other rows", k)
			}
			memory.Put()
			few := want.Rows <= d.width()
			if (rows.Tasks[g][i] == nil) != few {
				t.Errorf("task %d of %d rows is in memory: %v", k, want.Rows, few)
			}
			if few {
				read++
			}
		}
	}
	if read == 0 || read == 40 {
		t.Errorf("%d of 40 tasks have few rows", read)
	}
}
