package simulation

import (
	"math"
	"slices"
	"testing"

	"github.com/difalt/difalt/consensus/transport"
)

// The formulas of the paper for d = 600, r = 4: 50e-3 + 8 d r / 1e9 as printed, and 5 ms with 64 d r bits at
// 1 Gbit/s as its text says; and another model by hand: 10 rounds of 40 messages of 1,000 bytes are
// 10 (0.010 + 8,000/1e6) = 0.18 s. The words of a model have units with a space before them.
func TestTimeModels(t *testing.T) {
	one := transport.Traffic{Rounds: 1, Messages: 1, Bytes: 8 * 600 * 4}
	other := TimeModel{Latency: 10e-3, Bandwidth: 1e6}
	for words, c := range map[string]struct {
		model TimeModel
		sent  transport.Traffic
		want  float64
	}{
		"50 ms a round and 8 Gbit/s": {PaperTime, one, 0.0500192},
		"5 ms a round and 1 Gbit/s":  {PaperTextTime, one, 0.0051536},
		"10 ms a round and 1 Mbit/s": {other, transport.Traffic{Rounds: 10, Messages: 400, Bytes: 400e3}, 0.18},
		"0 s a round and 9.6 kbit/s": {TimeModel{Bandwidth: 9600}, transport.Traffic{}, 0},
		"1 s a round and 9.6 kbit/s": {TimeModel{Latency: 1, Bandwidth: 9600}, transport.Traffic{Rounds: 3}, 0},
	} {
		if got := c.model.duration(c.sent); math.Abs(got-c.want) > 1e-12 || c.model.String() != words {
			t.Errorf("%s: %v s of %v, want %v s of %s", c.model, got, c.sent, c.want, words)
		}
	}
}

// The network's seconds of a curve are its rounds by the formula, from the initialisation on: 2 rounds of
// messages of 3 bytes, nothing, 3 rounds of messages of 10 bytes.
func TestCommunication(t *testing.T) {
	c := Curve{Rows: []Row{{Rounds: 2, Messages: 4, Bytes: 12}, {Rounds: 2, Messages: 4, Bytes: 12},
		{Rounds: 5, Messages: 10, Bytes: 72}}}
	m := TimeModel{Latency: 1, Bandwidth: 8}
	if got, want := m.communication(&c), []float64{8, 8, 41}; !slices.Equal(got, want) {
		t.Errorf("the seconds are %v, want %v", got, want)
	}
}
