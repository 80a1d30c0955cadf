package difalt

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"time"

	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/kernel"
)

// snapshotVersion changes with the meaning of what a snapshot holds.
const snapshotVersion = 4

// A Snapshot is the state of a run between two iterations. It can be stored with
// any encoder; a solver for the same problem, network and options that restores
// it continues with the same bits.
type Snapshot struct {
	Version int
	// Fingerprint is of the data of the hosted nodes, the network and the options.
	Fingerprint string
	Nodes       []int // hosted
	Method      string
	Iteration   int
	D, Rank     int
	// U[i] holds U_g of node Hosted()[i] by columns, d*r entries, and Moved[i] how far it
	// moved in the last iteration, if that was measured.
	U     [][]float64
	Moved []float64
	// Anchors[i] is the anchor of node Hosted()[i] with MixedPrecision, as U; nil before the
	// first one.
	Anchors [][]float64 `json:",omitempty"`
	// Step is eta; SigmaSquared is where it came from, or 0.
	Step, SigmaSquared   float64
	Traffic, InitTraffic wire.Traffic
	Compute, InitCompute time.Duration
	// Mixer is what the mixer remembers between two iterations, empty if nothing.
	Mixer []byte `json:",omitempty"`
	// State[i] is the further state of node Hosted()[i].
	State []NodeState `json:",omitempty"`
	Stop  StopState
}

// NodeState is what a node carries from one iteration to the next, besides U_g; empty
// for the methods that remember nothing.
type NodeState struct {
	P        []float64      `json:",omitempty"` // its upper triangle, by rows
	Damping  *DampingState  `json:",omitempty"`
	Anderson *AndersonState `json:",omitempty"`
	Tracked  []float64      `json:",omitempty"` // S_g by columns, padded; GradientTracking only
	Previous []float64      `json:",omitempty"` // the last gradient, likewise
}

func (n *NodeState) empty() bool {
	return len(n.P)+len(n.Tracked)+len(n.Previous) == 0 && n.Damping == nil && n.Anderson == nil
}

// DampingState is what a node remembers to choose the length of its step.
type DampingState struct {
	Factor float64   // of the step
	Move   []float64 // the last of U_g, by columns, padded
	Length float64   // of that move
}

// AndersonState is what a node of the accelerated methods remembers: the last l and g,
// their changes, the agreed inner products of those of l, and what the guard goes back to.
type AndersonState struct {
	L, G, M, Norms []float64
	DL, DG         [][]float64
	Filled, Next   int
	Safe, Tried    []float64
	Lowest         *float64
	Known, Waiting bool    // L and G are; the tracker waits
	Floor          float64 // the objective when it began
}

// StopState is what the stop rules remember. Numbers that are not known yet are nil.
type StopState struct {
	Telling, TellAt, Above, Next int
	Start, Best, Move, Objective *float64
	Began                        []float64 // objective of every hosted node at the start
}

func (d *damping) state() DampingState {
	return DampingState{Factor: d.factor, Move: slices.Clone(d.move), Length: d.length}
}

func (d *damping) restore(s *DampingState) {
	copy(d.move, s.Move)
	d.factor, d.length = s.Factor, s.Length
}

func known(v float64) *float64 { // JSON has no NaN and no infinities
	if !finite(v) {
		return nil
	}
	return &v
}

func (w *watch) state() StopState {
	return StopState{
		Telling: w.telling, TellAt: w.tellAt, Above: w.above, Next: w.next, Began: slices.Clone(w.began),
		Start: known(w.start), Best: known(w.best), Move: known(w.move), Objective: known(w.objective),
	}
}

func (w *watch) restore(s *StopState) {
	w.reset()
	w.telling, w.tellAt, w.above, w.next = s.Telling, s.TellAt, s.Above, s.Next
	copy(w.began, s.Began)
	for _, f := range []struct {
		to   *float64
		from *float64
	}{{&w.start, s.Start}, {&w.best, s.Best}, {&w.move, s.Move}, {&w.objective, s.Objective}} {
		if f.from != nil {
			*f.to = *f.from
		}
	}
}

// Snapshot returns a copy of the state, after the initialisation if nothing has
// run yet.
func (s *Solver) Snapshot(ctx context.Context) (*Snapshot, error) {
	s.net.Rewind()
	if err := s.begin(ctx); err != nil {
		return nil, err
	}
	d, r := s.u[0].Dims()
	snap := &Snapshot{
		Version: snapshotVersion, Fingerprint: s.fingerprint(), Nodes: slices.Clone(s.hosted),
		Method: s.o.Method.String(), Iteration: s.iteration, D: d, Rank: r,
		Step: s.eta, SigmaSquared: s.initial.SigmaSquared,
		Traffic: s.traffic(), InitTraffic: s.initial.Traffic, Compute: s.compute, InitCompute: s.initial.Compute,
		Moved: slices.Clone(s.moved), Stop: s.watch.state(),
	}
	for i, u := range s.u {
		snap.U = append(snap.U, columns(u))
		snap.State = append(snap.State, s.method.save(i))
		if s.o.MixedPrecision {
			snap.Anchors = append(snap.Anchors, s.anchor(i))
		}
	}
	var err error
	snap.Mixer, err = s.meeting.MarshalBinary()
	return snap, err
}

func columns(u *kernel.Basis) []float64 {
	_, r := u.Dims()
	var cols []float64
	for j := range r {
		cols = append(cols, u.Col(j)...)
	}
	return cols
}

// basisOf does the reverse; nil for no entries.
func basisOf(cols []float64, d, r int) *kernel.Basis {
	if len(cols) == 0 {
		return nil
	}
	u := kernel.NewBasis(d, r)
	for j := range r {
		copy(u.Col(j), cols[j*d:][:d])
	}
	return u
}

// Restore continues from a snapshot of a run of the same problem, network and options.
// It checks everything first: on an error, which names what differs, nothing has
// changed.
func (s *Solver) Restore(snap *Snapshot) error {
	if err := s.checkSnapshot(snap); err != nil {
		return err
	}
	if err := s.meeting.UnmarshalBinary(snap.Mixer); err != nil {
		return fmt.Errorf("difalt: snapshot: %w", err)
	}
	d, r := s.u[0].Dims()
	for i := range snap.U {
		s.u[i].CopyFrom(basisOf(snap.U[i], d, r))
		s.method.restore(i, &snap.State[i])
	}
	copy(s.moved, snap.Moved)
	s.watch.restore(&snap.Stop)
	s.initial = &Initial{U: clone(s.u), SigmaSquared: snap.SigmaSquared, Step: snap.Step, Traffic: snap.InitTraffic, Compute: snap.InitCompute}
	s.status = Running
	s.anchors = nil
	for _, cols := range snap.Anchors {
		s.anchors = append(s.anchors, basisOf(cols, d, r))
	}
	s.eta, s.iteration, s.observed, s.compute = snap.Step, snap.Iteration, snap.Iteration-1, snap.Compute
	s.begun, s.counted = s.net.Traffic(), snap.Traffic
	return nil
}

// checkSnapshot returns an error if a snapshot is not of this run.
func (s *Solver) checkSnapshot(snap *Snapshot) error {
	if snap == nil {
		return errors.New("difalt: no snapshot")
	}
	d, r := s.u[0].Dims()
	switch {
	case snap.Version != snapshotVersion:
		return fmt.Errorf("difalt: snapshot has version %d, this is version %d", snap.Version, snapshotVersion)
	case snap.Method != s.o.Method.String():
		return fmt.Errorf("difalt: snapshot is of method %q, the solver runs %v", snap.Method, s.o.Method)
	case snap.D != d || snap.Rank != r:
		return fmt.Errorf("difalt: snapshot has bases of %d x %d, the problem %d x %d", snap.D, snap.Rank, d, r)
	case !slices.Equal(snap.Nodes, s.hosted):
		return fmt.Errorf("difalt: snapshot is of nodes %v, the solver hosts %v", snap.Nodes, s.hosted)
	case snap.Fingerprint != s.fingerprint():
		return fmt.Errorf("difalt: snapshot is of other data, another network or other options: fingerprint %s, here %s", snap.Fingerprint, s.fingerprint())
	case snap.Iteration < 0 || snap.Iteration > s.o.Iterations:
		return fmt.Errorf("difalt: snapshot has iteration %d of %d", snap.Iteration, s.o.Iterations)
	case !(snap.Step > 0) || !finite(snap.Step):
		return fmt.Errorf("difalt: snapshot has step %v", snap.Step)
	case len(snap.Anchors) != 0 && len(snap.Anchors) != len(s.u), s.o.MixedPrecision != (len(snap.Anchors) != 0):
		return fmt.Errorf("difalt: snapshot has %d anchors for %d nodes", len(snap.Anchors), len(s.u))
	case len(snap.U) != len(s.u) || len(snap.Moved) != len(s.u) || len(snap.State) != len(s.u) || len(snap.Stop.Began) != len(s.u):
		return fmt.Errorf("difalt: snapshot has %d bases, %d moves, %d states and %d objectives for %d nodes", len(snap.U), len(snap.Moved), len(snap.State), len(snap.Stop.Began), len(s.u))
	}
	for i, g := range s.hosted {
		if len(snap.U[i]) != d*r {
			return fmt.Errorf("difalt: snapshot of node %d has %d entries, want %d", g, len(snap.U[i]), d*r)
		}
		for k, v := range snap.U[i] {
			if !finite(v) {
				return fmt.Errorf("difalt: snapshot of node %d, row %d, column %d is %v", g, k%d, k/d, v)
			}
		}
		if s.o.MixedPrecision {
			if a := snap.Anchors[i]; len(a) != 0 && len(a) != d*r {
				return fmt.Errorf("difalt: snapshot of node %d has an anchor of %d entries, want %d", g, len(a), d*r)
			}
			for _, v := range snap.Anchors[i] {
				if !finite(v) {
					return fmt.Errorf("difalt: snapshot of node %d has an anchor with %v", g, v)
				}
			}
		}
		state := &snap.State[i]
		if !s.method.fits(state) || state.empty() != snap.State[0].empty() {
			return fmt.Errorf("difalt: snapshot of node %d has a state of another shape", g)
		}
		for _, v := range slices.Concat(state.P, state.Tracked, state.Previous) {
			if !finite(v) {
				return fmt.Errorf("difalt: snapshot of node %d has a state with %v", g, v)
			}
		}
	}
	return nil
}

// fingerprint tells runs apart: by the options, the network, and every number of the
// hosted nodes' data.
func (s *Solver) fingerprint() string {
	h := fnv.New64a()
	fmt.Fprint(h, s.wish())
	sum := h.Sum64()
	mix := func(v float64) {
		sum = (sum ^ math.Float64bits(v)) * 0x9e3779b97f4a7c15
		sum ^= sum >> 29
	}
	row := make([]float64, s.p.Nodes[0].Features())
	for _, k := range s.p.Nodes {
		for t := range k.Len() {
			for n, y := range k.Y(t) {
				for _, v := range k.Row(row, t, n) {
					mix(v)
				}
				mix(y)
			}
			mix(float64(t))
		}
	}
	return fmt.Sprintf("%016x", sum)
}

// traffic returns what the iterations have sent.
func (s *Solver) traffic() wire.Traffic {
	return s.net.Traffic().Minus(s.begun).Plus(s.counted)
}
