package difalt

import (
	"fmt"
	"time"

	"github.com/difalt/difalt/internal/work"
	"github.com/difalt/difalt/kernel"
)

// parts returns the number of disjoint sample sets (Alg. 3, line 4), which are 00, 0, 1, ..., 2 T_GD; 1
// without sample splitting.
func (s *Solver) parts() int {
	if s.o.SampleSplit {
		return 2*s.o.Iterations + 2
	}
	return 1
}

// samples returns sample set k of hosted node i, where set 0 is the paper's 00, set 1 is 0 and so on.
func (s *Solver) samples(i, k int) *kernel.Tasks {
	if !s.o.SampleSplit {
		return s.problem.Nodes[i]
	}
	return s.problem.Nodes[i].Part(k, s.parts())
}

// evaluateSplit is lines 7 to 11 with sample set tau for line 8, and sample set tau + T_GD for line 11.
func (s *Solver) evaluateSplit() {
	p, tau := &s.point, s.point.iteration+1
	work.For(s.pool, len(p.u), func(i int) {
		fit, rest := s.samples(i, 1+tau), s.samples(i, 1+tau+s.o.Iterations)
		p.at[i] = evaluateApart(fit, rest, p.u[i], s.o.Ridge)
	})
}

// evaluateApart fits b_t to u on the samples fit, and computes the gradient and the objective on other
// samples of these tasks.
func evaluateApart(fit, others *kernel.Tasks, u *kernel.Basis, ridge float64) evaluation {
	start := time.Now()
	_, r := u.Dims()
	g, at := kernel.NewGroup(fit, r), kernel.NewGroup(others, r)
	g.Minimize(u, ridge, nil)
	copy(at.B, g.B)
	at.Gradient(u, nil)
	return evaluation{b: g.B, status: g.Status, grad: at.Grad, objective: at.Objective, elapsed: time.Since(start)}
}

// checkSplit returns a *DataError for the first task with too few samples to split.
func (s *Solver) checkSplit() error {
	if !s.o.SampleSplit {
		return nil
	}
	need := int64(s.parts()) * int64(s.o.Rank)
	for i, tasks := range s.problem.Nodes {
		for t := range tasks.Len() {
			if n := tasks.Samples(t); int64(n) < need {
				why := fmt.Sprintf("%d samples: SampleSplit needs %d", n, need)
				return &DataError{s.net.Hosted()[i], t, -1, why}
			}
		}
	}
	return nil
}
