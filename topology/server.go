package topology

import (
	"context"
	"fmt"

	"github.com/difalt/difalt/kernel"
)

// Server is the Mixer of a federation with a fusion centre, which AltGDmin needs:
// all nodes send their messages to a server, which broadcasts the mean.
//
// The mean is summed in the order of the nodes and is the same bits at every node,
// for any number of workers. A Server serves one goroutine at a time. Mix does not
// allocate.
type Server struct {
	*sweep
	traffic Traffic
}

// NewServer returns the mixer of l nodes around a server that is none of them.
// pool may be nil, which is serial; it remains the caller's.
func NewServer(l int, pool *kernel.Pool) *Server {
	return &Server{sweep: newSweep(l, pool, meanBlock)}
}

// Hosted returns all nodes, 0, ..., L-1. The slice is read only.
func (s *Server) Hosted() []int { return s.nodes }

// Traffic returns the communication so far. A call of Mix counts two rounds, the
// gathering and the broadcast, of L messages each.
func (s *Server) Traffic() Traffic { return s.traffic }

// Mix overwrites every message by the mean over the nodes. rounds must be 1: the
// mean of equal messages is no news. All messages must have the same shape and
// must not overlap.
func (s *Server) Mix(ctx context.Context, z []Message, rounds int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if rounds != 1 {
		return fmt.Errorf("topology: %d rounds through a server: must be 1", rounds)
	}
	if err := s.check(z); err != nil {
		return err
	}
	if len(z) == 0 {
		return nil
	}
	s.run(z)
	s.traffic.add(2, 2*int64(len(z)), z[0])
	return nil
}

// meanBlock overwrites entries [lo, hi) of all rows by their mean.
func meanBlock(_ int, rows [][]float64, lo, hi int) {
	var mean [blockLen]float64
	m := mean[:hi-lo]
	for _, row := range rows {
		for k, v := range row[lo:hi] {
			m[k] += v
		}
	}
	for k := range m {
		m[k] /= float64(len(rows))
	}
	for _, row := range rows {
		copy(row[lo:hi], m)
	}
}
