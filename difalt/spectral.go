package difalt

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/kernel/blas"
	"github.com/difalt/difalt/kernel/qr"
	"github.com/difalt/difalt/topology"
)

// Initial is the outcome of the spectral initialisation.
type Initial struct {
	// U[i] is the orthonormal start U_g of node Hosted()[i]; the same at all nodes
	// to rounding.
	U []*kernel.Basis
	// SigmaSquared estimates sigma_max(Theta*)^2.
	SigmaSquared float64
	// Spectrum estimates the squares of the r largest singular values of Theta*, in
	// about descending order; SigmaSquared is the largest.
	Spectrum []float64
	// NoiseEdge is the square of the largest singular value that the initialisation
	// would see without any common structure: its matrix of the theta_t has sampling
	// noise of variance mean(y^2)/n an entry, and so singular values up to
	// sqrt(mean(y^2)/n) (sqrt(d) + sqrt(T)).
	NoiseEdge float64
	// Step is the step size that follows from it, 0.4/(n SigmaSquared).
	Step float64
	// Traffic is what the initialisation sent.
	Traffic topology.Traffic
}

// Initialize runs the truncated spectral initialisation (Alg. 2), so that several
// methods can be started from the same estimate: put Initial.U into Problem.U0 and
// Initial.Step into Options.Step. If the problem has a U0 already, that is
// returned, and one power iteration from there estimates SigmaSquared.
//
// It returns an error when the arguments are not valid, the context ends, or node
// 1's broadcast does not reach every node in Options.InitRounds rounds.
func Initialize(ctx context.Context, p *Problem, net *Network, o Options) (*Initial, error) {
	s, err := newSystem(p, net, o)
	if err != nil {
		return nil, err
	}
	defer s.pool.Close()
	return s.initialize(ctx)
}

func (s *system) initialize(ctx context.Context) (*Initial, error) {
	before := s.mixer.Traffic()
	theta, meanSquare, err := s.taskEstimates(ctx)
	if err != nil {
		return nil, err
	}
	u, iterations := s.start(), s.o.PowerIterations
	if s.p.U0 != nil {
		iterations = 1
	}
	spectrum, err := s.powerIterations(ctx, theta, u, iterations)
	if err != nil {
		return nil, err
	}
	sigma := slices.Max(spectrum)
	if s.p.U0 != nil {
		u = clone(s.p.U0)
	}
	s.o.Logger.Debug("spectral initialisation", "sigma_squared", sigma, "power_iterations", iterations)
	if !(sigma > 0) || !finite(sigma) {
		return nil, fmt.Errorf("difalt: the initialisation estimates sigma_max^2 = %v: are all responses zero? Set Step and U0 to start anyway", sigma)
	}
	after := s.mixer.Traffic()
	d, _ := u[0].Dims()
	width := math.Sqrt(float64(d)) + math.Sqrt(float64(s.p.TotalTasks))
	return &Initial{
		U:            u,
		SigmaSquared: sigma,
		Spectrum:     spectrum,
		NoiseEdge:    meanSquare / s.meanSamples() * width * width,
		Step:         0.4 / (s.meanSamples() * sigma),
		Traffic:      after.Minus(before),
	}, nil
}

// Rank returns how many of the estimated singular values stand out of the sampling
// noise, at least one: the rank to choose, if the initialisation ran with a larger
// one. A direction too weak for so few samples is not counted although the iteration
// might find it.
func (i *Initial) Rank() int {
	const margin = 1.25 // tasks differ in their noise, which widens its spectrum
	rank := 0
	for _, v := range i.Spectrum {
		if v > margin*i.NoiseEdge {
			rank++
		}
	}
	return max(rank, 1)
}

// taskEstimates returns Theta_g^(0) of every node as samples, one row theta_t a
// task (Alg. 2, lines 2 to 7), and the mean of y^2 that the first hosted node sees.
func (s *system) taskEstimates(ctx context.Context) (theta []*kernel.Tasks, meanSquare float64, err error) {
	// alpha_g = 9 kappa^2 mu^2 (L/nT) sum y^2, averaged over the nodes.
	threshold := 9 * s.o.Kappa * s.o.Kappa * s.o.Mu * s.o.Mu
	factor := threshold * float64(s.nodes()) * float64(s.parts()) / float64(s.p.TotalSamples)
	alpha := make([][]float64, len(s.hosted))
	for i := range s.hosted {
		set := s.set(i, 0)
		sum := 0.0
		for t := range set.Len() {
			for _, v := range set.Y(t) {
				sum += v * v
			}
		}
		alpha[i] = []float64{factor * sum}
	}
	if err := s.agree(ctx, s.mixer, topology.Exact, nil, alpha, s.o.InitRounds); err != nil {
		return nil, 0, err
	}
	theta = make([]*kernel.Tasks, len(s.hosted))
	s.each(func(i, _ int) { theta[i] = backProjections(s.set(i, 1), alpha[i][0]) })
	return theta, alpha[0][0] / threshold, nil
}

// backProjections returns theta_t = X_t' y_trnc / n_t with the responses whose
// squares are above alpha left out (Alg. 2, lines 6 and 7).
func backProjections(k *kernel.Tasks, alpha float64) *kernel.Tasks {
	b := kernel.NewBuilder(k.Features(), []int{k.Len()}, kernel.Float64)
	y := make([]float64, k.MaxSamples())
	theta := make([]float64, blas.Pad(k.Features()))
	for t := range k.Len() {
		n := k.Samples(t)
		if n == 0 {
			continue
		}
		for i, v := range k.Y(t) {
			y[i] = 0
			if v*v <= alpha {
				y[i] = v / float64(n)
			}
		}
		k.MulTransposed(theta, t, y[:n])
		b.SetRow(0, t, theta[:k.Features()], 0)
	}
	return b.Tasks()
}

// start returns where the power iteration of every node starts: U0, Start, or the
// same Gaussian matrix at all nodes, orthonormalised (Alg. 2, lines 8 and 9).
func (s *system) start() []*kernel.Basis {
	if s.p.U0 != nil {
		return clone(s.p.U0)
	}
	r := s.o.Rank
	u := s.p.Start
	if u == nil {
		u = kernel.NewBasis(s.p.Nodes[0].Features(), r)
		rng := rand.New(rand.NewPCG(s.o.Seed, 0x5eed0f0a1ce0da7a))
		for j := range r {
			col := u.Col(j)
			for i := range col {
				col[i] = rng.NormFloat64()
			}
		}
	}
	us := make([]*kernel.Basis, len(s.hosted))
	for i := range us {
		us[i] = u.Clone()
		us[i].Orthonormalize(make([]float64, r*r), make([]float64, qr.WorkLen(r)))
	}
	return us
}

// powerIterations runs Alg. 2, lines 10 to 16, on u in place and returns the
// estimates of the squared singular values: L times the diagonal of node 1's R.
//
// The paper's line 15 leaves c_g U_1 at node g with some scalar c_g, which depends
// on the weights. Node 1 therefore broadcasts its estimates and the number 1 along
// with U_1: they arrive times c_g, and dividing by c_g restores them all.
func (s *system) powerIterations(ctx context.Context, theta []*kernel.Tasks, u []*kernel.Basis, iterations int) ([]float64, error) {
	d, r := u[0].Dims()
	z := make([]*kernel.Basis, len(u))
	rr := make([][]float64, len(u))
	sent := make([][]float64, len(u)) // r estimates and a 1
	maxTasks := 1
	for i := range u {
		z[i], rr[i], sent[i] = kernel.NewBasis(d, r), make([]float64, r*r), make([]float64, r+1)
		maxTasks = max(maxTasks, theta[i].TotalSamples())
	}
	ws := make([]*kernel.Workspace, s.pool.Workers())
	for w := range ws {
		ws[w] = kernel.NewWorkspace(min(maxTasks, 64), d, r)
	}
	// Each of these runs on the hosted nodes in parallel.
	product := func(i, w int) { theta[i].GramProduct(z[i], u[i], ws[w]) }                   // line 11
	factor := func(i, _ int) { z[i].Orthonormalize(rr[i], make([]float64, qr.WorkLen(r))) } // line 13
	for range iterations {
		s.each(product)
		if err := s.agree(ctx, s.mixer, topology.Exact, z, nil, s.o.InitRounds); err != nil { // line 12
			return nil, err
		}
		s.each(factor)
		for i, g := range s.hosted { // line 14
			if g == 0 {
				for k := range r {
					sent[i][k] = float64(s.nodes()) * rr[i][k*r+k]
				}
				sent[i][r] = 1
				u[i].CopyFrom(z[i])
			} else {
				clear(sent[i])
				clear(z[i].Data())
			}
		}
		if err := s.agree(ctx, s.mixer, topology.Exact, z, sent, s.o.InitRounds); err != nil { // line 15
			return nil, err
		}
		for i, g := range s.hosted {
			c := sent[i][r]
			if c == 0 {
				return nil, fmt.Errorf("difalt: node 0's estimate does not reach node %d in InitRounds = %d rounds; the graph %v needs at least %d",
					g, s.o.InitRounds, s.graph, s.graph.Diameter())
			}
			for k := range sent[i] {
				sent[i][k] /= c
			}
			if g == 0 {
				continue
			}
			for k, v := range z[i].Data() {
				u[i].Data()[k] = v / c
			}
			u[i].Orthonormalize(rr[i], make([]float64, qr.WorkLen(r)))
		}
	}
	return sent[0][:r], nil
}

// each calls f(i, worker) for every hosted node i in parallel.
func (s *system) each(f func(i, worker int)) {
	s.pool.Run(func(w int) {
		for i := w; i < len(s.hosted); i += s.pool.Workers() {
			f(i, w)
		}
	})
}

func clone(u []*kernel.Basis) []*kernel.Basis {
	v := make([]*kernel.Basis, len(u))
	for i := range u {
		v[i] = u[i].Clone()
	}
	return v
}
