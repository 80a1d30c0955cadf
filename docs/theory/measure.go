// Command theory measures, on small synthetic problems, the numbers that Theorem 1
// bounds while one of kappa, gamma, epsilon and n varies. It writes every measurement to
// measurements.csv and prints the exponents that docs/theory.md shows.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"math"
	"os"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/internal/experiment"
	"github.com/difalt/difalt/topology"
)

// The two problems that are varied. With rich data the start is good for every kappa,
// and the graph does not matter. With scarce data and two tasks a node the local
// gradients are mostly noise that averaging must remove.
var (
	rich = experiment.Setting{
		Nodes: 10, Features: 40, Tasks: 120, Samples: 30, Rank: 3, Kappa: 1.5,
		Graph: "er:0.5", Weights: "metropolis", Rounds: 20, InitRounds: 40, PowerIterations: 60, Seed: 1,
	}
	scarce = experiment.Setting{
		Nodes: 20, Features: 40, Tasks: 40, Samples: 30, Rank: 3, Kappa: 1.5,
		Graph: "er:0.3", Weights: "metropolis", Rounds: 40, InitRounds: 2000, PowerIterations: 60, Seed: 1,
	}
)

const (
	trials      = 3
	roundsSlack = 1.25 // times the iterations of AltGDmin, with enough rounds
	startSlack  = 1.1  // times the smallest distance of the start, with enough of what is measured
	longest     = 20   // iterations, as a multiple of kappa^2 log(1/epsilon)
	most        = 4096 // rounds and power iterations
	dif, dec    = difalt.DifAltGDmin, difalt.DecAltGDmin
)

func main() {
	log.SetFlags(0)
	var all []*measurement
	for trial := 1; trial <= trials; trial++ {
		all = append(all, measure(trial)...)
	}
	b := []byte("quantity,method,graph,trial,kappa,gamma,epsilon,features,tasks,samples,measured,theory\n")
	for _, m := range all {
		b = fmt.Appendf(b, "%q,%v,%s,%d,%g,%.6g,%.6g,%d,%d,%d,%g,%.6g\n", m.quantity, m.method, m.Graph, m.trial,
			m.Kappa, m.gamma, m.epsilon, m.Features, m.Tasks, m.Samples, m.measured, m.theory())
	}
	check(os.WriteFile("measurements.csv", b, 0o666))
	fmt.Println(exponents(all).Markdown())
}

func check(err error) {
	if err != nil {
		log.Fatal("theory: ", err)
	}
}

// measure makes all measurements on a draw of graph and data.
func measure(trial int) (all []*measurement) {
	on := func(s experiment.Setting) *problem {
		p := &problem{Setting: s, trial: trial, all: &all}
		p.start()
		return p
	}
	for _, k := range []float64{1, 1.25, 1.5, 2, 2.5, 3, 4, 5, 6} {
		s := rich
		s.Kappa = k
		on(s).iterations()
	}
	for _, n := range []int{10, 12, 15, 20, 30, 40, 60, 100, 200} {
		s := scarce
		s.Samples = n
		on(s).iterations()
	}
	for _, g := range []string{"er:0.7", "er:0.5", "er:0.3", "exponential", "torus", "grid", "ring", "path"} {
		s := scarce
		s.Graph = g
		on(s).rounds()
		on(s).smallestStart("T_con,init", func(o *difalt.Options, n int) { o.InitRounds = n })
	}
	for _, k := range []float64{1, 1.25, 1.5, 2, 2.5, 3} {
		s := rich
		s.Kappa = k
		on(s).samples()
		on(s).smallestStart("T_pm", func(o *difalt.Options, n int) { o.PowerIterations = n })
		if s = scarce; k != s.Kappa { // which is among the graphs
			s.Kappa = k
			on(s).rounds()
		}
	}
	return all
}

// A problem is a draw of graph and data on which something is measured.
type problem struct {
	experiment.Setting
	trial   int
	data    *difalt.Problem
	weights *topology.Weights
	net     *consensus.Network
	step    float64
	all     *[]*measurement
}

// start draws the problem, and its start.
func (p *problem) start() {
	var err error
	p.data, p.weights, p.step, err = p.Start(context.Background(), p.trial, 0)
	check(err)
	p.net, err = consensus.New(p.weights, nil)
	check(err)
}

// A measurement is a number that Theorem 1 bounds.
type measurement struct {
	experiment.Setting
	quantity string // T_pm, T_con,init, T_GD, T_con,GD or n
	method   difalt.Method
	trial    int
	gamma    float64
	epsilon  float64
	measured float64 // +Inf if there is no such number within the limits
}

func (p *problem) add(quantity string, method difalt.Method, epsilon, measured float64) {
	*p.all = append(*p.all, &measurement{p.Setting, quantity, method, p.trial, p.weights.Gamma(), epsilon, measured})
}

// theory returns the formula with C = 1, not rounded.
func (m *measurement) theory() float64 {
	in := experiment.PlanInput{
		Nodes: m.Nodes, Features: m.Features, Tasks: m.Tasks, Rank: m.Rank, Samples: m.Samples, Kappa: m.Kappa, Mu: 1, Epsilon: m.epsilon,
	}
	t, rounds := in.Terms(), -1/math.Log(m.gamma)
	switch {
	case m.quantity == "T_pm":
		return t.Power
	case m.quantity == "T_con,init":
		return rounds * t.InitAgree
	case m.quantity == "T_GD":
		return t.Iterations
	case m.quantity == "n":
		return t.Samples / float64(m.Tasks)
	case m.method == dec:
		return rounds * t.DecAgree
	}
	return rounds * t.Agree
}

var errThere = errors.New("as low as it has to be")

// descend returns the first iteration after which all nodes are within 10^-k, for k up
// to decades; +Inf if that is not among the first limit, or the method diverges.
func (p *problem) descend(method difalt.Method, rounds, decades, limit int) []float64 {
	first := make([]float64, decades+1)
	for k := range first {
		first[k] = math.Inf(1)
	}
	o := p.Options(0)
	o.Method, o.Rounds, o.Step, o.Iterations = method, rounds, p.step, limit
	o.Observer = func(rec *difalt.Record) error {
		for k := range first {
			if math.IsInf(first[k], 1) && rec.SDMax <= math.Pow10(-k) {
				first[k] = float64(rec.Iteration)
			}
		}
		if !math.IsInf(first[decades], 1) {
			return errThere
		}
		return nil
	}
	if _, err := difalt.Run(context.Background(), p.data, p.net, o); !errors.Is(err, errThere) && !errors.Is(err, difalt.ErrDiverged) {
		check(err)
	}
	return first
}

// limit returns the most iterations of a descent to 10^-decades.
func (p *problem) limit(decades int) int {
	return int(longest * p.Kappa * p.Kappa * math.Ln10 * float64(decades))
}

// iterations measures T_GD for every decade of accuracy.
func (p *problem) iterations() {
	for k, n := range p.descend(dif, p.Rounds, 12, p.limit(12)) {
		if k > 0 {
			p.add("T_GD", dif, math.Pow10(-k), n)
		}
	}
}

// rounds measures the smallest T_con with which Dif- and Dec-AltGDmin reach an
// accuracy in about the iterations of AltGDmin.
func (p *problem) rounds() {
	ideal := p.descend(difalt.AltGDmin, 1, 8, p.limit(8))
	for _, method := range []difalt.Method{dif, dec} {
		known := map[int][]float64{}
		for k := 2; k <= 8; k += 2 {
			p.add("T_con,GD", method, math.Pow10(-k), smallest(most, func(rounds int) bool {
				if known[rounds] == nil {
					known[rounds] = p.descend(method, rounds, 8, int(roundsSlack*ideal[8])+1)
				}
				return known[rounds][k] <= roundsSlack*ideal[k]
			}))
		}
	}
}

// samples measures the smallest n with which Dif-AltGDmin reaches 1e-6.
func (p *problem) samples() {
	n := smallest(32*p.Features, func(n int) bool {
		if n < p.Rank {
			return false
		}
		q := *p
		q.Samples = n
		q.start()
		return !math.IsInf(q.descend(dif, q.Rounds, 6, q.limit(6))[6], 1)
	})
	p.add("n", dif, 1e-6, n)
}

// smallestStart measures the smallest number that set sets after which more hardly
// improves the start.
func (p *problem) smallestStart(quantity string, set func(o *difalt.Options, n int)) {
	p.data.U0 = nil
	distance := func(n int) float64 {
		o := p.Options(0)
		set(&o, n)
		start, err := difalt.Initialize(context.Background(), p.data, p.net, o)
		check(err)
		return difalt.SubspaceDistance(start.U[0], p.data.Truth)
	}
	best := distance(most)
	p.add(quantity, dif, best, smallest(most, func(n int) bool { return distance(n) <= startSlack*best }))
}

// smallest returns the smallest n up to most that is enough, +Inf if none is. More than
// enough must be enough.
func smallest(most int, enough func(n int) bool) float64 {
	low, high := 0, 1 // low is not enough
	for !enough(high) {
		if high == most {
			return math.Inf(1)
		}
		low, high = high, min(2*high, most)
	}
	for high-low > 1 {
		if middle := low + (high-low)/2; enough(middle) {
			high = middle
		} else {
			low = middle
		}
	}
	return float64(high)
}
