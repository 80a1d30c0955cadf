package difalt

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"slices"

	"github.com/difalt/difalt/kernel"
)

// snapshotVersion changes with the meaning of what a snapshot holds.
const snapshotVersion = 8

// snapshotMagic is how the bytes of a snapshot begin.
const snapshotMagic = "difalt snapshot"

// A Snapshot is the state of a run between two iterations, or at its end. A solver for
// the same problem, network and options that restores it continues with the same bits. It
// is stored as the bytes that MarshalBinary returns, by encoders that look for that method
// or by the caller.
type Snapshot struct {
	iteration int
	state     []byte // by archive
}

// Iteration returns how many iterations the run had done.
func (p *Snapshot) Iteration() int { return p.iteration }

// MarshalBinary returns the snapshot as bytes. It returns no error.
func (p *Snapshot) MarshalBinary() ([]byte, error) {
	b := append([]byte(snapshotMagic), snapshotVersion)
	return append(binary.LittleEndian.AppendUint64(b, uint64(p.iteration)), p.state...), nil
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
	case len(b) < n+9:
		return errors.New("difalt: snapshot: it ends too early")
	}
	p.iteration, p.state = int(int64(binary.LittleEndian.Uint64(b[n+1:]))), slices.Clone(b[n+9:])
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
	a := &archive{writes: true, hosted: s.hosted}
	s.identity(a)
	a.blob(&mixer)
	s.state(a)
	return &Snapshot{s.at.iteration, a.bytes}, a.err
}

// Restore continues from a snapshot of a run of the same problem, network and options.
// On an error, which names what differs, nothing has changed.
func (s *Solver) Restore(snap *Snapshot) error {
	if snap == nil {
		return errors.New("difalt: no snapshot")
	}
	before, at := *s, *s.at
	err := s.restore(snap)
	if err != nil {
		*s, *s.at = before, at
	}
	return err
}

// restore reads a snapshot into memory of its own, and the mixer, which changes nothing on an error, at last.
func (s *Solver) restore(snap *Snapshot) error {
	a := &archive{bytes: snap.state, hosted: s.hosted}
	var mixer []byte
	s.identity(a)
	a.blob(&mixer)
	s.at.u, s.at.moved = newBases(s.at.u), make([]float64, len(s.at.u))
	s.startMethod()
	s.stop = newMonitor(&s.o, s.at, s.exchange)
	s.initial = &Initial{}
	if s.anchors != nil {
		anchors := *s.anchors
		s.anchors = &anchors
	}
	s.state(a)
	if a.of = ""; a.err == nil && len(a.bytes) > 0 {
		a.fail("it has %d bytes too many", len(a.bytes))
	}
	if a.err != nil {
		return a.err
	}
	if err := s.exchange.mixer.UnmarshalBinary(mixer); err != nil {
		return fmt.Errorf("difalt: snapshot: %w", err)
	}
	s.initial.U = clone(s.at.u)
	s.setEta()
	s.records.observed, s.records.enough = s.at.iteration-1, false
	s.atFirstIteration = s.net.Traffic()
	return nil
}

// identity is what tells runs apart: the method, the nodes, and a fingerprint of the data of
// the hosted nodes, the network and the options.
func (s *Solver) identity(a *archive) {
	a.same("the method is %q, but %q here", s.o.Method.String())
	a.same("it is of bases of %v, but of %v here", fmt.Sprintf("%d x %d", s.data.features, s.o.Rank))
	a.same("it is of nodes %v, but %v here", fmt.Sprint(s.hosted))
	a.same("it is of other data, another network or other options: fingerprint %v, here %v", fmt.Sprintf("%016x", s.fingerprint()))
}

// state is all that an archive has to carry so that a run goes on. A canceled one does.
func (s *Solver) state(a *archive) {
	status := s.status
	if status == Canceled {
		status = Running
	}
	if a.data(&status); status > Diverged && status != Undetermined {
		a.fail("status %d", status)
	}
	a.int("the iteration", &s.at.iteration, s.o.Iterations)
	for i, u := range s.at.u {
		a.node(i)
		a.basis("U", u)
		a.data(&s.at.moved[i])
	}
	a.of, a.diverged = "", status == Diverged
	initial, sent := cmp.Or(s.initial, &Initial{}), s.traffic()
	step := []float64{initial.Step}
	a.floats("the step", step)
	a.data(&initial.SigmaSquared)
	a.data(&initial.Traffic)
	a.data(&initial.Compute)
	a.data(&sent)
	a.data(&s.compute)
	if !a.writes {
		s.status, initial.Step, s.restored = status, step[0], sent
	}
	s.method.state(a)
	a.of = ""
	s.stop.state(a)
	if s.anchors != nil {
		s.anchors.state(a)
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

// An archive writes the state of a run as bytes, or reads it: whatever has state describes it once,
// by the calls of a method state, for both. What it reads into is new, and thrown away after an
// error: the first one stays, and from then on nothing is written or read.
type archive struct {
	writes bool
	bytes  []byte // written so far, or yet to be read
	hosted []int
	of     string // the node that the next calls are about, for errors
	err    error
	// diverged says that numbers need not be finite.
	diverged bool
}

// node says that the next calls are about hosted node i.
func (a *archive) node(i int) { a.of = fmt.Sprintf(" of node %d", a.hosted[i]) }

func (a *archive) fail(format string, args ...any) {
	if a.err == nil {
		a.err = fmt.Errorf("difalt: snapshot"+a.of+": "+format, args...)
	}
}

// data is what package binary can write: a pointer to numbers of a fixed size, or a slice.
func (a *archive) data(v any) {
	switch {
	case a.err != nil:
	case a.writes:
		a.bytes, a.err = binary.Append(a.bytes, binary.LittleEndian, v)
	default:
		n, err := binary.Decode(a.bytes, binary.LittleEndian, v)
		if err != nil {
			a.fail("it ends too early")
		}
		a.bytes = a.bytes[n:]
	}
}

// int must be from 0 to most.
func (a *archive) int(what string, v *int, most int) {
	n := int64(*v)
	if a.data(&n); a.err != nil {
		return
	}
	if n < 0 || n > int64(most) {
		a.fail("%s is %d: want 0 to %d", what, n, most)
		return
	}
	*v = int(n)
}

// floats are as many numbers as v has, finite ones.
func (a *archive) floats(what string, v []float64) {
	a.data(v)
	if k := slices.IndexFunc(v, func(x float64) bool { return !finite(x) }); k >= 0 && !a.writes && !a.diverged {
		a.fail("%s, entry %d is %v", what, k, v[k])
	}
}

// basis is d x r finite numbers, by columns.
func (a *archive) basis(what string, u *kernel.Basis) {
	_, r := u.Dims()
	for j := range r {
		a.floats(fmt.Sprintf("%s, column %d", what, j), u.Col(j))
	}
}

// blob is bytes.
func (a *archive) blob(b *[]byte) {
	size := int64(len(*b))
	if a.data(&size); a.err == nil && !a.writes {
		if size < 0 || size > int64(len(a.bytes)) {
			a.fail("it ends too early")
			return
		}
		*b = make([]byte, size)
	}
	a.data(*b)
}

// same is a text that must be the same here; the format takes what it is there and here.
func (a *archive) same(format, here string) {
	there := []byte(here)
	if a.blob(&there); string(there) != here {
		a.fail(format, string(there), here)
	}
}
