package simulation

import (
	"math"
	"testing"

	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/internal/synth"
)

// The formulas of the paper for d = 600, r = 4: 50e-3 + 8 d r / 1e9 as printed, and
// 5 ms with 64 d r bits at 1 Gbit/s as its text says.
func TestPaperTimes(t *testing.T) {
	for name, want := range map[string]float64{"paper": 0.0500192, "paper-text": 0.0051536} {
		m, err := ParseTimeModel(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := m.duration(wire.Traffic{Rounds: 1, Messages: 1, Bytes: 8 * 600 * 4}, nil); math.Abs(got-want) > 1e-15 {
			t.Errorf("%s: a message takes %v s, want %v", name, got, want)
		}
	}
}

func TestDuration(t *testing.T) {
	m := TimeModel{Latency: 10e-3, Bandwidth: 1e6}
	// 10 rounds of 40 messages of 1,000 bytes: 10 (0.010 + 8,000/1e6) = 0.18 s.
	if got := m.duration(wire.Traffic{Rounds: 10, Messages: 400, Bytes: 400e3}, nil); math.Abs(got-0.18) > 1e-12 {
		t.Errorf("10 rounds take %v s, want 0.18", got)
	}
	if got := m.duration(wire.Traffic{}, nil); got != 0 {
		t.Errorf("no round takes %v s", got)
	}
}

// The largest of n jitters has the mean n/(n+1).
func TestJitter(t *testing.T) {
	const rounds, messages = 20000, 5
	m := TimeModel{Bandwidth: 1e9, Jitter: 1}
	got := m.duration(wire.Traffic{Rounds: rounds, Messages: rounds * messages}, synth.Stream(1, 1)) / rounds
	// 5 standard errors; the standard deviation of the largest is below 0.15.
	if want := messages / (messages + 1.0); math.Abs(got-want) > 5*0.15/math.Sqrt(rounds) {
		t.Errorf("the slowest of %d takes %v on average, want %v", messages, got, want)
	}
}

// More rounds than anybody draws numbers for take the mean.
func TestJitterOfManyRounds(t *testing.T) {
	const rounds = min(20_000_000_000, math.MaxInt)
	m := TimeModel{Bandwidth: 1e9, Jitter: 1}
	if got, want := m.duration(wire.Traffic{Rounds: rounds, Messages: 5 * rounds}, nil), rounds*5.0/6; math.Abs(got-want) > 1e-9*want {
		t.Errorf("%d rounds of 5 messages take %v s, want %v", rounds, got, want)
	}
}

func TestJitterStreams(t *testing.T) {
	one := func(seed uint64, method string) float64 {
		s := Setting{Seed: seed, Time: TimeModel{Bandwidth: 1e9, Jitter: 1}}
		return s.communication(1, &Curve{Method: method, Rows: []Row{{Rounds: 3, Messages: 6}}})[0]
	}
	if one(1, "dif") != one(1, "dif") {
		t.Error("the same seed gives other jitter")
	}
	if one(1, "dif") == one(2, "dif") || one(1, "dif") == one(1, "dec") {
		t.Error("other seeds or methods give the same jitter")
	}
}

// The network's seconds of a curve are its rounds by the formula, plus the random delays
// of the run; the rest of its seconds was measured.
func TestCommunication(t *testing.T) {
	s := small()
	s.Iterations, s.Methods = 5, []string{"dif", "dgd"}
	for _, jitter := range []float64{0, 36000} {
		s.Time.Jitter = jitter
		trials := runTrials(t, s, 1, 2, 1)
		for _, trial := range trials {
			for i := range trial.Curves {
				c := &trial.Curves[i]
				plain := 0.0
				var rounds, messages, bytes int64
				for _, row := range c.Rows {
					if n := row.Rounds - rounds; n > 0 {
						plain += float64(n) * (s.Time.Latency + 8*float64(row.Bytes-bytes)/float64(row.Messages-messages)/s.Time.Bandwidth)
					}
					rounds, messages, bytes = row.Rounds, row.Messages, row.Bytes
				}
				got, all := s.communication(trial.Number, c)[len(c.Rows)-1], c.Rows[len(c.Rows)-1].Seconds
				if jitter == 0 && math.Abs(got-plain) > 1e-9*plain || got < plain*(1-1e-9) || got > plain+float64(rounds)*jitter+1e-9 || got > all {
					t.Errorf("jitter %v, %s: %v s of network, want %v or more, of %v in all", jitter, c.Method, got, plain, all)
				}
				if jitter > 0 && got < all*(1-1e-3) { // delays of weeks hide all computing
					t.Errorf("%s: %v s are not of the network", c.Method, all-got)
				}
			}
		}
	}
}

// The words of a model have units with a space before them.
func TestTimeModelInWords(t *testing.T) {
	for want, m := range map[string]TimeModel{
		"50 ms a round and 8 Gbit/s":                      PaperTime,
		"5 ms a round and 1 Gbit/s":                       PaperTextTime,
		"1.5 s a round and 10 Mbit/s, jitter up to 20 µs": {Latency: 1.5, Bandwidth: 1e7, Jitter: 2e-5},
		"0 s a round and 9.6 kbit/s":                      {Bandwidth: 9600},
	} {
		if got := m.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
