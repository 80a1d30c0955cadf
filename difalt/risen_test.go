package difalt_test

import (
	"errors"
	"testing"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/topology"
)

// rising is a problem on which accelerated takes Gauss-Newton steps within 30 iterations.
func rising(ridge float64) drawing {
	s := drawing{nodes: 4, d: 14, r: 2, kappa: 20, ridge: ridge, x: 1, y: 1, seed: 3}
	for t := range 24 {
		s.n = append(s.n, []int{1, 4, 5, 6}[t%4])
	}
	return s
}

// products counts the iterations that stay where they are: those of the conjugate gradients.
func products(list []difalt.Record) (count int) {
	for k := 1; k < len(list); k++ {
		if list[k].Objective > 0 && list[k].Disagreement == 0 && list[k].SDMax == list[k-1].SDMax {
			count++
		}
	}
	return count
}

// TestGaussNewtonApart: Gauss-Newton steps have the same bits in one process and in several, for all numbers
// of workers, with codes and a ridge.
func TestGaussNewtonApart(t *testing.T) {
	for _, ridge := range []float64{0, .01} {
		s := rising(ridge)
		p, w := s.problem(), weights(t, "path", s.nodes, 1, topology.Metropolis)
		for _, codec := range []consensus.Codec{consensus.Int8, consensus.Float64} {
			o := difalt.Options{Rank: s.r, Method: difalt.Accelerated, Codec: codec, Ridge: ridge, Iterations: 60}
			if n := products(curve(t, p, connect(t, w, nil), o)); n < 4 && ridge == 0 {
				t.Errorf("%v: %d products: the test wants Gauss-Newton steps", codec, n)
			}
			for _, k := range []int{2, 4} {
				sameApart(t, p, w, together(s.nodes, k), o)
			}
		}
	}
}

// TestGaussNewtonStops: a run ends within a Gauss-Newton step as in any other iteration, with the best point
// or a trial, and continues from a snapshot to the same minimum.
func TestGaussNewtonStops(t *testing.T) {
	s := rising(0)
	p := s.problem()
	// From one of the points a run takes more than 500 iterations along a valley, where OpenBLAS computes.
	o := difalt.Options{Rank: s.r, Method: difalt.Accelerated, Iterations: 2000}
	whole := run(t, p, network(t, "path", s.nodes, 1), o)
	if whole.Status != difalt.Converged {
		t.Fatal(whole.Status)
	}
	for last := 1; last < 40; last++ {
		own := o
		own.Observer = func(r *difalt.Record) error {
			if r.Iteration == last {
				return difalt.ErrStop
			}
			return nil
		}
		solver, err := difalt.NewSolver(p, network(t, "path", s.nodes, 1), own)
		if err != nil {
			t.Fatal(err)
		}
		res, err := solver.Run(t.Context())
		if err != nil || res.Status != difalt.Canceled || res.Iterations != last {
			t.Errorf("iteration %d: %v after %d, %v", last, res.Status, res.Iterations, err)
		}
		snap, err := solver.Snapshot()
		solver.Close()
		if err != nil {
			t.Fatal(err)
		}
		next, err := difalt.NewSolver(p, network(t, "path", s.nodes, 1), o)
		if err = errors.Join(err, next.Restore(snap)); err != nil {
			t.Fatal(err)
		}
		end, err := next.Run(t.Context())
		next.Close()
		sd := difalt.SubspaceDistance(end.U[0], whole.U[0])
		if err != nil || end.Status != difalt.Converged || sd > 1e-8 {
			t.Errorf("iteration %d, restored: %v, %g away, %v", last, end.Status, sd, err)
		}
	}
}
