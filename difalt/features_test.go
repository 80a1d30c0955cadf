package difalt_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/difalt/features"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/topology"
	"gonum.org/v1/gonum/floats"
)

// moved returns a problem with features x*size + offset and the same responses.
func moved(p *difalt.Problem, offset float64, sizes []float64) *difalt.Problem {
	q := &difalt.Problem{}
	for _, k := range p.Nodes {
		rows := make([]int, k.Len())
		for t := range rows {
			rows[t] = k.Samples(t)
		}
		b, x := kernel.NewBuilder(k.Features(), rows, k.Storage()), make([]float64, k.Features())
		for t := range rows {
			for i, y := range k.Y(t) {
				k.Row(x, t, i)
				for j := range x {
					if sizes != nil {
						x[j] *= sizes[j]
					}
					x[j] += offset
				}
				b.SetRow(t, i, x, y)
			}
		}
		q.Nodes = append(q.Nodes, b.Tasks())
	}
	return q
}

// TestStandardize: whatever the offsets and sizes of the features, a run in standard form takes about the
// iterations of standard features, and Undo reproduces the responses in the units of the data.
func TestStandardize(t *testing.T) {
	p, o := draw(t, 4, 20, 60, 20, 2, 3, 0, 1), difalt.Options{Rank: 2, Method: difalt.Accelerated}
	standard := func(p *difalt.Problem) (*difalt.Result, *features.Scaling) {
		net := network(t, "ring", 4, 1)
		nodes, scaling, err := features.Standardize(t.Context(), net, p.Nodes)
		if err != nil {
			t.Fatal(err)
		}
		return run(t, &difalt.Problem{Nodes: nodes}, net, o), scaling
	}
	want, _ := standard(p)
	rng := rand.New(rand.NewPCG(1, 2))
	sizes := make([]float64, 20)
	for j := range sizes {
		sizes[j] = math.Pow(10, 12*rng.Float64()-6)
	}
	for _, c := range []struct {
		offset float64
		sizes  []float64
	}{{0, nil}, {1, nil}, {100, nil}, {1e4, nil}, {1e6, nil}, {0, sizes}, {3, sizes}} {
		t.Run(fmt.Sprint(c.offset, c.sizes != nil), func(t *testing.T) {
			q := moved(p, c.offset, c.sizes)
			res, scaling := standard(q)
			if res.Status != difalt.Converged || float64(res.Iterations) > 1.3*float64(want.Iterations) {
				t.Fatalf("%v after %d iterations, with standard features after %d", res.Status, res.Iterations,
					want.Iterations)
			}
			row, scale := make([]float64, 20), 1e-9*(1+c.offset)
			if c.sizes != nil {
				scale *= 100 // small columns lose digits next to an offset
			}
			for i, k := range q.Nodes {
				u, b, intercepts := scaling.Undo(i, res.U[i], res.B[i])
				for task := range k.Len() {
					for l, y := range k.Y(task) {
						k.Row(row, task, l)
						fit := intercepts[task]
						for j := range 2 {
							fit += b[task*2+j] * floats.Dot(u.Col(j), row)
						}
						if math.Abs(fit-y) > scale && (c.sizes == nil || c.offset == 0) {
							t.Fatalf("node %d, task %d, row %d: %v instead of %v", i, task, l, fit, y)
						}
					}
				}
			}
		})
	}
}

func ones(n int) []float64 { return slices.Repeat([]float64{1}, n) }

// TestMisleading: the solver refuses features with offsets or different sizes, unless AnyFeatures is set, and
// accepts features that differ by chance, or between nodes.
func TestMisleading(t *testing.T) {
	p := draw(t, 4, 20, 60, 20, 2, 3, 0, 1)
	wide, small, large, constant := floats.Span(make([]float64, 20), 1, 6), ones(20), ones(20), ones(20)
	small[3], large[3], constant[3] = .3, 3, 0
	for _, c := range []struct {
		name   string
		p      *difalt.Problem
		refuse bool
	}{
		{"standard", p, false}, {"offset 3", moved(p, 3, nil), true}, {"offset .05", moved(p, .05, nil), false},
		{"sizes 1 to 6", moved(p, 0, wide), true},
		{"thousands", moved(p, 0, floats.ScaleTo(make([]float64, 20), 1e3, ones(20))), false},
		{"thousandths", moved(p, 0, floats.ScaleTo(make([]float64, 20), 1e-3, ones(20))), false},
		{"a small one", moved(p, 0, small), true}, {"a large one", moved(p, 0, large), true},
		{"a constant", moved(p, 0, constant), false},
		{"few samples", &difalt.Problem{Nodes: draw(t, 4, 20, 8, 2, 2, 3, 0, 1).Nodes}, false},
		{"opposite nodes", &difalt.Problem{Nodes: append(moved(p, 1, nil).Nodes[:2], moved(p, -1, nil).Nodes[2:]...)},
			false},
	} {
		_, err := difalt.Run(t.Context(), c.p, network(t, "ring", 4, 1), difalt.Options{Rank: 2, Iterations: 3})
		if errors.Is(err, features.ErrNotStandard) != c.refuse {
			t.Errorf("%s: %v", c.name, err)
		}
		if _, err := difalt.Run(t.Context(), c.p, network(t, "ring", 4, 1),
			difalt.Options{Rank: 2, Iterations: 3, AnyFeatures: true}); errors.Is(err, features.ErrNotStandard) {
			t.Errorf("%s, any features: %v", c.name, err)
		}
	}
}

// TestFeatureArguments: wrong arguments of one node are an error at all nodes, which names them where they
// are, and no node waits.
func TestFeatureArguments(t *testing.T) {
	p, w := draw(t, 3, 10, 12, 15, 2, 2, 0, 1), weights(t, "path", 3, 1, topology.Metropolis)
	huge := moved(&difalt.Problem{Nodes: p.Nodes[2:]}, 2e60, nil).Nodes
	for _, c := range []struct {
		name, want string
		nodes      []*kernel.Tasks
		check      bool // refuses it too
	}{
		{"without nodes", "tasks of 0 nodes", nil, true},
		{"a nil node", "node 2 has no tasks", []*kernel.Tasks{nil}, true},
		{"two nodes", "tasks of 2 nodes", p.Nodes[1:], true},
		{"other features", "different sizes", draw(t, 1, 11, 12, 15, 2, 2, 0, 1).Nodes, true},
		{"huge", "node 2 has a feature of 2e+60", huge, false},
	} {
		for entry, open := range map[string]func(net *consensus.Network, nodes []*kernel.Tasks) error{
			"Standardize": func(net *consensus.Network, nodes []*kernel.Tasks) error {
				_, _, err := features.Standardize(t.Context(), net, nodes)
				return err
			},
			"Check": func(net *consensus.Network, nodes []*kernel.Tasks) error {
				return features.Check(t.Context(), net, nodes)
			},
		} {
			if entry == "Check" && !c.check {
				continue
			}
			_, errs := apart(t, w, together(3, 3), func(k int, net *consensus.Network) (int, error) {
				if k == 2 {
					return 0, open(net, c.nodes)
				}
				return 0, open(net, p.Nodes[k:k+1])
			})
			for k, err := range errs {
				if err == nil || k == 2 && !strings.Contains(err.Error(), c.want) {
					t.Errorf("%s, %s: node %d returns %v", entry, c.name, k, err)
				}
			}
		}
	}
	net := network(t, "complete", 2, 1)
	if _, _, err := features.Standardize(t.Context(), net, []*kernel.Tasks{nil, p.Nodes[0]}); err == nil {
		t.Error("Standardize takes a nil first node")
	}
	if err := features.Check(t.Context(), nil, nil); err == nil {
		t.Error("Check needs no network")
	}
}
