package difalt

import (
	"context"
	"fmt"
	"math"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/difalt/features"
	"github.com/difalt/difalt/internal/settings"
	"github.com/difalt/difalt/internal/sums"
	"github.com/difalt/difalt/kernel"
)

// totals describe the data of all nodes. All nodes have equal totals.
type totals struct {
	sums.Data
	// unit makes numbers in the size of coefficients dimensionless, so that sums over nodes keep their
	// digits. It is a power of two near the root of the mean square of a feature over the mean square of
	// a response.
	unit   float64
	energy float64 // the unit of objectives; see sums.Data.Energy
	known  float64 // sum of (n_t - r)+ over all tasks; see knowledge
}

// A comparison is what the nodes sum before the start.
type comparison struct {
	settings   []float64 // see settings.Digits
	data       sums.Data
	known      float64 // see totals
	misleading bool    // the features of the node may mislead the methods
}

func (c *comparison) Fields(row *sums.Row) {
	row.Numbers(c.settings, 1)
	c.data.Fields(row)
	row.Number(&c.known, 1)
	row.Flag(&c.misleading)
}

// agree checks that all nodes have equal settings, and returns the totals of their data.
func (s *Solver) agree(ctx context.Context) (totals, error) {
	list := append(s.settings(),
		consensus.Setting{Name: "the iteration", Value: fmt.Sprint(s.point.iteration)},
		consensus.Setting{Name: "the course of the run", Value: fmt.Sprintf("%+v", s.checker.rule.course)})
	rows, data := make([][]float64, len(s.problem.Nodes)), make([]sums.Data, len(s.problem.Nodes))
	for i, k := range s.problem.Nodes {
		own := comparison{settings: settings.Digits(list), data: sums.Of(k, s.o.Rank)}
		data[i] = own.data
		own.known = (&totals{Data: own.data}).knowledgeOf(k, 0)
		own.misleading = !s.o.AnyFeatures && features.Misleading(k)
		rows[i] = sums.Write(nil, &own)
	}
	if err := s.net.Sum(ctx, rows); err != nil {
		return totals{}, err
	}
	all := comparison{settings: settings.Digits(list)}
	all.data.Features, all.data.Rank = float64(s.problem.Nodes[0].Features()), float64(s.o.Rank)
	sums.Read(rows[0], &all)
	if !settings.Alike(all.settings, s.net.Len()) {
		return totals{}, settings.Difference(ctx, s.net, list)
	}
	if err := all.data.Complete(ctx, s.net, data); err != nil {
		return totals{}, err
	}
	t := totals{all.data, 1 / all.data.Coefficient(), all.data.Energy(), all.known}
	switch {
	case t.Samples == 0:
		return t, &DataError{-1, -1, -1, "the tasks have no samples"}
	case !(t.XX > 0):
		return t, &DataError{-1, -1, -1, "all features are zero"}
	}
	if err := s.o.Validate(s.problem.Nodes[0].Features(), int(t.Tasks)); err != nil {
		return t, err
	}
	if all.misleading {
		return t, features.Check(ctx, s.net, s.problem.Nodes)
	}
	return t, nil
}

// settings returns everything that the nodes need alike.
func (s *Solver) settings() []consensus.Setting {
	list := s.o.Settings()
	for _, v := range []struct {
		name  string
		value any
	}{
		{"the number of features", s.problem.Nodes[0].Features()}, {"U0 is given", s.problem.U0 != nil},
		{"Start is given", s.problem.Start != nil},
		{"the fingerprint of the mixing weights", fmt.Sprintf("%016x", s.net.Weights().Fingerprint())},
	} {
		list = append(list, consensus.Setting{Name: v.name, Value: fmt.Sprint(v.value)})
	}
	return list
}

// contraction is the length of a Newton-like step over the distance to the minimiser, in the direction where
// the samples are least informative: (1 - sqrt(q))^2, where q = dr over the number of samples, at most .6.
func (t *totals) contraction() float64 {
	v := 1 - math.Sqrt(min(0.6, t.Features*t.Rank/t.Samples))
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
func (t *totals) signal(lambda, objective float64) (signal, noise float64) {
	free := t.Free()
	if !(lambda > 0) || free <= 0 {
		return 1, math.Inf(1)
	}
	v := objective / free / t.Curvature()
	signal = max(leastSignal, 1-t.Tasks*v/lambda)
	return signal, math.Sqrt(v * t.Features / (lambda * signal))
}

// knowledge returns what a task of n samples knows about U: the expectation, for independent features, of n
// less the trace of its smoother A(A'A + ridge I)^-1 A', where A = X_t U. That is (n - r)+ without a ridge.
// With it, the trace v is about r c/(c + ridge) for c = (n - v) m (Marchenko and Pastur 1967), so that
//
//	w = n - v = (p + sqrt(p^2 + 4 n ridge/m))/2,   p = n - r - ridge/m.
func (t *totals) knowledge(n, ridge float64) float64 {
	if ridge == 0 {
		return max(n-t.Rank, 0)
	}
	penalty := ridge / t.MeanFeature()
	p := n - t.Rank - penalty
	root := math.Sqrt(float64(p*p) + float64(4*n*penalty))
	if p < 0 { // without cancellation
		return 2 * n * penalty / (root - p)
	}
	return (p + root) / 2
}

// weigh sets the weights of tasks in P: their knowledge over its mean, times the size of their features. The
// Hessian of a task is about its knowledge times the mean square of its features times b_t b_t'. A task that
// fits all its samples, with a b_t that may be huge, does not determine U, and b_t is large where features
// are small. The knowledge counts as 1 everywhere if no task knows anything.
func (s *Solver) weigh(ctx context.Context) error {
	p := &s.point
	known := p.totals.known
	if p.ridge > 0 { // it depends on m, which is known now
		rows := make([][]float64, len(p.weights))
		for i, k := range s.problem.Nodes {
			rows[i] = []float64{p.totals.knowledgeOf(k, p.ridge)}
		}
		if err := s.net.Sum(ctx, rows); err != nil {
			return err
		}
		known = rows[0][0]
	}
	for i, w := range p.weights {
		k := s.problem.Nodes[i]
		for t := range w {
			w[t] = p.totals.SizeOf(k, t)
			if known == 0 {
				continue
			}
			w[t] *= p.totals.knowledge(float64(k.Samples(t)), p.ridge) / (known / p.totals.Tasks)
		}
	}
	return nil
}

// knowledgeOf returns the sum of the knowledge of all tasks of a node.
func (t *totals) knowledgeOf(k *kernel.Tasks, ridge float64) (sum float64) {
	for task := range k.Len() {
		sum += t.knowledge(float64(k.Samples(task)), ridge)
	}
	return sum
}
