package simulation

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/internal/synth"
	"gonum.org/v1/gonum/floats"
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

// after returns when so much has been sent that begins after some seconds, with jitter from rng.
func (m TimeModel) after(seconds float64, sent wire.Traffic, rng *rand.Rand) float64 {
	if sent.Rounds == 0 || sent.Messages == 0 {
		return seconds
	}
	rounds, messages := float64(sent.Rounds), float64(sent.Messages)
	seconds += rounds * m.Message(float64(sent.Bytes)/messages)
	each := messages / rounds
	if sent.Rounds > manyRounds {
		seconds += rounds * m.Jitter * each / (each + 1)
	} else if m.Jitter > 0 {
		for range sent.Rounds { // the largest of each numbers, uniform in (0, 1], at once
			seconds += m.Jitter * math.Pow(1-rng.Float64(), 1/each)
		}
	}
	return seconds
}

// communication returns the modelled seconds until every row of a curve. The random delays of
// a trial and method are always the same; those of the initialisation are drawn last.
func (s *Setting) communication(trial int, c *Curve) []float64 {
	// Every method has jitter of its own, by name: it must not depend on which
	// methods run beside it.
	var id uint64
	for _, b := range []byte(c.Method) {
		id = mix(id ^ uint64(b))
	}
	rng, seconds := synth.Stream(derive(s.Seed, trial, forJitter), id), make([]float64, len(c.Rows))
	for k := 1; k < len(seconds); k++ {
		seconds[k] = s.Time.after(seconds[k-1], c.Rows[k].sent().Minus(c.Rows[k-1].sent()), rng)
	}
	floats.AddConst(s.Time.after(0, c.Rows[0].sent(), rng), seconds)
	return seconds
}
