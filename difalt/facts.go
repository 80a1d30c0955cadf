package difalt

import (
	"context"
	"fmt"
	"math"

	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/difalt/features"
	"github.com/difalt/difalt/internal/settings"
	"github.com/difalt/difalt/internal/sizes"
)

// facts describe the data of all nodes; all nodes have the same.
type facts struct {
	features, rank, tasks, samples int
	xx, yy                         float64 // mean squares of a feature and of a response
	// unit, a power of two near sqrt(xx/yy), makes numbers in the size of coefficients dimensionless, so that
	// sums over nodes keep their digits.
	unit float64
}

// sumScale multiplies sums of squares of the data before they are added over the nodes, for the same reason.
const sumScale = 0x1p-20

// compare checks that all nodes have the same settings, and adds up the facts about their data.
func (s *Solver) compare(ctx context.Context) (f facts, err error) {
	list := append(s.settings(), wire.Setting{Name: "the iteration", Value: fmt.Sprint(s.state.iteration)})
	same := settings.Digits(list)
	n := len(same)
	rows := make([][]float64, len(s.problem.Nodes))
	for i, k := range s.problem.Nodes {
		xx, yy := sizes.Squares(k)
		rows[i] = append(same[:n:n], float64(k.Len()), float64(k.TotalSamples()), xx*sumScale, yy*sumScale, 0)
		if !s.o.AnyFeatures && features.Misleading(k) {
			rows[i][n+4] = 1
		}
	}
	if err := s.exchange.Sum(ctx, rows); err != nil {
		return f, err
	}
	total := rows[0]
	if !settings.Alike(total[:n], s.exchange.Len()) {
		return f, settings.Difference(ctx, s.exchange, list)
	}
	f = facts{features: s.problem.Nodes[0].Features(), rank: s.o.Rank, tasks: int(total[n]), samples: int(total[n+1]), unit: 1}
	switch {
	case f.samples == 0:
		return f, &DataError{-1, -1, -1, "the tasks have no samples"}
	case !(total[n+2] > 0):
		return f, &DataError{-1, -1, -1, "all features are zero"}
	case s.o.Rank > f.tasks:
		return f, &ParameterError{"Rank", s.o.Rank, fmt.Sprintf("must be at most the %d tasks", f.tasks)}
	}
	f.xx, f.yy = total[n+2]/sumScale/float64(f.samples*f.features), total[n+3]/sumScale/float64(f.samples)
	if f.yy > 0 {
		f.unit = math.Exp2(math.Round(math.Log2(f.xx/f.yy) / 2))
	}
	if total[n+4] > 0 {
		return f, features.Check(ctx, s.exchange, s.problem.Nodes)
	}
	return f, nil
}

// settings returns everything that the nodes need alike.
func (s *Solver) settings() []wire.Setting {
	list := s.o.Settings()
	for _, v := range []struct {
		name  string
		value any
	}{
		{"the number of features", s.problem.Nodes[0].Features()}, {"U0 is given", s.problem.U0 != nil},
		{"Start is given", s.problem.Start != nil},
		{"the fingerprint of the mixing weights", fmt.Sprintf("%016x", s.net.Weights().Fingerprint())},
	} {
		list = append(list, wire.Setting{Name: v.name, Value: fmt.Sprint(v.value)})
	}
	return list
}

// curvature is n m: the mean number of samples of a task times the mean square of a feature. The Hessian of a
// task in the direction of its b_t is about n m |b_t|^2.
func (f *facts) curvature() float64 { return float64(f.samples) / float64(f.tasks) * f.xx }

// squares is the sum of y^2 over all nodes.
func (f *facts) squares() float64 { return f.yy * float64(f.samples) }

// edge is about the square of the largest singular value of a d x T matrix of independent entries of that
// variance.
func (f *facts) edge(variance float64) float64 {
	width := math.Sqrt(float64(f.features)) + math.Sqrt(float64(f.tasks))
	return variance * width * width
}

// slowest is the length of a Newton-like step over the distance to the minimiser, in the direction where the
// samples are least informative: (1 - sqrt(q))^2, where q = dr over the number of samples, at most .6.
func (f *facts) slowest() float64 {
	v := 1 - math.Sqrt(min(0.6, float64(f.features*f.rank)/float64(f.samples)))
	return v * v
}

// leastSignal bounds the part of an eigenvalue that is not noise from below.
const leastSignal = 0.01

// signal returns the part of the smallest eigenvalue lambda of P that is not noise, and the subspace distance
// that noise leaves in the best U; infinite if it is unknown. Noise of variance v in the responses adds v/(n
// m) to the variance of b_t in every direction, so that
//
//	signal = 1 - T v/(n m lambda),   SD ~ sqrt(v d / (n m lambda signal)),
//	v = |residual|^2/(samples - Tr - dr).
func (f *facts) signal(lambda, objective float64) (signal, noise float64) {
	free := float64(f.samples - f.tasks*f.rank - f.features*f.rank)
	if !(lambda > 0) || free <= 0 {
		return 1, math.Inf(1)
	}
	v := objective / free / f.curvature()
	signal = max(leastSignal, 1-float64(f.tasks)*v/lambda)
	return signal, math.Sqrt(v * float64(f.features) / (lambda * signal))
}
