// Package synth draws random problems that follow the model of the paper, from seeds.
package synth

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"

	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/kernel/qr"
)

// Data describes random problems that follow the paper's model
//
//	y_t = X_t U* b_t + noise,  t = 1, ..., T,
//
// with X_t (n x d) of independent standard Gaussian entries (Assumption 2) and U*
// the orthonormal factor of a d x r Gaussian matrix.
type Data struct {
	Features int // d
	Tasks    int // T
	Samples  int // n of every task
	Rank     int // r

	// Noise is the standard deviation of Gaussian noise on every y; 0 for none.
	Noise float64
	// Kappa sets the condition number of Theta* = U* B*. 0 draws b_t from N(0, I_r), as the paper does: then
	// sigma_max is about sqrt(T) + sqrt(r), and kappa is what it happens to be (1.5 for T = 120, r = 4). A
	// value of at least 1 takes B* = Sigma V' instead: V is the orthonormal factor of a T x r Gaussian
	// matrix, and the singular values are evenly spaced from sqrt(T) down to sqrt(T)/Kappa.
	Kappa float64
	// Single rounds the entries of X to float32, so that both storages hold equal
	// numbers.
	Single bool
}

// Validate returns an error if parameters contradict each other or the number of nodes. The caller checks the
// range of each.
func (s Data) Validate(nodes int) error {
	switch {
	case s.Rank > min(s.Features, s.Tasks):
		return &difalt.ParameterError{Name: "Rank", Value: s.Rank,
			Why: fmt.Sprintf("must be at most min(features, tasks) = min(%d, %d)", s.Features, s.Tasks)}
	case s.Kappa != 0 && !(s.Kappa >= 1):
		return &difalt.ParameterError{Name: "Kappa", Value: s.Kappa,
			Why: "must be at least 1, or 0 for Gaussian coefficients"}
	case s.Kappa > 1 && s.Rank == 1:
		return &difalt.ParameterError{Name: "Kappa", Value: s.Kappa, Why: "must be 1 with rank 1"}
	case nodes > s.Tasks:
		return &difalt.ParameterError{Name: "Nodes", Value: nodes,
			Why: fmt.Sprintf("must be at most the %d tasks: every node needs one", s.Tasks)}
	}
	return nil
}

// Generate draws a problem and deals its tasks to the nodes in contiguous blocks
// whose lengths differ by at most one. Those hosted come back in their order; nil stands
// for all of them. The tasks depend on the seed, but neither on the number of nodes nor
// on the number of threads that draw them (0 stands for GOMAXPROCS). When the context ends
// it returns its error.
func (s Data) Generate(
	ctx context.Context, nodes int, hosted []int, seed uint64, workers int,
) (*difalt.Problem, error) {
	if err := s.Validate(nodes); err != nil {
		return nil, err
	}
	if hosted == nil {
		for g := range nodes {
			hosted = append(hosted, g)
		}
	}
	if workers < 1 {
		workers = runtime.GOMAXPROCS(0)
	}
	source := s.Source(seed)
	p := &difalt.Problem{Nodes: make([]*kernel.Tasks, len(hosted)), Truth: source.Truth}
	slots := make(chan struct{}, workers)
	var wg sync.WaitGroup
	for i, g := range hosted {
		slots <- struct{}{}
		wg.Go(func() {
			p.Nodes[i] = source.Pack(ctx, g*s.Tasks/nodes, (g+1)*s.Tasks/nodes, kernel.Float64)
			<-slots
		})
	}
	wg.Wait()
	return p, ctx.Err()
}

// A Source draws the tasks of one problem, in any order. Its methods may be called by
// several goroutines.
type Source struct {
	Data
	Truth *kernel.Basis // U*
	seed  uint64
	b     []float64 // of all tasks
}

// Source returns the source of the problem of a seed. Rank must not be more than Features.
func (s Data) Source(seed uint64) *Source {
	return &Source{s, Orthonormal(s.Features, s.Rank, Stream(seed, 0)), seed, s.coefficients(Stream(seed, 1))}
}

// Task fills x with the samples (n x d, by rows) and y with the n responses of task t.
func (s *Source) Task(t int, x, y []float64) {
	theta := make([]float64, s.Features)
	for j, bj := range s.b[t*s.Rank:][:s.Rank] {
		for k, u := range s.Truth.Col(j) {
			theta[k] += float64(bj * u)
		}
	}
	rng := Stream(s.seed, uint64(2+t))
	for i := range s.Samples {
		row := x[i*s.Features:][:s.Features]
		y[i] = 0
		for k := range row {
			row[k] = rng.NormFloat64()
			if s.Single {
				row[k] = float64(float32(row[k]))
			}
			y[i] += float64(row[k] * theta[k])
		}
		// Drawn in any case, so that X does not depend on the noise.
		y[i] += float64(s.Noise * rng.NormFloat64())
	}
}

// Pack draws tasks lo to hi into the kernel's layout. It stops early when the context ends.
func (s *Source) Pack(ctx context.Context, lo, hi int, storage kernel.Storage) *kernel.Tasks {
	build := kernel.NewBuilder(s.Features, slices.Repeat([]int{s.Samples}, hi-lo), storage)
	x, y := make([]float64, s.Samples*s.Features), make([]float64, s.Samples)
	for t := lo; t < hi && ctx.Err() == nil; t++ {
		s.Task(t, x, y)
		for i := range y {
			build.SetRow(t-lo, i, x[i*s.Features:][:s.Features], y[i])
		}
	}
	return build.Tasks()
}

// coefficients returns b_t = b[t*r : (t+1)*r].
func (s Data) coefficients(rng *rand.Rand) []float64 {
	r := s.Rank
	b := make([]float64, s.Tasks*r)
	if s.Kappa == 0 {
		for i := range b {
			b[i] = rng.NormFloat64()
		}
		return b
	}
	v := Orthonormal(s.Tasks, r, rng)
	for j := range r {
		sigma := 1.0
		if r > 1 {
			sigma -= (1 - 1/s.Kappa) * float64(j) / float64(r-1)
		}
		sigma *= math.Sqrt(float64(s.Tasks))
		for t, x := range v.Col(j) {
			b[t*r+j] = sigma * x
		}
	}
	return b
}

// Stream returns the random numbers of part i of something that has a seed.
func Stream(seed, i uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, i)) }

// Orthonormal returns the orthonormal factor of a d x r Gaussian matrix.
func Orthonormal(d, r int, rng *rand.Rand) *kernel.Basis {
	u := Gaussian(d, r, rng)
	u.Orthonormalize(make([]float64, r*r), make([]float64, qr.WorkLen(r)))
	return u
}

// Gaussian returns a d x r matrix of independent standard Gaussian entries.
func Gaussian(d, r int, rng *rand.Rand) *kernel.Basis {
	u := kernel.NewBasis(d, r)
	for j := range r {
		col := u.Col(j)
		for i := range col {
			col[i] = rng.NormFloat64()
		}
	}
	return u
}
