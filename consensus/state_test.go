package consensus

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
)

// goOn lets a mixer do a bit of everything from given messages, and returns what comes
// of it.
func goOn(t *testing.T, m *Mixer, z, p []Message) string {
	t.Helper()
	before := m.net.Traffic()
	z2, p2 := copyOf(z), copyOf(p)
	mixTimes(t, m, z2, 2, 3)
	mixTimes(t, m, p2, 1, 2)
	word, sums, ok := m.Reduced()
	return fmt.Sprint(mixed(t, m, shapes[0], 2), matrixOf(z2), matrixOf(p2), m.net.Traffic().Minus(before), word, sums, ok)
}

func copyOf(z []Message) []Message {
	c := slices.Clone(z)
	for i := range c {
		c[i].Scalars = slices.Clone(c[i].Scalars)
		if c[i].Basis != nil {
			c[i].Basis = c[i].Basis.Clone()
		}
	}
	return c
}

// TestState: a new mixer that takes over the state goes on with the same bits, also
// with a reduction under way.
func TestState(t *testing.T) {
	w, other := weightsOf(t, "er:0.3", 9), weightsOf(t, "ring", 9)
	for _, a := range append(agreements(t), trees(t)...) {
		m := newMixer(t, w, nil, a)
		z := streamOf(randomMessages(9, 13, 3, 2, 5), StreamBasis)
		p := streamOf(randomMessages(9, 0, 0, 9, 6), StreamTracker)
		mixTimes(t, m, z, 2, 3)
		mixTimes(t, m, p, 1, 3)
		m.Refine(Int16)
		words := make([]uint8, 9)
		words[4] = 3
		if !m.Reduce(words, matrixRows(z)) || m.Reduce(words, matrixRows(z)) {
			t.Fatal("a second reduction begins before the first has ended, or none")
		}
		mixed(t, m, shapes[0], 2)
		m.net.Commit()
		state := must[[]byte](t)(m.MarshalBinary())
		again := newMixer(t, w, nil, a)
		if err := again.UnmarshalBinary(state); err != nil {
			t.Fatalf("%v: %v", a, err)
		}
		want := goOn(t, m, z, p)
		if got := goOn(t, again, z, p); got != want {
			t.Fatalf("%v: differs after the state was taken over", a)
		}
		wantError(t, newMixer(t, other, nil, a).UnmarshalBinary(state), "other weights")
		wantError(t, newMixer(t, w, nil, a).UnmarshalBinary(state[:len(state)/2]), "state of a mixer")
		wantError(t, network(t, w).NewNeighborMean(nil).UnmarshalBinary(state), "state is of another mixer")
		if got := must[[]byte](t)(m.MarshalBinary()); !bytes.Equal(got, state) {
			t.Fatalf("%v: what is not committed is in the state", a)
		}
	}
}

func matrixRows(z []Message) [][]float64 {
	var rows [][]float64
	for _, m := range z {
		rows = append(rows, m.Scalars)
	}
	return rows
}

// TestRewindHere: with all nodes in this process, what was done since Commit can be
// done again with the same bits, however far it went.
func TestRewindHere(t *testing.T) {
	w := weightsOf(t, "er:0.3", 9)
	for _, a := range append(agreements(t), trees(t)...) {
		m := newMixer(t, w, nil, a)
		z := streamOf(randomMessages(9, 13, 3, 2, 5), StreamBasis)
		p := streamOf(randomMessages(9, 0, 0, 9, 6), StreamTracker)
		for round := range 3 {
			m.Reduce(make([]uint8, 9), matrixRows(z))
			want := goOn(t, m, z, p)
			m.net.Rewind()
			m.Reduce(make([]uint8, 9), matrixRows(z))
			z2 := copyOf(z)
			for range round {
				mixTimes(t, m, z2, 1, 3)
			}
			canceled, cancel := context.WithCancel(background)
			cancel()
			if err := m.Mix(canceled, z2, 3); !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			m.net.Rewind()
			m.Reduce(make([]uint8, 9), matrixRows(z))
			if got := goOn(t, m, z, p); got != want {
				t.Fatalf("%v: differs after Rewind", a)
			}
			mixTimes(t, m, z, 1, 1)
			m.net.Commit()
		}
	}
}

// FuzzUnmarshal: no state, however damaged, panics or is half taken over.
func FuzzUnmarshal(f *testing.F) {
	w := weightsOf(f, "ring", 3)
	a := Agreement{Codec: Int8, Trigger: .4}
	m := newMixer(f, w, nil, a)
	z := streamOf(randomMessages(3, 5, 2, 1, 1), StreamBasis)
	m.Reduce(make([]uint8, 3), matrixRows(z))
	if err := m.Mix(background, z, 1); err != nil {
		f.Fatal(err)
	}
	m.net.Commit()
	f.Add(must[[]byte](f)(m.MarshalBinary()))
	f.Fuzz(func(t *testing.T, p []byte) {
		m := newMixer(t, w, nil, a)
		before := must[[]byte](t)(m.MarshalBinary())
		if err := m.UnmarshalBinary(p); err != nil {
			wantError(t, err)
			if after := must[[]byte](t)(m.MarshalBinary()); !bytes.Equal(before, after) {
				t.Error("a refused state is taken over")
			}
			return
		}
		for _, f := range m.coder.all {
			if f != nil && f.D > 0 && f.R > 0 {
				z := streamOf(randomMessages(3, f.D, f.R, f.Scalars, 1), f.Stream)
				if err := m.Mix(background, z, 2); err != nil && !errors.Is(err, ErrNotFinite) {
					t.Error(err)
				}
			}
		}
	})
}
