package topology

import (
	"math"
	"testing"

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

// TestChebyshevAgainstEigenvectors holds Mix, dense and sparse, to p_k of the
// eigenvalues of W.
func TestChebyshevAgainstEigenvectors(t *testing.T) {
	for gi, g := range testGraphs(t) {
		w := must[*Weights](t)(NewWeights(g, []Rule{Metropolis, LazyMetropolis, BestConstant}[gi%3]))
		var eig mat.EigenSym
		if !eig.Factorize(symmetrised(w.w), true) {
			t.Fatal(w)
		}
		var q mat.Dense
		eig.VectorsTo(&q)
		for _, bound := range []float64{.3, .8, .97} {
			m := must[Mixer](t)(NewMixer(w, nil, Agreement{Polynomial: Chebyshev, Gamma: bound}))
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

// TestChebyshevNeverWorse: with the nodes' own estimate, the worst factor over the
// spectrum is never larger than gamma^k, and on slow graphs far smaller.
func TestChebyshevNeverWorse(t *testing.T) {
	for _, g := range append(testGraphs(t), must[*Graph](t)(ErdosRenyi(100, .05, 3)), must[*Graph](t)(Ring(30))) {
		for _, rule := range Rules() {
			w, err := NewWeights(g, rule)
			if err != nil {
				continue // EqualNeighbor on a bipartite graph
			}
			bound, _ := estimateGamma(w, 1)
			if bound == 0 {
				if w.Gamma() > 1e-2 {
					t.Errorf("%v: estimated as 0", w)
				}
				continue
			}
			var eig mat.EigenSym
			if !eig.Factorize(symmetrised(w.w), false) {
				t.Fatal(w)
			}
			values := eig.Values(nil)
			for k := 1; k <= 30; k++ {
				worst := 0.0
				for _, v := range values[:len(values)-1] { // the last is 1
					worst = max(worst, math.Abs(chebyshevT(k, v/bound)/chebyshevT(k, 1/bound)))
				}
				if plain := math.Pow(w.Gamma(), float64(k)); worst > plain*(1+1e-9) {
					t.Errorf("%v, estimate %v: factor %v after %d rounds, plain %v", w, bound, worst, k, plain)
				}
				if half := math.Pow(w.Gamma(), 2*float64(k)); k >= 10 && w.Gamma() > .8 && worst > half {
					t.Errorf("%v, estimate %v: %d rounds do not what twice as many plain ones do", w, bound, k)
				}
			}
		}
	}
}

// TestEstimateGamma: the gap of the estimate is near the true one, and the cost is
// that of whole rounds.
func TestEstimateGamma(t *testing.T) {
	for _, g := range testGraphs(t) {
		w := must[*Weights](t)(NewWeights(g, Metropolis))
		for seed := range uint64(3) {
			gamma, traffic := estimateGamma(w, seed)
			if ratio := (1 - gamma) / (1 - w.Gamma()); w.Gamma() > .1 && (ratio < .9 || ratio > 1.5) {
				t.Errorf("%v: estimated as %v", w, gamma)
			}
			if again, _ := estimateGamma(w, seed); again != gamma {
				t.Errorf("%v: estimated as %v, then %v", w, gamma, again)
			}
			if traffic.Messages != traffic.Rounds*int64(2*g.Edges()) || traffic.Bytes > traffic.Messages*8*probes {
				t.Errorf("%v: %+v", w, traffic)
			}
			m := must[Mixer](t)(NewMixer(w, nil, Agreement{Polynomial: Chebyshev, Seed: seed}))
			if m.Traffic() != traffic {
				t.Errorf("%v: %+v, want %+v", w, m.Traffic(), traffic)
			}
		}
	}
}

// TestChebyshevOfEqualNeighbor: row-stochastic weights have a real spectrum too,
// and keep their weighted mean.
func TestChebyshevOfEqualNeighbor(t *testing.T) {
	g := must[*Graph](t)(ErdosRenyi(20, .3, 4))
	w := must[*Weights](t)(NewWeights(g, EqualNeighbor))
	m := must[Mixer](t)(NewMixer(w, nil, Agreement{Polynomial: Chebyshev}))
	z := streamOf(randomMessages(20, 0, 0, 1, 5), StreamScale)
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
	g := must[*Graph](t)(Ring(5))
	w := must[*Weights](t)(NewWeights(g, Metropolis))
	if m := must[Mixer](t)(NewMixer(w, nil, Agreement{})); m.(*Local).bound != 0 {
		t.Error("the zero Agreement is not plain")
	}
	// Around a triangle in one direction more than in the other: eigenvalues turn.
	turning := must[*Weights](t)(WeightsOf(mat.NewDense(3, 3, []float64{.2, .7, .1, .1, .2, .7, .7, .1, .2})))
	_, err := NewMixer(turning, nil, Agreement{Polynomial: Chebyshev})
	wantError(t, err, "chebyshev needs real eigenvalues", "custom weights")
	if _, err := NewMixer(turning, nil, Agreement{}); err != nil {
		t.Error(err)
	}
	int2 := must[Compressor](t)(Quantizer(2, false))
	for want, a := range map[string]Agreement{
		"Gamma = 1: ":                         {Polynomial: Chebyshev, Gamma: 1},
		"Gamma = NaN":                         {Gamma: math.NaN()},
		"Polynomial(9)":                       {Polynomial: 9},
		"Damping = 1.5":                       {Damping: 1.5},
		"Damping = -1":                        {Damping: -1},
		"Sporadic = 1: ":                      {Sporadic: 1},
		"Sporadic = NaN":                      {Sporadic: math.NaN()},
		"silent: Sporadic = 0.5":              {Polynomial: Chebyshev, Sporadic: .5},
		"as coarsely as by int2":              {Polynomial: Chebyshev, Compressor: int2},
		"Links.Loss = 1: ":                    {Links: Links{Loss: 1}},
		"Links.Delay = -0.1":                  {Links: Links{Delay: -.1}},
		"Links.Duplicate = 2":                 {Links: Links{Duplicate: 2}},
		"Links.Loss + Links.Delay = 1.1: mus": {Links: Links{Loss: .5, Delay: .6}},
	} {
		_, err := NewMixer(w, nil, a)
		wantError(t, err, want)
	}
}

func TestAgreementString(t *testing.T) {
	int4 := must[Compressor](t)(ParseCompressor("int4"))
	for want, a := range map[string]Agreement{
		"plain":                         {},
		"chebyshev":                     {Polynomial: Chebyshev},
		"int4":                          {Compressor: int4},
		"chebyshev int4 loss:0.1":       {Polynomial: Chebyshev, Compressor: int4, Links: Links{Loss: .1}},
		"damping:0.5 sporadic:0.7":      {Damping: .5, Sporadic: .7},
		"int4 delay:0.2 duplicate:0.25": {Compressor: int4, Links: Links{Delay: .2, Duplicate: .25}, Seed: 4},
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
	wantError(t, err, `unknown polynomial "cheb"`, "plain, chebyshev")
}
