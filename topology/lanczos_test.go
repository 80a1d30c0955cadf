package topology

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// spectrumOf returns the eigenvalues of the symmetric matrix that times applies, ascending, by
// gonum.
func spectrumOf(t testing.TB, n int, times func(y, x []float64)) []float64 {
	a := mat.NewSymDense(n, nil)
	for j := range n {
		x, y := make([]float64, n), make([]float64, n)
		x[j] = 1
		times(y, x)
		for i := range j + 1 {
			a.SetSym(i, j, y[i])
		}
	}
	var eig mat.EigenSym
	if !eig.Factorize(a, false) {
		t.Fatal("eigenvalues did not converge")
	}
	return eig.Values(nil)
}

// TestExtremesAgainstDense compares the ends of spectra with those that gonum finds: of all
// rules, on graphs of all kinds, bipartite ones among them.
func TestExtremesAgainstDense(t *testing.T) {
	graph, rng := must[*Graph](t), rand.New(rand.NewPCG(5, 6))
	graphs := append(testGraphs(t)[1:], graph(Grid(12, 13)), graph(Ring(150)), graph(Path(121)), graph(Star(100)), graph(Exponential(200)))
	for n := 2; n < 60; n += 3 {
		graphs = append(graphs, randomGraph(t, n, 0, rng), randomGraph(t, n, 2*n, rng))
	}
	for _, g := range graphs {
		for _, rule := range Rules() {
			w, err := NewWeights(g, rule)
			if err != nil {
				continue // it is bipartite
			}
			var eig mat.EigenSym
			if !eig.Factorize(w.symmetrised(), false) {
				t.Fatal("eigenvalues did not converge")
			}
			all := eig.Values(nil) // ascending; the last is 1
			low, high := w.extremes()
			if first, last := all[0], all[len(all)-2]; !(math.Abs(low-first) < 1e-12 && math.Abs(high-last) < 1e-12) {
				t.Errorf("%v: ends %v and %v, want %v and %v", w, low, high, first, last)
			}
		}
		low, high := laplacianExtremes(g)
		all := spectrumOf(t, g.Len(), laplacianOf(g))
		tolerance := 1e-12 * all[len(all)-1]
		if first, last := all[1], all[len(all)-1]; !(math.Abs(low-first) < 2*tolerance && math.Abs(high-last) < 2*tolerance) {
			t.Errorf("Laplacian of %v: ends %v and %v, want %v and %v", g, low, high, first, last)
		}
	}
}

// laplacianOf returns the Laplacian by its quadratic form: a sum over edges.
func laplacianOf(g *Graph) func(y, x []float64) {
	return func(y, x []float64) {
		clear(y)
		for i := range g.Len() {
			for _, j := range g.Neighbors(i) {
				if i < j {
					y[i] += x[i] - x[j]
					y[j] += x[j] - x[i]
				}
			}
		}
	}
}

// TestExtremesOfDisconnected: of a graph in pieces the eigenvalue 0 of the Laplacian is a multiple
// one, and so is left when one of its vectors is taken out.
func TestExtremesOfDisconnected(t *testing.T) {
	g := must[*Graph](t)(FromEdges(7, [][2]int{{0, 1}, {1, 2}, {0, 2}, {3, 4}, {5, 6}}))
	low, high := laplacianExtremes(g)
	if math.Abs(low) > 1e-12 || math.Abs(high-3) > 1e-12 { // that of a triangle is 3
		t.Errorf("ends %v and %v, want 0 and 3", low, high)
	}
}

// TestExtremesOfRandom: of matrices that are no graph's, with eigenvalues that are
// multiple, of both signs, tiny or huge.
func TestExtremesOfRandom(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for trial := range 40 {
		n := 2 + rng.IntN(40)
		// Eigenvectors are those of the discrete cosine transform, of which the first is constant.
		vector := func(k, i int) float64 {
			if k == 0 {
				return math.Sqrt(1 / float64(n))
			}
			return math.Sqrt(2/float64(n)) * math.Cos(math.Pi*float64(k)*(float64(i)+.5)/float64(n))
		}
		values, scale := make([]float64, n), math.Pow(10, float64(rng.IntN(7)-3))
		low, high := math.Inf(1), math.Inf(-1)
		for k := range values {
			values[k] = scale * float64(rng.IntN(9)-4+trial%3*4)
			if k > 0 {
				low, high = min(low, values[k]), max(high, values[k])
			}
		}
		known := make([]float64, n)
		for i := range known {
			known[i] = vector(0, i)
		}
		gotLow, gotHigh := extremes(12*scale, known, func(y, x []float64) {
			clear(y)
			for k, v := range values {
				c := 0.0
				for i, xi := range x {
					c += vector(k, i) * xi
				}
				for i := range y {
					y[i] += v * c * vector(k, i)
				}
			}
		})
		if tolerance := 1e-11 * scale; !(math.Abs(gotLow-low) < tolerance && math.Abs(gotHigh-high) < tolerance) {
			t.Errorf("%d values %v: ends %v and %v", n, values, gotLow, gotHigh)
		}
	}
}

// TestDensity: means over the values that stand for a spectrum are those over the eigenvalues by
// gonum, but for five times what random starts make of them: of a function f
// sqrt(2 sum f^2 / starts) / sum f.
func TestDensity(t *testing.T) {
	graph := must[*Graph](t)
	for _, g := range []*Graph{graph(Ring(271)), graph(Torus(13, 21)), graph(Exponential(260)), graph(ErdosRenyi(265, .04, 1)), graph(Complete(260)), graph(Star(260))} {
		for _, rule := range []Rule{Metropolis, LazyEqualNeighbor, BestConstant} {
			w := must[*Weights](t)(NewWeights(g, rule))
			s := w.Spectrum()
			sum := 0.0
			for _, share := range s.Shares {
				sum += share
			}
			if math.Abs(sum-1) > 1e-12 || len(s.Values) != len(s.Shares) || !w.RealEigenvalues() {
				t.Errorf("%v: %d values, shares sum to %v, real: %v", w, len(s.Values), sum, w.RealEigenvalues())
			}
			all := spectrumOf(t, g.Len(), w.times)
			all = all[:len(all)-1] // without 1
			for name, f := range map[string]func(x float64) float64{
				"x^2":        func(x float64) float64 { return x * x },
				"x^20":       func(x float64) float64 { return math.Pow(x, 20) },
				"1/(1.01-x)": func(x float64) float64 { return 1 / (1.01 - x) },
			} {
				var got, sum, squares float64
				for i, v := range s.Values {
					got += s.Shares[i] * f(real(v))
				}
				for _, v := range all {
					sum += f(v)
					squares += f(v) * f(v)
				}
				want := sum / float64(len(all))
				if tolerance := 5*math.Sqrt(2*squares/densityStarts)/float64(len(all)) + 1e-14; math.Abs(got-want) > tolerance {
					t.Errorf("%v: mean of %s is %v, want %v to %.1e", w, name, got, want, tolerance)
				}
			}
		}
	}
}

// TestGammaOfLarge compares with closed forms where no dense matrix is made, on graphs that
// are among the worst for Lanczos' steps: many nodes in a row, and a spectrum without gaps.
func TestGammaOfLarge(t *testing.T) {
	graph, weights := must[*Graph](t), must[*Weights](t)
	cos := func(turn float64) float64 { return math.Cos(2 * math.Pi * turn) }
	for _, c := range []struct {
		g    *Graph
		rule Rule
		want float64
	}{
		{graph(Ring(2000)), Metropolis, (1 + 2*cos(1./2000)) / 3},
		{graph(Ring(2001)), EqualNeighbor, math.Cos(math.Pi / 2001)},
		{graph(Path(1500)), LazyMetropolis, 1 - (2-2*math.Cos(math.Pi/1500))/6},
		{graph(Path(1500)), BestConstant, math.Cos(math.Pi / 1500)}, // (l_1 - l_2)/(l_1 + l_2) of 2 -+ 2 cos
		{graph(Torus(50, 80)), Metropolis, (3 + 2*cos(1./80)) / 5},
		{graph(Star(3000)), Metropolis, 1 - 1./3000},
		{graph(Star(3000)), LazyEqualNeighbor, .5},
		{graph(Complete(400)), Metropolis, 0},
		{graph(Complete(400)), EqualNeighbor, 1. / 399},
	} {
		w := weights(NewWeights(c.g, c.rule))
		if got := w.Gamma(); math.Abs(got-c.want) > 1e-11 {
			t.Errorf("%v: gamma %v, want %v, off by %.1e", w, got, c.want, got-c.want)
		}
		if !w.RealEigenvalues() {
			t.Errorf("%v: eigenvalues are not real", w)
		}
	}
}
