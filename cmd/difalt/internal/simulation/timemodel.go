package simulation

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/internal/synth"
	"github.com/dustin/go-humanize"
	"gonum.org/v1/gonum/floats"
)

// A TimeModel gives the duration of communication. A message of m bytes takes
//
//	Latency + 8 m / Bandwidth + jitter  seconds,
//
// with a jitter that is uniformly distributed between 0 and Jitter. The messages of a round travel in
// parallel, and the round takes as long as its slowest message.
type TimeModel struct {
	Latency   float64 `json:"latency_seconds"`
	Bandwidth float64 `json:"bandwidth_bits_per_second"` // of a link
	Jitter    float64 `json:"jitter_seconds"`
}

// PaperTime is the formula that the paper prints, 50e-3 + 8 d r / 1e9 seconds for the d r float64 of a
// message. PaperTextTime follows its text, 5 ms and 1 Gbit/s: 5e-3 + 64 d r / 1e9 seconds. The paper adds "a
// small random perturbation" without its size; here the jitter is 0 unless it is set.
var (
	PaperTime     = TimeModel{Latency: 50e-3, Bandwidth: 8e9}
	PaperTextTime = TimeModel{Latency: 5e-3, Bandwidth: 1e9}
)

// ParseTimeModel returns the model of a name.
func ParseTimeModel(name string) (TimeModel, error) {
	switch name {
	case "paper":
		return PaperTime, nil
	case "paper-text":
		return PaperTextTime, nil
	}
	return TimeModel{}, fmt.Errorf("%q: must be paper or paper-text", name)
}

// String describes the model in a few words.
func (m TimeModel) String() string {
	s := humanize.SI(m.Latency, "s") + " a round and " + humanize.SI(m.Bandwidth, "bit/s")
	if m.Jitter > 0 {
		s += ", jitter up to " + humanize.SI(m.Jitter, "s")
	}
	return s
}

// manyRounds is a number of rounds. For more, the mean of the sum of the jitters replaces it. The error is
// below a thousandth.
const manyRounds = 1 << 20

// duration returns the seconds that traffic takes, with jitter from rng.
func (m TimeModel) duration(sent wire.Traffic, rng *rand.Rand) float64 {
	if sent.Rounds == 0 || sent.Messages == 0 {
		return 0
	}
	rounds, messages := float64(sent.Rounds), float64(sent.Messages)
	seconds := rounds * (m.Latency + 8*float64(sent.Bytes)/messages/m.Bandwidth)
	each := messages / rounds
	if sent.Rounds > manyRounds {
		return seconds + rounds*m.Jitter*each/(each+1)
	}
	if m.Jitter > 0 {
		for range sent.Rounds { // the largest of each numbers, uniform in (0, 1]
			seconds += m.Jitter * math.Pow(1-rng.Float64(), 1/each)
		}
	}
	return seconds
}

// communication returns the modelled seconds from the start to every row of a curve. The jitter depends on
// the trial and the method's name alone.
func (s *Setting) communication(trial int, c *Curve) []float64 {
	var id uint64
	for _, b := range []byte(c.Method) {
		id = mix(id ^ uint64(b))
	}
	rng, seconds := synth.Stream(derive(s.Seed, trial, forJitter), id), make([]float64, len(c.Rows))
	for k := 1; k < len(seconds); k++ {
		seconds[k] = seconds[k-1] + s.Time.duration(c.Rows[k].sent().Minus(c.Rows[k-1].sent()), rng)
	}
	floats.AddConst(s.Time.duration(c.Rows[0].sent(), rng), seconds) // the initialisation
	return seconds
}
