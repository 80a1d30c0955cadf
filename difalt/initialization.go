package difalt

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/kernel/blas"
	"gonum.org/v1/gonum/floats"
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
	// Step is the step size that follows from it, 0.4/(n m SigmaSquared).
	Step float64
	// Traffic is what the initialisation sent, and Compute its execution time; see
	// Record.Compute.
	Traffic wire.Traffic
	Compute time.Duration
}

// Initialize runs the truncated spectral initialisation (Alg. 2), so that several
// methods can be started from the same estimate: put Initial.U into Problem.U0 and
// Initial.Step into Options.Step. If the problem has a U0 already, that is
// returned, and one power iteration from there estimates SigmaSquared.
//
// It returns an error when the arguments are not valid or differ between the nodes,
// the context ends, or all responses are zero.
func Initialize(ctx context.Context, p *Problem, net *consensus.Network, o Options) (*Initial, error) {
	s, err := newProcess(p, net, o)
	if err != nil {
		return nil, err
	}
	defer s.close()
	net.Rewind()
	before := net.Traffic()
	if err := s.compare(ctx); err != nil {
		return nil, err
	}
	initial, err := s.initialize(ctx)
	if err != nil {
		return nil, err
	}
	net.Commit()
	if by := s.data.by; by != nil {
		for i, u := range initial.U {
			initial.U[i], _ = by.leave(u)
		}
	}
	initial.Traffic, initial.Compute = net.Traffic().Minus(before), s.elapsed
	return initial, nil
}

// initialize is Initialize for nodes that have compared their options; it leaves Traffic and
// Compute to the caller.
func (s *process) initialize(ctx context.Context) (*Initial, error) {
	alpha, err := s.thresholds(ctx)
	if err != nil {
		return nil, err
	}
	theta := make([]*kernel.Tasks, len(s.hosted))
	s.timed(func(i, _ int) { theta[i] = s.backProjections(i, alpha[i][0]) })
	u, iterations := s.start(), s.o.Initialization.PowerIterations
	if s.problem.U0 != nil {
		iterations = 1
	}
	spectrum, err := s.powerIterations(ctx, theta, u, iterations)
	if err != nil {
		return nil, err
	}
	sigma := slices.Max(spectrum)
	if u0 := s.start0(); u0 != nil {
		u = u0
	}
	s.o.Logger.Debug("spectral initialisation", "sigma_squared", sigma)
	if !(sigma > 0) || !finite(sigma) {
		return nil, fmt.Errorf("difalt: the initialisation estimates sigma_max^2 = %v: are all responses zero? Set Step and U0 to start anyway", sigma)
	}
	squared := s.data.unit.coefficient() * s.data.unit.coefficient()
	for k := range spectrum {
		spectrum[k] *= squared
	}
	return &Initial{
		U:            u,
		SigmaSquared: sigma * squared,
		Spectrum:     spectrum,
		NoiseEdge:    s.data.noiseEdge() * squared,
		Step:         0.4 / (s.data.curvature() * sigma) * s.data.unit.y * s.data.unit.y,
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

// thresholds returns the alpha_g of the hosted nodes (Alg. 2, lines 3 and 4): the mean of y^2 is
// one of the things that the nodes know, and AsPrinted they agree on it by AGREE.
func (s *process) thresholds(ctx context.Context) ([][]float64, error) {
	o, alpha := &s.o.Initialization, make([][]float64, len(s.hosted))
	factor := 9 * o.Kappa * o.Kappa * o.Mu * o.Mu
	for i := range alpha {
		alpha[i] = []float64{factor * s.data.yy}
		if !o.AsPrinted {
			continue
		}
		tasks := s.data.set(i, 0)
		_, yy := tasks.SquareSums()
		alpha[i][0] = factor * float64(s.net.Len()*s.data.parts) / float64(s.data.samples) * yy
	}
	if !o.AsPrinted {
		return alpha, nil
	}
	return alpha, s.agreement.agree(ctx, consensus.Exact, make([]*kernel.Basis, len(alpha)), alpha, o.Rounds)
}

// backProjections returns Theta_g^(0) of hosted node i as samples, one row a task:
// theta_t = X_t' y_trnc / (n_t m) with the responses whose squares are above alpha
// left out (Alg. 2, lines 4 to 7; m = 1 there).
func (s *process) backProjections(i int, alpha float64) *kernel.Tasks {
	k := s.data.set(i, 1)
	b := kernel.NewBuilder(k.Features(), []int{k.Len()}, kernel.Float64)
	kept := make([]float64, k.MaxSamples())
	theta := make([]float64, blas.Pad(k.Features()))
	for t := range k.Len() {
		n := k.Samples(t)
		if n == 0 {
			continue
		}
		for i, v := range k.Y(t) {
			kept[i] = 0
			if v*v <= alpha {
				kept[i] = v / (float64(n) * s.data.variance())
			}
		}
		if s.data.moments != nil && n > 1 { // offsets are not what tasks have in common
			floats.AddConst(-floats.Sum(kept[:n])/float64(n), kept[:n])
		}
		k.MulTransposed(theta, t, kept[:n])
		b.SetRow(0, t, theta[:k.Features()], 0)
	}
	return b.Tasks()
}

// start0 returns U0 in the coordinates of the data, for the caller to keep; nil if there is none.
func (s *process) start0() (u []*kernel.Basis) {
	for _, u0 := range s.problem.U0 {
		if s.data.by != nil {
			u = append(u, s.data.by.enter(u0))
		} else {
			u = append(u, u0.Clone())
		}
	}
	return u
}

// start returns where the power iteration of every node starts: U0, Start, or the
// same Gaussian matrix at all nodes, orthonormalised (Alg. 2, lines 8 and 9).
func (s *process) start() []*kernel.Basis {
	if u0 := s.start0(); u0 != nil {
		return u0
	}
	r := s.o.Rank
	u := s.problem.Start
	if u == nil {
		u = gaussian(s.problem.Nodes[0].Features(), r, rand.NewPCG(s.o.Seed, 0x5eed0f0a1ce0da7a))
	}
	us := make([]*kernel.Basis, len(s.hosted))
	for i := range us {
		us[i] = u.Clone()
		us[i].Orthonormalize(nil, nil)
	}
	return us
}

// gaussian returns a d x r matrix of standard Gaussian entries.
func gaussian(d, r int, source rand.Source) *kernel.Basis {
	u, rng := kernel.NewBasis(d, r), rand.New(source)
	for j := range r {
		for i := range u.Col(j) {
			u.Col(j)[i] = rng.NormFloat64()
		}
	}
	return u
}

// powerIterations runs Alg. 2, lines 10 to 16, on u in place and returns the
// estimates of the squared singular values, L times the diagonal of R. The paper's methods
// agree as the paper says: every node takes Q and the estimates of the paper's node 1, node 0 here,
// which reach it exactly by whatever way is shortest. The accelerated ones add up the products
// exactly, so that all nodes have the same factors: that takes a few messages up a tree and down again
// in place of 2 InitRounds rounds, in codes where the iterations send such along the tree. No
// number of iterations is until foundAll.
func (s *process) powerIterations(ctx context.Context, theta []*kernel.Tasks, u []*kernel.Basis, iterations int) ([]float64, error) {
	d, r := u[0].Dims()
	z, sent, spectrum := clone(u), make([][]float64, len(u)), make([][]float64, len(u)) // sent: U by columns, and the spectrum
	maxTasks := 1
	for i := range u {
		sent[i] = make([]float64, d*r+r)
		spectrum[i] = sent[i][d*r:]
		maxTasks = max(maxTasks, theta[i].TotalSamples())
	}
	ws := make([]*kernel.Workspace, s.pool.Workers())
	for w := range ws {
		ws[w] = kernel.NewWorkspace(min(maxTasks, 64), d, r)
	}
	x, stream, rounds := s.agreement, consensus.Exact, s.o.Initialization.Rounds
	if s.sums != nil {
		x, stream, rounds = s.sums, consensus.StreamGradient, s.sums.rounds
	}
	for done := 1; ; done++ {
		s.timed(func(i, w int) { theta[i].GramProduct(z[i], u[i], ws[w]) }) // line 11
		start := time.Now()
		if err := x.agree(ctx, stream, z, nil, rounds); err != nil { // line 12
			return nil, err
		}
		s.elapsed += time.Since(start) / time.Duration(len(s.hosted)) // which all of them have spent
		s.timed(func(i, _ int) {                                      // lines 13 and 14
			rr := make([]float64, r*r)
			z[i].Orthonormalize(rr, nil)
			for j := range r {
				copy(sent[i][j*d:], z[i].Col(j))
				spectrum[i][j] = float64(s.net.Len()) * rr[j*r+j]
			}
		})
		if err := s.shareBasis(ctx, z, u, sent); err != nil {
			return nil, err
		}
		if done == iterations || iterations == 0 && s.foundAll(done, spectrum[0]) {
			s.o.Logger.Debug("power iterations", "done", done)
			break
		}
	}
	if s.o.Initialization.AsPrinted { // for the step, which the paper leaves to whoever knows sigma
		if err := s.net.Broadcast(ctx, 0, spectrum); err != nil {
			return nil, err
		}
	}
	return spectrum[0], nil
}

// foundAll reports whether the accelerated methods begin after so many power iterations:
// when all r directions stand out of the sampling noise, or further ones cost as much as
// they spare. All nodes decide alike, since they have the same estimates. The first ones
// are as good as random.
func (s *process) foundAll(done int, spectrum []float64) bool {
	return done >= mostPower || done >= leastPower && slices.Min(spectrum) > s.data.noiseEdge()
}

const leastPower, mostPower = 2, 4

// shareBasis makes u what node 0 has sent, or what all nodes have found alike.
func (s *process) shareBasis(ctx context.Context, z, u []*kernel.Basis, sent [][]float64) error {
	if s.o.Initialization.AsPrinted {
		return s.spread(ctx, z, u)
	}
	if s.sums == nil {
		if err := s.net.Broadcast(ctx, 0, sent); err != nil { // line 15
			return err
		}
	}
	d, r := u[0].Dims()
	for i := range u {
		for j := range r {
			copy(u[i].Col(j), sent[i][j*d:][:d])
		}
	}
	return nil
}

// spread is line 15 as it is printed: AGREE on the U of the paper's node 1 and zeros, which leaves
// c_g times that U at node g, with a c_g that the weights decide. The number 1 travels along, and
// arrives as c_g: the nodes divide by it, since in line 11 the tasks of node 1 would otherwise
// count for more than others, and factor what they get.
func (s *process) spread(ctx context.Context, z, u []*kernel.Basis) error {
	c := make([][]float64, len(z))
	for i, g := range s.hosted {
		u[i].CopyFrom(z[i])
		if c[i] = []float64{1}; g != 0 {
			clear(z[i].Data())
			c[i][0] = 0
		}
	}
	if err := s.agreement.agree(ctx, consensus.Exact, z, c, s.o.Initialization.Rounds); err != nil {
		return err
	}
	for i, g := range s.hosted {
		if c[i][0] == 0 {
			return fmt.Errorf("difalt: node 0's estimate does not reach node %d in %d rounds of the initialisation", g, s.o.Initialization.Rounds)
		}
		if g != 0 {
			floats.ScaleTo(u[i].Data(), 1/c[i][0], z[i].Data())
			u[i].Orthonormalize(nil, nil)
		}
	}
	return nil
}

func clone(u []*kernel.Basis) []*kernel.Basis {
	v := newBases(u)
	copyBases(v, u)
	return v
}
