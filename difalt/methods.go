package difalt

import (
	"fmt"

	"github.com/difalt/difalt/kernel"
	"gonum.org/v1/gonum/floats"
)

// Method is the algorithm of a Solver.
type Method uint8

const (
	// DifAltGDmin adapts, then combines: every node takes a gradient step on its own U_g, and the nodes
	// average the results (Alg. 3).
	DifAltGDmin Method = iota
	// AltGDmin is the centralised algorithm: a server adds all gradients, and all nodes take the same step.
	AltGDmin
	// DecAltGDmin combines, then adjusts: the nodes average gradients, and every node takes the step on its
	// own U_g.
	DecAltGDmin
	// DGD is the paper's variant of decentralised gradient descent, U_g <- QR((1/deg_g) sum_{j in N_g} U_j -
	// eta grad_g). It stalls at an error that depends on eta.
	DGD
	// Accelerated is Anderson acceleration of a preconditioned step, with sums along a spanning tree. It
	// takes a seventh to a twentieth of the iterations of DifAltGDmin, and depends little on the condition
	// number.
	Accelerated
)

// methods has the short name of every method and the function that starts it with step size eta.
var methods = [...]struct {
	name  string
	start func(s *Solver, eta float64) method
}{
	DifAltGDmin: {"dif", func(_ *Solver, eta float64) method { return diffusion{eta} }},
	AltGDmin:    {"altgdmin", func(_ *Solver, eta float64) method { return adjustment{eta} }},
	DecAltGDmin: {"dec", func(_ *Solver, eta float64) method { return adjustment{eta} }},
	DGD:         {"dgd", func(_ *Solver, eta float64) method { return neighbourDescent{eta} }},
	Accelerated: {"accelerated", newAccelerated},
}

// diffusion is Dif-AltGDmin: Z = Agree(U - eta L grad).
type diffusion struct{ eta float64 }

func (m diffusion) adapt(s *state, i int) { // line 12
	descend(s.z[i], s.u[i], s.groups[i].Grad, m.eta*s.nodes)
}
func (m diffusion) correct(*state, int) {}

// adjustment is Dec-AltGDmin, and AltGDmin if the average is exact: Z = U - Agree(eta L grad).
type adjustment struct{ eta float64 }

func (m adjustment) adapt(s *state, i int) {
	floats.ScaleTo(s.z[i].Data(), m.eta*s.nodes, s.groups[i].Grad.Data())
}

func (m adjustment) correct(s *state, i int) { descend(s.z[i], s.u[i], s.z[i], 1) }

// neighbourDescent is the DGD variant: Z = (mean of the neighbours' U) - eta grad.
type neighbourDescent struct{ eta float64 }

func (m neighbourDescent) adapt(s *state, i int)   { s.z[i].CopyFrom(s.u[i]) }
func (m neighbourDescent) correct(s *state, i int) { descend(s.z[i], s.z[i], s.groups[i].Grad, m.eta) }

// descend computes z = u - step grad. z may be u or grad.
func descend(z, u, grad *kernel.Basis, step float64) {
	floats.AddScaledTo(z.Data(), u.Data(), -step, grad.Data())
}

// String returns the short name that ParseMethod accepts, such as dif.
func (m Method) String() string {
	if int(m) < len(methods) {
		return methods[m].name
	}
	return fmt.Sprintf("Method(%d)", uint8(m))
}

// Methods returns all methods.
func Methods() (list []Method) {
	for m := range methods {
		list = append(list, Method(m))
	}
	return list
}

// ParseMethod returns the method with the given short name.
func ParseMethod(name string) (Method, error) {
	for m := range methods {
		if methods[m].name == name {
			return Method(m), nil
		}
	}
	return 0, fmt.Errorf("difalt: unknown method %q: must be one of %v", name, Methods())
}
