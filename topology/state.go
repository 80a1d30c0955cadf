package topology

import (
	"bytes"
	"encoding/gob"
	"fmt"
	"math"
)

// saved is what MarshalBinary writes.
type saved struct {
	Agreement string
	Seed      uint64
	Bound     float64
	Again     uint64
	Flows     []*flow
}

// description tells agreements apart for which a state must not be exchanged.
func (m *exchange) description() string {
	return fmt.Sprintf("%v on %v", m.a, m.graph)
}

// MarshalBinary returns what the nodes know of one another, with all that decides
// how they go on. Traffic is not part of it.
func (m *exchange) MarshalBinary() ([]byte, error) {
	s := saved{Agreement: m.description(), Seed: m.a.Seed, Bound: m.bound, Again: m.again}
	for _, f := range m.flows {
		if f != nil {
			s.Flows = append(s.Flows, f)
		}
	}
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(s); err != nil {
		return nil, fmt.Errorf("topology: state of a mixer: %w", err)
	}
	return b.Bytes(), nil
}

// UnmarshalBinary takes over the state that MarshalBinary of a mixer made from equal
// arguments returned. On an error nothing changes.
func (m *exchange) UnmarshalBinary(p []byte) error {
	var s saved
	if err := gob.NewDecoder(bytes.NewReader(p)).Decode(&s); err != nil {
		return fmt.Errorf("topology: state of a mixer: %w", err)
	}
	if want := m.description(); s.Agreement != want || s.Seed != m.a.Seed || s.Bound != m.bound {
		return fmt.Errorf("topology: the state is of a mixer with %q, seed %d, gamma %v; this one has %q, seed %d, gamma %v",
			s.Agreement, s.Seed, s.Bound, want, m.a.Seed, m.bound)
	}
	var flows [streams]*flow
	for _, f := range s.Flows {
		if f.Stream >= streams || flows[f.Stream] != nil || f.Stream == Exact {
			return fmt.Errorf("topology: the state has %v where it cannot be", f.Stream)
		}
		made, err := m.restored(f)
		if err != nil {
			return err
		}
		flows[f.Stream] = made
	}
	m.flows, m.again = flows, s.Again
	return nil
}

// restored returns a complete flow with the saved part of f.
func (m *exchange) restored(f *flow) (*flow, error) {
	// Bounded by what is there before anything is multiplied or made.
	most := len(f.Known)
	if f.D < 0 || f.R < 0 || f.Scalars < 0 || f.D > most || f.Scalars > most || f.D > 0 && f.R > most/f.D ||
		f.D*f.R+f.Scalars == 0 || f.D*f.R+f.Scalars > most {
		return nil, fmt.Errorf("topology: the state of stream %v is of %d x %d and %d scalars, with %d numbers", f.Stream, f.D, f.R, f.Scalars, most)
	}
	made := m.newFlow(f.Stream, f.D, f.R, f.Scalars)
	if len(f.Known) != len(made.Known) || len(f.Threshold) != len(made.Threshold) || len(f.Published) != len(made.Published) ||
		len(f.Wires.Arrived) != len(made.Wires.Arrived) || len(f.Wires.Late) != len(made.Wires.Late) {
		return nil, fmt.Errorf("topology: the state of stream %v is not of this network", f.Stream)
	}
	for i, v := range f.Known {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("topology: the state of stream %v has %v at node %d", f.Stream, v, i/made.stride)
		}
	}
	made.Rounds, made.Known, made.Threshold = f.Rounds, f.Known, f.Threshold
	made.Published, made.Wires = f.Published, f.Wires
	return made, nil
}
