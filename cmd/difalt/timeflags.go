package main

import (
	"time"

	"github.com/difalt/difalt/internal/options"
	"github.com/difalt/difalt/internal/simulation"
	"github.com/spf13/pflag"
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

// add adds the flags to a set.
func (t *timeFlags) add(f *pflag.FlagSet) {
	f.StringVar(&t.name, "time-model", t.name, "communication time, `NAME`: paper (50 ms + 8 d r/1e9 s a round, its formula), paper-text (5 ms and 1 Gbit/s)")
	f.DurationVar(&t.latency, "latency", 0, "latency of a message, as 20ms (default that of the model)")
	f.Float64Var(&t.bandwidth, "bandwidth", 0, "bandwidth of a link in `BITS` per second (default that of the model)")
	f.DurationVar(&t.jitter, "jitter", 0, "largest random part of a message's time (default none)")
}

// model returns the model that the flags of a parsed set describe. Its values are
// not checked.
func (t *timeFlags) model(f *pflag.FlagSet) (simulation.TimeModel, error) {
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
