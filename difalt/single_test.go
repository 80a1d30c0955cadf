package difalt_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/topology"
)

// TestSinglePrecision keeps samples as float32 that it cannot hold.
func TestSinglePrecision(t *testing.T) {
	s := gaussian(1, 5, 20, 40, 2, fixed(15), 0.01)
	net := network(t, "ring", 5, topology.Metropolis, 1)
	for _, c := range []struct {
		size float64
		want string // of the error
	}{{1e39, "kept as float32"}, {1e-39, "few digits"}, {1e-33, "few digits"}, {1e-25, ""}, {1e30, ""}} {
		p := &difalt.Problem{}
		row := make([]float64, 20)
		for _, k := range s.Problem.Nodes {
			var x [][]float64
			var y []float64
			first := []int{0}
			for task := range k.Len() {
				for i := range k.Samples(task) {
					k.Row(row, task, i)
					scaled := make([]float64, len(row))
					for j, v := range row {
						scaled[j] = c.size * v
					}
					x = append(x, scaled)
				}
				y, first = append(y, k.Y(task)...), append(first, len(x))
			}
			p.Nodes = append(p.Nodes, kernel.TasksOf(x, y, first, kernel.Float32))
		}
		res, err := difalt.Run(t.Context(), p, net, difalt.Options{Rank: 2, Method: difalt.Accelerated, Iterations: 100})
		if c.want == "" {
			if err != nil || !(res.Residual < 1e-4) {
				t.Errorf("size %g: %v, %v", c.size, err, res)
			}
		} else if !errors.As(err, new(*difalt.DataError)) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("size %g: %v", c.size, err)
		}
	}
}
