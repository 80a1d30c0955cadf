// Package faults says how the links of a network may fail, and counts what that costs in a
// simulation.
package faults

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/difalt/difalt/consensus/wire"
)

// Links says how links fail; the zero value is links that do not. The fates of
// messages are independent.
type Links struct {
	Loss      float64 // probability that a message does not arrive
	Delay     float64 // probability that it arrives after it was given up and sent again
	Duplicate float64 // probability that it arrives twice
	Corrupt   float64 // probability that one of its bits arrives turned over
}

// Validate returns an error that names the first field with a value out of range.
func (l Links) Validate() error {
	for _, f := range []struct {
		name  string
		value float64
	}{{"Loss", l.Loss}, {"Delay", l.Delay}, {"Duplicate", l.Duplicate}, {"Corrupt", l.Corrupt}} {
		if !(f.value >= 0 && f.value < 1) {
			return fmt.Errorf("faults: Links.%s = %v: need 0 <= %s < 1", f.name, f.value, f.name)
		}
	}
	if sum := l.Loss + l.Delay + l.Corrupt; sum >= 1 {
		return fmt.Errorf("faults: Links.Loss + Delay + Corrupt = %v: must be less than 1", sum)
	}
	return nil
}

const meterStream = 0x6d65746572 // "meter": random numbers apart from other uses of a seed

// NewMeter returns a transport for all nodes of a network of the given size in one
// process, which counts what faults of l would have cost: a message that is lost, late
// or corrupt is sent again until one arrives in its time. It is a wire.Meter.
func NewMeter(nodes int, l Links, seed uint64) (wire.Transport, error) {
	if err := l.Validate(); err != nil {
		return nil, err
	}
	m := &meter{late: l.Loss + l.Delay + l.Corrupt, rng: rand.New(rand.NewPCG(seed, meterStream))}
	for i := range nodes {
		m.hosted = append(m.hosted, i)
	}
	return m, nil
}

type meter struct {
	hosted []int
	late   float64
	rng    *rand.Rand
}

// Exchange and Close implement wire.Transport, which has nothing to carry.
func (m *meter) Exchange(context.Context, uint64, [][]byte, [][]byte) error { return nil }
func (m *meter) Close() error                                               { return nil }

func (m *meter) Hosted() []int { return m.hosted }

// Round implements wire.Meter.
func (m *meter) Round(messages, bytes int64) wire.Traffic {
	again := int64(0)
	for range messages {
		for m.rng.Float64() < m.late {
			again++
		}
	}
	if again == 0 {
		return wire.Traffic{}
	}
	return wire.Traffic{Messages: again, Bytes: again * (bytes / messages), Lost: again}
}
