package difalt_test

import (
	"math"
	"testing"

	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/difalt"
	"gonum.org/v1/gonum/mat"
)

// A trail is what all neighbours of a node together compute from its messages: its U_g
// and its gradient in every iteration, and B_g B_g' where the method sends it.
type trail struct {
	u, gradient []*mat.Dense
	gram        []*mat.SymDense
}

// follow reconstructs the trail of the victim, which has one neighbour. It uses what all
// nodes know: the graph, the options, eta, the totals of the data, and U of the start.
func (v *spied) follow(t *testing.T) (tr trail) {
	t.Helper()
	l := float64(v.w.Len())
	_, bases := v.spectral(t)
	u := bases[len(bases)-1]
	step := v.result.Step * l
	descend := func(g mat.Matrix) {
		z := new(mat.Dense)
		z.Scale(-step, g)
		z.Add(u, z)
		u = orthonormal(z)
	}
	see := func(g *mat.Dense) { tr.u, tr.gradient = append(tr.u, u), append(tr.gradient, g) }
	switch v.o.Method {
	case difalt.DifAltGDmin:
		for _, m := range v.mixes(t, wire.StreamBasis, v.o.Rounds, 0) {
			see(scaledDifference(u, v.basis(m.first), 1/step))
			u = orthonormal(v.basis(m.last))
		}
	case difalt.DecAltGDmin:
		for _, m := range v.mixes(t, wire.StreamGradient, v.o.Rounds, 0) {
			see(v.basis(m.first))
			descend(v.basis(m.last))
		}
	case difalt.AltGDmin:
		for _, x := range v.rounds {
			if z, up := x.out[0].collective(); x.out[0].channel == wire.Mean && up {
				see(v.basis(z))
			}
			if z, _ := x.in[0].collective(); x.in[0].channel == wire.Mean && z != nil {
				sum := v.basis(z)
				sum.Scale(1/l, sum)
				descend(sum)
			}
		}
	case difalt.DGD:
		v.followDGD(t, &tr)
	default:
		v.followScaled(t, &tr, u)
	}
	if len(tr.gradient) == 0 {
		t.Fatalf("follow does not say what neighbours compute from the messages of %v", v.o.Method)
	}
	return tr
}

// scaledDifference returns (a - b) factor.
func scaledDifference(a, b mat.Matrix, factor float64) *mat.Dense {
	g := new(mat.Dense)
	g.Sub(a, b)
	g.Scale(factor, g)
	return g
}

// followDGD: a node sends U_g and then U_g' with U_g' R = M - eta grad, where M is known to
// its neighbours and R is not; but U_g' grad = 0, since the b_t minimise.
func (v *spied) followDGD(t *testing.T, tr *trail) {
	var mean []*mat.Dense
	for _, x := range v.rounds {
		if x.out[0].channel == wire.StreamBasis {
			tr.u = append(tr.u, v.basis(float64s(x.out[0].code)))
			mean = append(mean, v.basis(float64s(x.in[0].code)))
		}
	}
	for i, u := range tr.u[1:] {
		var left, right, r, ur mat.Dense
		left.Mul(tr.u[i].T(), u)
		right.Mul(tr.u[i].T(), mean[i])
		if err := r.Solve(&left, &right); err != nil {
			t.Fatal(err)
		}
		ur.Mul(u, &r)
		tr.gradient = append(tr.gradient, scaledDifference(mean[i], &ur, 1/v.result.Step))
	}
	tr.u = tr.u[:len(tr.gradient)]
}

// followScaled is for the methods that send L B_g B_g' with every basis, and for those
// under acceleration. These extrapolate from agreed numbers, which neighbours can replay;
// here U comes from the victim instead.
func (v *spied) followScaled(t *testing.T, tr *trail, u *mat.Dense) {
	l, packed := float64(v.w.Len()), v.packedSize()
	var p *mat.SymDense
	step := 2 * v.result.Step * l // with PreconditionerNone
	if v.o.Accelerated.Preconditioner == difalt.PreconditionerScaled {
		_, sums := v.collectives(packed)
		p, step = v.symmetric(sums[len(sums)-1]), v.o.Scaled.Step*l/v.curvature()
	}
	var trackers []mixed
	if v.o.Method == difalt.GradientTracking || v.o.Method == difalt.AcceleratedTracking {
		trackers = v.mixes(t, wire.StreamTracker, v.o.Rounds, 0)
	}
	tracked, previous := mat.NewDense(v.d, v.r, nil), mat.NewDense(v.d, v.r, nil)
	for i, m := range v.mixes(t, wire.StreamBasis, v.o.Rounds, v.scalars()) {
		if v.o.Method.Accelerates() && i > 0 {
			u = mat.DenseCopyOf(v.bases[i-1])
		}
		var g *mat.Dense
		if trackers != nil { // sends the tracked gradient + L (gradient - previous gradient)
			g = scaledDifference(v.basis(trackers[i].first), tracked, 1/l)
			g.Add(previous, g)
			tracked, previous = v.basis(trackers[i].last), g
		} else { // sends U - s/(n m) L gradient P^-1
			g = scaledDifference(u, v.basis(m.first), 1/step)
		}
		if p != nil {
			if trackers == nil {
				g.Mul(g, p)
			}
			gram := v.symmetric(m.first[v.d*v.r:])
			gram.ScaleSym(1/l, gram)
			tr.gram = append(tr.gram, gram)
			p = v.symmetric(m.last[v.d*v.r:])
		}
		tr.u, tr.gradient = append(tr.u, u), append(tr.gradient, g)
		u = orthonormal(v.basis(m.last))
	}
}

// thetas returns, for a victim with one task, theta = U b of every iteration and X'X theta,
// as columns. c is X'y, up to the sign that y and b share.
//
// The gradient is (X'X theta - c) b'. So the direction of b is known, with its sign, since
// c'theta = theta'X'X theta. Its length a is known where B_g B_g' is sent; otherwise that of
// the first iteration follows from the objective |y|^2 - c'theta, and others since X'X is
// symmetric:
//
//	first'(c + gradient beta/a) = theta' X'X first,   theta = a U beta.
func (v *spied) thetas(tr trail, c *mat.VecDense) (thetas, products *mat.Dense) {
	n := len(tr.u)
	thetas, products = mat.NewDense(v.d, n, nil), mat.NewDense(v.d, n, nil)
	var first, image mat.VecDense // theta and X'X theta of the first iteration
	for i, u := range tr.u {
		_, _, beta := leading(tr.gradient[i])
		if tr.gram != nil {
			_, _, beta = leading(tr.gram[i])
		}
		var theta, product mat.VecDense
		if theta.MulVec(u, beta); mat.Dot(&theta, c) < 0 {
			beta.ScaleVec(-1, beta)
			theta.ScaleVec(-1, &theta)
		}
		product.MulVec(tr.gradient[i], beta)
		var a float64
		switch {
		case tr.gram != nil:
			a = math.Sqrt(mat.Trace(tr.gram[i]))
		case i == 0:
			own, _ := v.totals()
			a = (own[3] - v.firstObjective()) / mat.Dot(c, &theta)
		default:
			p, q := mat.Dot(&theta, &image), mat.Dot(&first, c)
			a = (q + math.Sqrt(q*q+4*p*mat.Dot(&first, &product))) / (2 * p)
		}
		theta.ScaleVec(a, &theta)
		product.AddScaledVec(c, 1/a, &product)
		if i == 0 {
			first, image = theta, product
		}
		thetas.SetCol(i, theta.RawVector().Data)
		products.SetCol(i, product.RawVector().Data)
	}
	return thetas, products
}

// firstObjective is the objective that a leaf tells its parent in the first iteration.
func (v *spied) firstObjective() float64 {
	for _, x := range v.rounds {
		if p := x.out[0].riding; len(p) > 0 {
			return decode(p[countLen:], headerDigits, headerLow)[0]
		}
	}
	return math.NaN()
}

// leading returns the largest singular value of a matrix and its vectors.
func leading(m mat.Matrix) (value float64, left, right *mat.VecDense) {
	var svd mat.SVD
	if !svd.Factorize(m, mat.SVDThin) {
		panic("no svd")
	}
	var u, v mat.Dense
	svd.UTo(&u)
	svd.VTo(&v)
	return svd.Values(nil)[0], mat.VecDenseCopyOf(u.ColView(0)), mat.VecDenseCopyOf(v.ColView(0))
}

// curvature is n m, from totals that all nodes know.
func (v *spied) curvature() float64 {
	_, totals := v.totals()
	return totals[2] / (totals[0] * float64(v.d))
}

// truth returns the coefficients, one column a task, and the gradient of the victim for
// a basis, from the data.
func (v *spied) truth(u mat.Matrix) (b, gradient *mat.Dense) {
	b, gradient = mat.NewDense(v.r, len(v.x[v.victim]), nil), mat.NewDense(v.d, v.r, nil)
	for t, x := range v.x[v.victim] {
		var a, e, c, outer mat.Dense
		var bt mat.VecDense
		y := mat.NewVecDense(len(v.y[v.victim][t]), v.y[v.victim][t])
		a.Mul(x, u)
		if err := bt.SolveVec(&a, y); err != nil {
			panic(err)
		}
		b.SetCol(t, bt.RawVector().Data)
		e.Mul(&a, &bt)
		e.Sub(&e, y)
		c.Mul(x.T(), &e)
		outer.Mul(&c, bt.T())
		gradient.Add(gradient, &outer)
	}
	return b, gradient
}

// relative returns |a - b|_F / |b|_F.
func relative(a, b mat.Matrix) float64 {
	var e mat.Dense
	e.Sub(a, b)
	return mat.Norm(&e, 2) / mat.Norm(b, 2)
}

// upToSign is relative for the better sign of a.
func upToSign(a, b mat.Matrix) float64 {
	var minus mat.Dense
	minus.Scale(-1, a)
	return math.Min(relative(a, b), relative(&minus, b))
}

// nystrom returns the matrix A of lowest rank with A W = V, from the singular values
// of W'V above a relative tolerance.
func nystrom(w, v mat.Matrix, tolerance float64) *mat.Dense {
	var core, left, a mat.Dense
	core.Mul(w.T(), v)
	left.Mul(v, pseudoInverse(&core, tolerance))
	a.Mul(&left, v.T())
	return &a
}

func pseudoInverse(m mat.Matrix, tolerance float64) *mat.Dense {
	var svd mat.SVD
	if !svd.Factorize(m, mat.SVDThin) {
		panic("no svd")
	}
	var left, right, inverse mat.Dense
	svd.UTo(&left)
	svd.VTo(&right)
	for j, s := range svd.Values(nil) {
		factor := 0.
		if s > tolerance*svd.Values(nil)[0] {
			factor = 1 / s
		}
		rows, _ := right.Dims()
		for i := range rows {
			right.Set(i, j, right.At(i, j)*factor)
		}
	}
	inverse.Mul(&right, left.T())
	return &inverse
}
