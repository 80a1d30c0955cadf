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
	Duplicate float64 // probability that it arrives twice, which costs nobody anything
}

// Validate returns an error if messages would never arrive, which begins as flags call it. The range of each number is the caller's to check.
func (l Links) Validate() error {
	if sum := l.Loss + l.Delay; sum >= 1 {
		return fmt.Errorf("delay and loss are %v together: must be less than 1", sum)
	}
	return nil
}

// Again draws how many times a message is sent again until it arrives in its time.
func (l Links) Again(rng *rand.Rand) (times int64) {
	for rng.Float64() < l.Loss+l.Delay {
		times++
	}
	return times
}

const meterStream = 0x6d65746572 // "meter": random numbers apart from other uses of a seed

// A meter is a transport that carries nothing and counts what is sent again.
type meter struct {
	nodes int
	links Links
	rng   *rand.Rand
}

// NewMeter returns a transport for all nodes of a network of the given size in one
// process, which counts what faults of l would have cost. It is a wire.Meter.
func NewMeter(nodes int, l Links, seed uint64) (wire.Transport, error) {
	if err := l.Validate(); err != nil {
		return nil, err
	}
	return &meter{nodes, l, rand.New(rand.NewPCG(seed, meterStream))}, nil
}

// Hosted, Exchange and Close implement wire.Transport.
func (m *meter) Hosted() []int {
	all := make([]int, m.nodes)
	for i := range all {
		all[i] = i
	}
	return all
}

func (m *meter) Exchange(context.Context, uint64, [][]byte, [][]byte, []bool) error { return nil }
func (m *meter) Close() error                                                       { return nil }

// Round implements wire.Meter.
func (m *meter) Round(messages, bytes int64) wire.Traffic {
	again := int64(0)
	for range messages {
		again += m.links.Again(m.rng)
	}
	if again == 0 {
		return wire.Traffic{}
	}
	return wire.Traffic{Messages: again, Bytes: again * (bytes / messages), Lost: again}
}
