package difalt_test

import (
	"testing"

	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/kernel"
)

// TestMixedPrecision: runs on samples in 16 bits arrive where runs in float64 arrive, within two iterations, with the same
// accuracy, in memory and on disk.
func TestMixedPrecision(t *testing.T) {
	p := draw(t, 4, 128, 400, 24, 3, 3, .02, 1) // 9.8 MB
	o := difalt.Options{Rank: 3, Method: difalt.Accelerated}
	want := run(t, p, network(t, "ring", 4, 1), o)
	o.MixedPrecision = true
	for name, q := range map[string]*difalt.Problem{"memory": p, "disk": onDisk(t, p)} {
		q.Truth = want.U[0]
		distance := 0.0
		o.Observer = func(r *difalt.Record) error {
			if r.Iteration == 5 {
				distance = r.SDMax
			}
			return nil
		}
		res := run(t, q, network(t, "ring", 4, 1), o)
		if res.Status != difalt.Converged || res.Last.SDMax > 1e-10 || res.Iterations > want.Iterations+2 || distance < 1e-6 {
			t.Errorf("%s: %v after %d iterations, %g from the minimum of float64, which takes %d; %g after five", name, res.Status, res.Iterations, res.Last.SDMax, want.Iterations, distance)
		}
	}
}

// TestMixedPrecisionReadsCopies: in the first iterations steps differ from those in float64, by less than 1e-3.
func TestMixedPrecisionReadsCopies(t *testing.T) {
	p := draw(t, 4, 128, 400, 24, 3, 3, .02, 1)
	o := difalt.Options{Rank: 3, Iterations: 3, EveryIteration: true}
	want := run(t, p, network(t, "ring", 4, 1), o)
	o.MixedPrecision = true
	got := run(t, p, network(t, "ring", 4, 1), o)
	if sd := difalt.SubspaceDistance(got.U[0], want.U[0]); sd < 1e-12 || sd > 1e-3 {
		t.Errorf("three iterations differ by %g", sd)
	}
}

func onDisk(t *testing.T, p *difalt.Problem) *difalt.Problem {
	q := &difalt.Problem{}
	for _, k := range p.Nodes {
		rows := make([]int, k.Len())
		for t := range rows {
			rows[t] = k.Samples(t)
		}
		b, err := kernel.NewBuilderOnDisk(t.TempDir(), k.Features(), rows, kernel.Float64)
		if err != nil {
			t.Skip(err)
		}
		x := make([]float64, k.Features())
		for task := range rows {
			for i, y := range k.Y(task) {
				b.SetRow(task, i, k.Row(x, task, i), y)
			}
		}
		q.Nodes = append(q.Nodes, b.Tasks())
	}
	return q
}
