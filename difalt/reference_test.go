package difalt_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/topology"
	"gonum.org/v1/gonum/mat"
)

// reference is the paper, slow and dense: every product is a gonum matrix product,
// every round of AGREE is one, and (X U)^+ y is a singular value decomposition.
type reference struct {
	*synthetic
	w    *mat.Dense // L x L
	u    []*mat.Dense
	eta  float64
	tcon int
}

func (r *reference) gradient(g int) *mat.Dense {
	d, rank := r.u[g].Dims()
	grad := mat.NewDense(d, rank, nil)
	for t, x := range r.x[g] {
		y := mat.NewVecDense(len(r.y[g][t]), r.y[g][t])
		var xu mat.Dense
		xu.Mul(x, r.u[g])
		var svd mat.SVD
		if !svd.Factorize(&xu, mat.SVDThin) {
			panic("no svd")
		}
		var b mat.Dense
		svd.SolveTo(&b, y, svd.Rank(1e-13))
		var e mat.VecDense
		e.MulVec(&xu, b.ColView(0))
		e.SubVec(&e, y)
		var xe mat.VecDense
		xe.MulVec(x.T(), &e)
		var outer mat.Dense
		outer.Outer(1, &xe, b.ColView(0))
		grad.Add(grad, &outer)
	}
	return grad
}

// agree is Alg. 1 with general weights: rounds times Z_g <- sum_j W_gj Z_j.
func agree(w mat.Matrix, z []*mat.Dense, rounds int) []*mat.Dense {
	for range rounds {
		next := make([]*mat.Dense, len(z))
		for g := range z {
			d, r := z[g].Dims()
			next[g] = mat.NewDense(d, r, nil)
			for j := range z {
				var term mat.Dense
				term.Scale(w.At(g, j), z[j])
				next[g].Add(next[g], &term)
			}
		}
		z = next
	}
	return z
}

// project returns Q of the thin QR factorisation with positive diagonal.
func project(z *mat.Dense) *mat.Dense {
	d, r := z.Dims()
	var qr mat.QR
	qr.Factorize(z)
	var q, rr mat.Dense
	qr.QTo(&q)
	qr.RTo(&rr)
	u := mat.NewDense(d, r, nil)
	for j := range r {
		for i := range d {
			u.Set(i, j, math.Copysign(1, rr.At(j, j))*q.At(i, j))
		}
	}
	return u
}

// step is one iteration of a method.
func (r *reference) step(method difalt.Method) {
	l := len(r.u)
	grads := make([]*mat.Dense, l)
	for g := range grads {
		grads[g] = r.gradient(g)
	}
	minus := func(u, grad mat.Matrix, step float64) *mat.Dense {
		var z mat.Dense
		z.Scale(-step, grad)
		z.Add(u, &z)
		return &z
	}
	z := make([]*mat.Dense, l)
	switch method {
	case difalt.DifAltGDmin:
		for g := range z {
			z[g] = minus(r.u[g], grads[g], r.eta*float64(l))
		}
		z = agree(r.w, z, r.tcon)
	case difalt.DecAltGDmin:
		agreed := agree(r.w, grads, r.tcon)
		for g := range z {
			z[g] = minus(r.u[g], agreed[g], r.eta*float64(l))
		}
	case difalt.AltGDmin:
		sum := grads[0]
		for _, grad := range grads[1:] {
			sum.Add(sum, grad)
		}
		for g := range z {
			z[g] = minus(r.u[g], sum, r.eta)
		}
	case difalt.DGD:
		for g := range z {
			d, k := r.u[g].Dims()
			mean, deg := mat.NewDense(d, k, nil), 0.0
			for j := range z {
				if j != g && r.w.At(g, j) != 0 {
					mean.Add(mean, r.u[j])
					deg++
				}
			}
			mean.Scale(1/deg, mean)
			z[g] = minus(mean, grads[g], r.eta)
		}
	}
	for g := range z {
		r.u[g] = project(z[g])
	}
}

// sd is |(I - u u') v|_2 by the singular values of the dense matrix.
func sd(u, v mat.Matrix) float64 {
	var uu, m mat.Dense
	uu.Mul(u, u.T())
	m.Mul(&uu, v)
	m.Sub(v, &m)
	var svd mat.SVD
	if !svd.Factorize(&m, mat.SVDNone) {
		panic("no svd")
	}
	return svd.Values(nil)[0]
}

// TestReference holds the paper's methods to the dense reference from the same U0,
// iteration by iteration, on ragged tasks some of which have fewer samples than
// the rank, and on several graphs and weights.
func TestReference(t *testing.T) {
	const nodes, d, tasks, rank = 6, 23, 31, 3
	ragged := func(t int) int { return []int{25, 2, 18, 30, 11}[t%5] }
	for _, c := range []struct {
		graph string
		rule  topology.Rule
		tcon  int
	}{
		{"er:0.6", topology.EqualNeighbor, 1},
		{"er:0.6", topology.Metropolis, 4},
		{"ring", topology.Metropolis, 2},
		{"complete", topology.EqualNeighbor, 3},
		{"star", topology.LazyEqualNeighbor, 5},
	} {
		for _, method := range difalt.PaperMethods() {
			t.Run(fmt.Sprintf("%s/%v/%v", c.graph, c.rule, method), func(t *testing.T) {
				s := gaussian(3, nodes, d, tasks, rank, ragged, 0.1)
				net := network(t, c.graph, nodes, c.rule, 5)
				o := difalt.Options{Rank: rank, Seed: 9, Rounds: c.tcon, Initialization: difalt.InitializationOptions{Rounds: 60}}
				initial, err := difalt.Initialize(t.Context(), s.Problem, net, o)
				if err != nil {
					t.Fatal(err)
				}
				s.U0 = initial.U
				o.Method, o.Step, o.Iterations, o.EveryIteration = method, initial.Step, 50, true
				ref := &reference{synthetic: s, w: mat.NewDense(nodes, nodes, nil), eta: o.Step, tcon: c.tcon}
				for g := range nodes {
					for j := range nodes {
						ref.w.Set(g, j, net.Weights().At(g, j))
					}
					ref.u = append(ref.u, mat.DenseCopyOf(initial.U[g]))
				}
				solver, err := difalt.NewSolver(s.Problem, net, o)
				if err != nil {
					t.Fatal(err)
				}
				defer solver.Close()
				for it := range 40 {
					ref.step(method)
					if _, err := solver.Step(t.Context()); err != nil {
						t.Fatal(err)
					}
					for g := range nodes {
						got := solver.U()[g]
						var diff mat.Dense
						diff.Sub(got, ref.u[g])
						if e := mat.Norm(&diff, 2); !(e < 1e-9) {
							t.Fatalf("iteration %d, node %d: U differs from the reference by %g", it+1, g, e)
						}
					}
				}
			})
		}
	}
}

// TestSubspaceDistance compares with the dense formula over many magnitudes.
func TestSubspaceDistance(t *testing.T) {
	for _, eps := range []float64{1, 1e-3, 1e-8, 1e-13} {
		for _, dims := range [][3]int{{50, 4, 4}, {9, 1, 1}, {128, 10, 3}, {33, 2, 7}} {
			a := gaussian(1, 1, dims[0], 1, dims[1], fixed(1), 0).Truth
			b := gaussian(2, 1, dims[0], 1, dims[2], fixed(1), 0).Truth
			// Move b towards the span of a.
			for j := range dims[2] {
				for i := range b.Col(j) {
					b.Col(j)[i] = eps*b.Col(j)[i] + a.Col(j % dims[1])[i]*float64(1+j)
				}
			}
			b.Orthonormalize(make([]float64, dims[2]*dims[2]), make([]float64, dims[2]))
			got, want := difalt.SubspaceDistance(a, b), sd(a, b)
			if math.Abs(got-want) > 1e-6*want+1e-15 {
				t.Errorf("eps %g, dims %v: got %v, want %v", eps, dims, got, want)
			}
		}
	}
	same := gaussian(1, 1, 40, 1, 5, fixed(1), 0).Truth
	if got := difalt.SubspaceDistance(same, same); got > 1e-15 {
		t.Errorf("distance of a basis to itself is %v", got)
	}
	for _, pair := range [][2]*kernel.Basis{{nil, same}, {same, nil}, {nil, nil}} {
		func() {
			defer func() {
				if said, _ := recover().(string); said != "difalt: a basis is nil" {
					t.Errorf("of nil: panic with %q", said)
				}
			}()
			difalt.SubspaceDistance(pair[0], pair[1])
		}()
	}
}
