package main

import (
	"math"
	"time"

	"github.com/difalt/difalt/internal/options"
	"github.com/difalt/difalt/internal/simulation"
)

// timeFlags are the flags of a time model.
type timeFlags struct {
	name            string
	latency, jitter time.Duration
	bandwidth       float64
}

func newTimeFlags() *timeFlags {
	return &timeFlags{name: simulation.TimeModels[0].Name}
}

// options returns the flags.
func (t *timeFlags) options() []options.Option {
	return []options.Option{
		{Name: "time-model", Value: options.Text(&t.name, t.name), Usage: "communication time, `NAME`: paper (50 ms + 8 d r/1e9 s a round, its formula), paper-text (5 ms and 1 Gbit/s)"},
		{Name: "latency", Value: options.Span(&t.latency, 0, 0), Usage: "latency of a message, as 20ms (default that of the model)"},
		{Name: "bandwidth", Value: options.Number(&t.bandwidth, 0, math.SmallestNonzeroFloat64, huge, "must be positive"), Usage: "bandwidth of a link in `BITS` per second (default that of the model)"},
		{Name: "jitter", Value: options.Span(&t.jitter, 0, 0), Usage: "largest random part of a message's time (default none)"},
	}
}

// model returns the model that the flags of a parsed set describe. Its values are
// not checked.
func (t *timeFlags) model(f *options.Group) (simulation.TimeModel, error) {
	m, err := simulation.ParseTimeModel(t.name)
	if err != nil {
		return m, options.Usagef("--time-model: %w", err)
	}
	if f.Changed("latency") {
		m.Latency = t.latency
	}
	if f.Changed("bandwidth") {
		m.Bandwidth = t.bandwidth
	}
	m.Jitter = t.jitter
	return m, nil
}
