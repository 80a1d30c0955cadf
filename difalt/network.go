package difalt

import (
	"context"
	"errors"
	"fmt"

	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/topology"
)

// A Network says who talks to whom.
type Network struct {
	// Weights are the mixing weights of the whole network.
	Weights *topology.Weights
	// Agreement says how the nodes agree, if Mixer is nil; the zero value is the paper's
	// AGREE in float64.
	Agreement topology.Agreement
	// Mixer exchanges the messages. Nil hosts every node in this process.
	Mixer topology.Mixer
}

// system is what the initialisation and the iteration share: the nodes that live
// in this process, their workers, and the way out to the others.
type system struct {
	p      *Problem
	o      Options
	graph  *topology.Graph
	mixer  topology.Mixer
	hosted []int
	before topology.Traffic // of a Mixer that is not ours, before the run
	pool   *kernel.Pool
	msgs   []topology.Message
	sets   [][]*kernel.Tasks // sets[i][l] are the samples of set l at hosted node i
}

func newSystem(p *Problem, net *Network, o Options) (*system, error) {
	if p == nil || net == nil || net.Weights == nil {
		return nil, errors.New("difalt: need a problem and a network with weights")
	}
	if err := kernel.Err(); err != nil {
		return nil, fmt.Errorf("difalt: %w", err)
	}
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	s := &system{o: o, graph: net.Weights.Graph(), mixer: net.Mixer}
	l := net.Weights.Len()
	if s.mixer != nil {
		s.hosted, s.before = s.mixer.Hosted(), s.mixer.Traffic()
	} else {
		s.hosted = make([]int, l)
		for g := range s.hosted {
			s.hosted[g] = g
		}
	}
	var err error
	if s.p, err = p.validate(l, s.hosted, &o); err != nil {
		return nil, err
	}
	if err := s.split(); err != nil {
		return nil, err
	}
	s.pool = kernel.NewPool(o.Workers)
	if s.mixer == nil {
		if s.mixer, err = topology.NewMixer(net.Weights, s.pool, net.Agreement); err != nil {
			s.pool.Close()
			return nil, err
		}
	}
	s.msgs = make([]topology.Message, len(s.hosted))
	return s, nil
}

// nodes returns L.
func (s *system) nodes() int { return s.graph.Len() }

// agree runs AGREE (Alg. 1) on the bases and scalars of the hosted nodes; either
// may be nil.
func (s *system) agree(ctx context.Context, m topology.Mixer, stream topology.Stream, z []*kernel.Basis, scalars [][]float64, rounds int) error {
	for i := range s.msgs {
		s.msgs[i] = topology.Message{Stream: stream}
		if z != nil {
			s.msgs[i].Basis = z[i]
		}
		if scalars != nil {
			s.msgs[i].Scalars = scalars[i]
		}
	}
	return m.Mix(ctx, s.msgs, rounds)
}

// parts is the number of disjoint sample sets that a run needs (Alg. 3, line 4):
// two for the initialisation and two for each iteration.
func (s *system) parts() int {
	if !s.o.SampleSplit {
		return 1
	}
	return 2*s.o.Iterations + 2
}

// meanSamples is n, the mean number of samples a task has in one set.
func (s *system) meanSamples() float64 {
	return float64(s.p.TotalSamples) / float64(s.p.TotalTasks) / float64(s.parts())
}

// split cuts the samples of every task into disjoint sets, if asked to.
func (s *system) split() error {
	s.sets = make([][]*kernel.Tasks, len(s.hosted))
	need := s.parts() * s.o.Rank
	for i, k := range s.p.Nodes {
		if !s.o.SampleSplit {
			s.sets[i] = []*kernel.Tasks{k}
			continue
		}
		for t := range k.Len() {
			if n := k.Samples(t); n < need {
				return fmt.Errorf("difalt: SampleSplit with %d iterations needs %d samples a task (%d sets of at least Rank = %d), but node %d, task %d has %d",
					s.o.Iterations, need, s.parts(), s.o.Rank, s.hosted[i], t, n)
			}
		}
		for l := range s.parts() {
			s.sets[i] = append(s.sets[i], k.Part(l, s.parts()))
		}
	}
	return nil
}

// set returns the samples of set l at hosted node i: all of them without sample
// splitting.
func (s *system) set(i, l int) *kernel.Tasks {
	if len(s.sets[i]) == 1 {
		l = 0
	}
	return s.sets[i][l]
}
