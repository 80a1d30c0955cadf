package consensus

import (
	"bytes"
	"encoding/gob"
	"fmt"
	"slices"

	"github.com/difalt/difalt/consensus/collective"
	"github.com/difalt/difalt/consensus/wire"
)

// stateVersion is that of what MarshalBinary writes.
const stateVersion = 3

// saved is what MarshalBinary writes.
type saved struct {
	Version   int
	Settings  []wire.Setting
	Network   uint64 // fingerprint of the weights
	Hosted    []int
	Reduction collective.State
	Refined   string // codec of Refine; empty: that of the Agreement
	Streams   []savedStream
}

type savedStream struct {
	Dimensions dimensions
	State      streamState
}

// MarshalBinary returns what the hosted nodes keep from one call to the next, as it
// was at the last Network.Commit: replicas, thresholds, and a reduction under way.
// Traffic is not part of it.
func (m *Mixer) MarshalBinary() ([]byte, error) {
	s := saved{Version: stateVersion, Settings: m.settings, Network: m.net.fingerprint, Hosted: m.net.Hosted(), Reduction: m.reduction.Committed()}
	if c := m.coder.refined; c != None {
		s.Refined = c.String()
	}
	for _, f := range m.coder.all {
		if f != nil && f.committed.Rounds > 0 {
			s.Streams = append(s.Streams, savedStream{Dimensions: f.dimensions, State: f.committed})
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
	difference := wire.Difference(s.Settings, "in the state", m.settings, "here")
	switch {
	case s.Version != stateVersion:
		return fmt.Errorf("consensus: the state of a mixer has version %d, want %d", s.Version, stateVersion)
	case s.Network != m.net.fingerprint:
		return fmt.Errorf("consensus: the state is of a network with other weights than %v", m.net.weights)
	case difference != "":
		return fmt.Errorf("consensus: the state is of another mixer: %s", difference)
	case !slices.Equal(s.Hosted, m.net.Hosted()):
		return fmt.Errorf("consensus: the state is of a process that hosts nodes %d; this one hosts %d", s.Hosted, m.net.Hosted())
	}
	restored := *m.coder
	if err := restored.restore(s); err != nil {
		return err
	}
	if err := m.reduction.Restore(s.Reduction); err != nil {
		return err
	}
	*m.coder = restored
	return nil
}

// restore takes over the saved streams, or part of them and returns an error.
func (m *coder) restore(s saved) (err error) {
	m.refined, m.all = None, [streams]*codedStream{}
	if s.Refined != "" {
		if m.refined, err = ParseCodec(s.Refined); err != nil {
			return err
		}
		if m.refined == None || m.agreed.Codec == None {
			return fmt.Errorf("consensus: the state has codec %q where none can be", s.Refined)
		}
	}
	for _, f := range s.Streams {
		stream := f.Dimensions.Stream
		if !m.keeps() || stream >= streams || stream == Exact || m.all[stream] != nil {
			return fmt.Errorf("consensus: the state has %v where it cannot be", stream)
		}
		if m.all[stream], err = m.restored(f); err != nil {
			return err
		}
	}
	return nil
}

// restored returns a complete stream with the state f.
func (m *coder) restored(f savedStream) (*codedStream, error) {
	// Bounded by what is there before anything is multiplied or made.
	s, most := f.Dimensions, len(f.State.Replica)
	if s.D < 0 || s.R < 0 || s.Scalars < 0 || s.D > most || s.Scalars > most || s.D > 0 && s.R > most/s.D ||
		s.D == 0 && s.R > 0 || s.entries() == 0 || s.entries() > most {
		return nil, fmt.Errorf("consensus: the state is of %v, with %d numbers", s, most)
	}
	made := m.newStream(s)
	c := &made.committed
	if len(f.State.Replica) != len(c.Replica) || len(f.State.Threshold) != len(c.Threshold) {
		return nil, fmt.Errorf("consensus: the state of %v is not of this network", s)
	}
	if !wire.Finite(f.State.Replica) || !wire.Finite(f.State.Threshold) {
		return nil, fmt.Errorf("consensus: the state of %v has numbers that are not finite", s)
	}
	*c = f.State
	made.stale = true
	return made, nil
}
