package difalt

import (
	"context"

	"github.com/difalt/difalt/topology"
)

// checkEvery is how many iterations pass between two checks of the stop rule,
// since the nodes have to tell one another.
const checkEvery = 10

// moving reports whether the last iteration moved any node's subspace by more than
// the tolerance. The nodes find out by flooding a flag, round by round, over the
// diameter of the graph; that communication is counted.
func (s *Solver) moving(ctx context.Context) (bool, error) {
	for i := range s.flags {
		// z holds the U_g of before the iteration.
		s.raised[i] = s.metrics.toSelf.between(s.u[i], s.z[i]) > s.o.Tolerance
	}
	rounds := s.graph.Diameter()
	if s.o.Method == AltGDmin {
		rounds = 1 // the server sees them all
	}
	for range rounds {
		for i, up := range s.raised {
			s.flags[i][0] = 0
			if up {
				s.flags[i][0] = 1
			}
		}
		if err := s.agree(ctx, s.scheme.mixer, topology.Exact, nil, s.flags, 1); err != nil {
			return false, err
		}
		for i := range s.raised {
			s.raised[i] = s.raised[i] || s.flags[i][0] != 0
		}
	}
	return s.raised[0], nil
}
