package simulation

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/internal/synth"
)

// A TimeModel says how long communication takes. A message of m bytes takes
//
//	Latency + 8 m / Bandwidth + jitter  seconds,
//
// with a jitter between 0 and Jitter, uniformly distributed. The messages of a round
// travel in parallel, and the round takes as long as its slowest message.
type TimeModel struct {
	Latency   float64 `json:"latency_seconds"`           // of a message
	Bandwidth float64 `json:"bandwidth_bits_per_second"` // of a link
	Jitter    float64 `json:"jitter_seconds"`            // the most that the random part of a message's time takes
}

// PaperTime is the formula that the paper prints, 50e-3 + 8 d r / 1e9 seconds for
// the d r float64 of a message, and PaperTextTime what its text says, 5 ms and
// 1 Gbit/s: 5e-3 + 64 d r / 1e9 seconds. The paper adds "a small random
// perturbation" without its size; here the jitter is 0 unless it is set.
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
	return TimeModel{}, fmt.Errorf("unknown time model %q: want paper or paper-text", name)
}

// Message returns the seconds that a message of the given size takes without jitter.
func (m TimeModel) Message(bytes float64) float64 {
	return m.Latency + 8*bytes/m.Bandwidth
}

// String describes the model in a few words.
func (m TimeModel) String() string {
	span := func(seconds float64) time.Duration { return time.Duration(math.Round(seconds * float64(time.Second))) }
	s := fmt.Sprintf("%v a round and %g Mbit/s", span(m.Latency), m.Bandwidth/1e6)
	if m.Jitter > 0 {
		s += fmt.Sprintf(", jitter up to %v", span(m.Jitter))
	}
	return s
}

// manyRounds is the number from which on the sum of the jitters is taken to be its mean:
// it differs by less than a thousandth, and drawing each would take minutes.
const manyRounds = 1 << 20

// A clock adds up the communication time of a run from its traffic.
type clock struct {
	model   TimeModel
	rng     *rand.Rand
	before  wire.Traffic
	seconds float64
}

func newClock(model TimeModel, seed uint64, method string) *clock {
	// Every method has jitter of its own, by name: it must not depend on which
	// methods run beside it.
	var id uint64
	for _, c := range []byte(method) {
		id = mix(id ^ uint64(c))
	}
	return &clock{model: model, rng: synth.Stream(seed, id)}
}

// advance returns the communication time of a run that has caused this traffic.
func (c *clock) advance(now wire.Traffic) float64 {
	rounds := now.Rounds - c.before.Rounds
	messages := float64(now.Messages - c.before.Messages)
	bytes := float64(now.Bytes - c.before.Bytes)
	c.before = now
	if rounds == 0 || messages == 0 {
		return c.seconds
	}
	c.seconds += float64(rounds) * c.model.Message(bytes/messages)
	each, jitter := messages/float64(rounds), c.model.Jitter
	if rounds > manyRounds {
		c.seconds += float64(rounds) * jitter * each / (each + 1)
	} else if jitter > 0 {
		for range rounds {
			c.seconds += jitter * c.slowest(each)
		}
	}
	return c.seconds
}

// slowest draws the largest of n independent numbers, uniform in (0, 1], at once.
func (c *clock) slowest(n float64) float64 { return math.Pow(1-c.rng.Float64(), 1/n) }
