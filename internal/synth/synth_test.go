package synth

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/difalt/difalt/difalt"
	"gonum.org/v1/gonum/mat"
)

func generate(t *testing.T, s Data, nodes int, seed uint64, workers int) *difalt.Problem {
	t.Helper()
	p, err := s.Generate(t.Context(), nodes, nil, seed, workers)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// coefficients solves X_t U* b = y for the tasks of a noiseless problem.
func coefficients(t *testing.T, p *difalt.Problem, r int) *mat.Dense {
	t.Helper()
	var b []float64
	tasks := 0
	for _, k := range p.Nodes {
		for i := range k.Len() {
			n, d := k.Samples(i), k.Features()
			x := mat.NewDense(n, d, nil)
			for j := range n {
				k.Row(x.RawRowView(j), i, j)
			}
			var a mat.Dense
			a.Mul(x, p.Truth)
			var v, res mat.VecDense
			y := mat.NewVecDense(n, slices.Clone(k.Y(i)))
			if err := v.SolveVec(&a, y); err != nil {
				t.Fatal(err)
			}
			res.MulVec(&a, &v)
			res.SubVec(&res, y)
			if e := mat.Norm(&res, 2); e > 1e-12*mat.Norm(y, 2) {
				t.Errorf("task %d: y is not in the range of X U*: residual %g", tasks, e)
			}
			b = append(b, v.RawVector().Data...)
			tasks++
		}
	}
	return mat.NewDense(tasks, r, b)
}

func TestSyntheticModel(t *testing.T) {
	s := Data{Features: 30, Tasks: 400, Samples: 20, Rank: 3}
	p := generate(t, s, 7, 1, 0)
	if len(p.Nodes) != 7 {
		t.Fatalf("%d nodes", len(p.Nodes))
	}
	var sum, squares, count float64
	row := make([]float64, 30)
	for g, k := range p.Nodes {
		if n := k.Len(); n != 57 && n != 58 { // 400 = 7*57 + 1
			t.Errorf("node %d has %d tasks", g, n)
		}
		for i := range k.Len() {
			for j := range k.Samples(i) {
				for _, v := range k.Row(row, i, j) {
					sum, squares, count = sum+v, squares+v*v, count+1
				}
			}
		}
	}
	// Mean and variance of 240,000 standard Gaussian numbers, to 5 standard errors.
	if mean, variance := sum/count, squares/count; math.Abs(mean) > 5/math.Sqrt(count) ||
		math.Abs(variance-1) > 5*math.Sqrt(2/count) {
		t.Errorf("X has mean %g and variance %g", mean, variance)
	}
	var gram mat.Dense
	gram.Mul(p.Truth.T(), p.Truth)
	for i := range 3 {
		gram.Set(i, i, gram.At(i, i)-1)
	}
	if e := mat.Norm(&gram, 2); e > 1e-14 {
		t.Errorf("U* is not orthonormal: %g", e)
	}
	b := coefficients(t, p, 3)
	if v := math.Pow(mat.Norm(b, 2), 2) / 1200; math.Abs(v-1) > 5*math.Sqrt(2.0/1200) {
		t.Errorf("the b_t have variance %g", v)
	}
}

func TestSyntheticKappa(t *testing.T) {
	if _, err := (Data{Features: 4, Tasks: 5, Samples: 3, Rank: 1, Kappa: 1}).Generate(t.Context(), 1, nil, 1,
		1); err != nil {
		t.Errorf("rank 1 has the condition number 1: %v", err)
	}
	s := Data{Features: 20, Tasks: 50, Samples: 10, Rank: 3, Kappa: 5}
	var svd mat.SVD
	if !svd.Factorize(coefficients(t, generate(t, s, 4, 3, 1), 3), mat.SVDNone) {
		t.Fatal("no singular values")
	}
	for i, want := range []float64{1, 0.6, 0.2} { // evenly spaced down to 1/5
		if got := svd.Values(nil)[i]; math.Abs(got-want*math.Sqrt(50)) > 1e-10 {
			t.Errorf("singular value %d is %g, want %g", i, got, want*math.Sqrt(50))
		}
	}
}

func TestSyntheticNoise(t *testing.T) {
	s := Data{Features: 12, Tasks: 300, Samples: 20, Rank: 2}
	clean := generate(t, s, 1, 9, 1)
	s.Noise = 0.25
	noisy := generate(t, s, 1, 9, 2)
	squares := 0.0
	for i := range 300 {
		for j, y := range noisy.Nodes[0].Y(i) {
			squares += math.Pow(y-clean.Nodes[0].Y(i)[j], 2)
		}
	}
	if v := squares / 6000; math.Abs(v/0.0625-1) > 5*math.Sqrt(2.0/6000) {
		t.Errorf("noise has variance %g, want 0.0625", v)
	}
}

func TestSyntheticDependsOnTheSeedOnly(t *testing.T) {
	s := Data{Features: 9, Tasks: 11, Samples: 5, Rank: 2, Noise: 0.1}
	flat := func(p *difalt.Problem) (all []float64) {
		row := make([]float64, 9)
		for _, k := range p.Nodes {
			for i := range k.Len() {
				all = append(all, k.Y(i)...)
				for j := range k.Samples(i) {
					all = append(all, k.Row(row, i, j)...)
				}
			}
		}
		return all
	}
	want := flat(generate(t, s, 1, 4, 1))
	if !slices.Equal(want, flat(generate(t, s, 5, 4, 3))) {
		t.Error("the data depend on the number of nodes or workers")
	}
	if slices.Equal(want, flat(generate(t, s, 1, 5, 1))) {
		t.Error("the data do not depend on the seed")
	}
}

func TestSyntheticErrors(t *testing.T) {
	good := Data{Features: 9, Tasks: 11, Samples: 5, Rank: 2}
	for want, change := range map[string]func(*Data){
		"Rank is 10":            func(s *Data) { s.Rank = 10 },
		"Kappa is 0.5":          func(s *Data) { s.Kappa = 0.5 },
		"must be 1 with rank 1": func(s *Data) { s.Rank, s.Kappa = 1, 2 },
		"Nodes is 12: must be at most the 11 tasks": func(*Data) {},
	} {
		s := good
		change(&s)
		if _, err := s.Generate(t.Context(), 12, nil, 1, 1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not mention %q", err, want)
		}
	}
}

// TestSingle: with entries of X rounded to float32, responses still are X U* b.
func TestSingle(t *testing.T) {
	p, row := generate(t, Data{Features: 20, Tasks: 7, Samples: 9, Rank: 3, Single: true}, 2, 5, 1), make([]float64, 20)
	coefficients(t, p, 3)
	for _, v := range p.Nodes[1].Row(row, 2, 8) {
		if float64(float32(v)) != v {
			t.Errorf("X has %v", v)
		}
	}
}
