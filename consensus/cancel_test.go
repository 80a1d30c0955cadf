package consensus_test

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/internal/faults"
)

// endsSoon is a context that has ended when it is asked for the hundredth time.
type endsSoon struct {
	context.Context
	asked *int
}

func (e endsSoon) Err() error {
	if *e.asked++; *e.asked >= 100 {
		return context.Canceled
	}
	return nil
}

// TestManyRounds: more rounds than a lifetime has room for take no time where they have a
// closed form, and otherwise end with the context, and leave nothing behind.
func TestManyRounds(t *testing.T) {
	const rounds = min(20_000_000_000, math.MaxInt)
	w := networks(t)[0]
	meter := must[wire.Transport](t)(faults.NewMeter(w.Len(), faults.Links{Loss: .1}, 3))
	for name, x := range map[string]struct {
		agreement consensus.Agreement
		transport wire.Transport
		canceled  bool
	}{
		"a power of W":            {consensus.Agreement{}, nil, false},
		"a tree":                  {consensus.Agreement{Polynomial: consensus.Tree}, nil, false},
		"a polynomial of W":       {consensus.Agreement{Polynomial: consensus.Chebyshev}, nil, true},
		"round by round":          {consensus.Agreement{RoundByRound: true}, nil, true},
		"coded":                   {consensus.Agreement{Codec: consensus.Int8}, nil, true},
		"with what is sent again": {consensus.Agreement{}, meter, true},
	} {
		n := must[*consensus.Network](t)(consensus.New(w, x.transport))
		m := must[*consensus.Mixer](t)(n.NewMixer(x.agreement, nil))
		z := messages(n, 5, 2, 1, consensus.StreamBasis, 1)
		m.Reduce(make([]uint8, 6), nil)
		err := m.Mix(endsSoon{t.Context(), new(int)}, z, rounds)
		if x.canceled != errors.Is(err, context.Canceled) || !x.canceled && err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, _, ok := m.Reduced(); !x.canceled && !ok {
			t.Errorf("%s: the reduction is not complete", name)
		}
		if !x.canceled {
			continue
		}
		n.Rewind()
		fresh := must[*consensus.Network](t)(consensus.New(w, nil))
		other := must[*consensus.Mixer](t)(fresh.NewMixer(x.agreement, nil))
		z, want := messages(n, 5, 2, 1, consensus.StreamBasis, 1), messages(n, 5, 2, 1, consensus.StreamBasis, 1)
		if err := errors.Join(m.Mix(t.Context(), z, 3), other.Mix(t.Context(), want, 3)); err != nil {
			t.Fatal(err)
		}
		for i := range z {
			sameBits(t, name+", once more", [][]float64{values(z[i])}, [][]float64{values(want[i])})
		}
	}
}
