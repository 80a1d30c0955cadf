package difalt_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/internal/longtest"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/topology"
	"gonum.org/v1/gonum/mat"
)

// synthetic is a problem with a known answer: y_t = X_t U* b_t + noise with
// standard Gaussian X_t and b_t. x and y hold the same data densely.
type synthetic struct {
	*difalt.Problem
	x     [][]*mat.Dense // of node, task
	y     [][][]float64
	theta [][]*mat.VecDense // theta_t = U* b_t
}

// gaussian returns such a problem with samples(t) rows for task t, its tasks dealt
// to the nodes in contiguous blocks.
func gaussian(seed uint64, nodes, d, tasks, r int, samples func(t int) int, noise float64) *synthetic {
	rng := rand.New(rand.NewPCG(seed, 77))
	return generate(rng, nodes, d, tasks, r, samples, noise, func(int) mat.Vector { return normal(rng, r, 1).ColView(0) })
}

// conditioned returns a problem without noise whose Theta has equally spaced
// singular values, the largest sqrt(tasks) and kappa times the smallest.
func conditioned(seed uint64, nodes, d, tasks, r, n int, kappa float64) *synthetic {
	rng := rand.New(rand.NewPCG(seed, 78))
	v := kernel.BasisOf(normal(rng, tasks, r))
	v.Orthonormalize(make([]float64, r*r), make([]float64, r))
	return generate(rng, nodes, d, tasks, r, fixed(n), 0, func(t int) mat.Vector {
		b := mat.NewVecDense(r, nil)
		for j := range r {
			s := math.Sqrt(float64(tasks)) * (1 - (1-1/kappa)*float64(j)/float64(r-1))
			b.SetVec(j, s*v.At(t, j))
		}
		return b
	})
}

func normal(rng *rand.Rand, m, n int) *mat.Dense {
	a := mat.NewDense(m, n, nil)
	for i := range a.RawMatrix().Data {
		a.RawMatrix().Data[i] = rng.NormFloat64()
	}
	return a
}

func generate(rng *rand.Rand, nodes, d, tasks, r int, samples func(t int) int, noise float64, b func(t int) mat.Vector) *synthetic {
	truth := kernel.BasisOf(normal(rng, d, r))
	truth.Orthonormalize(make([]float64, r*r), make([]float64, r))
	s := &synthetic{Problem: &difalt.Problem{Truth: truth}}
	for g := range nodes {
		var xs []*mat.Dense
		var ms []mat.Matrix
		var ys [][]float64
		var thetas []*mat.VecDense
		for t := g * tasks / nodes; t < (g+1)*tasks/nodes; t++ {
			n := samples(t)
			x := normal(rng, n, d)
			theta, y := new(mat.VecDense), new(mat.VecDense)
			theta.MulVec(truth, b(t))
			y.MulVec(x, theta)
			for i := range n {
				y.SetVec(i, y.AtVec(i)+noise*rng.NormFloat64())
			}
			xs, ms, ys = append(xs, x), append(ms, x), append(ys, y.RawVector().Data)
			thetas = append(thetas, theta)
		}
		s.x, s.y, s.theta = append(s.x, xs), append(s.y, ys), append(s.theta, thetas)
		s.Nodes = append(s.Nodes, kernel.NewTasks(ms, ys, kernel.Float64))
	}
	return s
}

// rebuild packs x and y again after a test has changed them.
func (s *synthetic) rebuild() {
	for g := range s.x {
		var ms []mat.Matrix
		for _, x := range s.x[g] {
			ms = append(ms, x)
		}
		s.Nodes[g] = kernel.NewTasks(ms, s.y[g], kernel.Float64)
	}
}

// spectrum returns sigma_max(Theta*)^2 and kappa^2 = (sigma_max/sigma_min)^2.
func (s *synthetic) spectrum() (largest, kappaSquared float64) {
	d, r := s.Truth.Dims()
	var theta []float64
	for _, node := range s.theta {
		for _, v := range node {
			theta = append(theta, v.RawVector().Data...)
		}
	}
	var svd mat.SVD
	if !svd.Factorize(mat.NewDense(len(theta)/d, d, theta), mat.SVDNone) {
		panic("no svd")
	}
	v := svd.Values(nil)
	return v[0] * v[0], (v[0] / v[r-1]) * (v[0] / v[r-1])
}

func fixed(n int) func(int) int { return func(int) int { return n } }

func network(t testing.TB, graph string, nodes int, rule topology.Rule, seed uint64) *consensus.Network {
	t.Helper()
	g, err := topology.Parse(graph, nodes, seed)
	if err != nil {
		t.Fatal(err)
	}
	w, err := topology.NewWeights(g, rule)
	if err != nil {
		t.Fatal(err)
	}
	net, err := consensus.New(w, nil)
	if err != nil {
		t.Fatal(err)
	}
	return net
}

// curve runs a method and returns the record of every iteration, to the last also
// where a baseline ends up worse than it began.
func curve(t testing.TB, p *difalt.Problem, net *consensus.Network, o difalt.Options) []difalt.Record {
	t.Helper()
	var recs []difalt.Record
	o.EveryIteration = true
	o.Observer = func(r *difalt.Record) error {
		recs = append(recs, *r)
		return nil
	}
	if _, err := difalt.Run(t.Context(), p, net, o); err != nil && !errors.Is(err, difalt.ErrDiverged) {
		t.Fatal(err)
	}
	return recs
}

// noisy is conditioned with noise in the responses.
func noisy(seed uint64, nodes, d, tasks, r, n int, kappa, noise float64) *synthetic {
	s := conditioned(seed, nodes, d, tasks, r, n, kappa)
	rng := rand.New(rand.NewPCG(seed, 79))
	for g := range s.y {
		for t := range s.y[g] {
			for i := range s.y[g][t] {
				s.y[g][t][i] += noise * rng.NormFloat64()
			}
		}
	}
	s.rebuild()
	return s
}

// pooled returns the tasks of all nodes as those of one.
func pooled(s *synthetic) *kernel.Tasks {
	var x []mat.Matrix
	var y [][]float64
	for g := range s.x {
		for t := range s.x[g] {
			x, y = append(x, s.x[g][t]), append(y, s.y[g][t])
		}
	}
	return kernel.NewTasks(x, y, kernel.Float64)
}

// deal deals the tasks of a problem of one node to several, so many to each.
func deal(s *synthetic, counts []int) *synthetic {
	dealt := &synthetic{Problem: &difalt.Problem{Truth: s.Truth}}
	at := 0
	for _, n := range counts {
		dealt.x, dealt.y = append(dealt.x, s.x[0][at:at+n]), append(dealt.y, s.y[0][at:at+n])
		dealt.theta = append(dealt.theta, s.theta[0][at:at+n])
		dealt.Nodes = append(dealt.Nodes, nil)
		at += n
	}
	dealt.rebuild()
	return dealt
}

// inFull skips with -short what takes long and is about numbers, not about goroutines.
// draws returns how many draws a test of medians takes: few, or all where tests may take
// long.
func draws(few, all int) int {
	if longtest.Enabled() {
		return all
	}
	return few
}

func inFull(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("takes long; run without -short")
	}
}
