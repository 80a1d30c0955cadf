package difalt

import (
	"context"
	"encoding"
	"fmt"
	"time"

	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/topology"
)

// A Snapshot is the state of a run between two iterations. It can be stored with
// any encoder; a solver for the same problem, network and options that restores
// it continues with the same bits; with MixedPrecision it agrees to rounding.
type Snapshot struct {
	Method    string
	Iteration int
	D, Rank   int
	// U[i] holds U_g of node Hosted()[i] by columns, d*r entries.
	U [][]float64
	// Step is eta; SigmaSquared is where it came from, or 0.
	Step, SigmaSquared   float64
	Traffic, InitTraffic topology.Traffic
	Compute              time.Duration
	// Moves is what Options.StopAtNoise remembers of node i, empty without it.
	Moves []float64 `json:",omitempty"`
	// Mixer is what the mixer remembers between two iterations, empty if nothing.
	Mixer []byte `json:",omitempty"`
	// Scaled[i] is the further state of node i with ScaledDiffusion and
	// GradientTracking, empty otherwise.
	Scaled []ScaledState `json:",omitempty"`
}

// ScaledState is what a node of ScaledDiffusion or GradientTracking carries from
// one iteration to the next, besides U_g.
type ScaledState struct {
	P        []float64 // its upper triangle, by rows
	Damping  DampingState
	Tracked  []float64 `json:",omitempty"` // S_g by columns, padded; GradientTracking only
	Previous []float64 `json:",omitempty"` // the last gradient, likewise
}

// DampingState is what a node remembers to choose the length of its step.
type DampingState struct {
	Factor       float64   // of the step
	Move         []float64 // the last of U_g, by columns, padded
	Length, Rate float64   // of moves
	Window       [2]float64
	Count        int
}

func (d *damping) state() DampingState {
	return DampingState{
		Factor: d.factor, Move: append([]float64(nil), d.move...), Length: d.length, Rate: d.rate,
		Window: [2]float64{d.sum, d.last}, Count: d.count,
	}
}

func (d *damping) restore(s *DampingState) {
	copy(d.move, s.Move)
	d.factor, d.length, d.rate = s.Factor, s.Length, s.Rate
	d.sum, d.last, d.count = s.Window[0], s.Window[1], s.Count
}

// Snapshot returns a copy of the state, after the initialisation if nothing has
// run yet.
func (s *Solver) Snapshot(ctx context.Context) (*Snapshot, error) {
	if err := s.begin(ctx); err != nil {
		return nil, err
	}
	d, r := s.u[0].Dims()
	snap := &Snapshot{
		Method: s.o.Method.String(), Iteration: s.iteration, D: d, Rank: r,
		Step: s.step, SigmaSquared: s.initial.SigmaSquared,
		Traffic: s.traffic(), InitTraffic: s.initial.Traffic, Compute: s.compute,
		Moves: append([]float64(nil), s.lastMove...),
	}
	for _, u := range s.u {
		cols := make([]float64, 0, d*r)
		for j := range r {
			cols = append(cols, u.Col(j)...)
		}
		snap.U = append(snap.U, cols)
	}
	if s.shared {
		snap.Scaled = s.scaledState()
	}
	if m, ok := s.scheme.mixer.(encoding.BinaryMarshaler); ok {
		var err error
		if snap.Mixer, err = m.MarshalBinary(); err != nil {
			return nil, err
		}
	}
	return snap, nil
}

// Restore continues from a snapshot of a run of the same problem and method. It
// returns an error, and changes nothing, if the snapshot does not fit.
func (s *Solver) Restore(snap *Snapshot) error {
	d, r := s.u[0].Dims()
	switch {
	case snap.Method != s.o.Method.String():
		return fmt.Errorf("difalt: snapshot is of method %q, the solver runs %v", snap.Method, s.o.Method)
	case snap.D != d || snap.Rank != r:
		return fmt.Errorf("difalt: snapshot has bases of %d x %d, the problem %d x %d", snap.D, snap.Rank, d, r)
	case len(snap.U) != len(s.u):
		return fmt.Errorf("difalt: snapshot has %d nodes, the solver hosts %d", len(snap.U), len(s.u))
	case snap.Iteration < 0:
		return fmt.Errorf("difalt: snapshot has iteration %d", snap.Iteration)
	case !(snap.Step > 0) || !finite(snap.Step):
		return fmt.Errorf("difalt: snapshot has step %v", snap.Step)
	}
	for i, cols := range snap.U {
		if len(cols) != d*r {
			return fmt.Errorf("difalt: snapshot of node %d has %d entries, want %d", s.hosted[i], len(cols), d*r)
		}
		for k, v := range cols {
			if !finite(v) {
				return fmt.Errorf("difalt: snapshot of node %d, row %d, column %d is %v", s.hosted[i], k%d, k/d, v)
			}
		}
	}
	if err := s.restoreScaled(snap); err != nil {
		return err
	}
	if m, ok := s.scheme.mixer.(encoding.BinaryUnmarshaler); ok {
		if err := m.UnmarshalBinary(snap.Mixer); err != nil {
			return fmt.Errorf("difalt: snapshot: %w", err)
		}
	} else if len(snap.Mixer) > 0 {
		return fmt.Errorf("difalt: snapshot has %d bytes of a mixer that keeps state, and this one keeps none", len(snap.Mixer))
	}
	u := make([]*kernel.Basis, len(s.u))
	for i, cols := range snap.U {
		u[i] = kernel.NewBasis(d, r)
		for j := range r {
			copy(u[i].Col(j), cols[j*d:][:d])
		}
		s.u[i].CopyFrom(u[i])
	}
	s.initial = &Initial{U: u, SigmaSquared: snap.SigmaSquared, Step: snap.Step, Traffic: snap.InitTraffic}
	copy(s.lastMove, snap.Moves)
	s.restored = snap.Iteration > 0
	s.step, s.iteration, s.compute = snap.Step, snap.Iteration, snap.Compute
	// Count on from the snapshot's traffic.
	s.begun = s.scheme.mixer.Traffic().Minus(snap.Traffic)
	return nil
}

// traffic returns what the iterations have sent.
func (s *Solver) traffic() topology.Traffic {
	return s.scheme.mixer.Traffic().Minus(s.begun)
}

func (s *Solver) scaledState() []ScaledState {
	var states []ScaledState
	for i, c := range s.scalings {
		state := ScaledState{
			P: append([]float64(nil), c.p...), Damping: c.damping.state(),
		}
		if s.tracker != nil {
			state.Tracked = append(state.Tracked, s.tracker.sum[i].Data()...)
			state.Previous = append(state.Previous, s.tracker.previous[i].Data()...)
		}
		states = append(states, state)
	}
	return states
}

func (s *Solver) restoreScaled(snap *Snapshot) error {
	if len(snap.Scaled) == 0 && (s.scalings == nil || snap.Iteration == 0) {
		s.shared = false
		return nil
	}
	if len(snap.Scaled) != len(s.scalings) {
		return fmt.Errorf("difalt: snapshot has the scaled state of %d nodes, want %d", len(snap.Scaled), len(s.scalings))
	}
	size := 0
	if s.tracker != nil {
		size = len(s.u[0].Data())
	}
	for i, state := range snap.Scaled {
		if len(state.P) != len(s.scales[0]) || len(state.Damping.Move) != len(s.u[0].Data()) || len(state.Tracked) != size || len(state.Previous) != size {
			return fmt.Errorf("difalt: snapshot of node %d has a scaled state of another shape", s.hosted[i])
		}
	}
	for i, state := range snap.Scaled {
		c := s.scalings[i]
		copy(c.p, state.P)
		c.damping.restore(&state.Damping)
		if s.tracker != nil {
			copy(s.tracker.sum[i].Data(), state.Tracked)
			copy(s.tracker.previous[i].Data(), state.Previous)
		}
	}
	s.shared = true
	return nil
}
