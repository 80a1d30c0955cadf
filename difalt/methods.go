package difalt

import (
	"fmt"
	"strings"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/internal/rounded"
	"github.com/difalt/difalt/kernel"
	"gonum.org/v1/gonum/floats"
)

// Method is the algorithm of a Solver.
type Method uint8

const (
	// DifAltGDmin adapts, then combines: every node takes a gradient step on its own U_g, and the nodes
	// average the results (Alg. 3).
	DifAltGDmin Method = iota
	// AltGDmin is the centralised algorithm: a server adds all gradients, and all nodes take one step.
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

// A method is an algorithm without its loop. Every iteration evaluates the gradient at U_g, and lets the
// method prepare and write the messages. It averages them by an exchange of the method, and lets the method
// make the next U_g. The loop calls message and update for several nodes at a time.
type method interface {
	// exchange returns the exchange of messages.
	exchange(net *consensus.Network, pool *kernel.Pool) (consensus.Exchange, error)
	// start begins at p, without a memory.
	start(p *point)
	// codec returns the representation of numbers in the message of this iteration.
	codec(p *point) consensus.Codec
	// prepare computes what messages need besides the gradient. It may use all workers.
	prepare(p *point, pool *kernel.Pool)
	// message sets m, the message of hosted node i (Alg. 3, line 12).
	message(p *point, i int, m *consensus.Message)
	// update turns the average in m into the matrix whose factor Q is the next U_g (line 13). If the exchange
	// is exact, the loop calls it for the first hosted node alone.
	update(p *point, i int, m *consensus.Message)
}

// A stepper is a method whose last step all nodes know. Then a short step is a reason for a check.
type stepper interface {
	// lastStep returns the length of the last Newton-like step; infinite before the first one.
	lastStep() float64
}

// methods has the short name of every method, and the function that makes it.
var methods = [...]struct {
	name string
	make func(o *Options) method
}{
	DifAltGDmin: {"dif", func(o *Options) method { return diffusion{gossip{o: o}} }},
	AltGDmin:    {"altgdmin", func(*Options) method { return centralised{} }},
	DecAltGDmin: {"dec", func(o *Options) method { return adjustment{gossip{o: o}} }},
	DGD:         {"dgd", func(*Options) method { return neighbourDescent{} }},
	Accelerated: {"accelerated", newAccelerated},
}

// plain is the part of a method without a memory, which sends numbers as they are.
type plain struct{}

func (plain) start(*point)                 {}
func (plain) codec(*point) consensus.Codec { return consensus.Float64 }
func (plain) prepare(*point, *kernel.Pool) {}

// gossip is the part of a method that averages by AGREE.
type gossip struct {
	plain
	o *Options
}

func (g gossip) exchange(net *consensus.Network, pool *kernel.Pool) (consensus.Exchange, error) {
	return g.o.average(net, g.o.Rounds, pool)
}

// diffusion is Dif-AltGDmin: Z = Agree(U - eta L grad).
type diffusion struct{ gossip }

func (diffusion) message(p *point, i int, m *consensus.Message) {
	descend(m.Basis, p.u[i], p.at[i].grad, p.eta*p.nodes)
}

func (diffusion) update(*point, int, *consensus.Message) {}

// adjustment is Dec-AltGDmin: Z = U - Agree(eta L grad).
type adjustment struct{ gossip }

func (adjustment) message(p *point, i int, m *consensus.Message) { sendStep(p, i, m) }

func (adjustment) update(p *point, i int, m *consensus.Message) { descend(m.Basis, p.u[i], m.Basis, 1) }

// centralised is AltGDmin: Z = U - eta sum_g grad_g.
type centralised struct{ plain }

func (centralised) exchange(net *consensus.Network, _ *kernel.Pool) (consensus.Exchange, error) {
	return net.ServerMean(), nil
}

func (centralised) message(p *point, i int, m *consensus.Message) { sendStep(p, i, m) }

func (centralised) update(p *point, i int, m *consensus.Message) {
	descend(m.Basis, p.u[i], m.Basis, 1)
}

// sendStep sets a message to eta L grad.
func sendStep(p *point, i int, m *consensus.Message) {
	floats.ScaleTo(m.Basis.Data(), p.eta*p.nodes, p.at[i].grad.Data())
}

// neighbourDescent is the DGD variant: Z = (mean of the neighbours' U) - eta grad.
type neighbourDescent struct{ plain }

func (neighbourDescent) exchange(net *consensus.Network, pool *kernel.Pool) (consensus.Exchange, error) {
	return net.NeighbourMean(pool), nil
}

func (neighbourDescent) message(p *point, i int, m *consensus.Message) { m.Basis.CopyFrom(p.u[i]) }

func (neighbourDescent) update(p *point, i int, m *consensus.Message) {
	descend(m.Basis, m.Basis, p.at[i].grad, p.eta)
}

// descend computes z = u - step grad. z may be u or grad.
func descend(z, u, grad *kernel.Basis, step float64) {
	rounded.AddScaledTo(z.Data(), u.Data(), -step, grad.Data())
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
	return 0, fmt.Errorf("difalt: unknown method %q: must be one of %s", name, methodNames())
}

// methodNames lists the names of all methods.
func methodNames() string {
	var names []string
	for m := range methods {
		names = append(names, methods[m].name)
	}
	return strings.Join(names, ", ")
}
