package difalt

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/kernel/blas"
	"gonum.org/v1/gonum/floats"
)

// data are the samples of the hosted nodes in the units in which they are computed with,
// and what all nodes know of the samples of all.
type data struct {
	features, rank int
	parts          int // disjoint sample sets that a run needs (Alg. 3, line 4): two for the initialisation and two an iteration; 1: none

	unit  units
	ridge float64     // the strength of the ridge in these units
	by    coordinates // of the features; nil: as they are
	nodes []*kernel.Tasks
	rms   [][]float64       // of every task, by which NormalizeTasks divides; nil: 1
	sets  [][]*kernel.Tasks // sets[i][l] are the samples of set l at hosted node i

	tasks, samples int             // of the whole network
	xx, yy         float64         // mean square of an entry of X, and of a response
	moments        *featureMoments // nil: they do not matter
}

// units are what X and y are multiplied by so that their squares, and the squares of
// those, stay within float64: powers of two, so that nothing is rounded, and 1 unless
// the data are far from it. Results do not depend on them.
type units struct{ x, y float64 }

// farFrom1 is the exponent of two beyond which data get a unit of their own.
const farFrom1 = 16

func unitOf(largest float64) float64 {
	if e := math.Ilogb(largest); largest > 0 && (e > farFrom1 || e < -farFrom1) {
		return math.Ldexp(1, -e)
	}
	return 1
}

// sizes says of the largest magnitude of features or responses at a node whether it is too
// large for a unit of 1, and whether it is large enough. From the sums over the nodes farFrom
// knows whether all need another unit than 1.
func sizes(largest float64) []float64 {
	list, e := []float64{0, 0}, math.Ilogb(largest)
	if e > farFrom1 {
		list[0] = 1
	}
	if e >= -farFrom1 {
		list[1] = 1
	}
	return list
}

func farFrom(sums []float64) bool { return sums[0] > 0 || sums[1] == 0 }

// coefficient returns what a coefficient is multiplied by to be in the user's units.
func (u units) coefficient() float64 { return u.x / u.y }

// build brings the data of the hosted nodes into a unit, and into the coordinates.
func (k *data) build(s *process, unit units) error {
	k.unit, k.ridge, k.nodes, k.rms = unit, s.o.Ridge*unit.x*unit.x, slices.Clone(s.problem.Nodes), nil
	if unit == (units{1, 1}) && !s.o.NormalizeTasks && k.by == nil {
		return nil
	}
	k.rms = make([][]float64, len(k.nodes))
	for i, tasks := range k.nodes {
		var all []float64
		k.rms[i] = make([]float64, tasks.Len())
		for t := range k.rms[i] {
			all = append(all, tasks.Y(t)...)
			y := all[len(all)-tasks.Samples(t):]
			floats.Scale(unit.y, y)
			k.rms[i][t] = 1
			if rms := math.Sqrt(floats.Dot(y, y) / float64(len(y))); s.o.NormalizeTasks && rms > 0 {
				k.rms[i][t] = rms
				for n := range y {
					y[n] /= rms
				}
			}
		}
		k.nodes[i] = tasks.WithResponses(all)
		if unit.x == 1 && k.by == nil {
			continue
		}
		var err error // X is immutable and shared, so that other units and coordinates need a copy
		if k.nodes[i], err = repack(k.nodes[i], unit.x, k.by); err != nil {
			return &DataError{s.hosted[i], -1, -1, err.Error()}
		}
	}
	return nil
}

// penalized returns the objective that a step lowers: with the ridge, without which it
// may rise.
func (k *data) penalized(g *kernel.Group) float64 { return g.Objective + k.ridge*floats.Dot(g.B, g.B) }

// repack returns tasks with X times a unit, and in coordinates, on disk if those of k are.
func repack(k *kernel.Tasks, unit float64, by coordinates) (*kernel.Tasks, error) {
	rows := make([]int, k.Len())
	for t := range rows {
		rows[t] = k.Samples(t)
	}
	b, err := kernel.NewBuilderOnDisk(k.Folder(), k.Features(), rows, k.Storage())
	if err != nil {
		return nil, err
	}
	x := make([]float64, k.Features())
	for t, n := range rows {
		for i := range n {
			if floats.Scale(unit, k.Row(x, t, i)); by != nil {
				floats.Div(x, by)
			}
			b.SetRow(t, i, x, k.Y(t)[i])
		}
	}
	return b.Tasks(), nil
}

// What a node counts: its tasks and samples, the squares of X and y, and whether the moments of its
// features may matter.
const (
	countTasks = iota
	countSamples
	countX
	countY
	countVotes
	kindsOfCounts
)

// counts returns those of hosted node i. Squares are 0 where they are too large for their units,
// so that other numbers in the same message keep their digits. There is a vote if that is asked.
func (k *data) counts(i int, ask bool) []float64 {
	own := k.nodes[i]
	xx, yy := own.SquareSums()
	most := math.Ldexp(float64(own.TotalSamples()*k.features), 2*(farFrom1+1))
	if k.by == nil && !(xx <= most) || !(yy <= most) { // offsets may be larger than what coordinates go by
		xx, yy = 0, 0
	}
	vote := 0.0
	if ask && mayMatter(own) {
		vote = 1
	}
	return []float64{countTasks: float64(own.Len()), countSamples: float64(own.TotalSamples()), countX: xx, countY: yy, countVotes: vote}
}

// count takes over the sum of the counts of all nodes.
func (k *data) count(sum []float64) error {
	if sum[countSamples] == 0 {
		return errors.New("difalt: the tasks have no samples")
	}
	k.tasks, k.samples = int(sum[countTasks]), int(sum[countSamples])
	if k.xx, k.yy = sum[countX]/(sum[countSamples]*float64(k.features)), sum[countY]/sum[countSamples]; !(k.xx > 0) {
		return errors.New("difalt: all features are zero")
	}
	return nil
}

// curvature is n m: the mean number of samples a task has in one set, times the mean
// square of a feature. The Hessian of a task in the direction of its b_t is about that.
func (k *data) curvature() float64 { return k.meanSamples() * k.xx }

// variance is the part of m that tells tasks apart: without what all samples have in common,
// where that matters.
func (k *data) variance() float64 {
	if k.moments == nil {
		return k.xx
	}
	return floats.Sum(k.moments.variance) / float64(k.features)
}

// information is curvature by the variance.
func (k *data) information() float64 { return k.meanSamples() * k.variance() }

// bytes is how much memory the samples of all nodes take in float64.
func (k *data) bytes() int { return 8 * k.samples * blas.Stride(k.features) }

func (k *data) meanSamples() float64 {
	return float64(k.samples) / float64(k.tasks) / float64(k.parts)
}

// squares is the sum of y^2 over all nodes.
func (k *data) squares() float64 { return k.yy * float64(k.samples) }

// split cuts the samples of every task into disjoint sets, if asked to.
func (k *data) split(s *process) error {
	k.sets = make([][]*kernel.Tasks, len(k.nodes))
	need := (2*int64(s.o.Iterations) + 2) * int64(k.rank)
	for i, tasks := range k.nodes {
		if !s.o.SampleSplit {
			k.sets[i] = []*kernel.Tasks{tasks}
			continue
		}
		for t := range tasks.Len() {
			if n := tasks.Samples(t); int64(n) < need {
				return &DataError{s.hosted[i], t, -1, fmt.Sprintf("SampleSplit with %d iterations needs %d samples a task (%d sets of at least Rank = %d), but it has %d",
					s.o.Iterations, need, k.parts, k.rank, n)}
			}
		}
		for l := range k.parts {
			k.sets[i] = append(k.sets[i], tasks.Part(l, k.parts))
		}
	}
	return nil
}

// set returns the samples of set l at hosted node i: all of them without sample
// splitting.
func (k *data) set(i, l int) *kernel.Tasks {
	if len(k.sets[i]) == 1 {
		l = 0
	}
	return k.sets[i][l]
}

// noiseEdge is Initial.NoiseEdge, in these units.
func (k *data) noiseEdge() float64 { return k.edge(k.yy / k.curvature()) }

// edge is about the square of the largest singular value of a matrix with a row a feature and a column a
// task, all entries noise of that variance: (sqrt(d) + sqrt(T))^2 times the variance.
func (k *data) edge(variance float64) float64 {
	width := math.Sqrt(float64(k.features)) + math.Sqrt(float64(k.tasks))
	return variance * width * width
}

// free is how many more samples than unknowns there are.
func (k *data) free() float64 {
	return float64(k.samples - k.tasks*k.rank - k.features*k.rank)
}

// slowest is by how much a Newton-like step may fall short in the direction in which the
// samples say least.
func (k *data) slowest() float64 {
	v := 1 - math.Sqrt(min(0.6, float64(k.features*k.rank)/float64(k.samples)))
	return v * v
}

// leastSignal is the least part of an eigenvalue that differs from noise.
const leastSignal = 0.01

// signal returns how much of the smallest eigenvalue lambda of P = sum_t b_t b_t' is
// not noise, and the subspace distance that noise leaves in the best U. With noise of
// variance v in the responses, b_t has noise of variance v/(n m) in every direction, so
//
//	signal = 1 - T v/(n m lambda),   v = |residual|^2 / (samples - Tr - dr),
//
// by which a Newton-like step falls short in that direction. Each of the d entries of a
// column of U is known to v/(n m lambda signal):
//
//	SD ~ sqrt(v d / (n m lambda signal)).
func (k *data) signal(lambda, objective float64) (signal, noise float64) {
	if !(lambda > 0) || k.free() <= 0 {
		return 1, 0
	}
	v := objective / k.free() / k.information()
	signal = max(leastSignal, 1-float64(k.tasks)*v/lambda)
	return signal, math.Sqrt(v * float64(k.features) / (lambda * signal))
}
