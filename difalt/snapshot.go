package difalt

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"time"
)

// snapshotVersion changes with the meaning of what a snapshot holds.
const snapshotVersion = 5

// snapshotMagic is how the bytes of a snapshot begin.
const snapshotMagic = "difalt snapshot"

// A Snapshot is the state of a run between two iterations, or at its end. A solver for
// the same problem, network and options that restores it continues with the same bits. It
// is stored as the bytes that MarshalBinary returns, by encoders that look for that method
// or by the caller.
type Snapshot struct {
	iteration int
	method    string
	dims      [2]int // d and r
	nodes     []int  // hosted
	// fingerprint is of the data of the hosted nodes, the network and the options.
	fingerprint uint64
	mixer       []byte // what the mixer carries from one iteration to the next
	state       []byte // by archive
}

// Iteration returns how many iterations the run had done.
func (p *Snapshot) Iteration() int { return p.iteration }

// MarshalBinary returns the snapshot as bytes. It returns no error.
func (p *Snapshot) MarshalBinary() ([]byte, error) {
	b := append([]byte(snapshotMagic), snapshotVersion)
	for _, v := range slices.Concat([]int{p.iteration, p.dims[0], p.dims[1], len(p.nodes)}, p.nodes) {
		b = binary.AppendUvarint(b, uint64(v))
	}
	b = binary.LittleEndian.AppendUint64(b, p.fingerprint)
	for _, part := range [][]byte{[]byte(p.method), p.mixer} {
		b = append(binary.AppendUvarint(b, uint64(len(part))), part...)
	}
	return append(b, p.state...), nil
}

// UnmarshalBinary reads bytes of MarshalBinary, which are copied. It returns an error, and
// leaves the snapshot as it was, if they do not begin like a snapshot of this version;
// whether they fit a run is for Solver.Restore to say.
func (p *Snapshot) UnmarshalBinary(b []byte) error {
	n := len(snapshotMagic)
	switch {
	case len(b) <= n || string(b[:n]) != snapshotMagic:
		return errors.New("difalt: not a snapshot")
	case b[n] != snapshotVersion:
		return fmt.Errorf("difalt: snapshot has version %d, this is version %d", b[n], snapshotVersion)
	}
	b, whole := b[n+1:], true
	number := func() int {
		v, n := binary.Uvarint(b)
		if whole = whole && n > 0 && v <= math.MaxInt32; !whole {
			return 0
		}
		b = b[n:]
		return int(v)
	}
	cut := func(n int) []byte {
		if whole = whole && n <= len(b); !whole {
			return make([]byte, 8)
		}
		part := b[:n]
		b = b[n:]
		return slices.Clone(part)
	}
	var q Snapshot
	q.iteration, q.dims = number(), [2]int{number(), number()}
	for k := number(); k > 0 && whole; k-- {
		q.nodes = append(q.nodes, number())
	}
	q.fingerprint = binary.LittleEndian.Uint64(cut(8))
	q.method = string(cut(number()))
	q.mixer, q.state = cut(number()), slices.Clone(b)
	if !whole {
		return errors.New("difalt: the snapshot ends too early")
	}
	*p = q
	return nil
}

// Snapshot returns a copy of the state, after the initialisation if nothing has
// run yet.
func (s *Solver) Snapshot(ctx context.Context) (*Snapshot, error) {
	s.net.Rewind()
	if err := s.begin(ctx); err != nil {
		return nil, err
	}
	mixer, err := s.exchange.mixer.MarshalBinary()
	if err != nil {
		return nil, err
	}
	a := &archive{mode: writing, hosted: s.hosted}
	s.state(a)
	return &Snapshot{
		iteration: s.at.iteration, method: s.o.Method.String(), dims: [2]int{s.data.features, s.o.Rank},
		nodes: slices.Clone(s.hosted), fingerprint: s.fingerprint(), mixer: mixer, state: a.bytes,
	}, a.err
}

// Restore continues from a snapshot of a run of the same problem, network and options.
// It checks everything first: on an error, which names what differs, nothing has
// changed.
func (s *Solver) Restore(snap *Snapshot) error {
	if err := s.checkSnapshot(snap); err != nil {
		return err
	}
	if err := s.exchange.mixer.UnmarshalBinary(snap.mixer); err != nil {
		return fmt.Errorf("difalt: snapshot: %w", err)
	}
	s.method.reset()
	s.stop.reset()
	s.initial = &Initial{}
	s.state(&archive{mode: reading, bytes: snap.state, hosted: s.hosted})
	s.initial.U, s.initial.Step = clone(s.at.u), s.step
	s.setEta()
	s.records.observed = s.at.iteration - 1
	s.atFirstIteration = s.net.Traffic()
	return nil
}

// checkSnapshot returns an error if a snapshot is not of this run.
func (s *Solver) checkSnapshot(snap *Snapshot) error {
	if snap == nil {
		return errors.New("difalt: no snapshot")
	}
	switch dims := [2]int{s.data.features, s.o.Rank}; {
	case snap.method != s.o.Method.String():
		return fmt.Errorf("difalt: snapshot is of method %q, the solver runs %v", snap.method, s.o.Method)
	case snap.dims != dims:
		return fmt.Errorf("difalt: snapshot has bases of %v, the problem %v", snap.dims, dims)
	case !slices.Equal(snap.nodes, s.hosted):
		return fmt.Errorf("difalt: snapshot is of nodes %v, the solver hosts %v", snap.nodes, s.hosted)
	case snap.fingerprint != s.fingerprint():
		return fmt.Errorf("difalt: snapshot is of other data, another network or other options: fingerprint %016x, here %016x", snap.fingerprint, s.fingerprint())
	}
	a := &archive{mode: checking, bytes: snap.state, hosted: s.hosted}
	s.state(a)
	if a.err == nil && len(a.bytes) > 0 {
		a.of = ""
		a.fail("it has %d bytes too many", len(a.bytes))
	}
	return a.err
}

// state is all that an archive has to carry so that a run goes on. A canceled one does.
func (s *Solver) state(a *archive) {
	status := int(s.status)
	if s.status == Canceled {
		status = int(Running)
	}
	status = a.int("the status", &status, int(Running), int(Diverged))
	a.int("the iteration", &s.at.iteration, 0, s.o.Iterations)
	for i, u := range s.at.u {
		a.node(i)
		a.basis("U", u)
		a.number(&s.at.moved[i])
	}
	a.of, a.diverged = "", Status(status) == Diverged
	initial, sent, compute := &Initial{}, s.traffic(), int64(s.compute)
	if s.initial != nil {
		initial = s.initial
	}
	initCompute := int64(initial.Compute)
	step := []float64{s.step}
	a.finite("the step", step)
	a.number(&initial.SigmaSquared)
	a.traffic(&initial.Traffic)
	a.traffic(&sent)
	a.int64(&initCompute)
	a.int64(&compute)
	s.method.state(a)
	a.of = ""
	s.stop.state(a)
	if s.anchors != nil {
		s.anchors.state(a)
	}
	if a.mode == reading {
		s.status, s.step, s.restored = Status(status), step[0], sent
		s.compute, initial.Compute = time.Duration(compute), time.Duration(initCompute)
	}
}

// fingerprint tells runs apart: by the settings, and every number of the hosted nodes'
// data.
func (s *Solver) fingerprint() uint64 {
	h := fnv.New64a()
	fmt.Fprint(h, s.settings())
	sum := h.Sum64()
	mix := func(v float64) {
		sum = (sum ^ math.Float64bits(v)) * 0x9e3779b97f4a7c15
		sum ^= sum >> 29
	}
	row := make([]float64, s.data.features)
	for _, k := range s.problem.Nodes {
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
	return sum
}
