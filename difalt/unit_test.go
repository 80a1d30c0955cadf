package difalt_test

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/internal/sizes"
	"github.com/difalt/difalt/kernel"
	"gonum.org/v1/gonum/mat"
)

// inUnits returns a problem with all features multiplied by x, and all responses by y.
func inUnits(p *difalt.Problem, x, y float64) *difalt.Problem {
	out := &difalt.Problem{Truth: p.Truth}
	for _, k := range p.Nodes {
		var samples []int
		for t := range k.Len() {
			samples = append(samples, k.Samples(t))
		}
		b, row := kernel.NewBuilder(k.Features(), samples, k.Storage()), make([]float64, k.Features())
		for t, n := range samples {
			for i := range n {
				for j, v := range k.Row(row, t, i) {
					row[j] = v * x
				}
				b.SetRow(t, i, row, k.Y(t)[i]*y)
			}
		}
		out.Nodes = append(out.Nodes, b.Tasks())
	}
	return out
}

// inPowersOfTwo are units of features and responses.
var inPowersOfTwo = [][2]float64{
	{1, 0x1p10}, {1, 0x1p-10}, {0x1p17, 1}, {0x1p-17, 1}, {0x1p17, 0x1p-17}, {0x1p-17, 0x1p25},
	{0x1p-150, 0x1p150}, {0x1p180, 1},
}

var inPowersOfTen = [][2]float64{{1, 1e3}, {1, 1e5}, {1, 1e-5}, {1e5, 1}, {1e-5, 1}, {1e-5, 1e5}, {1, 2.15e7},
	{1e50, 1e-50}}

// TestUnits: the units of features and responses change neither status nor U: with powers of two not a bit,
// and coefficients exactly as they should; with powers of ten a converged U by rounding. The runs converge,
// with and without noise, stop at noise, are undetermined, and end at a limit.
func TestUnits(t *testing.T) {
	for _, c := range []struct {
		name  string
		p     *difalt.Problem
		o     difalt.Options
		want  difalt.Status
		ridge float64 // over the square of the unit of features
	}{
		{"exact", draw(t, 4, 12, 24, 15, 2, 3, 0, 1), difalt.Options{Rank: 2}, difalt.Converged, 0},
		{"noise", draw(t, 4, 12, 24, 15, 2, 3, .1, 1), difalt.Options{Rank: 2}, difalt.Converged, 0},
		{"at noise", draw(t, 4, 12, 24, 15, 2, 3, .1, 2), difalt.Options{Rank: 2, StopAtNoise: true}, difalt.Converged,
			0},
		{"ridge", draw(t, 4, 12, 24, 15, 2, 3, .1, 3), difalt.Options{Rank: 2}, difalt.Converged, .5},
		{"a column too many", draw(t, 4, 12, 24, 15, 2, 3, .3, 4), difalt.Options{Rank: 3}, difalt.Undetermined, 0},
		{"ragged", ragged(t, 4, 12, 40, 2, 5), difalt.Options{Rank: 2}, difalt.Converged, 0},
		{"few samples", fewDrawing(7).problem(), difalt.Options{Rank: 2, Iterations: 30}, difalt.IterationLimit, 0},
	} {
		for _, method := range []difalt.Method{difalt.Accelerated, difalt.DifAltGDmin} {
			c.o.Method, c.o.Workers = method, 1
			if method != difalt.Accelerated {
				c.o.Iterations = 30
			}
			solve := func(x, y float64) *difalt.Result {
				o := c.o
				o.Ridge = c.ridge * x * x
				return run(t, inUnits(c.p, x, y), network(t, "path", len(c.p.Nodes), 1), o)
			}
			plain := solve(1, 1)
			if method == difalt.Accelerated && plain.Status != c.want {
				t.Errorf("%s: %v, want %v", c.name, plain.Status, c.want)
			}
			for _, units := range inPowersOfTwo {
				name := fmt.Sprintf("%s, %v, units %g and %g", c.name, method, units[0], units[1])
				sameInUnits(t, name, solve(units[0], units[1]), plain, units[0], units[1])
			}
			for _, units := range inPowersOfTen {
				got := solve(units[0], units[1])
				name := fmt.Sprintf("%s, %v, units %g and %g", c.name, method, units[0], units[1])
				if got.Status != plain.Status {
					t.Errorf("%s: %v, want %v", name, got.Status, plain.Status)
				}
				sd := difalt.SubspaceDistance(got.U[0], plain.U[0])
				if plain.Status == difalt.Converged && !c.o.StopAtNoise && !(sd < 1e-7) {
					t.Errorf("%s: U is %g away", name, sd)
				}
			}
		}
	}
}

// sameInUnits fails unless a result with features times x and responses times y has the bits of the plain
// one.
func sameInUnits(t *testing.T, name string, got, plain *difalt.Result, x, y float64) {
	t.Helper()
	if got.Status != plain.Status || got.Iterations != plain.Iterations || !alike(got.Residual, plain.Residual) ||
		!alike(got.StatisticalError, plain.StatisticalError) || got.Last.Objective/y/y != plain.Last.Objective {
		t.Errorf("%s: %v after %d, residual %g, error %g, objective %g; want %v after %d, %g, %g, %g", name,
			got.Status, got.Iterations, got.Residual, got.StatisticalError, got.Last.Objective/y/y,
			plain.Status, plain.Iterations, plain.Residual, plain.StatisticalError, plain.Last.Objective)
	}
	for i, u := range got.U {
		if !mat.Equal(u, plain.U[i]) {
			t.Errorf("%s: node %d has another U", name, i)
			return
		}
		for k, b := range got.B[i] {
			if b*x/y != plain.B[i][k] {
				t.Errorf("%s: node %d has coefficient %v, want %v", name, i, b, plain.B[i][k]*y/x)
				return
			}
		}
	}
}

// alike reports whether a and b are equal; NaN is equal to itself.
func alike(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }

// TestUnitsOfNodes: nodes whose numbers differ widely in size, more than a sum in one unit could hold, are
// summed as one node would sum them.
func TestUnitsOfNodes(t *testing.T) {
	p := draw(t, 3, 12, 30, 15, 2, 2, 0, 1)
	for i, size := range []float64{1e30, 1, 1e-30} {
		p.Nodes[i] = inUnits(&difalt.Problem{Nodes: p.Nodes[i : i+1]}, 1, size).Nodes[0]
	}
	o := difalt.Options{Rank: 2, Method: difalt.Accelerated, Codec: consensus.Float64}
	apart := run(t, p, network(t, "path", 3, 1), o)
	one := run(t, &difalt.Problem{Nodes: []*kernel.Tasks{pooled(p)}, Truth: p.Truth}, network(t, "complete", 1, 1), o)
	sd := difalt.SubspaceDistance(apart.U[0], one.U[0])
	if apart.Status != one.Status || !(sd < 1e-8) {
		t.Errorf("%v, want %v; U is %g away", apart.Status, one.Status, sd)
	}
}

// TestTooLarge: numbers that do not fit into a sum, or into a message of AGREE, and a U whose columns are too
// long for their norms, end a run as Diverged at all nodes, not with an error.
func TestTooLarge(t *testing.T) {
	steps := []float64{1e30, 1e200, 1e290}
	for e := 1000; e < 1024; e++ {
		steps = append(steps, math.Ldexp(1, e))
	}
	for _, p := range []*difalt.Problem{draw(t, 3, 12, 24, 15, 2, 3, 0, 1), draw(t, 3, 400, 6, 15, 2, 3, 0, 1)} {
		for _, method := range []difalt.Method{difalt.DifAltGDmin, difalt.AltGDmin, difalt.DecAltGDmin, difalt.DGD} {
			for _, step := range steps {
				o := difalt.Options{Rank: 2, Method: method, Step: step, Rounds: 2}
				res, err := difalt.Run(t.Context(), p, network(t, "path", 3, 1), o)
				if !errors.Is(err, difalt.ErrDiverged) || res.Status != difalt.Diverged ||
					!sizes.Finite(res.U[2].Data()) {
					t.Errorf("%v, step %g: %v", method, step, err)
				}
			}
		}
	}
}
