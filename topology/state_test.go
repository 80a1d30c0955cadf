package topology

import (
	"encoding"
	"errors"
	"fmt"
	"testing"
)

// TestState: a new mixer that takes over the state goes on with the same bits.
func TestState(t *testing.T) {
	g := must[*Graph](t)(ErdosRenyi(9, .4, 2))
	w := must[*Weights](t)(NewWeights(g, Metropolis))
	other := must[*Weights](t)(NewWeights(must[*Graph](t)(Ring(9)), Metropolis))
	for _, a := range agreements(t) {
		m := must[Mixer](t)(NewMixer(w, nil, a))
		again := must[Mixer](t)(NewMixer(w, nil, a))
		z := streamOf(randomMessages(9, 13, 3, 2, 5), StreamBasis)
		p := streamOf(randomMessages(9, 0, 0, 9, 6), StreamScale)
		mixTimes(t, m, z, 2, 3)
		mixTimes(t, m, p, 1, 3)
		mixed(t, m, shapes[0], 2)
		if b, ok := m.(encoding.BinaryMarshaler); ok {
			state := must[[]byte](t)(b.MarshalBinary())
			if err := again.(encoding.BinaryUnmarshaler).UnmarshalBinary(state); err != nil {
				t.Fatalf("%v: %v", a, err)
			}
			wrong := must[Mixer](t)(NewMixer(other, nil, a)).(encoding.BinaryUnmarshaler)
			wantError(t, wrong.UnmarshalBinary(state), "state is of a mixer with")
			wantError(t, wrong.UnmarshalBinary(state[:len(state)/2]), "state of a mixer")
		}
		var copies [][]Message
		for _, m := range []Mixer{m, again} {
			before := m.Traffic()
			var z2, p2 []Message
			for i := range z {
				z2 = append(z2, Message{z[i].Basis.Clone(), append([]float64(nil), z[i].Scalars...), StreamBasis})
				p2 = append(p2, Message{nil, append([]float64(nil), p[i].Scalars...), StreamScale})
			}
			mixTimes(t, m, z2, 2, 3)
			mixTimes(t, m, p2, 1, 2)
			mixed(t, m, shapes[0], 2)
			traffic := m.Traffic().Minus(before)
			z2 = append(z2, Message{Scalars: []float64{float64(traffic.Bytes), float64(traffic.Silent), float64(traffic.Lost)}})
			copies = append(copies, append(z2, p2...))
		}
		for i := range copies[0] {
			if fmt.Sprint(values(copies[0][i])) != fmt.Sprint(values(copies[1][i])) {
				t.Fatalf("%v: message %d differs after the state was taken over", a, i)
			}
		}
	}
}

// FuzzUnmarshal: no state, however damaged, panics or is half taken over.
func FuzzUnmarshal(f *testing.F) {
	w, err := NewWeights(must[*Graph](f)(Ring(3)), Metropolis)
	if err != nil {
		f.Fatal(err)
	}
	a := Agreement{Compressor: must[Compressor](f)(Quantizer(8, true)), Sporadic: .4, Links: Links{Loss: .1}}
	m := must[Mixer](f)(NewMixer(w, nil, a)).(*exchange)
	z := streamOf(randomMessages(3, 5, 2, 1, 1), StreamBasis)
	if err := m.Mix(background, z, 2); err != nil {
		f.Fatal(err)
	}
	f.Add(must[[]byte](f)(m.MarshalBinary()))
	f.Fuzz(func(t *testing.T, p []byte) {
		m := must[Mixer](t)(NewMixer(w, nil, a)).(*exchange)
		if err := m.UnmarshalBinary(p); err != nil {
			wantError(t, err)
			if m.flows != [streams]*flow{} {
				t.Error("a refused state is taken over")
			}
			return
		}
		for _, f := range m.flows {
			if f != nil && f.D > 0 {
				z := streamOf(randomMessages(3, f.D, f.R, f.Scalars, 1), f.Stream)
				if err := m.Mix(background, z, 2); err != nil && !errors.Is(err, ErrNotFinite) {
					t.Error(err)
				}
			}
		}
	})
}
