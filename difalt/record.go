package difalt

import (
	"errors"

	"github.com/difalt/difalt/kernel"
)

// A recorder makes records, and sees to it that the observer gets each of them once.
type recorder struct {
	metrics  *metrics
	observed int  // the last iteration whose record the observer has, -1 before the first
	enough   bool // the observer has returned ErrStop
	last     Record
}

// observe hands the record of the current state to the observer, once: rec if there is one,
// or else that of the groups.
func (s *Solver) observe(rec *Record) error {
	r := &s.records
	if s.o.Observer == nil || r.enough || r.observed >= s.at.iteration {
		return nil
	}
	if r.last = s.record(s.at.groups); rec != nil {
		r.last = *rec
	}
	err := s.o.Observer(&r.last)
	if errors.Is(err, ErrStop) {
		r.enough, err = true, nil
		s.raise(Canceled)
	}
	if err != nil {
		return err
	}
	r.observed = s.at.iteration
	return nil
}

// raise lets all hosted nodes ask the others to end with a status.
func (s *Solver) raise(status Status) {
	for i := range s.hosted {
		s.stop.raise(i, status)
	}
}

// record describes the current U, to which the groups have fitted their b_t.
func (s *Solver) record(groups []*kernel.Group) Record {
	rec := Record{Iteration: s.at.iteration, Compute: s.compute, Traffic: s.traffic()}
	rec.SDFirst, rec.SDMax, rec.SDMean, rec.Disagreement = s.records.metrics.subspaces(s.estimates())
	for _, g := range groups {
		rec.Objective += g.Objective / (s.data.unit.y * s.data.unit.y)
		for _, st := range g.Status {
			if st != 0 {
				rec.Singular++
			}
		}
	}
	for _, g := range s.at.groups {
		if g.Anchored {
			rec.Anchors++
		}
	}
	rec.Damped, rec.Regularized = s.method.shortened()
	return rec
}
