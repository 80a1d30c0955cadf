package difalt

import (
	"fmt"

	"github.com/difalt/difalt/kernel"
)

// SetRidge changes the strength of the ridge and starts the iterations again from the
// current U, with the packed data kept. All nodes of a network must do so together.
func (s *Solver) SetRidge(ridge float64) error {
	o := s.o
	o.Ridge = ridge
	if err := o.Validate(); err != nil {
		return err
	}
	s.o = o
	s.restart()
	return nil
}

// SetResponses replaces the responses, y[i][t] those of task t of hosted node i, and
// starts the iterations again from the current U, with the packed samples kept. All
// nodes of a network must do so together. The slices are copied. It returns an error,
// and changes nothing, if a shape is wrong or a response is not finite, and with
// SampleSplit.
func (s *Solver) SetResponses(y [][][]float64) error {
	if s.o.SampleSplit {
		return fmt.Errorf("difalt: SetResponses does not go together with SampleSplit")
	}
	if len(y) != len(s.hosted) {
		return fmt.Errorf("difalt: responses of %d nodes, want %d", len(y), len(s.hosted))
	}
	nodes := make([]*kernel.Tasks, len(y))
	for i, k := range s.problem.Nodes {
		if len(y[i]) != k.Len() {
			return &DataError{s.hosted[i], -1, -1, fmt.Sprintf("responses of %d tasks, want %d", len(y[i]), k.Len())}
		}
		var all []float64
		for t := range y[i] {
			if len(y[i][t]) != k.Samples(t) {
				return &DataError{s.hosted[i], t, -1, fmt.Sprintf("%d responses, want %d", len(y[i][t]), k.Samples(t))}
			}
			all = append(all, y[i][t]...)
		}
		nodes[i] = k.WithResponses(all)
	}
	p := *s.problem
	p.Nodes = nodes
	if err := p.checkNodes(s.hosted); err != nil {
		return err
	}
	s.problem = &p
	s.restart()
	return nil
}

// restart starts the iterations again from the current U, and counts traffic and time anew.
func (s *Solver) restart() {
	if s.initial != nil {
		p := *s.problem
		p.U0 = clone(s.estimates())
		s.problem = &p
	}
	s.initial, s.at.executor, s.at.fitted = nil, nil, false
	if s.anchors != nil {
		s.anchors.restored = nil
	}
	s.status, s.at.iteration, s.records.observed = Running, 0, -1
	s.records.enough = false
	s.cost, s.elapsed = cost{atStart: s.net.Traffic()}, 0
	s.stop.reset()
	s.method.reset()
}
