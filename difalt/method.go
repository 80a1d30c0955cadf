package difalt

import (
	"context"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/kernel"
	"gonum.org/v1/gonum/floats"
)

// A method decides what the nodes average and when a node adapts: lines 12 and 13 of
// Alg. 3. What it keeps from one iteration to the next changes in commit only, so
// that an iteration that fails can be tried again.
type method interface {
	// combine computes Z_g of every node in s.z, the matrix whose factor Q is the next
	// U_g, from s.u and s.grads, which it may overwrite.
	combine(ctx context.Context, s *Solver) error
	// commit takes over what combine has prepared, after U_g in s.u has become s.z.
	commit(s *Solver)
	// save and restore carry the state of hosted node i; restore has been given a state
	// that fits. reset forgets all of it.
	save(i int) NodeState
	fits(state *NodeState) bool
	restore(i int, state *NodeState)
	reset()
	// shortened returns how many nodes took a shorter step in the last iteration, and how
	// many could not tell all directions apart.
	shortened() (damped, regularized int)
}

// newMethod returns the method of the options and the mixer by which its nodes meet.
func (s *Solver) newMethod() (m method, meeting *consensus.Mixer, rounds int) {
	switch s.o.Method {
	case AltGDmin:
		return newCombineThenAdjust(s), s.net.NewServer(), 1
	case DecAltGDmin:
		return newCombineThenAdjust(s), s.mixer, s.o.Rounds
	case DGD:
		return newNeighborDescent(s), s.net.NewNeighborMean(s.pool), 1
	case ScaledDiffusion:
		return newScaledDiffusion(s, nil), s.mixer, s.o.Rounds
	case GradientTracking:
		return newScaledDiffusion(s, s.tracker(false)), s.mixer, s.o.Rounds
	case Accelerated:
		return newAccelerated(s, nil), s.mixer, s.o.Rounds
	case AcceleratedTracking:
		return newAccelerated(s, s.tracker(s.o.StopAtNoise)), s.mixer, s.o.Rounds
	}
	return newDiffusion(s), s.mixer, s.o.Rounds
}

// tracker returns what tracks the gradients, or nil along a tree: the sum of all gradients
// is what the nodes get there, and its mean would not survive codes.
func (s *Solver) tracker(patient bool) *tracker {
	if s.o.Agreement.Polynomial == consensus.Tree {
		return nil
	}
	return newTracker(s, patient)
}

// A guarded method wants to hear the objective of all nodes as soon as it is known, and
// may then change s.u, at all nodes alike.
type guarded interface {
	hear(s *Solver, objective float64)
	// step returns how long the last Newton-like step for the data of all nodes was, and
	// the P by which it was scaled, if the nodes know that without another message.
	step(s *Solver) (length float64, p *scaling, ok bool)
	// foundNoise is called when most of an objective turns out to be noise.
	foundNoise(objective float64)
}

// stateless is a method that keeps nothing.
type stateless struct{}

func (stateless) commit(*Solver)          {}
func (stateless) save(int) NodeState      { return NodeState{} }
func (stateless) fits(s *NodeState) bool  { return s.empty() }
func (stateless) restore(int, *NodeState) {}
func (stateless) reset()                  {}
func (stateless) shortened() (int, int)   { return 0, 0 }

// diffusion is DifAltGDmin: adapt, then combine.
type diffusion struct {
	stateless
	adapt func(worker int) // stored, so that calling it does not allocate
}

func newDiffusion(s *Solver) *diffusion {
	return &diffusion{adapt: s.perNode(func(i int) { descend(s.z[i], s.u[i], s.grads[i], s.step()*s.nodeCount()) })}
}

// combine computes Z = Agree(U - eta L grad).
func (m *diffusion) combine(ctx context.Context, s *Solver) error {
	s.pool.Run(m.adapt) // line 12
	return s.exchange(ctx, consensus.StreamBasis, s.z, nil, s.rounds)
}

// combineThenAdjust is Dec-AltGDmin over a network, and AltGDmin through a server.
type combineThenAdjust struct {
	stateless
	adapt func(worker int)
}

func newCombineThenAdjust(s *Solver) *combineThenAdjust {
	return &combineThenAdjust{adapt: s.perNode(func(i int) { descend(s.z[i], s.u[i], s.grads[i], s.step()*s.nodeCount()) })}
}

// combine computes Z = U - eta L Agree(grad).
func (m *combineThenAdjust) combine(ctx context.Context, s *Solver) error {
	if err := s.exchange(ctx, consensus.StreamGradient, s.grads, nil, s.rounds); err != nil {
		return err
	}
	s.pool.Run(m.adapt)
	return nil
}

// neighborDescent is the DGD variant.
type neighborDescent struct {
	stateless
	adapt func(worker int)
}

func newNeighborDescent(s *Solver) *neighborDescent {
	return &neighborDescent{adapt: s.perNode(func(i int) { descend(s.z[i], s.z[i], s.grads[i], s.step()) })}
}

// combine computes Z = (mean of the neighbours' U) - eta grad.
func (m *neighborDescent) combine(ctx context.Context, s *Solver) error {
	for i := range s.z {
		s.z[i].CopyFrom(s.u[i])
	}
	if err := s.exchange(ctx, consensus.StreamBasis, s.z, nil, s.rounds); err != nil {
		return err
	}
	s.pool.Run(m.adapt)
	return nil
}

// descend computes z = u - step grad (Alg. 3, line 12); z may be u.
func descend(z, u, grad *kernel.Basis, step float64) {
	floats.AddScaledTo(z.Data(), u.Data(), -step, grad.Data())
}
