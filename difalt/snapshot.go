package difalt

import (
	"bytes"
	"encoding/binary"
	"encoding/gob"
	"errors"
	"fmt"
	"hash/crc32"
	"hash/fnv"
	"math"
	"slices"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/internal/sizes"
)

const snapshotVersion = 12

// A Snapshot is the state of a run between two iterations: U_g of the hosted nodes, the step size, the number
// of iterations, and what decides whether the run diverges. A solver that restores it continues from there,
// and ends as the run itself would with the paper's methods; the memory of Accelerated starts empty. All
// nodes of a network restore snapshots of one iteration.
type Snapshot struct{ saved saved }

type saved struct {
	Version, Iteration int
	Identity           uint64
	Step               float64
	U                  [][]float64
	Course             course
}

// Iteration returns the number of iterations that the run had finished.
func (p *Snapshot) Iteration() int { return p.saved.Iteration }

// MarshalBinary returns the snapshot as bytes. The last four bytes are a checksum.
func (p *Snapshot) MarshalBinary() ([]byte, error) {
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(p.saved); err != nil {
		return nil, err
	}
	return binary.LittleEndian.AppendUint32(b.Bytes(), crc32.ChecksumIEEE(b.Bytes())), nil
}

// errNoSnapshot is the error about bytes that MarshalBinary has not written.
var errNoSnapshot = errors.New("difalt: it is not a snapshot of a run, or it is damaged, or from an older version")

// UnmarshalBinary reads the bytes of MarshalBinary. Any other bytes are an error.
func (p *Snapshot) UnmarshalBinary(b []byte) error {
	end := len(b) - crc32.Size
	if end < 0 || binary.LittleEndian.Uint32(b[end:]) != crc32.ChecksumIEEE(b[:end]) {
		return errNoSnapshot
	}
	var s saved
	if err := gob.NewDecoder(bytes.NewReader(b[:end])).Decode(&s); err != nil {
		return errNoSnapshot
	}
	if s.Version != snapshotVersion {
		return fmt.Errorf("difalt: the snapshot has version %d: must be %d", s.Version, snapshotVersion)
	}
	p.saved = s
	return nil
}

// Snapshot returns a copy of the state. It returns ErrNotStarted before the first step.
func (s *Solver) Snapshot() (*Snapshot, error) {
	if !s.started {
		return nil, ErrNotStarted
	}
	p := saved{
		Version: snapshotVersion, Identity: s.identity(), Iteration: s.point.iteration, Step: s.initial.Step,
		Course: s.checker.rule.course,
	}
	for _, u := range s.point.u {
		p.U = append(p.U, slices.Clone(u.Data()))
	}
	return &Snapshot{p}, nil
}

// Restore lets the first step continue a run with equal data and options. Options that end a run may
// differ, except for Iterations with SampleSplit.
func (s *Solver) Restore(snap *Snapshot) error {
	switch {
	case snap == nil || s.initial != nil:
		return errors.New("difalt: Restore needs a snapshot, before the first step")
	case snap.saved.Identity != s.identity() || len(snap.saved.U) != len(s.point.u):
		return errors.New("difalt: the snapshot belongs to other data or other options")
	case snap.saved.Iteration < 0 || snap.saved.Iteration > s.o.Iterations || !finite(snap.saved.Step):
		const format = "difalt: the snapshot has iteration %d and step size %v"
		return fmt.Errorf(format, snap.saved.Iteration, snap.saved.Step)
	case math.IsInf(snap.saved.Course.Start, 0) || snap.saved.Course.Worse < 0:
		return fmt.Errorf("difalt: the snapshot has the course %+v", snap.saved.Course)
	}
	for i, u := range snap.saved.U {
		if len(u) != len(s.point.u[i].Data()) || !sizes.Finite(u) {
			return fmt.Errorf("difalt: the snapshot has no basis of node %d", s.net.Hosted()[i])
		}
	}
	for i, u := range snap.saved.U {
		copy(s.point.u[i].Data(), u)
	}
	s.point.iteration, s.checker.rule.course = snap.saved.Iteration, snap.saved.Course
	s.initial = &Initial{U: clone(s.point.u), Step: snap.saved.Step}
	return nil
}

// identity hashes the options, except for options that end a run, and the shapes and sums of squares of the
// data.
func (s *Solver) identity() uint64 {
	h, endings := fnv.New64a(), []string{"Tolerance", "StopAtNoise", "EveryIteration", "Inner"}
	if !s.o.SampleSplit { // whose sample sets depend on their number
		endings = append(endings, "Iterations")
	}
	isEnding := func(x consensus.Setting) bool { return slices.Contains(endings, x.Name) }
	settings := slices.DeleteFunc(s.settings(), isEnding)
	fmt.Fprint(h, settings, s.net.Hosted())
	for _, k := range s.problem.Nodes {
		x, y := sizes.Squares(k)
		fmt.Fprintf(h, "%d %x %x", k.Features(), x, y)
		for t := range k.Len() {
			fmt.Fprintf(h, " %d", k.Samples(t))
		}
	}
	return h.Sum64()
}
