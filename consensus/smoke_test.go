package consensus

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/topology"
)

func TestSmoke(t *testing.T) {
	g, _ := topology.Ring(6)
	w, _ := topology.NewWeights(g, topology.Metropolis)
	n, err := New(w, nil)
	if err != nil {
		t.Fatal(err)
	}
	q, _ := Quantizer(4, false)
	for _, a := range []Agreement{{}, {Codec: q}, {Codec: q, Polynomial: Chebyshev}, {Trigger: .4}, {RoundByRound: true}} {
		m, err := n.NewMixer(a, nil)
		if err != nil {
			t.Fatal(err)
		}
		rng := rand.New(rand.NewPCG(1, 2))
		var z []Message
		mean := 0.
		for range 6 {
			b := kernel.NewBasis(3, 2)
			for j := range 2 {
				for k := range 3 {
					b.Col(j)[k] = rng.NormFloat64()
				}
			}
			mean += b.Col(1)[2] / 6
			z = append(z, Message{Basis: b, Scalars: []float64{1}, Stream: StreamBasis})
		}
		if !m.Tell(make([]uint8, 6), [][]float64{{1}, {2}, {3}, {4}, {5}, {6}}) {
			t.Fatal("tell")
		}
		if err := m.Mix(context.Background(), z, 200); err != nil {
			t.Fatal(err)
		}
		if math.Abs(z[3].Basis.Col(1)[2]-mean) > 1e-12 {
			t.Error(a, z[3].Basis.Col(1)[2]-mean)
		}
		if _, s, ok := m.Told(); !ok || s[0] != 21 {
			t.Error(s, ok)
		}
		n.Commit()
	}
	z := [][]float64{{1}, {2}, {3}, {4}, {5}, {6}}
	n.Max(context.Background(), z)
	n.Broadcast(context.Background(), 2, z)
	n.Sum(context.Background(), z)
	if z[5][0] != 36 {
		t.Error(z)
	}
}
