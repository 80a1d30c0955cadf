package simulation

import (
	"math"
	"slices"
	"testing"

	"github.com/difalt/difalt/consensus/wire"
)

// The formulas of the paper for d = 600, r = 4: 50e-3 + 8 d r / 1e9 as printed, and
// 5 ms with 64 d r bits at 1 Gbit/s as its text says.
func TestPaperTimes(t *testing.T) {
	for name, want := range map[string]float64{"paper": 0.0500192, "paper-text": 0.0051536} {
		m, err := ParseTimeModel(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := m.duration(wire.Traffic{Rounds: 1, Messages: 1, Bytes: 8 * 600 * 4}); math.Abs(got-want) > 1e-15 {
			t.Errorf("%s: a message takes %v s, want %v", name, got, want)
		}
	}
}

func TestDuration(t *testing.T) {
	m := TimeModel{Latency: 10e-3, Bandwidth: 1e6}
	// 10 rounds of 40 messages of 1,000 bytes: 10 (0.010 + 8,000/1e6) = 0.18 s.
	if got := m.duration(wire.Traffic{Rounds: 10, Messages: 400, Bytes: 400e3}); math.Abs(got-0.18) > 1e-12 {
		t.Errorf("10 rounds take %v s, want 0.18", got)
	}
	if got := m.duration(wire.Traffic{}); got != 0 {
		t.Errorf("no round takes %v s", got)
	}
}

// The network's seconds of a curve are its rounds by the formula, from the initialisation on.
func TestCommunication(t *testing.T) {
	m := TimeModel{Latency: 1, Bandwidth: 8}
	c := Curve{Rows: []Row{{Rounds: 2, Messages: 4, Bytes: 12}, {Rounds: 2, Messages: 4, Bytes: 12}, {Rounds: 5, Messages: 10, Bytes: 72}}}
	// 2 rounds of messages of 3 bytes, nothing, 3 rounds of messages of 10 bytes.
	if got, want := m.communication(&c), []float64{8, 8, 41}; !slices.Equal(got, want) {
		t.Errorf("the seconds are %v, want %v", got, want)
	}
}

// The words of a model have units with a space before them.
func TestTimeModelInWords(t *testing.T) {
	for want, m := range map[string]TimeModel{
		"50 ms a round and 8 Gbit/s": PaperTime,
		"5 ms a round and 1 Gbit/s":  PaperTextTime,
		"0 s a round and 9.6 kbit/s": {Bandwidth: 9600},
	} {
		if got := m.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
