package fit

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// With a mean and a noise that are known, what a task adds to the observed second derivatives are those of
// log det V + e'V^-1 e / noise, by differences.
func TestObservedIsTheSecondDerivative(t *testing.T) {
	f, p := testEvidence(t)
	const h = 1e-3
	w, n := p.W, len(p.Loadings)
	pt := &point{Prior: p, noise: 0.7, shift: []float64{0.3, -0.1, 0.5, 0, 0.2}, cover: make([]float64, w*w)}
	for i := range f.evidence.tasks[0] {
		task := &f.evidence.tasks[0][i]
		value := func(a int, da float64, b int, db float64) float64 {
			q := p.Clone()
			q.Loadings[a] += da
			q.Loadings[b] += db
			k, _ := task.Whiten(q.Covariance(), w)
			sum := k.LogDet
			for r, u := range k.Y {
				e := u - floats.Dot(k.Z[r*w:][:w], pt.shift)
				sum += e * e / pt.noise
			}
			return sum
		}
		k, _ := task.Whiten(p.Covariance(), w)
		sum := make([]float64, loadingsLen(w, p.Rank))
		observe(curvature(k.Gram(w), pt, w), k.Gradient(pt.shift), pt, w, sum)
		got := assemble(append(sum, make([]float64, 2*n+3)...), w, p.Rank, n+2)
		for a := range n {
			for b := range n {
				want := (value(a, h, b, h) - value(a, h, b, -h) - value(a, -h, b, h) + value(a, -h, b, -h)) / (8 * h * h)
				if math.Abs(got.At(a, b)-want) > 1e-4*(1+math.Abs(want)) {
					t.Errorf("task %d, entry %d, %d is %v, want %v", i, a, b, got.At(a, b), want)
				}
			}
		}
	}
}

// Where coefficients outnumber tasks by far, and tasks differ by nothing but their level, no rank is found in their noise: neither with numbers
// nor with the levels of a category as features.
func TestNoRankInNoise(t *testing.T) {
	inFull(t)
	for _, levels := range []bool{false, true} {
		for seed := range uint64(2) {
			rng := rand.New(rand.NewPCG(seed+1, 31))
			const features = 100
			tab := emptyTable(t, features)
			for task := range 8 {
				level := rng.NormFloat64()
				for range 120 {
					x := make([]float64, features)
					if levels {
						x[rng.IntN(features)] = 1
					} else {
						for j := range x {
							x[j] = rng.NormFloat64()
						}
					}
					if err := tab.Append(fmt.Sprint(task), "", x, level+rng.NormFloat64()); err != nil {
						t.Fatal(err)
					}
				}
			}
			if err := tab.AssignBlocks(1); err != nil {
				t.Fatal(err)
			}
			c := testConfig(t, 1, 0)
			c.Starts = 1
			if _, r := fit(t, tab, c); r.Chosen.Rank > 0 {
				t.Errorf("levels %v, seed %d: rank %d of evidence %v", levels, seed, r.Chosen.Rank, r.Chosen.Evidence)
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
		penalty, determined := occam(info, scale, w)
		want := float64(r) * (math.Log(1+0.5*4) + math.Log(1+0.5*6))
		part := 2.0/3 + 3.0/4
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
