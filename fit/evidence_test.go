package fit

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/difalt/difalt/internal/mixedmodel"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distmv"
)

// testEvidence is that of a small table on three nodes, and a prior of rank 2.
func testEvidence(t *testing.T) (*fitter, *mixedmodel.Prior) {
	t.Helper()
	tab := newTruth(3, 4, 1).table(t, 14, 2, 9, 3) // some tasks have fewer rows than features, some more
	c := testConfig(t, 3, 2)
	d, err := newDesign(t.Context(), tab, &c)
	if err != nil {
		t.Fatal(err)
	}
	f := &fitter{design: d, c: &c, report: &Report{}}
	if err := f.newEvidence(t.Context()); err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	p := &mixedmodel.Prior{W: 5, Rank: 2, Loadings: make([]float64, 10), Intercept: 0.7, Spread: 0.2, MeanVariance: 1.5}
	for i := range p.Loadings {
		p.Loadings[i] = 0.5 * r.NormFloat64()
	}
	return f, p
}

// The value is -2 times the logarithm of the density of all targets by their joint normal
// distribution, with the intercept's mean flat: the difference between two priors is that of
// the dense formula with a very large variance in its place.
func TestEvidenceIsTheDensity(t *testing.T) {
	f, p := testEvidence(t)
	q := p.Clone()
	q.Intercept, q.Spread, q.MeanVariance = 2, 0.03, 0.4
	q.Loadings[3] = 1.1
	var got, want [2]float64
	for k, prior := range []*mixedmodel.Prior{p, q} {
		pt, err := f.evidence.at(t.Context(), prior)
		if err != nil {
			t.Fatal(err)
		}
		got[k], want[k] = pt.value, -2*denseDensity(f, prior, pt.noise)
	}
	if d := (got[0] - got[1]) - (want[0] - want[1]); math.Abs(d) > 1e-4 {
		t.Errorf("values differ by %v, densities by %v", got[0]-got[1], want[0]-want[1])
	}
}

// denseDensity is the log density of all scaled targets at a noise.
func denseDensity(f *fitter, p *mixedmodel.Prior, noise float64) float64 {
	const flat = 1e6
	n, w := f.total, f.width()
	z, y, task := mat.NewDense(n, w, nil), make([]float64, n), make([]int, n)
	at := 0
	f.eachRow(func(_, i int) {
		y[at] = f.row(z.RawRowView(at), i)
		task[at] = f.t.Task(i)
		at++
	})
	s := p.Covariance()
	cov := mat.NewSymDense(n, nil)
	for i := range n {
		for j := i; j < n; j++ {
			v := 0.0
			for a := range w {
				prior := p.MeanVariance
				if a == w-1 {
					prior = flat / noise
				}
				v += prior * z.At(i, a) * z.At(j, a)
				for b := range w {
					if task[i] == task[j] {
						v += z.At(i, a) * s[a*w+b] * z.At(j, b)
					}
				}
			}
			if i == j {
				v++
			}
			cov.SetSym(i, j, v*noise)
		}
	}
	normal, ok := distmv.NewNormal(make([]float64, n), cov, nil)
	if !ok {
		panic("no covariance")
	}
	return normal.LogProb(y)
}

// The derivatives are those of finite differences.
func TestEvidenceGradient(t *testing.T) {
	f, p := testEvidence(t)
	pt, err := f.evidence.at(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	loadings, logs, err := f.evidence.gradient(t.Context(), pt)
	if err != nil {
		t.Fatal(err)
	}
	const h = 1e-5
	slope := func(change func(q *mixedmodel.Prior, h float64)) float64 {
		var v [2]float64
		for k, step := range []float64{-h, h} {
			q := p.Clone()
			change(q, step)
			pt, err := f.evidence.at(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			v[k] = pt.value
		}
		return (v[1] - v[0]) / (2 * h)
	}
	for i, got := range loadings {
		if want := slope(func(q *mixedmodel.Prior, h float64) { q.Loadings[i] += h }); math.Abs(got-want) > 1e-5*(1+math.Abs(want)) {
			t.Errorf("loading %d: %v, want %v", i, got, want)
		}
	}
	for k, change := range []func(q *mixedmodel.Prior, h float64){
		func(q *mixedmodel.Prior, h float64) { q.Intercept *= math.Exp(h) },
		func(q *mixedmodel.Prior, h float64) { q.Spread *= math.Exp(h) },
		func(q *mixedmodel.Prior, h float64) { q.MeanVariance *= math.Exp(h) },
	} {
		if want := slope(change); math.Abs(logs[k]-want) > 1e-5*(1+math.Abs(want)) {
			t.Errorf("strength %d: %v, want %v", k, logs[k], want)
		}
	}
}
