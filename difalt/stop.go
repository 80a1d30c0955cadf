package difalt

import (
	"context"
	"math"

	"github.com/difalt/difalt/topology"
)

// checkEvery is how many iterations pass between two checks of the stop rule,
// since the nodes have to tell one another.
const checkEvery = 10

// settled reports whether the stop rules that the options ask for are met. All
// nodes come to the same answer in the same iteration.
func (s *Solver) settled(ctx context.Context) (bool, error) {
	if s.o.Tolerance == 0 && !s.o.StopAtNoise || s.iteration%checkEvery != 0 {
		return false, nil
	}
	enough := s.o.Tolerance
	if s.o.StopAtNoise {
		noise, err := s.statisticalError(ctx)
		if err != nil {
			return false, err
		}
		enough = max(enough, 0.1*noise, 1e-14)
	}
	for i := range s.flags {
		// z holds the U_g of before the iteration.
		last := s.metrics.toSelf.between(s.u[i], s.z[i])
		s.raised[i] = last > s.o.Tolerance
		if s.o.StopAtNoise {
			// Moves fall by a factor rho an iteration and sum to move rho/(1 - rho).
			rho := math.Pow(last/s.lastMove[i], 1./checkEvery)
			s.raised[i] = !(last*rho/(1-rho) < enough && rho < 1)
			s.lastMove[i] = last
		}
	}
	moving, err := s.flood(ctx)
	return !moving, err
}

// flood reports whether any node has raised its flag: the nodes pass flags on,
// round by round, over the diameter of the graph. That communication is counted.
func (s *Solver) flood(ctx context.Context) (bool, error) {
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

// statisticalError estimates the subspace distance that noise of variance v leaves
// in the best U: each of the d(r) free directions is known to v/(n lambda_min) with
// lambda_min the smallest eigenvalue of sum_t b_t b_t', so
//
//	SD ~ sqrt(v d / (n lambda_min)),  v = |residual|^2 / (samples - Tr - dr).
//
// The nodes agree on the residual and on sum_t b_t b_t'.
func (s *Solver) statisticalError(ctx context.Context) (float64, error) {
	l, r := float64(s.nodes()), s.o.Rank
	d, _ := s.u[0].Dims()
	scaling := s.noise
	for i, g := range s.groups {
		scaling.gather(g.B, l)
		copy(s.moments[i], scaling.p)
		s.moments[i][len(scaling.p)] = l * g.Objective
	}
	rounds := s.o.InitRounds
	if s.o.Method == AltGDmin {
		rounds = 1
	}
	if err := s.agree(ctx, s.scheme.mixer, topology.Exact, nil, s.moments, rounds); err != nil {
		return 0, err
	}
	copy(scaling.p, s.moments[0])
	scaling.invert()
	least := scaling.values[0]
	free := float64(s.p.TotalSamples - s.p.TotalTasks*r - d*r)
	if least <= 0 || free <= 0 {
		return 0, nil
	}
	return math.Sqrt(s.moments[0][len(scaling.p)] / free * float64(d) / (s.meanSamples() * least)), nil
}
