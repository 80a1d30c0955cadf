package difalt

import (
	"context"

	"github.com/difalt/difalt/consensus"
)

// neighborDescent is the DGD variant.
type neighborDescent struct {
	stateless
	*setup
	adapt func(worker int) // stored, so that calling it does not allocate
}

func newNeighborDescent(s *setup) method {
	at := s.at
	return &neighborDescent{setup: s, adapt: s.each(func(i int) { descend(at.z[i], at.z[i], at.grads[i], at.eta) })}
}

// combine computes Z = (mean of the neighbours' U) - eta grad.
func (m *neighborDescent) combine(ctx context.Context) error {
	for i, z := range m.at.z {
		z.CopyFrom(m.at.u[i])
	}
	if err := m.exchange.agree(ctx, consensus.StreamBasis, m.at.z, nil, m.exchange.rounds); err != nil {
		return err
	}
	m.pool.Run(m.adapt)
	return nil
}
