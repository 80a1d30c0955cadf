package main

import (
	"context"
	"errors"
	"math"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/internal/experiment"
	"github.com/difalt/difalt/topology"
)

// The two problems that are varied. With rich data the start is good for every kappa,
// and the graph does not matter. With scarce data and two tasks a node the local
// gradients are mostly noise that averaging must remove.
var (
	richData = experiment.Setting{
		Nodes: 10, Features: 40, Tasks: 120, Samples: 30, Rank: 3, Kappa: 1.5,
		Graph: "er:0.5", Weights: "metropolis", Rounds: 20, InitRounds: 40, PowerIterations: 60, Iterations: 1, Seed: 1,
	}
	scarceData = experiment.Setting{
		Nodes: 20, Features: 40, Tasks: 40, Samples: 30, Rank: 3, Kappa: 1.5,
		Graph: "er:0.3", Weights: "metropolis", Rounds: 40, InitRounds: 2000, PowerIterations: 60, Iterations: 1, Seed: 1,
	}
	kappas       = []float64{1, 1.25, 1.5, 2, 2.5, 3, 4, 5, 6}
	roundsKappas = []float64{1, 1.25, 1.5, 2, 2.5, 3}
	graphs       = []string{"er:0.7", "er:0.5", "er:0.3", "exponential", "torus", "grid", "ring", "path"}
	samples      = []int{10, 12, 15, 20, 30, 40, 60, 100, 200}
	// accuracies are the values of epsilon, decade by decade.
	accuracies = []float64{1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-11, 1e-12}
)

const (
	roundsSlack = 1.25 // times the iterations of AltGDmin, with enough rounds
	startSlack  = 1.1  // times the smallest distance of the start, with enough of what is measured
	longest     = 20   // iterations, as a multiple of kappa^2 log(1/epsilon)
	mostRounds  = 4096
)

// A measurement is a number that Theorem 1 bounds.
type measurement struct {
	quantity string // T_pm, T_con,init, T_GD, T_con,GD or n
	method   difalt.Method
	experiment.PlanInput
	graph    string
	trial    int
	measured float64 // +Inf if there is no such number within the limits
	theory   float64 // the formula with C = 1, not rounded
}

// A probe makes measurements on one problem.
type probe struct {
	setting experiment.Setting
	trial   int
	weights *topology.Weights
	problem *difalt.Problem
	step    float64
	found   []measurement
}

// measureAll makes all measurements on so many draws of graph and data.
func measureAll(trials int) ([]measurement, error) {
	var all []measurement
	for trial := 1; trial <= trials; trial++ {
		var failed error
		measure := func(s experiment.Setting, vary func(*experiment.Setting), what ...func(*probe) error) {
			vary(&s)
			for _, f := range what {
				p := &probe{setting: s, trial: trial}
				if err := p.start(s.Samples); err != nil {
					failed = errors.Join(failed, err)
					return
				}
				failed = errors.Join(failed, f(p))
				all = append(all, p.found...)
			}
		}
		for _, k := range kappas {
			measure(richData, func(s *experiment.Setting) { s.Kappa = k }, (*probe).iterations)
		}
		for _, g := range graphs {
			measure(scarceData, func(s *experiment.Setting) { s.Graph = g }, (*probe).rounds, (*probe).initRounds)
		}
		for _, n := range samples {
			measure(scarceData, func(s *experiment.Setting) { s.Samples = n }, (*probe).iterations)
		}
		for _, k := range roundsKappas {
			vary := func(s *experiment.Setting) { s.Kappa = k }
			measure(richData, vary, (*probe).power, (*probe).samples)
			if k != scarceData.Kappa { // which the graphs have
				measure(scarceData, vary, (*probe).rounds)
			}
		}
		if failed != nil {
			return nil, failed
		}
	}
	return all, nil
}

// start draws the problem, with n samples a task, and its start.
func (p *probe) start(n int) (err error) {
	s := p.setting
	s.Samples = n
	p.problem, p.weights, p.step, err = s.Start(context.Background(), p.trial, 0)
	return err
}

// add notes a measurement and its formula.
func (p *probe) add(quantity string, method difalt.Method, epsilon, measured float64) error {
	s := &p.setting
	m := measurement{
		quantity: quantity, method: method, graph: s.Graph, trial: p.trial, measured: measured,
		PlanInput: experiment.PlanInput{
			Features: s.Features, Tasks: s.Tasks, Rank: s.Rank, Samples: s.Samples, Kappa: s.Kappa, Mu: 1, Epsilon: epsilon,
		},
	}
	if err := m.SetNetwork(p.weights); err != nil {
		return err
	}
	t, rounds := m.Terms(), -1/math.Log(m.Gamma)
	switch quantity {
	case "T_pm":
		m.theory = t.Power
	case "T_con,init":
		m.theory = rounds * t.InitAgree
	case "T_GD":
		m.theory = t.Iterations
	case "n":
		m.theory = t.Samples / float64(s.Tasks)
	case "T_con,GD":
		m.theory = rounds * t.Agree
		if method == difalt.DecAltGDmin {
			m.theory = rounds * t.DecAgree
		}
	}
	p.found = append(p.found, m)
	return nil
}

// descend returns for each of the accuracies the first iteration after which all nodes
// are within it, +Inf if that is not among the first limit, as where the method
// diverges. It stops at lowest.
func (p *probe) descend(method difalt.Method, rounds int, lowest float64, limit int) ([]float64, error) {
	o := p.setting.Options(0)
	o.Method, o.Rounds, o.Step, o.Iterations = method, rounds, p.step, limit+1
	first := make([]float64, len(accuracies))
	for i := range first {
		first[i] = math.Inf(1)
	}
	o.Observer = func(rec *difalt.Record) error {
		for i, e := range accuracies {
			if rec.SDMax <= e && math.IsInf(first[i], 1) {
				first[i] = float64(rec.Iteration)
			}
		}
		if rec.SDMax <= lowest {
			return errLowest
		}
		return nil
	}
	net, err := consensus.New(p.weights, nil)
	if err != nil {
		return nil, err
	}
	_, err = difalt.Run(context.Background(), p.problem, net, o)
	if errors.Is(err, errLowest) || errors.Is(err, difalt.ErrDiverged) {
		err = nil
	}
	return first, err
}

// errLowest ends a descent that is as low as it has to be.
var errLowest = errors.New("there")

// limit returns the most iterations of a descent to an accuracy.
func (p *probe) limit(epsilon float64) int {
	return int(longest * p.setting.Kappa * p.setting.Kappa * -math.Log(epsilon))
}

// iterations measures T_GD for every accuracy.
func (p *probe) iterations() error {
	lowest := accuracies[len(accuracies)-1]
	first, err := p.descend(difalt.DifAltGDmin, p.setting.Rounds, lowest, p.limit(lowest))
	for i, e := range accuracies {
		if err == nil {
			err = p.add("T_GD", difalt.DifAltGDmin, e, first[i])
		}
	}
	return err
}

// rounds measures the smallest T_con with which Dif- and Dec-AltGDmin reach an
// accuracy in about the iterations of AltGDmin.
func (p *probe) rounds() error {
	const lowest = 1e-8
	ideal, err := p.descend(difalt.AltGDmin, 1, lowest, p.limit(lowest))
	if err != nil {
		return err
	}
	for _, method := range []difalt.Method{difalt.DifAltGDmin, difalt.DecAltGDmin} {
		known := map[int][]float64{}
		for i := 1; accuracies[i] >= lowest; i += 2 { // every second decade
			fewest, err := smallest(1, mostRounds, func(rounds int) (bool, error) {
				if known[rounds] == nil {
					first, err := p.descend(method, rounds, lowest, int(roundsSlack*ideal[7])+1)
					if err != nil {
						return false, err
					}
					known[rounds] = first
				}
				return known[rounds][i] <= roundsSlack*ideal[i], nil
			})
			if err == nil {
				err = p.add("T_con,GD", method, accuracies[i], fewest)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// samples measures the smallest n with which Dif-AltGDmin reaches 1e-6.
func (p *probe) samples() error {
	const lowest = 1e-6
	fewest, err := smallest(p.setting.Rank, 32*p.setting.Features, func(n int) (bool, error) {
		if err := p.start(n); err != nil {
			return false, err
		}
		first, err := p.descend(difalt.DifAltGDmin, p.setting.Rounds, lowest, p.limit(lowest))
		return err == nil && !math.IsInf(first[5], 1), err
	})
	if err != nil {
		return err
	}
	return p.add("n", difalt.DifAltGDmin, lowest, fewest)
}

// power measures the smallest T_pm after which more iterations hardly improve the
// start, and initRounds the same for T_con,init.
func (p *probe) power() error {
	return p.better("T_pm", 1, 1024, func(o *difalt.Options, n int) { o.PowerIterations = n })
}

func (p *probe) initRounds() error {
	return p.better("T_con,init", 1, mostRounds, func(o *difalt.Options, n int) { o.InitRounds = n })
}

func (p *probe) better(quantity string, least, most int, set func(o *difalt.Options, n int)) error {
	p.problem.U0 = nil
	net, err := consensus.New(p.weights, nil)
	if err != nil {
		return err
	}
	distance := func(n int) (float64, error) {
		o := p.setting.Options(0)
		set(&o, n)
		start, err := difalt.Initialize(context.Background(), p.problem, net, o)
		if err != nil {
			return 0, err
		}
		return difalt.SubspaceDistance(start.U[0], p.problem.Truth), nil
	}
	best, err := distance(most)
	if err != nil {
		return err
	}
	fewest, err := smallest(least, most, func(n int) (bool, error) {
		d, err := distance(n)
		return d <= startSlack*best, err
	})
	if err != nil {
		return err
	}
	return p.add(quantity, difalt.DifAltGDmin, best, fewest)
}

// smallest returns the smallest n between least and most that is enough, +Inf if none
// is. More than enough must be enough.
func smallest(least, most int, enough func(n int) (bool, error)) (float64, error) {
	low, n := least-1, least // low is not enough
	for {
		ok, err := enough(n)
		switch {
		case err != nil:
			return 0, err
		case ok:
			return bisect(low, n, enough)
		case n == most:
			return math.Inf(1), nil
		}
		low, n = n, min(2*n, most)
	}
}

// bisect returns the smallest number that is enough; low is not, high is.
func bisect(low, high int, enough func(n int) (bool, error)) (float64, error) {
	for high-low > 1 {
		middle := low + (high-low)/2
		ok, err := enough(middle)
		if err != nil {
			return 0, err
		}
		if ok {
			high = middle
		} else {
			low = middle
		}
	}
	return float64(high), nil
}
