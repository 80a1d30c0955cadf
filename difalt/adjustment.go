package difalt

import (
	"context"

	"github.com/difalt/difalt/consensus"
)

// adjustment is Dec-AltGDmin over a network, and AltGDmin through a server: combine, then
// adjust.
type adjustment struct {
	stateless
	*setup
	adjust func(worker int) // stored, so that calling it does not allocate
}

func newAdjustment(s *setup) method {
	at, nodes := s.at, s.exchange.nodes()
	return &adjustment{setup: s, adjust: s.each(func(i int) { descend(at.z[i], at.u[i], at.grads[i], at.eta*nodes) })}
}

// combine computes Z = U - eta L Agree(grad).
func (m *adjustment) combine(ctx context.Context) error {
	if err := m.exchange.agree(ctx, consensus.StreamGradient, m.at.grads, nil, m.exchange.rounds); err != nil {
		return err
	}
	m.pool.Run(m.adjust)
	return nil
}
