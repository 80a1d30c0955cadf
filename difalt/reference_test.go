package difalt_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/topology"
	"gonum.org/v1/gonum/mat"
)

// reference is the paper, slow and dense: every product is a gonum matrix product, every round of AGREE is
// one, and (X U)^+ y is a singular value decomposition.
type reference struct {
	w    *mat.Dense
	x    [][]*mat.Dense // by node and task
	y    [][]*mat.VecDense
	u    []*mat.Dense
	eta  float64
	tcon int

	memory         []change // of accelerated
	l, g           *mat.Dense
	norms          []float64
	p              *mat.SymDense
	lowest, yy, nm float64
	plain          *mat.Dense
	iteration      int
}

type change struct{ l, g *mat.Dense }

// newReference reads the data of a problem and the weights of a network.
func newReference(p *difalt.Problem, w *topology.Weights) *reference {
	r := &reference{w: mat.NewDense(w.Len(), w.Len(), nil), lowest: math.Inf(1)}
	for g := range w.Len() {
		for j := range w.Len() {
			r.w.Set(g, j, w.At(g, j))
		}
	}
	samples, squares, tasks := 0.0, 0.0, 0.0
	for _, k := range p.Nodes {
		var xs []*mat.Dense
		var ys []*mat.VecDense
		for t := range k.Len() {
			x := mat.NewDense(k.Samples(t), k.Features(), nil)
			for i := range k.Samples(t) {
				k.Row(x.RawRowView(i), t, i)
			}
			xs, ys = append(xs, x), append(ys, mat.NewVecDense(k.Samples(t), append([]float64(nil), k.Y(t)...)))
			squares += math.Pow(mat.Norm(x, 2), 2)
			r.yy += mat.Dot(ys[t], ys[t])
			samples, tasks = samples+float64(k.Samples(t)), tasks+1
		}
		r.x, r.y = append(r.x, xs), append(r.y, ys)
	}
	r.nm = squares / tasks / float64(p.Nodes[0].Features())
	return r
}

// gradient returns the gradient of node g, the objective, and B B'.
func (r *reference) gradient(g int) (grad *mat.Dense, objective float64, bb *mat.SymDense) {
	d, rank := r.u[g].Dims()
	grad, bb = mat.NewDense(d, rank, nil), mat.NewSymDense(rank, nil)
	for t, x := range r.x[g] {
		var xu, b, outer mat.Dense
		xu.Mul(x, r.u[g])
		var svd mat.SVD
		if !svd.Factorize(&xu, mat.SVDThin) {
			panic("no svd")
		}
		svd.SolveTo(&b, r.y[g][t], svd.Rank(1e-13))
		var e, xe mat.VecDense
		e.MulVec(&xu, b.ColView(0))
		e.SubVec(&e, r.y[g][t])
		xe.MulVec(x.T(), &e)
		outer.Outer(1, &xe, b.ColView(0))
		grad.Add(grad, &outer)
		objective += mat.Dot(&e, &e)
		bb.SymRankOne(bb, 1, b.ColView(0))
	}
	return grad, objective, bb
}

// agree is Alg. 1 with general weights: rounds times Z_g <- sum_j W_gj Z_j.
func (r *reference) agree(z []*mat.Dense, rounds int) []*mat.Dense {
	for range rounds {
		next := make([]*mat.Dense, len(z))
		for g := range z {
			rows, cols := z[g].Dims()
			next[g] = mat.NewDense(rows, cols, nil)
			for j := range z {
				next[g].Add(next[g], scaled(r.w.At(g, j), z[j]))
			}
		}
		z = next
	}
	return z
}

// factorQ returns Q of the thin QR factorisation with positive diagonal, and R.
func factorQ(z *mat.Dense) (u, rr *mat.Dense) {
	d, r := z.Dims()
	var qr mat.QR
	qr.Factorize(z)
	var q mat.Dense
	rr = new(mat.Dense)
	qr.QTo(&q)
	qr.RTo(rr)
	u = mat.NewDense(d, r, nil)
	for j := range r {
		for i := range d {
			u.Set(i, j, math.Copysign(1, rr.At(j, j))*q.At(i, j))
		}
	}
	return u, rr
}

// initialize is Alg. 2 from the orthonormal start u. It returns U_g, and L times the largest diagonal entry
// of R of node 1.
func (r *reference) initialize(u *mat.Dense, iterations, rounds int) (sigma float64) {
	l, samples, tasks := float64(len(r.x)), 0.0, 0.0
	alpha := make([]*mat.Dense, len(r.x))
	for g := range r.x {
		sum := 0.0
		for t := range r.x[g] {
			sum += mat.Dot(r.y[g][t], r.y[g][t])
			samples, tasks = samples+float64(r.y[g][t].Len()), tasks+1
		}
		alpha[g] = mat.NewDense(1, 1, []float64{9 * l * sum})
	}
	for g, a := range r.agree(alpha, rounds) { // line 4
		alpha[g] = scaled(1/samples, a)
	}
	d, _ := u.Dims()
	m := r.nm / (samples / tasks)
	theta := make([]*mat.Dense, len(r.x))
	r.u = nil
	for g := range r.x { // lines 6 and 7
		theta[g] = mat.NewDense(d, len(r.x[g]), nil)
		for t, x := range r.x[g] {
			kept := mat.VecDenseCopyOf(r.y[g][t])
			for i := range kept.Len() {
				if v := kept.AtVec(i); v*v > alpha[g].At(0, 0) {
					kept.SetVec(i, 0)
				}
			}
			var column mat.VecDense
			column.MulVec(x.T(), kept)
			column.ScaleVec(1/(m*float64(kept.Len())), &column)
			theta[g].SetCol(t, column.RawVector().Data)
		}
		r.u = append(r.u, mat.DenseCopyOf(u))
	}
	for range iterations {
		z := make([]*mat.Dense, len(r.u))
		for g := range z { // line 11
			var tu mat.Dense
			tu.Mul(theta[g].T(), r.u[g])
			z[g] = new(mat.Dense)
			z[g].Mul(theta[g], &tu)
		}
		z = r.agree(z, rounds) // line 12
		first, rr := factorQ(z[0])
		sigma = 0
		for j := range rr.RawMatrix().Cols {
			sigma = max(sigma, l*math.Abs(rr.At(j, j)))
		}
		for g := range z { // lines 14 and 15
			z[g] = scaled(0, first)
		}
		z[0] = first
		for g, v := range r.agree(z, rounds) {
			if r.u[g] = first; g > 0 {
				r.u[g], _ = factorQ(v)
			}
		}
	}
	return sigma
}

// step is one iteration of a method of the paper.
func (r *reference) step(method difalt.Method) {
	l := len(r.u)
	grads, z := make([]*mat.Dense, l), make([]*mat.Dense, l)
	for g := range grads {
		grads[g], _, _ = r.gradient(g)
	}
	switch method {
	case difalt.DifAltGDmin:
		for g := range z {
			z[g] = minus(r.u[g], scaled(r.eta*float64(l), grads[g]))
		}
		z = r.agree(z, r.tcon)
	case difalt.DecAltGDmin:
		for g, mean := range r.agree(grads, r.tcon) {
			z[g] = minus(r.u[g], scaled(r.eta*float64(l), mean))
		}
	case difalt.AltGDmin:
		sum := scaled(0, grads[0])
		for _, grad := range grads {
			sum.Add(sum, grad)
		}
		for g := range z {
			z[g] = minus(r.u[g], scaled(r.eta, sum))
		}
	case difalt.DGD:
		for g := range z {
			mean, deg := scaled(0, r.u[g]), 0.0
			for j := range z {
				if j != g && r.w.At(g, j) != 0 {
					mean.Add(mean, r.u[j])
					deg++
				}
			}
			z[g] = minus(scaled(1/deg, mean), scaled(r.eta, grads[g]))
		}
	}
	for g := range z {
		r.u[g], _ = factorQ(z[g])
	}
}

// accelerate is one iteration of Anderson acceleration of the preconditioned step.
func (r *reference) accelerate() {
	u := r.u[0]
	_, rank := u.Dims()
	sum, objective, p := scaled(0, u), 0.0, mat.NewSymDense(rank, nil)
	for g := range r.u {
		grad, e, bb := r.gradient(g)
		sum.Add(sum, grad)
		objective += e
		p.AddSym(p, bb)
	}
	if r.iteration%difalt.CheckEvery == 0 { // the nodes look, and add up P
		r.p = p
	}
	var inverse, step mat.Dense
	if err := inverse.Inverse(r.p); err != nil {
		panic(err)
	}
	step.Mul(sum, &inverse)
	r.p = p
	next, _ := factorQ(minus(u, scaled(.7/r.nm, &step)))
	defer func() {
		r.iteration++
		for g := range r.u {
			r.u[g], _ = factorQ(next)
		}
	}()
	if objective > r.lowest+1e-9*(r.lowest+r.yy) {
		r.lowest, r.memory, r.norms, r.l = math.Inf(1), nil, nil, nil
		next = r.plain
		return
	}
	r.lowest, r.plain = min(r.lowest, objective), next
	l, g := minus(next, u), next
	if r.l != nil {
		r.memory = append(r.memory, change{minus(l, r.l), minus(g, r.g)})
		r.memory = r.memory[max(0, len(r.memory)-10):]
	}
	r.l, r.g = l, g
	next = r.extrapolate(l, g)
}

// extrapolate is Anderson's step from the residual l and the plain step g; it updates the memory.
func (r *reference) extrapolate(l, g *mat.Dense) (next *mat.Dense) {
	next = g
	norm, m := mat.Norm(l, 2), len(r.memory)
	if r.iteration >= 6 && m > 0 {
		gram, v := mat.NewDense(m, m, nil), mat.NewVecDense(m, nil)
		for a := range m {
			v.SetVec(a, inner(r.memory[a].l, l))
			for b := range m {
				gram.Set(a, b, inner(r.memory[a].l, r.memory[b].l))
			}
		}
		shift := 1e-10 * mat.Trace(gram)
		for a := range m {
			gram.Set(a, a, gram.At(a, a)+shift)
		}
		var c mat.VecDense
		if err := c.SolveVec(gram, v); err != nil {
			if _, bad := err.(mat.Condition); !bad {
				panic(err)
			}
		}
		correction := scaled(0, g)
		for a := range m {
			correction.Add(correction, scaled(c.AtVec(a), r.memory[a].g))
		}
		next = minus(g, scaled(min(1, 2*norm/mat.Norm(correction, 2)), correction))
	}
	for _, v := range r.norms {
		if norm > 2*v {
			r.memory, r.norms = nil, nil
			break
		}
	}
	r.norms = append(r.norms, norm)
	r.norms = r.norms[max(0, len(r.norms)-10):]
	return next
}

// TestReference compares the initialisation and every iteration of all methods with the dense reference.
func TestReference(t *testing.T) {
	const nodes, d, tasks, rank = 6, 23, 31, 3
	for _, c := range []struct {
		graph string
		rule  topology.Rule
		tcon  int
	}{
		{"er:0.6", topology.EqualNeighbor, 1}, {"er:0.6", topology.Metropolis, 4}, {"ring", topology.Metropolis, 2},
		{"complete", topology.EqualNeighbor, 3}, {"star", topology.LazyMetropolis, 5},
	} {
		if testing.Short() && c.graph != "star" {
			continue
		}
		for _, method := range difalt.Methods() {
			t.Run(fmt.Sprintf("%s/%v/%v", c.graph, c.rule, method), func(t *testing.T) {
				p, w := ragged(t, nodes, d, tasks, rank, 3), weights(t, c.graph, nodes, 5, c.rule)
				p.Start = random(d, rank, 1)
				ref := newReference(p, w)
				start, _ := factorQ(mat.DenseCopyOf(p.Start))
				sigma := ref.initialize(start, 7, 12)
				ref.tcon, ref.eta = c.tcon, .4/(ref.nm*sigma)
				o := difalt.Options{Rank: rank, Rounds: c.tcon, StartRounds: 12, PowerIterations: 7}
				initial, err := difalt.Initialize(t.Context(), p, connect(t, w, nil), o)
				if err != nil {
					t.Fatal(err)
				}
				if e := math.Abs(initial.SigmaSquared/sigma - 1); e > 1e-9 || math.Abs(initial.Step/ref.eta-1) > 1e-9 {
					t.Fatalf("sigma^2 is %v, want %v; the step is %v, want %v", initial.SigmaSquared, sigma, initial.Step, ref.eta)
				}
				same(t, "start", initial.U, ref.u, 1e-9)
				if rounds := int64(12 + 2*7*12); initial.Traffic.Rounds < rounds || initial.Traffic.Rounds > rounds+30 {
					t.Errorf("the initialisation takes %d rounds, the paper %d, and the nodes compare options", initial.Traffic.Rounds, rounds)
				}
				o.Method, o.Step, o.EveryIteration, p.U0 = method, initial.Step, true, initial.U
				tolerance := 1e-9
				if method == difalt.Accelerated {
					o.Step, o.Codec, tolerance = 0, consensus.Float64, 1e-6
				}
				if method == difalt.Accelerated || method == difalt.AltGDmin { // from node 0's U
					for g := range ref.u {
						ref.u[g] = ref.u[0]
					}
				}
				s, err := difalt.NewSolver(p, connect(t, w, nil), o)
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				for it := range 40 {
					if step(t, s, t.Context()); method == difalt.Accelerated {
						ref.accelerate()
					} else {
						ref.step(method)
					}
					same(t, fmt.Sprint("iteration ", it+1), s.U(), ref.u, tolerance)
				}
			})
		}
	}
}

// same fails unless bases are equal to a tolerance.
func same(t *testing.T, name string, got []*kernel.Basis, want []*mat.Dense, tolerance float64) {
	t.Helper()
	for g, u := range got {
		if e := mat.Norm(minus(u, want[g]), 2); !(e < tolerance) {
			t.Fatalf("%s, node %d: U differs from the reference by %g", name, g, e)
		}
	}
}
