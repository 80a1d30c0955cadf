package difalt

import (
	"bytes"
	"encoding/binary"
	"encoding/gob"
	"errors"
	"fmt"
	"hash/crc32"
	"hash/fnv"
	"slices"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/internal/sizes"
	"github.com/difalt/difalt/kernel"
)

const snapshotVersion = 13

// A Snapshot is the state of a run between two iterations: U_g of the hosted nodes, the step size, the number
// of iterations, and what decides when the run ends. A solver that restores it continues from there. With
// the paper's methods it ends as the run itself would, with the same bits, wherever the snapshot was taken.
// The memory of Accelerated starts empty. The snapshot of a diverged run has the best U. All nodes of a
// network restore snapshots of one iteration.
type Snapshot struct{ saved saved }

type saved struct {
	Version, Iteration int
	Identity           uint64
	Step               float64
	U, Previous, Best  [][]float64 // of the hosted nodes: U_g, one iteration before, and the best known
	Finite             []bool      // see point.finite
	Course             course
}

// Iteration returns the number of iterations that the run had finished.
func (p *Snapshot) Iteration() int { return p.saved.Iteration }

// MarshalBinary returns the snapshot as bytes. The last four bytes are a checksum.
func (p *Snapshot) MarshalBinary() ([]byte, error) {
	if p.saved.Version != snapshotVersion {
		return nil, errNoSnapshot
	}
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(p.saved); err != nil {
		return nil, err
	}
	return binary.LittleEndian.AppendUint32(b.Bytes(), crc32.ChecksumIEEE(b.Bytes())), nil
}

// errNoSnapshot is the error about bytes that MarshalBinary has not written, and about a Snapshot that no
// solver has made.
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
		Finite: slices.Clone(s.point.finite), Course: s.checker.rule.courseAt(s.point.iteration),
	}
	p.U, p.Previous, p.Best = dataOf(clone(s.point.u)), dataOf(clone(s.point.previous)), dataOf(clone(s.checker.best))
	return &Snapshot{p}, nil
}

// Restore lets the first step continue a run with equal data and options. Options that end a run may
// differ, except for Iterations with SampleSplit.
func (s *Solver) Restore(snap *Snapshot) error {
	switch {
	case s.net == nil:
		return errNotMade
	case snap == nil || s.initial != nil:
		return errors.New("difalt: Restore needs a snapshot, before the first step")
	case snap.saved.Identity != s.identity() || len(snap.saved.Finite) != len(s.point.u):
		return errors.New("difalt: the snapshot belongs to other data or other options")
	case snap.saved.Iteration < 0 || snap.saved.Iteration > s.o.Iterations || !finite(snap.saved.Step):
		const format = "difalt: the snapshot has iteration %d and step size %v"
		return fmt.Errorf(format, snap.saved.Iteration, snap.saved.Step)
	case !snap.saved.Course.valid(snap.saved.Iteration):
		return fmt.Errorf("difalt: the snapshot has the course %+v", snap.saved.Course)
	}
	parts := []struct {
		to   []*kernel.Basis
		from [][]float64
	}{
		{s.point.u, snap.saved.U}, {s.point.previous, snap.saved.Previous}, {s.checker.best, snap.saved.Best},
	}
	for _, part := range parts {
		for i, to := range part.to {
			if i >= len(part.from) || len(part.from[i]) != len(to.Data()) || !sizes.Finite(part.from[i]) {
				return fmt.Errorf("difalt: the snapshot has no basis of node %d", s.net.Hosted()[i])
			}
		}
	}
	for _, part := range parts {
		for i, to := range part.to {
			copy(to.Data(), part.from[i])
		}
	}
	copy(s.point.finite, snap.saved.Finite)
	s.point.iteration = snap.saved.Iteration
	s.checker.rule.restore(snap.saved.Course)
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
