package difalt_test

import (
	"bytes"
	"encoding/binary"
	"encoding/gob"
	"errors"
	"hash/crc32"
	"slices"
	"strings"
	"testing"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/topology"
)

// TestSnapshot: a run that is restored continues with the same bits if the method has no memory, and arrives
// at the same minimum otherwise.
func TestSnapshot(t *testing.T) {
	p := draw(t, 4, 20, 40, 15, 2, 2, .1, 1)
	for _, method := range difalt.Methods() {
		o := difalt.Options{Rank: 2, Method: method, Iterations: 60, EveryIteration: method != difalt.Accelerated}
		s := newSolver(t, p, network(t, "ring", 4, 1), o)
		if _, err := s.Snapshot(); !errors.Is(err, difalt.ErrNotStarted) {
			t.Errorf("before the first step: %v", err)
		}
		for range 13 {
			step(t, s, t.Context())
		}
		snapshot, err := s.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		text, err := snapshot.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		var read difalt.Snapshot
		if err := read.UnmarshalBinary(text); err != nil || read.Iteration() != 13 {
			t.Fatalf("iteration %d, %v", read.Iteration(), err)
		}
		again := newSolver(t, p, network(t, "ring", 4, 1), o)
		if err := again.Restore(&read); err != nil {
			t.Fatal(err)
		}
		first, second := finish(t, s), finish(t, again)
		if e := difalt.SubspaceDistance(first.U[0], second.U[0]); method == difalt.Accelerated &&
			(e > 1e-9 || second.Status != difalt.Converged) || method != difalt.Accelerated && e > 1e-15 {
			t.Errorf("%v: %v, and %v after Restore, %g apart", method, first.Status, second.Status, e)
		}
		longer, other, q := o, o, *p
		longer.Iterations, longer.Tolerance, other.Ridge = 2*o.Iterations+100, 1e-7, 1
		q.Nodes = append([]*kernel.Tasks{p.Nodes[1]}, p.Nodes[1:]...)
		restore := func(p *difalt.Problem, o difalt.Options) error {
			return newSolver(t, p, network(t, "ring", 4, 1), o).Restore(&read)
		}
		if err := restore(p, longer); err != nil {
			t.Errorf("%v: more iterations: %v", method, err)
		}
		for what, err := range map[string]error{
			"other options": restore(p, other), "other data": restore(&q, o), "after the first step": s.Restore(&read),
			"half of it": new(difalt.Snapshot).UnmarshalBinary(text[:len(text)/2]),
		} {
			if err == nil {
				t.Errorf("%v: no error for a snapshot of %s", method, what)
			}
		}
	}
}

// A content is what the bytes of a snapshot hold.
type content struct {
	Version, Iteration int
	Identity           uint64
	Step               float64
	U, Previous, Best  [][]float64
	Finite             []bool
	Course             struct {
		Worse  int
		Lowest float64
	}
}

// reread writes a snapshot, changes its content, and reads it.
func reread(t *testing.T, snapshot *difalt.Snapshot, change func(c *content)) (*difalt.Snapshot, error) {
	var c content
	var b bytes.Buffer
	text, err := snapshot.MarshalBinary()
	if err == nil {
		err = gob.NewDecoder(bytes.NewReader(text)).Decode(&c)
	}
	change(&c)
	if err := errors.Join(err, gob.NewEncoder(&b).Encode(c)); err != nil {
		t.Error(err)
	}
	read := new(difalt.Snapshot)
	return read, read.UnmarshalBinary(binary.LittleEndian.AppendUint32(b.Bytes(), crc32.ChecksumIEEE(b.Bytes())))
}

// TestSpoiledSnapshot: bytes that are cut, altered or followed by other bytes are refused.
func TestSpoiledSnapshot(t *testing.T) {
	p, o := draw(t, 2, 6, 8, 9, 2, 2, 0, 1), difalt.Options{Rank: 2}
	s := newSolver(t, p, network(t, "path", 2, 1), o)
	step(t, s, t.Context())
	kept, err := s.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	good, err := kept.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	bad := [][]byte{append(slices.Clone(good), 0), append(slices.Clone(good), good...), make([]byte, 1000),
		[]byte("task,x,y\na,1,2\n")}
	for i := range good {
		altered := slices.Clone(good)
		altered[i] ^= 1 << (i % 8)
		bad = append(bad, good[:i], altered)
	}
	for _, content := range bad {
		const want = "difalt: it is not a snapshot of a run, or it is damaged, or from an older version"
		if err := new(difalt.Snapshot).UnmarshalBinary(content); err == nil || err.Error() != want {
			t.Fatalf("%d bytes of %d: %v, want %s", len(content), len(good), err, want)
		}
	}
}

func finish(t *testing.T, s *difalt.Solver) *difalt.Result {
	t.Helper()
	res, err := s.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// TestRestoreDiffers: nodes that restore different iterations are named.
func TestRestoreDiffers(t *testing.T) {
	p, w, o := draw(t, 2, 10, 12, 15, 2, 2, 0, 1), weights(t, "complete", 2, 1, topology.LazyMetropolis),
		difalt.Options{Rank: 2}
	kept, errs := apart(t, w, together(2, 2),
		func(k int, net *consensus.Network) (list [2]*difalt.Snapshot, err error) {
			s := newSolver(t, part(p, []int{k}), net, o)
			for n := range list {
				if _, err = s.Step(t.Context()); err == nil {
					list[n], err = s.Snapshot()
				}
				if err != nil {
					return list, err
				}
			}
			return list, nil
		})
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	_, errs = apart(t, w, together(2, 2), func(k int, net *consensus.Network) (difalt.Status, error) {
		s := newSolver(t, part(p, []int{k}), net, o)
		if err := s.Restore(kept[k][k]); err != nil {
			return 0, err
		}
		return s.Step(t.Context())
	})
	for _, err := range errs {
		if err == nil || !strings.Contains(err.Error(), "the iteration is") {
			t.Errorf("iterations 1 and 2: %v", err)
		}
	}
}

// TestRestoreOtherBasis: nodes that restore different U read noise and end the run.
func TestRestoreOtherBasis(t *testing.T) {
	p, w := draw(t, 2, 10, 12, 15, 2, 2, 0, 1), weights(t, "complete", 2, 1, topology.LazyMetropolis)
	o := difalt.Options{Rank: 2, Method: difalt.Accelerated}
	for _, lie := range []float64{0, 1e-9} {
		kept, errs := apart(t, w, together(2, 2), func(k int, net *consensus.Network) (*difalt.Snapshot, error) {
			s := newSolver(t, part(p, []int{k}), net, o)
			if _, err := s.Step(t.Context()); err != nil {
				return nil, err
			}
			snapshot, err := s.Snapshot()
			if err != nil {
				return nil, err
			}
			return reread(t, snapshot, func(c *content) { c.U[0][0] += lie * float64(k) })
		})
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
		_, errs = apart(t, w, together(2, 2), func(k int, net *consensus.Network) (difalt.Status, error) {
			s := newSolver(t, part(p, []int{k}), net, o)
			if err := s.Restore(kept[k]); err != nil {
				return 0, err
			}
			return s.Step(t.Context())
		})
		for _, err := range errs {
			if lie == 0 && err != nil || lie > 0 && !errors.Is(err, consensus.ErrInconsistent) {
				t.Errorf("U apart by %g: %v", lie, err)
			}
		}
	}
}
