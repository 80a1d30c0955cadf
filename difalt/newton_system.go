package difalt

import (
	"math"

	"github.com/difalt/difalt/kernel"
	"gonum.org/v1/gonum/floats"
)

// A newtonSystem is the linear system of a Gauss-Newton step, and how far the conjugate gradients
// are. An iteration makes next of now.
type newtonSystem struct {
	at        *iterate
	now, next newtonState
	scaling   *scaling
	y         *kernel.Basis
	inner     []float64 // r x r
}

// A newtonState is what an iteration leaves to the next.
type newtonState struct {
	newtonNumbers
	x           *kernel.Basis // the step from U
	residual, p *kernel.Basis // of H x = -G, and the direction of the next product
	matrix      []float64     // P at U
}

// newtonNumbers are the numbers of a state. Gradients have the length sqrt(<G, M G>), with the
// preconditioner M.
type newtonNumbers struct {
	solving  bool    // the next iteration adds up H p, and otherwise G at a new U
	products int     // of this system
	gradient float64 // the length of G
	rest     float64 // the square of that of the residual
	forcing  float64 // the part of the former at which the latter is short enough
	length   float64 // |M G|_F, and after the last product what the residual leaves of it
}

const (
	// The forcing term is least .. most, by (|G| / previous |G|)^1.5.
	mostForcing, leastForcing = 0.5, 1e-3
	mostProducts              = 30
)

func newNewtonSystem(at *iterate) *newtonSystem {
	d, r := at.u[0].Dims()
	b := func() *kernel.Basis { return kernel.NewBasis(d, r) }
	state := func() newtonState {
		return newtonState{x: b(), residual: b(), p: b(), matrix: make([]float64, r*(r+1)/2)}
	}
	n := &newtonSystem{at: at, now: state(), next: state(), scaling: newScaling(r), y: b(), inner: make([]float64, r*r)}
	n.now.length = math.Inf(1)
	return n
}

// copyFrom copies v, in memory of its own.
func (s *newtonState) copyFrom(v *newtonState) {
	s.newtonNumbers = v.newtonNumbers
	s.x.CopyFrom(v.x)
	s.residual.CopyFrom(v.residual)
	s.p.CopyFrom(v.p)
	copy(s.matrix, v.matrix)
}

// begin starts the system of the gradient at U, of which P is known.
func (n *newtonSystem) begin(gradient *kernel.Basis, p []float64) {
	before, s := &n.now, &n.next
	copy(s.matrix, p)
	clear(s.x.Data())
	project(gradient, n.at.u[0], n.inner)
	floats.ScaleTo(s.residual.Data(), -1, gradient.Data())
	n.precondition(s)
	s.p.CopyFrom(n.y)
	s.rest = floats.Dot(s.residual.Data(), n.y.Data())
	s.length = floats.Norm(n.y.Data(), 2)
	s.solving, s.gradient = true, math.Sqrt(max(s.rest, 0))
	s.products, s.forcing = 0, mostForcing
	if before.gradient > 0 {
		s.forcing = max(min(math.Pow(s.gradient/before.gradient, 1.5), mostForcing), leastForcing)
	}
}

// advance takes H p, and one step of conjugate gradients.
func (n *newtonSystem) advance(product *kernel.Basis) {
	s := &n.next
	s.copyFrom(&n.now)
	project(product, n.at.u[0], n.inner)
	along := floats.Dot(s.p.Data(), product.Data())
	if !(along > 0) { // to rounding there is no curvature, and no gradient, along p
		if s.products == 0 {
			s.x.CopyFrom(s.p)
		}
		s.solving = false
		return
	}
	alpha := s.rest / along
	floats.AddScaled(s.x.Data(), alpha, s.p.Data())
	floats.AddScaled(s.residual.Data(), -alpha, product.Data())
	n.precondition(s)
	rest := floats.Dot(s.residual.Data(), n.y.Data())
	beta := rest / s.rest
	s.rest = rest
	s.products++
	if !(rest > 0) || math.Sqrt(rest) <= s.forcing*s.gradient || s.products >= mostProducts {
		s.solving = false
		s.length *= math.Sqrt(max(rest, 0)) / s.gradient
		return
	}
	floats.AddScaledTo(s.p.Data(), n.y.Data(), beta, s.p.Data())
}

// whitening sets inner to P^(1/2) to a power of 1 or -1, times the length of the residual to the
// same. Times that of -1 columns and products are alike in size, and codes of all entries in one
// step lose no small ones that the preconditioner would need.
func (n *newtonSystem) whitening(power float64) {
	s := &n.now
	copy(n.scaling.p, s.matrix)
	n.scaling.invert()
	r := len(n.scaling.values)
	largest := n.scaling.values[r-1]
	clear(n.inner)
	for k, v := range n.scaling.values {
		v = math.Pow(math.Sqrt(max(v, largest/condition)*s.rest), power)
		for i := range r {
			for j := range r {
				n.inner[i*r+j] += n.scaling.vectors[i*r+k] * n.scaling.vectors[j*r+k] * v
			}
		}
	}
}

// precondition sets y to the Newton-like step for the residual.
func (n *newtonSystem) precondition(s *newtonState) {
	copy(n.scaling.p, s.matrix)
	n.scaling.invert()
	n.at.newtonStep(n.y, s.residual, n.at.u[0], n.scaling, n.inner)
}

func (s *newtonState) state(a *archive) {
	a.data(&s.solving)
	a.int("the products", &s.products, mostProducts)
	for _, v := range []*float64{&s.gradient, &s.rest, &s.forcing, &s.length} {
		a.data(v)
	}
	a.floats("P", s.matrix)
	for _, v := range []*kernel.Basis{s.x, s.residual, s.p} {
		a.basis("the Gauss-Newton step", v)
	}
}
