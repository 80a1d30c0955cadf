package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/difalt/difalt/dataset"
	"github.com/difalt/difalt/internal/mixedmodel"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/model"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// cut cuts a drawn table of standardised features for cross-validation.
func cut(t *testing.T, s shape) (*folds, *dataset.Table) {
	t.Helper()
	p := s.population(rand.New(rand.NewPCG(3, 3)))
	names, zeros, ones := make([]string, s.features), make([]float64, s.features), make([]float64, s.features)
	for j := range names {
		names[j], ones[j] = fmt.Sprint("x", j), 1
	}
	tab, err := dataset.NewTable(names, true, kernel.Float64)
	if err != nil {
		t.Fatal(err)
	}
	for k := range s.tasks {
		own := p.task()
		for range s.train {
			x, _, y := p.sample(own)
			if err := tab.Append(fmt.Sprint(k), "", x, y); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := tab.AssignBlocks(3); err != nil {
		t.Fatal(err)
	}
	net, err := network(3)
	if err != nil {
		t.Fatal(err)
	}
	scaling := model.Scaling{Fill: zeros, Center: zeros, Scale: ones, TargetScale: 1, Constant: true}
	f, err := newFolds(net, tab, &model.Parameters{Scaling: scaling, Prior: mixedmodel.Posterior{Prior: &mixedmodel.Prior{W: s.features + 1}}}, 1)
	if err != nil {
		t.Fatal(err)
	}
	return f, tab
}

// dense returns the mean squared error on a fold by the joint normal distribution of all rows.
func dense(tab *dataset.Table, fold []int, k int, p *mixedmodel.Prior) float64 {
	var rows []int
	for i := range tab.Rows() {
		if fold[i] != k {
			rows = append(rows, i)
		}
	}
	z := func(i int) []float64 { return append(tab.X(make([]float64, p.W-1), i), 1) }
	s := mat.NewDense(p.W, p.W, p.Covariance())
	covariance := func(i, j int) float64 {
		a, b := z(i), z(j)
		v := 1e7 + p.MeanVariance*floats.Dot(a[:p.W-1], b[:p.W-1]) // the constant is free
		if tab.Task(i) == tab.Task(j) {
			v += mat.Inner(mat.NewVecDense(p.W, a), s, mat.NewVecDense(p.W, b))
		}
		return v
	}
	v, y := mat.NewSymDense(len(rows), nil), mat.NewVecDense(len(rows), nil)
	for a, i := range rows {
		y.SetVec(a, tab.Y(i))
		for b := a; b < len(rows); b++ {
			v.SetSym(a, b, covariance(i, rows[b]))
		}
		v.SetSym(a, a, v.At(a, a)+1)
	}
	var c mat.Cholesky
	c.Factorize(v)
	var weights mat.VecDense
	if err := c.SolveVecTo(&weights, y); err != nil {
		panic(err)
	}
	sum, n := 0.0, 0.0
	for i := range tab.Rows() {
		if fold[i] == k {
			e := tab.Y(i)
			for a, j := range rows {
				e -= covariance(i, j) * weights.AtVec(a)
			}
			sum, n = sum+e*e, n+1
		}
	}
	return sum / n
}

// TestErrorsOfMembers compares errors of cross-validation with those of Gaussian process regression on the same rows.
func TestErrorsOfMembers(t *testing.T) {
	f, tab := cut(t, shape{tasks: 7, train: 9, features: 3, intercept: 1, shared: 0.5, rank: 1, low: 0.7, noise: 1})
	u := kernel.NewBasis(4, 1)
	copy(u.Col(0), []float64{0.6, 0, 0.8, 0})
	fold := tab.Folds(nil, foldCount, 1)
	members := []member{
		{low: none, intercept: 0, spread: none, shared: -1},
		{low: none, intercept: none, spread: -1, shared: 2},
		{rank: 1, low: 1, intercept: -1, spread: -3, shared: 0},
	}
	squares, freedom, err := f.errors(t.Context(), members, func(member, int) *kernel.Basis { return u })
	if err != nil {
		t.Fatal(err)
	}
	for j, m := range members {
		for k, got := range squares[j] {
			if want := dense(tab, fold, k, m.prior(4, u)); math.Abs(got-want) > 1e-5*want {
				t.Errorf("%+v, fold %d: %v, want %v", m, k, got, want)
			}
		}
		if freedom[j] <= 0 || freedom[j] >= 7*4 {
			t.Errorf("%+v: %v coefficients of 28 are free", m, freedom[j])
		}
	}
}

// TestSearchGoesOn asserts that strengths far from the start are found, that what is not there is left out,
// and that cross-validation finds the number of directions.
func TestSearchGoesOn(t *testing.T) {
	f, _ := cut(t, shape{tasks: 30, train: 12, features: 4, intercept: 300, shared: 100, noise: 1})
	best, sparing, err := (&search{folds: f}).choose(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if best.intercept < 7 || best.shared < 5 { // of ten to this over two; that of more hardly matters
		t.Errorf("levels of variance 1e5 and slopes of 1e4 have %+v", best.member)
	}
	if sparing.freedom > best.freedom || sparing.rank > 0 {
		t.Errorf("one standard error chooses %+v of freedom %v, the best is %+v of %v", sparing.member, sparing.freedom, best.member, best.freedom)
	}
	f, _ = cut(t, shape{tasks: 40, train: 20, features: 8, intercept: 1, shared: 1, rank: 2, low: 2, noise: 1})
	if best, _, err = (&search{folds: f}).choose(t.Context()); err != nil {
		t.Fatal(err)
	}
	if best.rank < 2 || best.square > 1.6 {
		t.Errorf("two directions: chosen %+v, mean squared error %v", best.member, best.square)
	}
}
