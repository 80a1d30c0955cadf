package measure

import (
	"math"
	"math/rand/v2"

	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/kernel/qr"
)

// A Problem draws seeded data of a shape: Gaussian X_t, y_t = X_t U* b_t with
// Gaussian b_t, and a random orthonormal start U that is not U*, so that the
// gradient does not vanish. Entries of X_t are rounded to float32, so that both
// storages hold the same numbers.
type Problem struct {
	Shape
	U     *kernel.Basis // where the iteration is taken
	truth *kernel.Basis
	seed  uint64
	b     []float64
	theta []float64
}

// NewProblem returns the problem of a shape and seed.
func NewProblem(s Shape, seed uint64) *Problem {
	// Tasks draw from streams 0, 1, ...; the bases from the last one.
	rng := rand.New(rand.NewPCG(seed, math.MaxUint64))
	return &Problem{
		Shape: s,
		U:     orthonormal(s.Features, s.Rank, rng),
		truth: orthonormal(s.Features, s.Rank, rng),
		seed:  seed,
		b:     make([]float64, s.Rank),
		theta: make([]float64, s.Features),
	}
}

func orthonormal(d, r int, rng *rand.Rand) *kernel.Basis {
	u := kernel.NewBasis(d, r)
	for j := range r {
		for i := range d {
			u.Col(j)[i] = rng.NormFloat64()
		}
	}
	u.Orthonormalize(make([]float64, r*r), make([]float64, qr.WorkLen(r)))
	return u
}

// Task fills x with the samples (n x d, by rows) and y with the responses of task
// t. It does not depend on which tasks were drawn before.
func (p *Problem) Task(t int, x, y []float64) {
	rng := rand.New(rand.NewPCG(p.seed, uint64(t)))
	for j := range p.b {
		p.b[j] = rng.NormFloat64()
	}
	for i := range p.theta {
		p.theta[i] = 0
		for j, b := range p.b {
			p.theta[i] += p.truth.At(i, j) * b
		}
	}
	d := p.Features
	for i := range p.Samples {
		y[i] = 0
		for j := range d {
			v := float64(float32(rng.NormFloat64()))
			x[i*d+j] = v
			y[i] += v * p.theta[j]
		}
	}
}

// Pack draws all tasks into the kernel's layout, dealt out to a number of nodes in
// runs of equal length.
func (p *Problem) Pack(nodes int, storage kernel.Storage) []*kernel.Tasks {
	packed := make([]*kernel.Tasks, nodes)
	x := make([]float64, p.Samples*p.Features)
	y := make([]float64, p.Samples)
	for g := range packed {
		lo, hi := p.Tasks*g/nodes, p.Tasks*(g+1)/nodes
		samples := make([]int, hi-lo)
		for t := range samples {
			samples[t] = p.Samples
		}
		builder := kernel.NewBuilder(p.Features, samples, storage)
		for t := range samples {
			p.Task(lo+t, x, y)
			for i := range p.Samples {
				builder.SetRow(t, i, x[i*p.Features:][:p.Features], y[i])
			}
		}
		packed[g] = builder.Tasks()
	}
	return packed
}
