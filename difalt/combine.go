package difalt

import (
	"context"
	"errors"
	"time"

	"github.com/difalt/difalt/topology"
	"gonum.org/v1/gonum/floats"
)

// scheme is how a method lets its nodes meet.
type scheme struct {
	mixer  topology.Mixer
	rounds int
	scale  float64 // eta times this is the step of a node on what it holds
}

func (s *Solver) newScheme() (scheme, error) {
	l := float64(s.nodes())
	switch s.o.Method {
	case AltGDmin:
		if len(s.hosted) != s.nodes() {
			return scheme{}, errors.New("difalt: AltGDmin is centralised: all nodes must live in this process")
		}
		return scheme{topology.NewServer(s.nodes(), s.pool), 1, l}, nil
	case DGD:
		if len(s.hosted) != s.nodes() {
			return scheme{}, errors.New("difalt: DGD averages over neighbours without AGREE: all nodes must live in this process")
		}
		return scheme{topology.NewNeighborMean(s.graph, s.pool), 1, 1}, nil
	}
	return scheme{s.mixer, s.o.Rounds, l}, nil
}

// combine computes Z_g of every node, the matrix whose factor Q is the next U_g,
// and returns how long the averaging took.
func (s *Solver) combine(ctx context.Context) (mixing time.Duration, err error) {
	start := time.Now()
	adapting := time.Duration(0)
	adapt := func(f func(worker int)) {
		before := time.Now()
		s.pool.Run(f)
		adapting += time.Since(before)
	}
	switch s.o.Method {
	case DifAltGDmin: // adapt, then combine: Z = Agree(U - eta L grad)
		s.base = s.u
		adapt(s.adapt)
		err = s.agree(ctx, s.scheme.mixer, topology.StreamBasis, s.z, nil, s.scheme.rounds)
	case DecAltGDmin, AltGDmin: // combine, then adjust: Z = U - eta L Agree(grad)
		err = s.agree(ctx, s.scheme.mixer, topology.StreamGradient, s.grads, nil, s.scheme.rounds)
		s.base = s.u
		adapt(s.adapt)
	case DGD: // Z = mean of the neighbours' U - eta grad
		for i := range s.z {
			s.z[i].CopyFrom(s.u[i])
		}
		err = s.agree(ctx, s.scheme.mixer, topology.StreamBasis, s.z, nil, s.scheme.rounds)
		s.base = s.z
		adapt(s.adapt)
	case ScaledDiffusion, GradientTracking: // Z, P = Agree(U - (s/n) L grad P^-1, L B B')
		if err = s.prepareScaled(ctx); err == nil {
			adapt(s.adaptScaled)
			err = s.agree(ctx, s.scheme.mixer, topology.StreamBasis, s.z, s.scales, s.scheme.rounds)
		}
	}
	return time.Since(start) - adapting, err
}

// adaptNode computes Z = base - eta scale grad at one node (Alg. 3, line 12); base
// is U or Z.
func (s *Solver) adaptNode(i int) {
	step := s.step * s.scheme.scale
	floats.AddScaledTo(s.z[i].Data(), s.base[i].Data(), -step, s.grads[i].Data())
}
