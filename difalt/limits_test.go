package difalt_test

import (
	"errors"
	"math"
	"testing"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/topology"
)

// TestLimits: a number beyond either end of its range is refused by name before anything
// is computed.
func TestLimits(t *testing.T) {
	s := gaussian(3, 4, 12, 16, 2, fixed(20), 0)
	net := network(t, "ring", 4, topology.Metropolis, 1)
	count := func(most int, of func(*difalt.Options) *int) (beyond []func(*difalt.Options)) {
		for _, v := range []int{-1, most + 1, math.MaxInt} {
			beyond = append(beyond, func(o *difalt.Options) { *of(o) = v })
		}
		return beyond
	}
	size := func(most float64, of func(*difalt.Options) *float64) (beyond []func(*difalt.Options)) {
		for _, v := range []float64{-1, math.NaN(), math.Inf(1), most * 1.01} {
			beyond = append(beyond, func(o *difalt.Options) { *of(o) = v })
		}
		return beyond
	}
	for name, beyond := range map[string][]func(*difalt.Options){
		"Rank":                           {func(o *difalt.Options) { o.Rank = 0 }, func(o *difalt.Options) { o.Rank = 13 }, func(o *difalt.Options) { o.Rank = math.MaxInt }},
		"Method":                         {func(o *difalt.Options) { o.Method = difalt.Method(len(difalt.Methods()) + len(difalt.Baselines())) }},
		"Iterations":                     count(difalt.MaxIterations, func(o *difalt.Options) *int { return &o.Iterations }),
		"Rounds":                         count(difalt.MaxRounds, func(o *difalt.Options) *int { return &o.Rounds }),
		"Initialization.Rounds":          count(difalt.MaxRounds, func(o *difalt.Options) *int { return &o.Initialization.Rounds }),
		"Initialization.PowerIterations": count(difalt.MaxIterations, func(o *difalt.Options) *int { return &o.Initialization.PowerIterations }),
		"Initialization.Kappa":           size(difalt.MaxKappa, func(o *difalt.Options) *float64 { return &o.Initialization.Kappa }),
		"Initialization.Mu":              size(difalt.MaxKappa, func(o *difalt.Options) *float64 { return &o.Initialization.Mu }),
		"Accelerated.Memory":             count(difalt.MaxMemory, func(o *difalt.Options) *int { return &o.Accelerated.Memory }),
		"Accelerated.Preconditioner":     {func(o *difalt.Options) { o.Accelerated.Preconditioner = 2 }},
		"Workers":                        count(kernel.MaxWorkers, func(o *difalt.Options) *int { return &o.Workers }),
		"Step":                           size(difalt.MaxStep, func(o *difalt.Options) *float64 { return &o.Step }),
		"Scaled.Step":                    size(difalt.MaxStep, func(o *difalt.Options) *float64 { return &o.Scaled.Step }),
		"Ridge":                          size(difalt.MaxRidge, func(o *difalt.Options) *float64 { return &o.Ridge }),
		"Tolerance":                      size(math.Inf(1), func(o *difalt.Options) *float64 { return &o.Tolerance }),
	} {
		for i, set := range beyond {
			o := difalt.Options{Rank: 2, Method: difalt.Accelerated}
			set(&o)
			_, err := difalt.Run(t.Context(), s.Problem, net, o)
			if e := (*difalt.ParameterError)(nil); !errors.As(err, &e) || e.Name != name {
				t.Errorf("%s, value %d: %v", name, i, err)
			}
		}
	}
	if _, _, err := difalt.Adapt(s.Truth, s.Nodes[0], 1e301); !errors.As(err, new(*difalt.ParameterError)) {
		t.Errorf("Adapt: %v", err)
	}
}

// TestLargest: numbers at the upper end of their ranges lead to a result or an error.
func TestLargest(t *testing.T) {
	net := network(t, "ring", 4, topology.Metropolis, 1)
	for name, set := range map[string]func(*difalt.Options){
		"Ridge":  func(o *difalt.Options) { o.Ridge = difalt.MaxRidge },
		"Step":   func(o *difalt.Options) { o.Step, o.Scaled.Step = difalt.MaxStep, difalt.MaxStep },
		"Memory": func(o *difalt.Options) { o.Accelerated.Memory = difalt.MaxMemory },
		"Kappa": func(o *difalt.Options) {
			o.Initialization.Kappa, o.Initialization.Mu = difalt.MaxKappa, difalt.MaxKappa
		},
		"sample split": func(o *difalt.Options) { o.SampleSplit, o.Iterations = true, difalt.MaxIterations },
	} {
		for _, method := range []difalt.Method{difalt.DifAltGDmin, difalt.Accelerated} {
			for _, scale := range []float64{1, 0x1p-300, 0x1p300} { // of the features
				s := gaussian(3, 4, 12, 16, 2, fixed(20), 0)
				for _, node := range s.x {
					for _, x := range node {
						x.Scale(scale, x)
					}
				}
				s.rebuild()
				o := difalt.Options{Rank: 2, Method: method, Iterations: 5, Agreement: consensus.Agreement{Polynomial: consensus.Tree}}
				set(&o)
				res, err := difalt.Run(t.Context(), s.Problem, net, o)
				if err != nil && !errors.Is(err, difalt.ErrDiverged) && !errors.As(err, new(*difalt.ParameterError)) && !errors.As(err, new(*difalt.DataError)) {
					t.Errorf("%s, %v, features times %g: %v", name, method, scale, err)
				}
				if res != nil && err == nil && !(res.Last.Objective >= 0) {
					t.Errorf("%s, %v, features times %g: objective %v", name, method, scale, res.Last.Objective)
				}
			}
		}
	}
	s := gaussian(3, 4, 12, 16, 2, fixed(20), 0)
	if _, _, err := difalt.Adapt(s.Truth, s.Nodes[0], difalt.MaxRidge); err != nil {
		t.Error(err)
	}
}
