package checkpoint

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/internal/simulation"
	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/difalt"
	"github.com/fxamacker/cbor/v2"
)

// state returns the snapshot of a small run after so many iterations.
func state(t testing.TB, iterations int) *difalt.Snapshot {
	t.Helper()
	setting := simulation.Setting{Nodes: 3, Features: 12, Tasks: 9, Samples: 8, Rank: 2, Graph: "ring", Weights: "metropolis", Methods: []string{"accelerated"}, Rounds: 3, Iterations: 50, Seed: 1}
	w, err := setting.Mixing(1)
	if err != nil {
		t.Fatal(err)
	}
	p, err := setting.Problem(t.Context(), 1, nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	net, err := consensus.New(w, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := difalt.NewSolver(p, net, difalt.Options{Method: difalt.Accelerated, Rank: 2, Rounds: 3, Iterations: 50, EveryIteration: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for range iterations {
		if _, err := s.Step(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	snap, err := s.Snapshot(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return snap
}

// TestRoundTrip: what comes back is what was written, to the bit.
func TestRoundTrip(t *testing.T) {
	snap := state(t, 8)
	p, err := encode(&State{[]wire.Setting{{Name: "--rank", Value: "2"}}, 5, snap})
	if err != nil {
		t.Fatal(err)
	}
	got, err := Decode(p)
	if err != nil {
		t.Fatal(err)
	}
	read, err := got.Snapshot.MarshalBinary()
	if written, _ := snap.MarshalBinary(); err != nil || !bytes.Equal(read, written) || got.Snapshot.Iteration() != 8 {
		t.Errorf("the snapshot is another: %v", err)
	}
	for i := range p { // every byte counts
		damaged := slices.Clone(p)
		damaged[i] ^= 1 << (i % 8)
		if _, err := Decode(damaged); err == nil {
			t.Fatalf("byte %d of %d is damaged, and nobody sees it", i, len(p))
		}
	}
	for i := range p {
		if _, err := Decode(p[:i]); err == nil {
			t.Fatalf("cut off after %d of %d bytes, and nobody sees it", i, len(p))
		}
	}
}

// TestFolder: the last ones are kept, other names are left alone, what is damaged or has
// another iteration than its name says is told, and what is of other settings is refused.
func TestFolder(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "deep", "state")
	var told []string
	open := func(name string, settings ...wire.Setting) (f *Folder, list []int, err error) {
		told = nil
		if f, err = Open(folder, name, settings, 3, func(s string) { told = append(told, s) }); err != nil {
			return nil, nil, err
		}
		for _, p := range f.Points() {
			list = append(list, p.Iteration)
		}
		return f, list, nil
	}
	rank := wire.Setting{Name: "--rank", Value: "2"}
	var snaps []*difalt.Snapshot
	for i := 1; i <= 5; i++ {
		snaps = append(snaps, state(t, 10*i))
	}
	for _, name := range []string{"a", "a-b"} {
		f, list, err := open(name, rank)
		if err != nil || list != nil {
			t.Fatalf("%v, %v", list, err)
		}
		for _, snap := range snaps {
			if err := f.Save(snap); err != nil {
				t.Fatal(err)
			}
		}
	}
	f, list, err := open("a", rank)
	if err != nil || !slices.Equal(list, []int{30, 40, 50}) {
		t.Fatalf("%v, %v", list, err)
	}
	if s, err := f.Load(40); err != nil || s.Iteration() != 40 {
		t.Errorf("%v, %v", s, err)
	}
	if err := os.Rename(f.file(30), f.file(35)); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(f.file(50), 1000); err != nil {
		t.Fatal(err)
	}
	if _, list, err = open("a", rank); err != nil || !slices.Equal(list, []int{40}) || len(told) != 2 || !strings.Contains(told[1], "a-000000050.ckpt: damaged") {
		t.Errorf("%v, %v, told %q", list, err, told)
	}
	for _, x := range []struct {
		settings []wire.Setting
		want     string
	}{
		{[]wire.Setting{{Name: "--rank", Value: "3"}}, "--rank was 2, and is 3 now"},
		{[]wire.Setting{rank, {Name: "the data", Value: "x"}}, "the data was unknown, and is x now"},
		{[]wire.Setting{{Name: "--rank"}}, "--rank was 2, and is not given now"},
	} {
		if _, _, err := open("a", x.settings...); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%v: %v", x.settings, err)
		}
	}
}

// TestBegun: what was begun when the process was killed goes, and what another node has begun stays.
func TestBegun(t *testing.T) {
	folder := t.TempDir()
	begun, other := filepath.Join(folder, ".a-000000060.ckpt.0123456789abc.part"), filepath.Join(folder, ".a-b-000000060.ckpt.0123456789abc.part")
	err := errors.Join(os.WriteFile(begun, []byte("difalt"), 0o600), os.WriteFile(other, []byte("difalt"), 0o600))
	if _, failed := Open(folder, "a", nil, 3, func(s string) { t.Error(s) }); err != nil || failed != nil {
		t.Fatal(err, failed)
	}
	if _, err := os.Stat(begun); err == nil {
		t.Error("what was begun is still there")
	}
	if _, err := os.Stat(other); err != nil {
		t.Error("what another node has begun is gone")
	}
}

// TestBegin: a run that goes on keeps what is below; one that begins anew leaves everything as
// it is until it has a checkpoint, and then nothing of the run before, its outcome included.
func TestBegin(t *testing.T) {
	f, err := Open(t.TempDir(), "a", nil, 3, func(s string) { t.Error(s) })
	if err != nil {
		t.Fatal(err)
	}
	begin := func(p Point, want ...int) {
		t.Helper()
		err := f.Begin(p)
		if list, _ := f.list(); err != nil || !slices.Equal(list, want) {
			t.Errorf("%v: %v, %v, want %v", p, list, err, want)
		}
	}
	save := func(iteration int, want ...int) {
		t.Helper()
		err := f.Save(state(t, iteration))
		if list, _ := f.list(); err != nil || !slices.Equal(list, want) {
			t.Errorf("after %d: %v, %v, want %v", iteration, list, err, want)
		}
	}
	kept := func() bool {
		o, err := f.Outcome(func(s string) { t.Error(s) })
		return err == nil && o != nil
	}
	begin(Point{1, 0})
	save(10, 10)
	save(20, 10, 20)
	save(30, 10, 20, 30)
	save(40, 20, 30, 40)
	save(40, 20, 30, 40) // told to leave in the iteration that it has just kept
	begin(Point{1, 40}, 20, 30, 40)
	begin(Point{1, 30}, 20, 30)
	if err := f.Finish(&Outcome{}); err != nil {
		t.Fatal(err)
	}
	save(40, 20, 30, 40)
	begin(Point{2, 0}, 20, 30, 40)
	if !kept() {
		t.Error("the outcome is gone before another run has a checkpoint")
	}
	save(10, 10)
	if kept() {
		t.Error("the outcome of another run is still there")
	}
	begin(Point{2, 10}, 10)
	again, err := Open(f.path, "a", nil, 3, func(s string) { t.Error(s) })
	if err != nil || !slices.Equal(again.Points(), []Point{{2, 10}}) {
		t.Errorf("%v, %v", again.Points(), err)
	}
}

// TestTwoProcesses: one that was stopped and goes on, when another has taken its place, takes no
// checkpoint from that.
func TestTwoProcesses(t *testing.T) {
	folder := t.TempDir()
	var both [2]*Folder
	for i := range both {
		var err error
		if both[i], err = Open(folder, "a", nil, 2, func(s string) { t.Error(s) }); err != nil {
			t.Fatal(err)
		}
		if err := both[i].Begin(Point{1, 10 * i}); err != nil {
			t.Fatal(err)
		}
		for k := range 2 {
			if err := both[i].Save(state(t, 10*(i+k+1))); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := both[0].Save(state(t, 25)); err != nil {
		t.Fatal(err)
	}
	if list, err := both[1].list(); err != nil || !slices.Contains(list, 30) {
		t.Errorf("left are %v, %v", list, err)
	}
}

// FuzzDecode: no file makes Decode panic, and what it accepts is written again as it was
// read.
func FuzzDecode(f *testing.F) {
	small := state(f, 1)
	p, err := encode(&State{[]wire.Setting{{Name: "--rank", Value: "2"}}, 5, small})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(p[len(magic)+4:])
	f.Add([]byte{0xbb, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
	f.Add([]byte("\xa2eTerms\x9b\x00\x00\x00\x00\x7f\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, body []byte) {
		s, err := Decode(sealed(magic, body)) // the checksum would keep everything else out
		if err != nil {
			return
		}
		again, err := encode(s)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Decode(again); err != nil {
			t.Fatal(err)
		}
	})
}

func encode(s *State) ([]byte, error) {
	body, err := cbor.Marshal(s)
	return sealed(magic, body), err
}

// list returns the iterations of which there is a file, in ascending order.
func (f *Folder) list() (iterations []int, err error) {
	entries, err := os.ReadDir(f.path)
	for _, e := range entries {
		if i, own := f.iterationOf(e.Name()); own {
			iterations = append(iterations, i)
		}
	}
	slices.Sort(iterations)
	return iterations, err
}
