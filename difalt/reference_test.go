package difalt_test

import (
	"math"

	"github.com/difalt/difalt/difalt"
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

	nm        float64
	memory    []change // of accelerated
	best      evaluated
	cg        *conjugate // nil outside of Gauss-Newton steps
	iteration int        // evaluations of the descent
	rises     int
	knowledge float64 // the mean of n_t - r, where that is positive
}

type change struct{ u, g *mat.Dense }

// evaluated is a U with the gradient, P and the objective there.
type evaluated struct {
	u, grad   *mat.Dense
	p         *mat.SymDense
	objective float64
}

// conjugate is the state of the conjugate gradients of a Gauss-Newton step.
type conjugate struct {
	residual, direction, sum, found *mat.Dense
	square, first, scale            float64
	products                        int
}

// newReference reads the data of a problem and the weights of a network.
func newReference(p *difalt.Problem, w *topology.Weights) *reference {
	r := &reference{w: mat.NewDense(w.Len(), w.Len(), nil)}
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
			samples, tasks = samples+float64(k.Samples(t)), tasks+1
		}
		r.x, r.y = append(r.x, xs), append(r.y, ys)
	}
	r.nm = squares / tasks / float64(p.Nodes[0].Features())
	return r
}

// know sets the mean of n_t - rank, where that is positive.
func (r *reference) know(rank int) {
	tasks := 0.0
	for g := range r.y {
		for _, y := range r.y[g] {
			r.knowledge += max(0, float64(y.Len()-rank))
			tasks++
		}
	}
	r.knowledge /= tasks
}

// gradient returns the gradient of node g, the objective, and P.
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
		bb.SymRankOne(bb, max(0, float64(r.y[g][t].Len()-rank))/r.knowledge, b.ColView(0))
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

// accelerate is one sum of accelerated: an evaluation of the descent, a product of a Gauss-Newton step, or a
// trial of it.
func (r *reference) accelerate() {
	u := r.u[0]
	next := u
	if r.cg != nil && r.cg.found == nil {
		next = r.solve()
	} else {
		next = r.evaluate(u)
	}
	for g := range r.u {
		r.u[g], _ = factorQ(next)
	}
}

// evaluate returns the matrix whose factor Q is the next U.
func (r *reference) evaluate(u *mat.Dense) *mat.Dense {
	_, rank := u.Dims()
	grad, objective, p := scaled(0, u), 0.0, mat.NewSymDense(rank, nil)
	for g := range r.u {
		part, e, bb := r.gradient(g)
		grad.Add(grad, part)
		objective += e
		p.AddSym(p, bb)
	}
	grad.Scale(.9/r.nm, grad)
	risen := r.best.u != nil && objective > r.best.objective*(1+1e-9)
	switch {
	case r.cg == nil && risen:
		r.remember(minus(u, r.best.u), minus(grad, r.best.grad))
		r.cg = &conjugate{residual: scaled(-1, r.best.grad), scale: 1}
		r.cg.direction = times(r.cg.residual, power(r.best.p, -1))
		r.cg.square = inner(r.cg.residual, r.cg.direction)
		r.cg.first, r.cg.sum = r.cg.square, scaled(0, u)
		r.rises++
		return r.best.u
	case r.cg == nil && r.best.u != nil:
		r.remember(minus(u, r.best.u), minus(grad, r.best.grad))
	case r.cg != nil && objective > r.best.objective*(1+1e-12) && r.cg.scale >= 1e-3:
		r.cg.scale /= 4
		return minus(r.best.u, scaled(-r.cg.scale, r.cg.found))
	}
	r.cg, r.best = nil, evaluated{u, grad, p, objective}
	return minus(u, scaled(-1, r.move(grad, p)))
}

// move returns the plain step and its correction.
func (r *reference) move(grad *mat.Dense, p *mat.SymDense) *mat.Dense {
	move, m := scaled(-1, times(grad, power(p, -1))), len(r.memory)
	if r.iteration++; r.iteration <= 6 || m == 0 {
		return move
	}
	root := power(p, -.5)
	gram, v := mat.NewDense(m, m, nil), mat.NewVecDense(m, nil)
	for a := range m {
		v.SetVec(a, inner(times(r.memory[a].g, root), times(grad, root)))
		for b := range m {
			gram.Set(a, b, inner(times(r.memory[a].g, root), times(r.memory[b].g, root)))
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
	correction := scaled(0, grad)
	for a := range m {
		change := minus(r.memory[a].u, times(r.memory[a].g, power(p, -1)))
		correction.Add(correction, scaled(-c.AtVec(a), change))
	}
	return minus(move, scaled(-min(1, 2*mat.Norm(move, 2)/mat.Norm(correction, 2)), correction))
}

// solve multiplies the direction of the conjugate gradients by the Gauss-Newton matrix at the best point, and
// returns the next U: that point, or the end of the step.
func (r *reference) solve() *mat.Dense {
	k := r.cg
	product := scaled(0, r.best.u)
	for g := range r.u {
		for t, x := range r.x[g] {
			var xu, b, xd, outer mat.Dense
			xu.Mul(x, r.best.u)
			var svd mat.SVD
			svd.Factorize(&xu, mat.SVDThin)
			rank := svd.Rank(1e-13)
			svd.SolveTo(&b, r.y[g][t], rank)
			xd.Product(x, k.direction, &b)
			var left, within mat.Dense
			svd.UTo(&left)
			span := left.Slice(0, xu.RawMatrix().Rows, 0, rank)
			within.Product(span, span.T(), &xd)
			xd.Sub(&xd, &within)
			outer.Product(x.T(), &xd, b.T())
			product.Add(product, &outer)
		}
	}
	product.Scale(.9/r.nm, product)
	var within mat.Dense
	within.Product(r.best.u, r.best.u.T(), product)
	product = minus(product, &within)
	r.remember(k.direction, product)
	length := k.square / inner(k.direction, product)
	k.sum = minus(k.sum, scaled(-length, k.direction))
	k.residual = minus(k.residual, scaled(length, product))
	preconditioned := times(k.residual, power(r.best.p, -1))
	square := inner(k.residual, preconditioned)
	if k.products++; square <= .16*k.first || k.products == 20 {
		k.found = k.sum
		return minus(r.best.u, scaled(-1, k.found))
	}
	k.direction = minus(preconditioned, scaled(-square/k.square, k.direction))
	k.square = square
	return r.best.u
}

func (r *reference) remember(u, g *mat.Dense) {
	r.memory = append(r.memory, change{u, g})
	r.memory = r.memory[max(0, len(r.memory)-10):]
}

func times(a, b mat.Matrix) *mat.Dense {
	var c mat.Dense
	c.Mul(a, b)
	return &c
}

// power returns a power of a symmetric positive matrix.
func power(a *mat.SymDense, exponent float64) *mat.Dense {
	var p mat.Dense
	var e mat.EigenSym
	if !e.Factorize(a, true) {
		panic("no eigenvalues")
	}
	var v mat.Dense
	e.VectorsTo(&v)
	values := e.Values(nil)
	for k := range values {
		values[k] = math.Pow(max(values[k], values[len(values)-1]/1e6), exponent)
	}
	p.Product(&v, mat.NewDiagDense(len(values), values), v.T())
	return &p
}
