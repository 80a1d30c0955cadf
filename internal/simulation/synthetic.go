package simulation

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"

	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/kernel/qr"
)

// Synthetic describes random problems that follow the paper's model
//
//	y_t = X_t U* b_t + noise,  t = 1, ..., T,
//
// with X_t (n x d) of independent standard Gaussian entries (Assumption 2) and U*
// the orthonormal factor of a d x r Gaussian matrix.
type Synthetic struct {
	Features int // d
	Tasks    int // T
	Samples  int // n, the same for every task
	Rank     int // r

	// Noise is the standard deviation of Gaussian noise on every y; 0 for none.
	Noise float64
	// Kappa sets the condition number of Theta* = U* B*. 0 draws b_t from N(0, I_r),
	// as the paper does: then sigma_max is about sqrt(T) + sqrt(r), and kappa is what
	// it happens to be (1.5 for T = 120, r = 4). A value of at least 1 takes
	// B* = Sigma V' instead, V the orthonormal factor of a T x r Gaussian matrix and
	// the singular values evenly spaced from sqrt(T) down to sqrt(T)/Kappa.
	Kappa float64
	// Folder keeps X in files there; see kernel.NewBuilderOnDisk. Empty means memory.
	Folder string
}

// Validate returns an error that names the first parameter out of range.
func (s Synthetic) Validate() error {
	if err := atLeast(1, "features", s.Features, "tasks", s.Tasks, "samples", s.Samples, "rank", s.Rank); err != nil {
		return err
	}
	switch {
	case s.Rank > min(s.Features, s.Tasks):
		return fmt.Errorf("rank is %d, more than min(features, tasks) = min(%d, %d)", s.Rank, s.Features, s.Tasks)
	case !(s.Noise >= 0) || math.IsInf(s.Noise, 0):
		return fmt.Errorf("noise is %v: must be finite and not negative", s.Noise)
	case s.Kappa != 0 && !(s.Kappa >= 1) || math.IsInf(s.Kappa, 0):
		return fmt.Errorf("kappa is %v: must be at least 1, or 0 for Gaussian coefficients", s.Kappa)
	case s.Kappa > 1 && s.Rank == 1:
		return fmt.Errorf("kappa is %v, but with rank 1 it can only be 1", s.Kappa)
	}
	return nil
}

// atLeast returns an error that names the first of some parameters, given by name and
// value, that is smaller.
func atLeast(least int, named ...any) error {
	for i := 0; i < len(named); i += 2 {
		if v := named[i+1].(int); v < least {
			return fmt.Errorf("%s is %d: need at least %d", named[i], v, least)
		}
	}
	return nil
}

// Generate draws a problem and deals its tasks to the nodes in contiguous blocks
// whose lengths differ by at most one. The tasks depend on the seed, but neither
// on the number of nodes nor on the number of threads that draw them (0 stands
// for GOMAXPROCS). When the context ends it returns its error.
func (s Synthetic) Generate(ctx context.Context, nodes int, seed uint64, workers int) (*difalt.Problem, error) {
	hosted := make([]int, max(nodes, 0))
	for g := range hosted {
		hosted[g] = g
	}
	return s.generate(ctx, nodes, hosted, seed, workers)
}

// generate is Generate for some of the nodes.
func (s Synthetic) generate(ctx context.Context, nodes int, hosted []int, seed uint64, workers int) (*difalt.Problem, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	if nodes < 1 || nodes > s.Tasks {
		return nil, fmt.Errorf("nodes is %d: need between 1 and tasks = %d, so that every node has a task", nodes, s.Tasks)
	}
	truth := gaussianBasis(s.Features, s.Rank, stream(seed, 0))
	b := s.coefficients(stream(seed, 1))
	p := &difalt.Problem{Nodes: make([]*kernel.Tasks, len(hosted)), Truth: truth}

	if workers < 1 {
		workers = runtime.GOMAXPROCS(0)
	}
	slots := make(chan struct{}, workers)
	var wg sync.WaitGroup
	errs := make([]error, len(hosted))
	for i, g := range hosted {
		slots <- struct{}{}
		wg.Go(func() {
			p.Nodes[i], errs[i] = s.node(ctx, g*s.Tasks/nodes, (g+1)*s.Tasks/nodes, seed, truth, b)
			<-slots
		})
	}
	wg.Wait()
	return p, errors.Join(append(errs, ctx.Err())...)
}

// node draws tasks lo to hi.
func (s Synthetic) node(ctx context.Context, lo, hi int, seed uint64, truth *kernel.Basis, b []float64) (*kernel.Tasks, error) {
	samples := make([]int, hi-lo)
	for i := range samples {
		samples[i] = s.Samples
	}
	build, err := kernel.NewBuilderOnDisk(s.Folder, s.Features, samples, kernel.Float64)
	if err != nil {
		return nil, err
	}
	x := make([]float64, s.Features)
	theta := make([]float64, s.Features)
	for t := lo; t < hi && ctx.Err() == nil; t++ {
		clear(theta)
		for j, bj := range b[t*s.Rank:][:s.Rank] {
			for k, u := range truth.Col(j) {
				theta[k] += bj * u
			}
		}
		rng := stream(seed, uint64(2+t))
		for i := range s.Samples {
			y := 0.0
			for k := range x {
				x[k] = rng.NormFloat64()
				y += x[k] * theta[k]
			}
			// Drawn in any case, so that X does not depend on the noise.
			y += s.Noise * rng.NormFloat64()
			build.SetRow(t-lo, i, x, y)
		}
	}
	return build.Tasks(), nil
}

// coefficients returns b_t = b[t*r : (t+1)*r].
func (s Synthetic) coefficients(rng *rand.Rand) []float64 {
	r := s.Rank
	b := make([]float64, s.Tasks*r)
	if s.Kappa == 0 {
		for i := range b {
			b[i] = rng.NormFloat64()
		}
		return b
	}
	v := gaussianBasis(s.Tasks, r, rng)
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

// gaussianBasis returns the orthonormal factor of a d x r Gaussian matrix.
func gaussianBasis(d, r int, rng *rand.Rand) *kernel.Basis {
	u := gaussian(d, r, rng)
	u.Orthonormalize(make([]float64, r*r), make([]float64, qr.WorkLen(r)))
	return u
}

// gaussian returns a d x r matrix of independent standard Gaussian entries.
func gaussian(d, r int, rng *rand.Rand) *kernel.Basis {
	u := kernel.NewBasis(d, r)
	for j := range r {
		col := u.Col(j)
		for i := range col {
			col[i] = rng.NormFloat64()
		}
	}
	return u
}
