package difalt_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/internal/scratch/scratchtest"
	"github.com/difalt/difalt/internal/synth"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/topology"
)

// TestSamplesOnDisk: whole runs end with the same bits as in memory, for several nodes and
// workers, and data so far from 1 that they are packed once more.
func TestSamplesOnDisk(t *testing.T) {
	folder := scratchtest.Folder(t)
	const rank = 3
	for _, c := range []struct {
		method         difalt.Method
		nodes, workers int
		unit           float64
	}{
		{difalt.Accelerated, 4, 1, 1},
		{difalt.Accelerated, 1, 3, 1e-30},
		{difalt.DifAltGDmin, 3, 2, 1},
	} {
		t.Run(fmt.Sprintf("%v/nodes=%d", c.method, c.nodes), func(t *testing.T) {
			var bits [2][]float64
			for i, where := range []string{"", folder} {
				p := drawn(t, c.nodes, 70, rank, where, c.unit)
				anchors, iterations := 0, 0
				o := difalt.Options{Method: c.method, Rank: rank, Iterations: 60, MixedPrecision: true, Workers: c.workers,
					Observer: func(r *difalt.Record) error {
						iterations++
						if r.Anchors < 0 || r.Anchors > c.nodes {
							t.Errorf("iteration %d: %d anchors at %d nodes", r.Iteration, r.Anchors, c.nodes)
						}
						anchors += min(r.Anchors, 1)
						return nil
					}}
				res, err := difalt.Run(t.Context(), p, network(t, "complete", c.nodes, topology.Metropolis, 1), o)
				if err != nil {
					t.Fatal(err)
				}
				if anchors == 0 || anchors > iterations/2 {
					t.Errorf("%d of %d iterations had anchors", anchors, iterations)
				}
				for g := range res.U {
					bits[i] = append(bits[i], res.U[g].Data()...)
					bits[i] = append(bits[i], res.B[g]...)
				}
			}
			if !slices.Equal(bits[0], bits[1]) {
				t.Error("the results differ")
			}
		})
	}
}

// TestNoAnchorsInFloat64: only runs in mixed precision have anchors.
func TestNoAnchorsInFloat64(t *testing.T) {
	p := drawn(t, 2, 20, 2, "", 1)
	o := difalt.Options{Rank: 2, Iterations: 5, Observer: func(r *difalt.Record) error {
		if r.Anchors != 0 {
			t.Errorf("iteration %d has %d anchors", r.Iteration, r.Anchors)
		}
		return nil
	}}
	if _, err := difalt.Run(t.Context(), p, network(t, "complete", 2, topology.Metropolis, 1), o); err != nil {
		t.Fatal(err)
	}
}

// drawn returns a problem whose features are multiplied by a unit, in a folder if one is
// named.
func drawn(t *testing.T, nodes, features, rank int, folder string, unit float64) *difalt.Problem {
	t.Helper()
	data := synth.Data{Features: features, Tasks: 60, Samples: 25, Rank: rank, Kappa: 3, Folder: folder}
	p, err := data.Generate(t.Context(), nodes, nil, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	row := make([]float64, features)
	for g, k := range p.Nodes {
		if unit == 1 {
			break
		}
		samples := make([]int, k.Len())
		for task := range samples {
			samples[task] = k.Samples(task)
		}
		b, err := kernel.NewBuilderOnDisk(folder, features, samples, k.Storage())
		if err != nil {
			t.Fatal(err)
		}
		for task, n := range samples {
			for i := range n {
				for j, v := range k.Row(row, task, i) {
					row[j] = unit * v
				}
				b.SetRow(task, i, row, k.Y(task)[i])
			}
		}
		p.Nodes[g] = b.Tasks()
	}
	return p
}
