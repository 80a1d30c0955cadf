package consensus

import (
	"bytes"
	"encoding/gob"
	"fmt"
	"slices"
)

// saved is what MarshalBinary writes.
type saved struct {
	Mixer   string
	Network uint64 // fingerprint of the weights
	Hosted  []int
	Riding  riding
	Codec   string // of Refine; empty: that of the Agreement
	Flows   []savedFlow
}

type savedFlow struct {
	Shape shape
	State flowState
}

// MarshalBinary returns what the hosted nodes keep from one call to the next, as it
// was at the last Network.Commit: replicas, thresholds, and a reduction under way.
// Traffic is not part of it.
func (m *Mixer) MarshalBinary() ([]byte, error) {
	s := saved{Mixer: m.name, Network: m.net.print, Hosted: m.net.hosted, Riding: m.told.committed}
	if m.kept != nil {
		s.Codec = m.kept.refined()
		for _, f := range m.kept.flows {
			if f != nil && f.committed.Rounds > 0 {
				s.Flows = append(s.Flows, savedFlow{Shape: f.shape, State: f.committed})
			}
		}
	}
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(s); err != nil {
		return nil, fmt.Errorf("consensus: state of a mixer: %w", err)
	}
	return b.Bytes(), nil
}

// UnmarshalBinary takes over the state that MarshalBinary of a mixer returned that was
// made from equal arguments, in a network with equal weights and the same hosted nodes:
// it goes on with the same bits. What this mixer has done since the last Commit is
// dropped. On an error nothing changes.
func (m *Mixer) UnmarshalBinary(p []byte) error {
	var s saved
	if err := gob.NewDecoder(bytes.NewReader(p)).Decode(&s); err != nil {
		return fmt.Errorf("consensus: state of a mixer: %w", err)
	}
	switch {
	case s.Network != m.net.print:
		return fmt.Errorf("consensus: the state is of a network with other weights than %v", m.net.weights)
	case s.Mixer != m.name:
		return fmt.Errorf("consensus: the state is of a mixer with %q; this one has %q", s.Mixer, m.name)
	case !slices.Equal(s.Hosted, m.net.hosted):
		return fmt.Errorf("consensus: the state is of a process that hosts nodes %d; this one hosts %d", s.Hosted, m.net.hosted)
	}
	if err := s.Riding.check(m.net); err != nil {
		return err
	}
	var codec Codec
	if s.Codec != "" {
		var err error
		if codec, err = ParseCodec(s.Codec); err != nil {
			return err
		}
		if m.kept == nil || codec == nil {
			return fmt.Errorf("consensus: the state has codec %q where none can be", s.Codec)
		}
	}
	var flows [streams]*flow
	for _, f := range s.Flows {
		if m.kept == nil || f.Shape.Stream >= streams || f.Shape.Stream == Exact || flows[f.Shape.Stream] != nil {
			return fmt.Errorf("consensus: the state has stream %v where it cannot be", f.Shape.Stream)
		}
		made, err := m.kept.restored(f)
		if err != nil {
			return err
		}
		flows[f.Shape.Stream] = made
	}
	if m.kept != nil {
		m.kept.flows, m.kept.finer = flows, codec
	}
	m.told.committed = s.Riding
	m.told.rewind()
	return nil
}

// restored returns a complete flow with the state f.
func (m *store) restored(f savedFlow) (*flow, error) {
	// Bounded by what is there before anything is multiplied or made.
	s, most := f.Shape, len(f.State.Replica)
	if s.D < 0 || s.R < 0 || s.Scalars < 0 || s.D > most || s.Scalars > most || s.D > 0 && s.R > most/s.D ||
		s.D == 0 && s.R > 0 || s.D*s.R+s.Scalars == 0 || s.D*s.R+s.Scalars > most {
		return nil, fmt.Errorf("consensus: the state is of %v, with %d numbers", s, most)
	}
	made := m.newFlow(s)
	c := &made.committed
	if len(f.State.Replica) != len(c.Replica) || len(f.State.Threshold) != len(c.Threshold) {
		return nil, fmt.Errorf("consensus: the state of %v is not of this network", s)
	}
	if !finite(f.State.Replica) || !finite(f.State.Threshold) {
		return nil, fmt.Errorf("consensus: the state of %v has numbers that are not finite", s)
	}
	*c = f.State
	made.stale = true
	return made, nil
}

// check returns an error unless r can be the state of a reduction in network n.
func (r *riding) check(n *Network) error {
	hosted := len(n.hosted)
	if r.Round < 0 || r.Round > 2*n.tree.height || r.Active && r.Round == 2*n.tree.height || len(r.Words) != hosted ||
		r.Numbers < 0 || len(r.Sums)%hosted != 0 || len(r.Sums)/hosted != r.Numbers || !finite(r.Sums) {
		return fmt.Errorf("consensus: the state has a reduction of %d words and %d numbers in round %d", len(r.Words), len(r.Sums), r.Round)
	}
	return nil
}
