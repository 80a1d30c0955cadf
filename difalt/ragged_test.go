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
	u, sizes := orthonormal(d, r, seed), []int{25, 2, 18, 30, 11}
	p := &difalt.Problem{Truth: u}
	for g := range nodes {
		var x []mat.Matrix
		var y [][]float64
		for k := g * tasks / nodes; k < (g+1)*tasks/nodes; k++ {
			n := sizes[k%len(sizes)]
			a, b, v := mat.NewDense(n, d, nil), mat.NewVecDense(r, nil), mat.NewVecDense(n, nil)
			for i := range n * d {
				a.Set(i/d, i%d, rng.NormFloat64())
			}
			for j := range r {
				b.SetVec(j, rng.NormFloat64())
			}
			var theta mat.VecDense
			theta.MulVec(u, b)
			v.MulVec(a, &theta)
			for i := range n {
				v.SetVec(i, v.AtVec(i)+.1*rng.NormFloat64())
			}
			x, y = append(x, a), append(y, v.RawVector().Data)
		}
		p.Nodes = append(p.Nodes, pack(x, y))
	}
	return p
}
