package evidence

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/internal/mixedmodel"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// With a mean and a noise that are known, what a task adds to the observed second derivatives are those of
// log det V + e'V^-1 e / noise, by differences.
func TestObservedIsTheSecondDerivative(t *testing.T) {
	rows, _, p := testRows(t)
	const h = 1e-3
	w, n := p.W, len(p.Loadings)
	pt := &Point{Prior: p, Noise: 0.7, Mean: []float64{0.3, -0.1, 0.5, 0, 0.2}, MeanCovariance: make([]float64, w*w)}
	for i := range rows.Tasks[0] {
		task := rows.Tasks[0][i]
		value := func(a int, da float64, b int, db float64) float64 {
			q := p.Clone()
			q.Loadings[a] += da
			q.Loadings[b] += db
			k, _ := task.Whiten(q.Covariance(), w)
			sum := k.LogDet
			for r, u := range k.Y {
				e := u - floats.Dot(k.Z[r*w:][:w], pt.Mean)
				sum += e * e / pt.Noise
			}
			return sum
		}
		k, _ := task.Whiten(p.Covariance(), w)
		g := mat.NewVecDense(w, nil)
		k.Gradient(g.RawVector().Data, pt.Mean)
		gg := mat.NewDense(w, w, nil)
		gg.Outer(1/pt.Noise, g, g)
		got := observed(p, pt.curvature(gramOf(&k, w)), gg.RawMatrix().Data, 1, 1)
		for a := range n {
			for b := range n {
				want := (value(a, h, b, h) - value(a, h, b, -h) - value(a, -h, b, h) + value(a, -h, b, -h)) / (8 * h * h)
				if math.Abs(got(a, b)-want) > 1e-4*(1+math.Abs(want)) {
					t.Errorf("task %d, entry %d, %d is %v, want %v", i, a, b, got(a, b), want)
				}
			}
		}
	}
}

// Laplace's penalty of information that is diagonal, and less than none in one direction.
func TestOccam(t *testing.T) {
	const w = 3
	for _, r := range []int{1, 2, 200} { // the last beyond what is joint
		info := mat.NewSymDense(w*r, nil)
		for i := range w * r {
			info.SetSym(i, i, []float64{4, 6, -9}[i%w])
		}
		scale := make([]float64, r)
		for a := range scale {
			scale[a] = 0.5
		}
		penalty, determined := Occam(info.At, scale, w)
		want := float64(r) * (math.Log(1+0.5*4) + math.Log(1+0.5*6))
		part := 2.0/3 + 3.0/4
		want += float64(r) * math.Log(1+2*part)
		if math.Abs(penalty-want) > 1e-9*want {
			t.Errorf("rank %d: penalty %v, want %v", r, penalty, want)
		}
		for a, v := range determined {
			if math.Abs(v-part) > 1e-9 {
				t.Errorf("rank %d: column %d determines %v, want %v", r, a, v, part)
			}
		}
	}
}

// The evidence of loadings, by Laplace's approximation with what columns turned into one another add, is the mean of the likelihood over loadings that
// are drawn from their prior, also where the variance of that is. Without them it would be up to 5 in -2 log smaller.
func TestEvidenceIsTheMeanOverLoadings(t *testing.T) {
	const width, count, each, draws = 3, 20, 8, 12000
	base, _, _ := testRows(t)
	for _, of := range []struct {
		variances []float64
		estimated bool
	}{{[]float64{0.3}, false}, {[]float64{0.3, 0.3}, false}, {[]float64{0.5, 0.1}, false}, {[]float64{0.3, 0.3, 0.3}, false}, {[]float64{0.3}, true}} {
		variances, rank := of.variances, len(of.variances)
		rng := rand.New(rand.NewPCG(uint64(rank), 5))
		unknown := 0.0 // deviation of logarithms of variances
		drawn := func() *mixedmodel.Prior {
			p := &mixedmodel.Prior{W: width, Rank: rank, Intercept: 0.5, Spread: 1e-6, MeanVariance: 1, Loadings: make([]float64, rank*width)}
			for a, v := range variances {
				if unknown > 0 {
					v *= math.Exp(unknown * rng.NormFloat64())
				}
				for i := range width {
					p.Column(a)[i] = math.Sqrt(v) * rng.NormFloat64()
				}
			}
			return p
		}
		truth, c := drawn(), mixedmodel.NewCompressor(width)
		var z [each][width]float64 // the same for all tasks
		for i := range z {
			z[i] = [width]float64{rng.NormFloat64(), rng.NormFloat64(), 1}
		}
		tasks := make([][]*mixedmodel.Task, 3)
		for range count {
			theta := []float64{0, 0, math.Sqrt(truth.Intercept) * rng.NormFloat64()}
			for a := range rank {
				floats.AddScaled(theta, rng.NormFloat64(), truth.Column(a))
			}
			for i := range z {
				copy(c.Next(), append(z[i][:], floats.Dot(z[i][:], theta)+rng.NormFloat64()))
			}
			tasks[0] = append(tasks[0], c.Task())
		}
		rows, err := NewRows(t.Context(), base.group, tasks, nil, width, count*each, 1)
		if err != nil {
			t.Fatal(err)
		}
		var top *Point
		var info func(i, j int) float64
		var penalty float64
		for {
			var converged bool
			top, converged, err = rows.Maximize(t.Context(), &Point{Prior: truth}, variances, Strengths{truth.Intercept, truth.Spread, truth.MeanVariance}, 1e-4, 100)
			if err != nil || !converged {
				t.Fatal(converged, err)
			}
			alike, ok := top.Alike()
			if !ok {
				t.Fatal("none")
			}
			info = alike.Observed(top.Prior)
			var determined []float64
			penalty, determined = Occam(info, variances, width)
			if !of.estimated {
				for _, n := range determined { // what their variances would cost
					penalty -= math.Log1p(2 * n)
				}
				break
			}
			last := variances
			variances = make([]float64, rank)
			for a := range variances {
				variances[a] = floats.Dot(top.Column(a), top.Column(a)) / determined[a]
			}
			if floats.EqualApprox(last, variances, 1e-3) {
				unknown = slopesDeviation
				break
			}
		}
		laplace := top.Penalized() + penalty
		sum, squares := 0.0, 0.0
		for range draws {
			pt, err := rows.At(t.Context(), drawn(), nil)
			if err != nil {
				t.Fatal(err)
			}
			likelihood := math.Exp((laplace - pt.Value) / 2)
			sum += likelihood
			squares += likelihood * likelihood
		}
		gain, deviation := 2*math.Log(sum/draws), 2*math.Sqrt(squares)/sum
		turns := Turns(top.Prior, variances, info)
		t.Logf("variances %.2g: gain %.2f (+- %.2f), by turns %.2f", variances, gain, deviation, turns)
		if math.Abs(gain-turns) > 0.5+2*deviation {
			t.Errorf("variances %v: the evidence is %v (+- %v) more than Laplace's, by turns %v", variances, gain, deviation, turns)
		}
	}
}

// gramOf returns Z'V^-1 Z.
func gramOf(k *mixedmodel.Whitened, w int) []float64 {
	z := mat.NewDense(len(k.Y), w, k.Z)
	var g mat.Dense
	g.Mul(z.T(), z)
	return g.RawMatrix().Data
}

// A column of loadings that is next to nothing is its own reflection: the evidence is that of the rank below.
func TestEmptyColumnGainsNothing(t *testing.T) {
	const w = 3
	for _, variances := range [][]float64{{0.4}, {0.4, 0.2}} {
		p := &mixedmodel.Prior{W: w, Rank: len(variances), Loadings: []float64{1, -0.5, 0.2, 0.1, 0.4, 0.3}[:w*len(variances)]}
		info := mat.NewSymDense(w*(p.Rank+1), nil)
		for i := range w * p.Rank {
			info.SetSym(i, i, 50)
		}
		want := Turns(p, variances, info.At)
		more := &mixedmodel.Prior{W: w, Rank: p.Rank + 1, Loadings: append(p.Loadings[:w*p.Rank:w*p.Rank], 1e-12, -1e-12, 0)}
		for _, told := range []float64{-3, 0, 40} {
			for i := range w {
				info.SetSym(w*p.Rank+i, w*p.Rank+i, told)
			}
			if got := Turns(more, append(variances[:p.Rank:p.Rank], 1e-8), info.At); math.Abs(got-want) > 1e-3 {
				t.Errorf("rank %d with an empty column gains %v, without it %v", p.Rank, got, want)
			}
		}
	}
}
