package difalt_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/topology"
	"gonum.org/v1/gonum/floats"
)

// One task whose features have another size, so that its coefficients are many times as large or as small,
// neither ends a run nor delays it.
func TestTaskSizes(t *testing.T) {
	rng := rand.New(rand.NewPCG(131, 132))
	k := newTable(rng, 40, 20, 8, 2)
	for task, rows := range k.x { // without offsets and intercepts
		for i, x := range rows {
			copy(x, gaussian(rng, len(x)))
			k.y[task][i] = floats.Dot(x, k.theta[task]) + .5*rng.NormFloat64()
		}
	}
	graph, err := topology.Complete(2)
	if err != nil {
		t.Fatal(err)
	}
	first := map[string]int{}
	for _, size := range []float64{1, 1e-2, 1e-4, 1e-8, 1e-12, 1e4, 1e8} {
		scaled := k.scaled([]float64{1}, 1)
		for _, x := range scaled.x[7] {
			floats.Scale(size, x)
		}
		check := func(name string, status difalt.Status, iterations int, err error) {
			if err != nil || status != difalt.Converged {
				t.Errorf("%s, features of one task times %g: %v after %d iterations, %v", name, size, status,
					iterations, err)
				return
			}
			if first[name] == 0 {
				first[name] = iterations
			}
			if most := 3*first[name]/2 + 10; iterations > most {
				t.Errorf("%s, features of one task times %g: %d iterations, want at most %d", name, size, iterations,
					most)
			}
		}
		m, err := difalt.Fit(t.Context(), scaled.tasks(t), 2)
		if m == nil {
			t.Fatal(size, err)
		}
		check("Fit", m.Status, m.Iterations, err)
		nodes := []*kernel.Tasks{
			(&table{x: scaled.x[:20], y: scaled.y[:20]}).tasks(t),
			(&table{x: scaled.x[20:], y: scaled.y[20:]}).tasks(t),
		}
		for _, method := range []difalt.Method{difalt.DifAltGDmin, difalt.AltGDmin, difalt.DecAltGDmin,
			difalt.Accelerated} {
			p, net, err := difalt.InProcess(nodes, graph)
			if err != nil {
				t.Fatal(err)
			}
			res, err := difalt.Run(t.Context(), p, net, difalt.Options{Rank: 2, Method: method, AnyFeatures: true})
			if res == nil {
				t.Fatal(size, err)
			}
			check(fmt.Sprint(method), res.Status, res.Iterations, err)
		}
	}
}
