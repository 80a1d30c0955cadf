package difalt_test

import (
	"math/rand/v2"
	"testing"

	"github.com/difalt/difalt/difalt"
	"gonum.org/v1/gonum/mat"
)

// ragged returns tasks of different sizes, some with fewer samples than the rank.
func ragged(t *testing.T, nodes, d, tasks, r int, seed uint64) *difalt.Problem {
	rng := rand.New(rand.NewPCG(seed, 5))
	gaussian := func(rows, cols int) *mat.Dense {
		a := mat.NewDense(rows, cols, nil)
		a.Apply(func(int, int, float64) float64 { return rng.NormFloat64() }, a)
		return a
	}
	p, sizes := &difalt.Problem{Truth: orthonormal(d, r, seed)}, []int{25, 2, 18, 30, 11}
	for g := range nodes {
		var xs []mat.Matrix
		var ys [][]float64
		for k := g * tasks / nodes; k < (g+1)*tasks/nodes; k++ {
			x, b := gaussian(sizes[k%len(sizes)], d), gaussian(r, 1)
			var y mat.Dense
			y.Product(x, p.Truth, b)
			y.Add(&y, scaled(.1, gaussian(y.RawMatrix().Rows, 1)))
			xs, ys = append(xs, x), append(ys, y.RawMatrix().Data)
		}
		p.Nodes = append(p.Nodes, pack(xs, ys))
	}
	return p
}
