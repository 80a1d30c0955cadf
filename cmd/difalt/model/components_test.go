package model

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// alternatives returns the parameters of testParameters as three models alone, of ranks 2, 0 and 1, and those of all by weights of .6, .3 and .1.
func alternatives(t testing.TB) (alone []Parameters, all Parameters) {
	t.Helper()
	r := rand.New(rand.NewPCG(8, 9))
	for rank := range 3 {
		p := testParameters(t)
		w := len(p.Mean)
		p.Prior.Rank, p.Prior.Loadings = rank, p.Prior.Loadings[:w*rank:w*rank]
		doubt := mat.NewSymDense(w*rank+2, nil)
		for i := range w*rank + 2 {
			doubt.SetSym(i, i, 0.01*float64(i+1))
		}
		p.Prior.Uncertainty = doubt
		p.Prior.Noise *= 1 + float64(rank)
		p.Prior.Intercept /= 1 + float64(rank)
		for j := range p.Mean {
			p.Mean[j] += 0.1 * r.NormFloat64()
		}
		alone = append(alone, p)
	}
	alone = []Parameters{alone[2], alone[0], alone[1]}
	all = alone[0]
	all.Alternatives = []Alternative{{0.3, alone[1].Mean, alone[1].Prior}, {0.1, alone[2].Mean, alone[2].Prior}}
	return alone, all
}

func averaged(t testing.TB) *Model {
	t.Helper()
	_, all := alternatives(t)
	m, err := New(all)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// What a model of several ranks says of tasks that are new is the mean of what models of one say, with the variance of a mixture of them; of known tasks
// it says what its parameters do.
func TestAlternatives(t *testing.T) {
	weights := []float64{0.6, 0.3, 0.1}
	ones, all := alternatives(t)
	m, err := New(all)
	if err != nil {
		t.Fatal(err)
	}
	if ranks, got := m.Ranks(); !slices.Equal(ranks, []int{2, 0, 1}) || m.Rank() != 2 {
		t.Errorf("ranks %v", ranks)
	} else {
		checkClose(t, "weights", got, weights)
	}
	table := newRows(m)
	table.add(rand.New(rand.NewPCG(3, 3)), "a", 3, []float64{1, -1, 0.5, 2}, 3, 1)
	table.add(rand.New(rand.NewPCG(3, 4)), "b", 30, []float64{1, 1, 0.5, -2}, 1, 1)
	both, err := m.Adapt(table)
	if err != nil {
		t.Fatal(err)
	}
	var alone []*Model
	for _, p := range ones {
		one, err := New(p)
		if err != nil {
			t.Fatal(err)
		}
		if one, err = one.Adapt(table); err != nil {
			t.Fatal(err)
		}
		alone = append(alone, one)
	}
	x := []float64{0.3, -2, 1, 0.7}
	for _, task := range []string{"nobody", "a", "b"} {
		var y, square, sample float64
		for k, one := range alone {
			p, err := one.PredictAnyError(task, x)
			if err != nil {
				t.Fatal(err)
			}
			y += weights[k] * p.Y
			square += weights[k] * (p.StandardError*p.StandardError + p.Y*p.Y)
			sample += weights[k] * (p.SampleError*p.SampleError + p.Y*p.Y)
		}
		got, err := both.PredictAnyError(task, x)
		if err != nil {
			t.Fatal(err)
		}
		checkClose(t, task, []float64{got.Y, got.StandardError, got.SampleError}, []float64{y, math.Sqrt(square - y*y), math.Sqrt(sample - y*y)})
	}
	// Fixed effects, standard deviations between tasks, and covariances of these with the intercept.
	effects, of := both.Effects(), [][]Effect{alone[0].Effects(), alone[1].Effects(), alone[2].Effects()}
	for i, e := range effects {
		var mean, square float64
		for k := range of {
			one := of[k][i]
			if one.Kind != e.Kind || one.Term != e.Term {
				t.Fatalf("effect %d is %+v, alone %+v", i, e, one)
			}
			v := one.Estimate
			if e.Kind == Deviation || e.Kind == Residual {
				v *= v
			}
			mean += weights[k] * v
			square += weights[k] * (one.StandardError*one.StandardError + v*v)
		}
		switch e.Kind {
		case Fixed:
			checkClose(t, e.Term, []float64{e.Estimate, e.StandardError}, []float64{mean, math.Sqrt(square - mean*mean)})
		case Deviation:
			checkClose(t, e.Term, []float64{e.Estimate}, []float64{math.Sqrt(mean)})
			for k := range of {
				if one := of[k][i]; weights[k] > 0.5 && e.StandardError/e.Estimate < one.StandardError/one.Estimate/2 {
					t.Errorf("%s: standard error %v, alone %v", e.Term, e.StandardError, one.StandardError)
				}
			}
		case Residual:
			checkClose(t, "noise", []float64{e.Estimate}, []float64{math.Sqrt(mean)})
		}
	}
}

// Alternatives that say the same change nothing.
func TestAlternativesOfOneKind(t *testing.T) {
	p := testParameters(t)
	one := testModel(t)
	p.Alternatives = []Alternative{{0.25, p.Mean, p.Prior}, {0.25, p.Mean, p.Prior}}
	m, err := New(p)
	if err != nil {
		t.Fatal(err)
	}
	table := newRows(m)
	table.add(rand.New(rand.NewPCG(3, 3)), "a", 7, []float64{1, -1, 0.5, 2}, 3, 1)
	for _, of := range []**Model{&one, &m} {
		if *of, err = (*of).Adapt(table); err != nil {
			t.Fatal(err)
		}
	}
	for _, task := range []string{"a", "3", "nobody"} {
		want, _ := one.PredictAnyError(task, []float64{1, 2, 3, 4})
		got, err := m.PredictAnyError(task, []float64{1, 2, 3, 4})
		if err != nil {
			t.Fatal(err)
		}
		checkClose(t, task, []float64{got.Y, got.StandardError, got.SampleError}, []float64{want.Y, want.StandardError, want.SampleError})
	}
	for i, want := range one.Effects() {
		got := m.Effects()[i]
		numbers := func(e Effect) (v []float64) {
			for _, x := range []float64{e.Estimate, e.StandardError, e.Low, e.High} {
				if !math.IsNaN(x) {
					v = append(v, x)
				}
			}
			return v
		}
		checkClose(t, want.Kind+" "+want.Term, numbers(got), numbers(want))
	}
}

// A file of several ranks is of version 7 and gives the same model; one of a single rank is of version 6, as it always was.
func TestFileOfAlternatives(t *testing.T) {
	m := averaged(t)
	data, err := m.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	again := new(Model)
	if err := again.UnmarshalBinary(data); err != nil {
		t.Fatal(err)
	}
	if twice, err := again.MarshalBinary(); err != nil || !bytes.Equal(twice, data) {
		t.Error("a file gives another model", err)
	}
	if p := m.Parameters(); p.Version() != 7 {
		t.Errorf("version %d", p.Version())
	}
	if p := testParameters(t); p.Version() != 6 {
		t.Errorf("version %d of a single rank", p.Version())
	}
	for change, want := range map[[2]string]string{
		{`"version":7`, `"version":6`}:                     "has version 6 and alternatives",
		{`"weight":0.3`, `"weight":0.9`}:                   "want weights above 0 that sum to 1",
		{`"weight":0.3`, `"weight":-.3`}:                   "not a model file",
		{`"weight":0.1,"rank":1`, `"weight":0.1,"rank":2`}: `array "loadings.2"`,
		{`"weight":0.1,"rank":1`, `"weight":0.0,"rank":1`}: "want weights above 0 that sum to 1",
	} {
		err := new(Model).UnmarshalBinary(withHeader(t, data, change[0], change[1]))
		check(t, err, want)
	}
	for name, spoil := range map[string]func(*Alternative){
		"mean.1":                  func(a *Alternative) { a.Mean = a.Mean[1:] },
		"loadings.1":              func(a *Alternative) { a.Prior.Rank = 7 },
		"doubt.1":                 func(a *Alternative) { a.Prior.Uncertainty = mat.NewSymDense(3, nil) },
		"mean_covariance.1":       func(a *Alternative) { a.Prior.MeanCovariance = nil },
		"a variance of the model": func(a *Alternative) { a.Prior.Noise = math.NaN() },
		"the weight of a rank":    func(a *Alternative) { a.Weight = math.NaN() },
		"the prior of the noise":  func(a *Alternative) { a.Prior.NoisePrior.Scale = 1 },
		"a variance of slopes":    func(a *Alternative) { a.Prior.Slopes = []float64{1, 1, -1, 1} },
		"entry 0 is NaN":          func(a *Alternative) { a.Mean = []float64{math.NaN(), 0, 0, 0, 0} },
		"slopes_freedom.1":        func(a *Alternative) { a.Prior.SlopesFreedom = []float64{1} },
	} {
		_, p := alternatives(t)
		spoil(&p.Alternatives[0])
		_, err := New(p)
		check(t, err, strings.TrimSpace(name))
	}
}
