package evidence

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/fit/internal/nodes"
	"github.com/difalt/difalt/cmd/difalt/internal/mixedmodel"
	"github.com/difalt/difalt/consensus"
	_ "github.com/difalt/difalt/internal/testblas"
	"github.com/difalt/difalt/topology"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distmv"
)

// A sample is rows of tasks of 5 coefficients, some of fewer rows than that and some of more.
type sample struct {
	z    [][]float64
	y    []float64
	task []int
}

// testRows are those of 14 tasks on three nodes, and a prior of rank 2.
func testRows(t *testing.T) (*Rows, *sample, *mixedmodel.Prior) {
	t.Helper()
	const width = 5
	rng := rand.New(rand.NewPCG(3, 7))
	normal := func(n int) []float64 {
		v := make([]float64, n)
		for i := range v {
			v[i] = rng.NormFloat64()
		}
		return v
	}
	s, tasks := &sample{}, make([][]*mixedmodel.Task, 3)
	shared, axes := normal(width), [][]float64{normal(width), normal(width)}
	for task := range 14 {
		theta := append([]float64(nil), shared...)
		for _, axis := range axes {
			floats.AddScaled(theta, rng.NormFloat64(), axis)
		}
		c := mixedmodel.NewCompressor(width)
		for range 2 + rng.IntN(8) {
			z := append(normal(width-1), 1)
			y := floats.Dot(z, theta) + rng.NormFloat64()
			s.z, s.y, s.task = append(s.z, z), append(s.y, y), append(s.task, task)
			copy(c.Next(), append(append([]float64(nil), z...), y))
		}
		tasks[task%3] = append(tasks[task%3], c.Task())
	}
	graph, err := topology.Ring(3)
	if err != nil {
		t.Fatal(err)
	}
	weights, err := topology.NewWeights(graph, topology.Metropolis)
	if err != nil {
		t.Fatal(err)
	}
	net, err := consensus.New(weights, nil)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := NewRows(t.Context(), &nodes.Group{Net: net}, tasks, nil, width, len(s.y), 1)
	if err != nil {
		t.Fatal(err)
	}
	p := &mixedmodel.Prior{W: width, Rank: 2, Loadings: normal(2 * width), Intercept: 0.7, Spread: 0.2, MeanVariance: 1.5}
	floats.Scale(0.5, p.Loadings)
	return rows, s, p
}

// The value is -2 times the logarithm of the density of all targets by their joint normal
// distribution, with the intercept's mean flat: the difference between two priors is that of
// the dense formula with a very large variance in its place.
func TestEvidenceIsTheDensity(t *testing.T) {
	rows, sample, p := testRows(t)
	q := p.Clone()
	q.Intercept, q.Spread, q.MeanVariance = 2, 0.03, 0.4
	q.Loadings[3] = 1.1
	var got, want [2]float64
	for k, prior := range []*mixedmodel.Prior{p, q} {
		pt, err := rows.At(t.Context(), prior, nil)
		if err != nil {
			t.Fatal(err)
		}
		got[k], want[k] = pt.Value, -2*sample.density(prior, pt.Noise)
	}
	if d := (got[0] - got[1]) - (want[0] - want[1]); math.Abs(d) > 1e-4 {
		t.Errorf("values differ by %v, densities by %v", got[0]-got[1], want[0]-want[1])
	}
}

// density is the log density of all targets at a noise.
func (r *sample) density(p *mixedmodel.Prior, noise float64) float64 {
	const flat = 1e6
	n, w := len(r.y), p.W
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
				v += prior * r.z[i][a] * r.z[j][a]
				for b := range w {
					if r.task[i] == r.task[j] {
						v += r.z[i][a] * s[a*w+b] * r.z[j][b]
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
	return normal.LogProb(r.y)
}

// The derivatives by all coordinates are those of finite differences, but by variances of loadings, which stay.
func TestPartials(t *testing.T) {
	rows, _, p := testRows(t)
	p.Slopes = []float64{0.5, 2, 1, 3}
	at := func(p *mixedmodel.Prior) *Point {
		pt, err := rows.At(t.Context(), p, nil)
		if err != nil {
			t.Fatal(err)
		}
		pt.LoadingVariances = []float64{0.3, 2}
		return pt
	}
	pt := at(p)
	const h = 1e-5
	check := func(what string, got float64, change func(q *mixedmodel.Prior, h float64)) {
		low, high := p.Clone(), p.Clone()
		change(low, -h)
		change(high, h)
		if want := (at(high).Penalized() - at(low).Penalized()) / (2 * h); math.Abs(got-want) > 1e-5*(1+math.Abs(want)) {
			t.Errorf("by %s: %v, want %v", what, got, want)
		}
	}
	got := pt.partials()
	for i := range p.Loadings {
		check(fmt.Sprint("loading ", i), got[i], func(q *mixedmodel.Prior, h float64) { q.Loadings[i] += h })
	}
	got = got[len(p.Loadings):]
	for k := range strengthsOf(p) {
		check(fmt.Sprint("the root of strength ", k), got[k], func(q *mixedmodel.Prior, h float64) {
			v := strengthsOf(q)[k]
			*v = math.Pow(math.Sqrt(*v)+h, 2)
		})
	}
	if got = got[3:]; !slices.Equal(got[:p.Rank], make([]float64, p.Rank)) {
		t.Errorf("by variances: %v", got[:p.Rank])
	}
	for j, got := range got[p.Rank:] {
		check(fmt.Sprint("slope ", j), got, func(q *mixedmodel.Prior, h float64) { q.Slopes[j] *= math.Exp(h) })
	}
}

// Few rows and many are added up by different operations.
func TestAddTriangle(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, w := range []int{1, 5, 40} {
		for m := range 3 * manyRows {
			a := make([]float64, m*w)
			for i := range a {
				a[i] = rng.NormFloat64()
			}
			b := slices.Clone(a) // in other memory: a product of two
			for _, right := range [][]float64{a, b} {
				out := make([]float64, w*(w+1)/2)
				for i := range out {
					out[i] = float64(i)
				}
				addTriangle(out, a, right, w)
				at := 0
				for i := range w {
					for j := i; j < w; j++ {
						want := float64(at)
						for k := range m {
							want += a[k*w+i] * right[k*w+j]
						}
						if math.Abs(out[at]-want) > 1e-12*(1+math.Abs(want)) {
							t.Fatalf("w = %d, m = %d: entry (%d, %d) is %g, want %g", w, m, i, j, out[at], want)
						}
						at++
					}
				}
			}
		}
	}
}
