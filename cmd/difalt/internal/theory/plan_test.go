package theory

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/internal/simulation"
	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/topology"
)

// exact is an input with formulas that come out by hand: kappa = e, epsilon =
// e^-2, gamma = 1/e, L = d = 8 and r = 4.
func exact() Input {
	return Input{
		Nodes: 8, Features: 8, Tasks: 16, Rank: 4, Samples: 5,
		Kappa: math.E, Mu: 2, Epsilon: math.Exp(-2), Gamma: 1 / math.E, Links: 24, MaxDegree: 3, SumRounds: 6, BroadcastRounds: 3,
		Constants: UnitConstants, Time: simulation.TimeModel{Latency: 1, Bandwidth: 64}, Speed: 100,
	}
}

func newPlan(t *testing.T, in Input) *Plan {
	t.Helper()
	p, err := New(in)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func checkNear(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-9*math.Abs(want) {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

func TestPlanByHand(t *testing.T) {
	p := newPlan(t, exact())
	for _, c := range []struct {
		name      string
		got, want float64
	}{
		{"T_pm", p.Dif.PowerIterations, 23}, // e^2 (log 8 + 1) = 22.75
		{"T_con,init", p.Dif.InitRounds, 7}, // (log 8 + log 8 + log 4 + 1) / 1 = 6.55
		{"T_GD", p.Dif.Iterations, 15},      // e^2 * 2 = 14.78
		{"T_con,GD", p.Dif.Rounds, 5},       // log 8 + log 4 + 1 = 4.47
		{"T_pm of Dec", p.Dec.PowerIterations, 23},
		{"T_GD of Dec", p.Dec.Iterations, 15},
		{"T_con,init of Dec", p.Dec.InitRounds, 20}, // log 8 + log 8 + 1 + 2 e^2 = 19.94
		{"T_con of Dec", p.Dec.Rounds, 20},
		{"rounds", p.Rounds, 7},

		// nested = 7*23 + 5*15 = 236; n d r T = 5*8*4*16 = 2560; d r L deg = 8*4*8*3.
		{"operations", p.Dif.Operations, 236 * 2560},
		{"entries", p.Dif.Entries, 236 * 768},

		// A collective of 6 rounds, and 7 of AGREE and 3 of a broadcast in each of the
		// 23 iterations. A tree of 8 nodes has 7 edges.
		{"rounds of the start", p.Dif.Init.Rounds, 6 + (7+3)*23},
		{"messages of the start", p.Dif.Init.Messages, 14 + (7*24+2*7)*23},
		{"bytes of the start", p.Dif.Init.Bytes, 7*(17*24+2+17*8+1) + 8*23*(7*24*32+7*36) + 6*(14+(7*24+2*7)*23)}, // a header has 6 bytes
		{"rounds of the iterations", p.Dif.Descent.Rounds, 75},
		{"bytes of the iterations", p.Dif.Descent.Bytes, 75 * 24 * (8*32 + 6)},
		// A message of 32 entries takes 1 + 8*8*32/64 = 33 s, one of 36 with 4 singular
		// values more 37 s.
		{"seconds of the iterations", p.Dif.Descent.Communication, 75 * 33},
		{"seconds in all", p.Dif.Total.Communication, 75*33 + 6*(1+34.1875) + 161*33 + 69*37}, // a sum is as long as 547/16 numbers,
		// Two tasks a node of 5*8*4 multiply-adds each, at 100 a second.
		{"computation", p.Dif.Total.Computation, (23 + 15) * 3.2},
		{"unknowns", p.Unknowns, (8 + 16 - 4) * 4 / 16},
	} {
		checkNear(t, c.name, c.got, c.want)
	}
	// e^6 * 2^2 * 24 * 4 * (4 e^2 + 2)
	checkNear(t, "n T", p.TotalSamples, 384*math.Exp(6)*(4*math.Exp(2)+2))
	if p.Enough {
		t.Error("5 samples are called enough")
	}
	checkNear(t, "largest gamma", p.Dif.LargestGamma, math.Exp(-(math.Log(256)+1)/7))
	checkNear(t, "largest gamma of Dec", p.Dec.LargestGamma, math.Exp(-(math.Log(64)+1+2*math.Exp(2))/7))
}

func TestPlanConstantsMultiply(t *testing.T) {
	in := exact()
	in.Constants = Constants{10, 20, 30, 40, 50, 60}
	p, unit := newPlan(t, in), newPlan(t, exact())
	for _, c := range []struct {
		name          string
		got, one, mul float64
	}{
		{"T_pm", p.Dif.PowerIterations, unit.Dif.PowerIterations, 10},
		{"T_con,init", p.Dif.InitRounds, unit.Dif.InitRounds, 20},
		{"T_GD", p.Dif.Iterations, unit.Dif.Iterations, 30},
		{"T_con,GD", p.Dif.Rounds, unit.Dif.Rounds, 40},
		{"T_con of Dec", p.Dec.Rounds, unit.Dec.Rounds, 50},
	} {
		// Rounding up takes at most 1 before, and nothing after, the product.
		if c.got > c.mul*c.one || c.got <= c.mul*(c.one-1) {
			t.Errorf("%s is %v with C = %v, %v with 1", c.name, c.got, c.mul, c.one)
		}
	}
	checkNear(t, "n T", p.TotalSamples, 60*unit.TotalSamples)
}

func TestPlanIsMonotone(t *testing.T) {
	base := exact()
	for _, c := range []struct {
		name   string
		harder func(in *Input)
	}{
		{"kappa", func(in *Input) { in.Kappa *= 2 }},
		{"epsilon", func(in *Input) { in.Epsilon /= 1e3 }},
		{"gamma", func(in *Input) { in.Gamma = 0.9 }},
		{"features", func(in *Input) { in.Features *= 4 }},
		{"nodes", func(in *Input) { in.Nodes *= 2 }},
		{"mu", func(in *Input) { in.Mu *= 2 }},
	} {
		in := base
		c.harder(&in)
		easy, hard := newPlan(t, base), newPlan(t, in)
		for _, m := range [][2]*MethodPlan{{&easy.Dif, &hard.Dif}, {&easy.Dec, &hard.Dec}} {
			if m[1].PowerIterations < m[0].PowerIterations || m[1].InitRounds < m[0].InitRounds ||
				m[1].Iterations < m[0].Iterations || m[1].Rounds < m[0].Rounds || m[1].Total.Bytes < m[0].Total.Bytes {
				t.Errorf("%s: the harder problem asks for less: %+v, %+v", c.name, m[0], m[1])
			}
		}
		if hard.TotalSamples < easy.TotalSamples {
			t.Errorf("%s: the harder problem asks for fewer samples", c.name)
		}
	}
	// The point of the paper: rounds that do not grow with the accuracy.
	in := base
	in.Epsilon = 1e-12
	easy, hard := newPlan(t, base), newPlan(t, in)
	if hard.Dif.Rounds != easy.Dif.Rounds || hard.Dec.Rounds <= easy.Dec.Rounds {
		t.Errorf("from epsilon %v to %v Dif goes from %v to %v rounds and Dec from %v to %v",
			base.Epsilon, in.Epsilon, easy.Dif.Rounds, hard.Dif.Rounds, easy.Dec.Rounds, hard.Dec.Rounds)
	}
}

// With the largest gamma of a budget, the plan needs that budget.
func TestPlanLargestGammaInvertsRounds(t *testing.T) {
	in := exact()
	in.Rounds = 50
	p := newPlan(t, in)
	in.Gamma = p.Dif.LargestGamma * (1 - 1e-9)
	if q := newPlan(t, in); q.Dif.InitRounds != 50 {
		t.Errorf("Dif needs %v rounds", q.Dif.InitRounds)
	}
	in.Gamma = p.Dec.LargestGamma * (1 - 1e-9)
	if q := newPlan(t, in); q.Dec.Rounds != 50 {
		t.Errorf("Dec needs %v rounds", q.Dec.Rounds)
	}
}

// A run with the iterations and rounds of a plan sends what the plan says.
func TestPlanTrafficIsThatOfARun(t *testing.T) {
	s := simulation.Setting{Nodes: 6, Features: 10, Tasks: 12, Samples: 30, Rank: 2, Kappa: 1.5, Graph: "ring", Weights: "metropolis", Seed: 3}
	w, err := s.Mixing(1)
	if err != nil {
		t.Fatal(err)
	}
	in := exact()
	in.Features, in.Tasks, in.Samples, in.Rank, in.Kappa, in.Epsilon = 10, 12, 30, 2, 1.5, 0.1
	if err := in.SetNetwork(w); err != nil {
		t.Fatal(err)
	}
	p := newPlan(t, in)
	problem, err := s.Problem(t.Context(), 1, nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	net, err := s.Network(w, 1)
	if err != nil {
		t.Fatal(err)
	}
	res, err := difalt.Run(context.Background(), problem, net, difalt.Options{
		Rank: 2, EveryIteration: true, Iterations: int(p.Dif.Iterations), Rounds: int(p.Dif.Rounds),
		Initialization: difalt.InitializationOptions{Rounds: int(p.Dif.InitRounds), PowerIterations: int(p.Dif.PowerIterations)}, Workers: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		plan Cost
		run  wire.Traffic
	}{{"start", p.Dif.Init, res.InitTraffic}, {"iterations", p.Dif.Descent, res.Last.Traffic}} {
		got := wire.Traffic{Rounds: int64(c.plan.Rounds), Messages: int64(c.plan.Messages), Bytes: int64(c.plan.Bytes)}
		if c.name == "iterations" { // a header reduction along 5 edges, of which the plan knows nothing
			got.Bytes += 5 * (2 + 4 + 2*40 + 2 + 4 + 2*8)
		}
		if got != c.run {
			t.Errorf("%s: the plan says %+v, the run %+v", c.name, got, c.run)
		}
	}
}

func TestPlanOnNetworks(t *testing.T) {
	g, err := topology.Star(5)
	if err != nil {
		t.Fatal(err)
	}
	w, err := topology.NewWeights(g, topology.Metropolis)
	if err != nil {
		t.Fatal(err)
	}
	in := exact()
	if err := in.SetNetwork(w); err != nil {
		t.Fatal(err)
	}
	if in.SumRounds != 2 || in.BroadcastRounds != 1 {
		t.Errorf("a sum takes %d rounds on a star and a broadcast %d", in.SumRounds, in.BroadcastRounds)
	}
	if in.Nodes != 5 || in.Links != 8 || in.MaxDegree != 4 || in.Gamma != w.Gamma() {
		t.Errorf("the star of 5 is %+v", in)
	}
	// One round agrees exactly, and less than one is none.
	in.Gamma = 0
	if p := newPlan(t, in); p.Dif.Rounds != 1 || p.Dec.Rounds != 1 {
		t.Errorf("with gamma 0 the rounds are %v and %v", p.Dif.Rounds, p.Dec.Rounds)
	}
	in.Links, in.MaxDegree = 0, 0
	if p := newPlan(t, in); p.Dif.Total.Messages != 0 || p.Dif.Entries != 0 || p.Dif.Total.Rounds == 0 {
		t.Errorf("without a graph the costs are %+v", p.Dif.Total)
	}
}

func TestPlanJitter(t *testing.T) {
	in := exact()
	quiet := newPlan(t, in)
	in.Time.Jitter = 1
	checkNear(t, "uniform", newPlan(t, in).Dif.Descent.Communication-quiet.Dif.Descent.Communication, 75*24./25)
}

func TestPlanErrors(t *testing.T) {
	for want, change := range map[string]func(in *Input){
		"nodes is 17":    func(in *Input) { in.Nodes = 17 },
		"rank is 9":      func(in *Input) { in.Rank = 9 },
		"degree is 8":    func(in *Input) { in.MaxDegree = 8 },
		"with rank 1":    func(in *Input) { in.Rank = 1 },
		"kappa is 1e+09": func(in *Input) { in.Kappa = 1e9 },
		"jitter is 1s":   func(in *Input) { in.Time.Jitter, in.Links = 1, 0 },
	} {
		in := exact()
		change(&in)
		if _, err := New(in); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error with %q, got %v", want, err)
		}
	}
}
