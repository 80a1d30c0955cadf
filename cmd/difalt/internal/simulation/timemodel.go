package simulation

import (
	"errors"

	"github.com/difalt/difalt/consensus/transport"
	"github.com/dustin/go-humanize"
)

// A TimeModel gives the duration of communication. A message of m bytes takes Latency + 8 m / Bandwidth
// seconds. The messages of a round travel in parallel. The "small random perturbation" of the paper, which
// does not state its size, is left out.
type TimeModel struct {
	Latency   float64 `json:"latency_seconds"`
	Bandwidth float64 `json:"bandwidth_bits_per_second"` // of a link
}

// PaperTime is the formula that the paper prints, 50e-3 + 8 d r / 1e9 seconds for the d r float64 of a
// message. PaperTextTime follows its text, 5 ms and 1 Gbit/s: 5e-3 + 64 d r / 1e9 seconds.
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
	return TimeModel{}, errors.New("must be paper or paper-text")
}

// String describes the model in a few words.
func (m TimeModel) String() string {
	return humanize.SI(m.Latency, "s") + " a round and " + humanize.SI(m.Bandwidth, "bit/s")
}

// duration returns the seconds that traffic takes.
func (m TimeModel) duration(sent transport.Traffic) float64 {
	if sent.Rounds == 0 || sent.Messages == 0 {
		return 0
	}
	return float64(sent.Rounds) * (m.Latency + 8*float64(sent.Bytes)/float64(sent.Messages)/m.Bandwidth)
}

// communication returns the modelled seconds from the start to every row of a curve, the initialisation
// included.
func (m TimeModel) communication(c *Curve) []float64 {
	seconds, before, sum := make([]float64, len(c.Rows)), transport.Traffic{}, 0.0
	for k := range c.Rows {
		sent := c.Rows[k].sent()
		sum += m.duration(sent.Minus(before))
		seconds[k], before = sum, sent
	}
	return seconds
}
