package difalt

import (
	"context"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"time"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/kernel"
	"gonum.org/v1/gonum/floats"
)

// system is what the initialisation and the iteration share: the nodes that live
// in this process, their workers, and the way out to the others.
type system struct {
	p      *Problem
	o      Options
	net    *consensus.Network
	mixer  *consensus.Mixer // AGREE
	sums   *consensus.Mixer // of the initialisation of the accelerated methods
	hosted []int
	pool   *kernel.Pool
	msgs   []consensus.Message
	took   []time.Duration // by the hosted nodes, in the present call of each
	spent  time.Duration   // before the iterations, at the slowest node and on averaging

	// What the nodes agree on before anything else; see meet.
	met            bool
	tasks, samples int     // of the whole network
	xx, yy         float64 // mean square of an entry of X, and of a response

	unit  units
	nodes []*kernel.Tasks   // of the problem, in our units
	rms   [][]float64       // of every task, by which NormalizeTasks divides; nil: 1
	sets  [][]*kernel.Tasks // sets[i][l] are the samples of set l at hosted node i
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

// powerBelow returns the power of two at or below a size: all that the units depend on,
// and all that a node says of its largest feature and response.
func powerBelow(largest float64) float64 {
	if !(largest > 0) || math.IsInf(largest, 0) {
		return largest
	}
	return math.Ldexp(1, math.Ilogb(largest))
}

// coefficient returns a coefficient in the units of the data.
func (u units) coefficient() float64 { return u.x / u.y }

func newSystem(p *Problem, net *consensus.Network, o Options) (*system, error) {
	if p == nil || net == nil {
		return nil, errNoProblem
	}
	if err := kernel.Err(); err != nil {
		return nil, fmt.Errorf("difalt: %w", err)
	}
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	s := &system{p: p, o: o, net: net, hosted: net.Hosted(), unit: units{1, 1}}
	if err := p.validate(s.hosted, &o); err != nil {
		return nil, err
	}
	s.pool = kernel.NewPool(o.Workers)
	var err error
	if s.mixer, err = net.NewMixer(o.Agreement, s.pool); err != nil {
		s.pool.Close()
		return nil, err
	}
	if o.Method.accelerated() {
		along := consensus.Agreement{Polynomial: consensus.Tree}
		if o.common() {
			along.Codec = consensus.Int8
		}
		if s.sums, err = net.NewMixer(along, s.pool); err != nil {
			s.close()
			return nil, err
		}
	}
	s.msgs, s.took = make([]consensus.Message, len(s.hosted)), make([]time.Duration, len(s.hosted))
	return s, nil
}

// close ends what newSystem has begun.
func (s *system) close() {
	s.mixer.Close()
	if s.sums != nil {
		s.sums.Close()
	}
	s.pool.Close()
}

// meet lets the nodes agree on what all of them have to know: that they want the
// same, the units of the data, and how many data there are.
func (s *system) meet(ctx context.Context) error {
	if s.met {
		return nil
	}
	d, wish := float64(s.p.Nodes[0].Features()), s.wish()
	z := make([][]float64, len(s.hosted))
	s.unit = units{1, 1}
	if err := s.scale(); err != nil {
		return err
	}
	s.each(func(i, _ int) {
		x, y := s.p.Nodes[i].MaxAbs()
		z[i] = append([]float64{d, -d, wish, -wish, powerBelow(x), powerBelow(y)}, s.counts(i)...)
	})
	if err := s.net.MaxSum(ctx, 6, z); err != nil {
		return err
	}
	switch m := z[0]; {
	case m[0] != -m[1]:
		return fmt.Errorf("difalt: nodes have tasks of %v and of %v features", -m[1], m[0])
	case m[2] != -m[3]:
		return fmt.Errorf("difalt: the nodes do not run with the same Options and mixing weights")
	}
	unit := units{unitOf(z[0][4]), unitOf(z[0][5])}
	for i := range z {
		z[i] = z[i][6:]
	}
	if unit != s.unit { // data far from 1 have to be added up once more
		s.unit = unit
		if err := s.scale(); err != nil {
			return err
		}
		for i := range z {
			z[i] = s.counts(i)
		}
		if err := s.net.Sum(ctx, z); err != nil {
			return err
		}
	}
	s.tasks, s.samples = int(z[0][0]), int(z[0][1])
	if s.samples == 0 {
		return fmt.Errorf("difalt: the tasks have no samples")
	}
	if s.o.Rank > s.tasks {
		return &ParameterError{"Rank", s.o.Rank, fmt.Sprintf("must not be more than the %d tasks", s.tasks)}
	}
	s.xx, s.yy = z[0][2]/(z[0][1]*d), z[0][3]/z[0][1]
	if !(s.xx > 0) {
		return fmt.Errorf("difalt: all features are zero")
	}
	if ridge := s.o.Ridge * s.unit.x * s.unit.x; ridge > MaxRidge {
		return &ParameterError{"Ridge", s.o.Ridge, "too large for features as small as these"}
	}
	s.met = true
	return s.split()
}

// counts returns how many data hosted node i has, and the sums of their squares in our
// units; 0 where the units are yet to be found.
func (s *system) counts(i int) []float64 {
	k := s.nodes[i]
	xx, yy := k.SquareSums()
	if !finite(xx) || !finite(yy) {
		xx, yy = 0, 0
	}
	return []float64{float64(k.Len()), float64(k.TotalSamples()), xx, yy}
}

// wish is a number of 52 bits that is the same at nodes that want the same.
func (s *system) wish() float64 {
	h := fnv.New64a()
	fmt.Fprint(h, s.options())
	w := s.net.Weights()
	for i := range w.Len() {
		for _, j := range w.Graph().Neighbors(i) {
			fmt.Fprint(h, i, j, math.Float64bits(w.At(i, j)))
		}
	}
	return float64(h.Sum64() >> 12)
}

// options describes all options that decide about results.
func (s *system) options() string {
	o := s.o
	return fmt.Sprint(o.Method, o.Rank, o.Iterations, o.Rounds, o.Initialization.Rounds, o.Initialization.PowerIterations, o.Step, o.Scaled.Step, o.Accelerated.Memory, o.Accelerated.Preconditioner, o.Initialization.Kappa, o.Initialization.Mu, o.Ridge,
		o.Agreement, o.Tolerance, o.EveryIteration, o.StopAtNoise, o.NormalizeTasks, o.MixedPrecision, o.SampleSplit, o.Seed, s.p.U0 != nil, s.p.Start != nil, s.p.Moments != nil)
}

// scale brings the data into our units.
func (s *system) scale() error {
	s.nodes, s.rms = slices.Clone(s.p.Nodes), nil
	if s.unit == (units{1, 1}) && !s.o.NormalizeTasks {
		return nil
	}
	s.rms = make([][]float64, len(s.nodes))
	for i, k := range s.nodes {
		var y []float64
		s.rms[i] = make([]float64, k.Len())
		for t := range k.Len() {
			y = append(y, k.Y(t)...)
			s.rms[i][t] = s.normalize(y[len(y)-k.Samples(t):])
		}
		s.nodes[i] = k.WithResponses(y)
		if s.unit.x == 1 {
			continue
		}
		var err error // X is immutable and shared, so that other units need a copy
		if s.nodes[i], err = repack(s.nodes[i], s.unit.x); err != nil {
			return &DataError{s.hosted[i], -1, -1, err.Error()}
		}
	}
	return nil
}

// normalize brings the responses of a task from the user's units to ours, and returns
// by what else it has divided them.
func (s *system) normalize(y []float64) float64 {
	floats.Scale(s.unit.y, y)
	if rms := math.Sqrt(floats.Dot(y, y) / float64(len(y))); s.o.NormalizeTasks && rms > 0 {
		for k := range y {
			y[k] /= rms
		}
		return rms
	}
	return 1
}

// repack returns tasks with X times a unit, on disk if those of k are.
func repack(k *kernel.Tasks, unit float64) (*kernel.Tasks, error) {
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
			floats.Scale(unit, k.Row(x, t, i))
			b.SetRow(t, i, x, k.Y(t)[i])
		}
	}
	return b.Tasks(), nil
}

// agree runs AGREE (Alg. 1) on the bases and scalars of the hosted nodes; either
// may be nil.
func (s *system) agree(ctx context.Context, m *consensus.Mixer, stream consensus.Stream, z []*kernel.Basis, scalars [][]float64, rounds int) error {
	for i := range s.msgs {
		s.msgs[i] = consensus.Message{Stream: stream}
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

// curvature is n m: the mean number of samples a task has in one set, times the mean
// square of a feature. The Hessian of a task in the direction of its b_t is about that.
func (s *system) curvature() float64 { return s.meanSamples() * s.xx }

func (s *system) meanSamples() float64 {
	return float64(s.samples) / float64(s.tasks) / float64(s.parts())
}

// split cuts the samples of every task into disjoint sets, if asked to.
func (s *system) split() error {
	s.sets = make([][]*kernel.Tasks, len(s.hosted))
	need := (2*int64(s.o.Iterations) + 2) * int64(s.o.Rank)
	for i, k := range s.nodes {
		if !s.o.SampleSplit {
			s.sets[i] = []*kernel.Tasks{k}
			continue
		}
		for t := range k.Len() {
			if n := k.Samples(t); int64(n) < need {
				return &DataError{s.hosted[i], t, -1, fmt.Sprintf("SampleSplit with %d iterations needs %d samples a task (%d sets of at least Rank = %d), but it has %d",
					s.o.Iterations, need, s.parts(), s.o.Rank, n)}
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

// each calls f(i, worker) for every hosted node i in parallel, before the iterations, and
// takes the time of the slowest.
func (s *system) each(f func(i, worker int)) {
	s.pool.Run(func(w int) {
		for i := w; i < len(s.hosted); i += s.pool.Workers() {
			start := time.Now()
			f(i, w)
			s.took[i] = time.Since(start)
		}
	})
	s.spent += slices.Max(s.took)
}
