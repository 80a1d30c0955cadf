package difalt

import (
	"context"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/kernel"
	"gonum.org/v1/gonum/floats"
)

// A descent is a method of the paper: what each node does, the bases on which the nodes agree, and
// what each does with what comes of it.
type descent struct {
	stateless
	*setup
	stream consensus.Stream
	shared func() []*kernel.Basis
	// Stored, so that calling them does not allocate; nil is nothing.
	before, after func(worker int)
}

// newDiffusion is DifAltGDmin, adapt, then combine: Z = Agree(U - eta L grad).
func newDiffusion(s *setup) method {
	at, nodes := s.at, s.exchange.nodes()
	return &descent{setup: s, stream: consensus.StreamBasis, shared: at.nextBases,
		before: s.each(func(i int) { descend(at.z[i], at.u[i], at.grads[i], at.eta*nodes) })} // line 12
}

// newAdjustment is DecAltGDmin over a network, and AltGDmin through a server, combine, then adjust:
// Z = U - eta L Agree(grad).
func newAdjustment(s *setup) method {
	at, nodes := s.at, s.exchange.nodes()
	return &descent{setup: s, stream: consensus.StreamGradient, shared: func() []*kernel.Basis { return at.grads },
		after: s.each(func(i int) { descend(at.z[i], at.u[i], at.grads[i], at.eta*nodes) })}
}

// newNeighborDescent is the DGD variant: Z = (mean of the neighbours' U) - eta grad.
func newNeighborDescent(s *setup) method {
	at := s.at
	return &descent{setup: s, stream: consensus.StreamBasis, shared: at.nextBases,
		before: s.each(func(i int) { at.z[i].CopyFrom(at.u[i]) }),
		after:  s.each(func(i int) { descend(at.z[i], at.z[i], at.grads[i], at.eta) })}
}

func (m *descent) combine(ctx context.Context) error {
	if m.before != nil {
		m.pool.Run(m.before)
	}
	if err := m.exchange.agree(ctx, m.stream, m.shared(), nil, m.exchange.rounds); err != nil { // line 13
		return err
	}
	if m.after != nil {
		m.pool.Run(m.after)
	}
	return nil
}

// nextBases returns Z.
func (at *iterate) nextBases() []*kernel.Basis { return at.z }

// descend computes z = u - step grad (Alg. 3, line 12); z may be u.
func descend(z, u, grad *kernel.Basis, step float64) {
	floats.AddScaledTo(z.Data(), u.Data(), -step, grad.Data())
}
