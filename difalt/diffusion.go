package difalt

import (
	"context"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/kernel"
	"gonum.org/v1/gonum/floats"
)

// diffusion is DifAltGDmin: adapt, then combine.
type diffusion struct {
	stateless
	*setup
	adapt func(worker int) // stored, so that calling it does not allocate
}

func newDiffusion(s *setup) method {
	at, nodes := s.at, s.exchange.nodes()
	return &diffusion{setup: s, adapt: s.each(func(i int) { descend(at.z[i], at.u[i], at.grads[i], at.eta*nodes) })}
}

// combine computes Z = Agree(U - eta L grad).
func (m *diffusion) combine(ctx context.Context) error {
	m.pool.Run(m.adapt) // line 12
	return m.exchange.agree(ctx, consensus.StreamBasis, m.at.z, nil, m.exchange.rounds)
}

// descend computes z = u - step grad (Alg. 3, line 12); z may be u.
func descend(z, u, grad *kernel.Basis, step float64) {
	floats.AddScaledTo(z.Data(), u.Data(), -step, grad.Data())
}
