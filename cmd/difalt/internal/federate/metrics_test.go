package federate

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/internal/dataset"
	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/internal/check"
	"github.com/difalt/difalt/mixed"
)

// sited returns the path of a table of some tasks, whose values follow from a seed alone, times a unit.
func sited(t *testing.T, seed uint64, tasks int, unit float64) string {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 61))
	rows := []string{"task,age,dose,kind,y"}
	for k := range tasks {
		slope, level := rng.NormFloat64(), rng.NormFloat64()
		for i := range 20 {
			age, dose := rng.NormFloat64(), rng.NormFloat64()
			y := level + slope*age + .3*dose*dose + .3*rng.NormFloat64()
			kind := []string{"p", "q"}[i%2]
			rows = append(rows, fmt.Sprintf("t%d-%d,%g,%g,%s,%g", tasks, k, unit*age, unit*dose, kind, unit*y))
		}
	}
	path := filepath.Join(t.TempDir(), "t.csv")
	check.Done(os.WriteFile(path, []byte(strings.Join(rows, "\n")+"\n"), 0o600))
	return path
}

// figures trains on a table at each of three nodes, and returns all that /metrics of each has had, after
// every sum and at the end, without the lines about times.
func figures(t *testing.T, paths []string, epsilon float64) (list [3][]string) {
	t.Helper()
	ends := life(t, background(t), func(i int, n *Node) {
		config := mixed.Options{Workers: 1, TaskColumn: "task", TargetColumn: "y",
			Disclosure: mixed.Disclosure{LeastRows: mixed.Off, LeastLevel: mixed.Off, LeastSmall: mixed.Off}}
		var budget *mixed.Privacy
		if rank := 1; epsilon > 0 {
			config.Rank, budget = &rank, &mixed.Privacy{Epsilon: epsilon}
		}
		var table *dataset.Table
		n.Prepare = func() (err error) {
			o := dataset.TableOptions{Task: "task", Target: "y", Categorical: []string{"kind"}}
			if table, err = dataset.ReadFiles([]string{paths[i]}, o); err == nil {
				n.Settings = mixed.Settings(table, &config, budget)
			}
			return err
		}
		n.Job = func(ctx context.Context, net *consensus.Network) (err error) {
			keep := func() {
				w := httptest.NewRecorder()
				n.status.metrics(w, nil)
				var rest []string
				for line := range strings.Lines(w.Body.String()) {
					if !strings.HasPrefix(line, waitMetric+"{") {
						rest = append(rest, line)
					}
				}
				list[i] = append(list[i], strings.Join(rest, ""))
			}
			config.Progress = func(p mixed.Progress) { n.Progress(Progress(p)); keep() }
			if in := []mixed.Input{{Table: table}}; budget != nil {
				_, _, err = mixed.Privately(ctx, in, net, config, *budget)
			} else {
				_, _, err = mixed.Together(ctx, in, net, config)
			}
			keep()
			return err
		}
	})
	for i, e := range ends {
		check.FailIf(t, e.err != nil, "node %d: %v", i, e.err)
		for _, m := range allMetrics {
			last := list[i][len(list[i])-1]
			check.FailIf(t, !strings.Contains(last, "# TYPE "+m.name+" "), "node %d has no %s: %s", i, m.name, last)
		}
	}
	return list
}

// firstDifference returns the first of two lists of texts that differ, "" for none.
func firstDifference(a, b []string) string {
	for k := range min(len(a), len(b)) {
		if a[k] != b[k] {
			return fmt.Sprintf("after %d reports:\n%s\n%s", k, a[k], b[k])
		}
	}
	if len(a) != len(b) {
		return fmt.Sprintf("%d reports and %d", len(a), len(b))
	}
	return ""
}

// No metric but times depends on which of the rows are of the node: every one is the same, at every point of
// a training, where the owners have dealt their tables, of other sizes and values, in another way.
func TestMetricsFollowFromTotals(t *testing.T) {
	paths := []string{sited(t, 1, 5, 1), sited(t, 2, 7, 1), sited(t, 3, 12, 1)}
	before := figures(t, paths, 0)
	for _, order := range [][]int{{1, 2, 0}, {2, 1, 0}} {
		var dealt []string
		for _, i := range order {
			dealt = append(dealt, paths[i])
		}
		after := figures(t, dealt, 0)
		for i := range before {
			if d := firstDifference(before[i], after[i]); d != "" {
				t.Errorf("tables %v: node %d has other figures %s", order, i, d)
			}
		}
	}
	check.FailIf(t, len(before[0]) < 100, "%d reports", len(before[0]))
}

// With differential privacy no metric but times depends on any value: every one is the same for tables of
// other values, and for each noise.
func TestPrivateMetrics(t *testing.T) {
	const epsilon = 50
	sizes := []int{30, 30, 30}
	of := func(seed uint64, unit float64) (paths []string) {
		for i, tasks := range sizes {
			paths = append(paths, sited(t, seed+uint64(i), tasks, unit))
		}
		return paths
	}
	first := figures(t, of(10, 1), epsilon)
	for seed, unit := range map[uint64]float64{20: 1, 30: 1e5} {
		for i, list := range figures(t, of(seed, unit), epsilon) {
			if d := firstDifference(first[i], list); d != "" {
				t.Errorf("node %d has other figures %s", i, d)
			}
		}
	}
	last := first[0][len(first[0])-1]
	check.FailIf(t, !strings.Contains(last, mixed.PrivateStages[3]), "the last figures are %s", last)
}
