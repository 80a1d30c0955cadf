package consensus

import (
	"math"
	"testing"

	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/topology"
	"gonum.org/v1/gonum/mat"
)

// chebyshevT returns the Chebyshev polynomial T_k at x.
func chebyshevT(k int, x float64) float64 {
	n := float64(k)
	switch {
	case x > 1:
		return math.Cosh(n * math.Acosh(x))
	case x < -1:
		return math.Cosh(n*math.Acosh(-x)) * float64(1-2*(k&1))
	}
	return math.Cos(n * math.Acos(x))
}

// symmetrised returns a symmetric matrix with the eigenvalues of w, for the weights of
// a rule.
func symmetrised(w *topology.Weights) *mat.SymDense {
	s := mat.NewSymDense(w.Len(), nil)
	for i := range w.Len() {
		for j := i; j < w.Len(); j++ {
			v := w.At(i, j)
			if v != w.At(j, i) {
				v = math.Sqrt(v * w.At(j, i))
			}
			s.SetSym(i, j, v)
		}
	}
	return s
}

// TestChebyshevAgainstEigenvectors holds Mix, dense and sparse, to p_k of the
// eigenvalues of W.
func TestChebyshevAgainstEigenvectors(t *testing.T) {
	for gi, g := range testGraphs(t) {
		w := must[*topology.Weights](t)(topology.NewWeights(g, []topology.Rule{topology.Metropolis, topology.LazyMetropolis, topology.BestConstant}[gi%3]))
		var eig mat.EigenSym
		if !eig.Factorize(symmetrised(w), true) {
			t.Fatal(w)
		}
		var q mat.Dense
		eig.VectorsTo(&q)
		for _, bound := range []float64{.3, .8, .97} {
			m := newMixer(t, w, nil, Agreement{})
			pool := kernel.NewPool(1)
			m.protocol = byRounds{m.net.newGossip(w.At, pool, Agreement{}, 1, bound), m.net.newPower(Agreement{}, bound, pool)}
			for _, rounds := range []int{1, 2, 3, 9, 20} {
				p := mat.NewDiagDense(g.Len(), nil)
				for i, v := range eig.Values(nil) {
					p.SetDiag(i, chebyshevT(rounds, v/bound)/chebyshevT(rounds, 1/bound))
				}
				z := streamOf(randomMessages(g.Len(), 13, 3, 2, 5), StreamBasis)
				var want mat.Dense
				want.Product(&q, p, q.T(), matrixOf(z))
				mixTimes(t, m, z, 1, rounds)
				if !mat.EqualApprox(matrixOf(z), &want, 1e-12) {
					t.Errorf("%v, bound %v, %d rounds: not the polynomial of the eigenvalues", w, bound, rounds)
				}
			}
		}
	}
}

// TestChebyshevNeverWorse: with gamma(W), the worst factor over the spectrum is never
// larger than gamma^k, and on slow graphs far smaller.
func TestChebyshevNeverWorse(t *testing.T) {
	for _, g := range append(testGraphs(t), must[*topology.Graph](t)(topology.ErdosRenyi(100, .05, 3)), must[*topology.Graph](t)(topology.Ring(30))) {
		for _, rule := range topology.Rules() {
			w, err := topology.NewWeights(g, rule)
			if err != nil {
				continue // EqualNeighbor on a bipartite graph
			}
			bound := w.Gamma()
			if bound < 1e-9 {
				continue // averages at once
			}
			var eig mat.EigenSym
			if !eig.Factorize(symmetrised(w), false) {
				t.Fatal(w)
			}
			values := eig.Values(nil)
			for k := 1; k <= 30; k++ {
				worst := 0.0
				for _, v := range values[:len(values)-1] { // the last is 1
					worst = max(worst, math.Abs(chebyshevT(k, v/bound)/chebyshevT(k, 1/bound)))
				}
				if plain := math.Pow(w.Gamma(), float64(k)); worst > plain*(1+1e-9) {
					t.Errorf("%v, bound %v: factor %v after %d rounds, plain %v", w, bound, worst, k, plain)
				}
				if half := math.Pow(w.Gamma(), 2*float64(k)); k >= 10 && w.Gamma() > .8 && worst > half {
					t.Errorf("%v, bound %v: %d rounds do not what twice as many plain ones do", w, bound, k)
				}
			}
		}
	}
}

// TestChebyshevOfEqualNeighbor: row-stochastic weights have a real spectrum too,
// and keep their weighted mean.
func TestChebyshevOfEqualNeighbor(t *testing.T) {
	g := must[*topology.Graph](t)(topology.ErdosRenyi(20, .3, 4))
	w := must[*topology.Weights](t)(topology.NewWeights(g, topology.EqualNeighbor))
	m := newMixer(t, w, nil, Agreement{Polynomial: Chebyshev})
	z := streamOf(randomMessages(20, 0, 0, 1, 5), StreamTracker)
	want := 0.0
	for i := range z {
		want += float64(g.Degree(i)) / float64(2*g.Edges()) * z[i].Scalars[0]
	}
	mixTimes(t, m, z, 1, 60)
	for i := range z {
		if math.Abs(z[i].Scalars[0]-want) > 1e-13 {
			t.Errorf("node %d has %v, want %v", i, z[i].Scalars[0], want)
		}
	}
}

func TestNewMixer(t *testing.T) {
	g := must[*topology.Graph](t)(topology.Ring(5))
	w := must[*topology.Weights](t)(topology.NewWeights(g, topology.Metropolis))
	if m := newMixer(t, w, nil, Agreement{}); m.protocol.(byRounds).operation.(*gossip).bound != 0 || m.protocol != m.exact {
		t.Error("the zero Agreement is not plain")
	}
	if m := newMixer(t, w, nil, Agreement{Polynomial: Chebyshev}); m.protocol.(byRounds).operation.(*gossip).bound != w.Gamma() || m.exact.(byRounds).operation.(*gossip).bound != 0 {
		t.Errorf("chebyshev has bound %v, and %v for exact messages", m.protocol.(byRounds).operation.(*gossip).bound, m.exact.(byRounds).operation.(*gossip).bound)
	}
	// Around a triangle in one direction more than in the other: eigenvalues turn.
	turning := must[*topology.Weights](t)(topology.WeightsOf(mat.NewDense(3, 3, []float64{.2, .7, .1, .1, .2, .7, .7, .1, .2})))
	_, err := network(t, turning).NewMixer(Agreement{Polynomial: Chebyshev}, nil)
	wantError(t, err, "chebyshev needs real eigenvalues", "custom weights")
	if _, err := network(t, turning).NewMixer(Agreement{}, nil); err != nil {
		t.Error(err)
	}
	for want, a := range map[string]Agreement{
		"Polynomial(9)":         {Polynomial: 9},
		"Trigger = 1: ":         {Trigger: 1},
		"Trigger = NaN":         {Trigger: math.NaN()},
		"silent: Trigger = 0.5": {Polynomial: Chebyshev, Trigger: .5},
	} {
		_, err := network(t, w).NewMixer(a, nil)
		wantError(t, err, want)
	}
}

func TestAgreementString(t *testing.T) {
	for want, a := range map[string]Agreement{
		"plain":            {},
		"chebyshev":        {Polynomial: Chebyshev},
		"int4":             {Codec: Int4},
		"chebyshev int4":   {Polynomial: Chebyshev, Codec: Int4},
		"trigger:0.7":      {Trigger: .7},
		"int4 trigger:0.5": {Codec: Int4, Trigger: .5},
	} {
		if got := a.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	for _, p := range []Polynomial{Plain, Chebyshev} {
		if got := must[Polynomial](t)(ParsePolynomial(p.String())); got != p {
			t.Errorf("%v is read as %v", p, got)
		}
	}
	_, err := ParsePolynomial("cheb")
	wantError(t, err, `unknown kind of agreement "cheb"`, "plain, chebyshev")
}
