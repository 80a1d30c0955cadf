package fit

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/difalt/difalt/dataset"
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
