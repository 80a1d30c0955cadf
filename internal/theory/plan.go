package theory

import (
	"context"
	"fmt"
	"math"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/internal/simulation"
	"github.com/difalt/difalt/internal/synth"
	"github.com/difalt/difalt/topology"
)

// A Input describes a problem, the accuracy that is wanted and the network.
type Input struct {
	Nodes    int `json:"nodes"`    // L
	Features int `json:"features"` // d
	Tasks    int `json:"tasks"`    // T
	Rank     int `json:"rank"`     // r
	Samples  int `json:"samples"`  // n, of each task

	Kappa   float64 `json:"kappa"`   // condition number of Theta*, at least 1
	Mu      float64 `json:"mu"`      // incoherence (Assumption 1), at least 1
	Epsilon float64 `json:"epsilon"` // subspace distance to reach, between 0 and 1

	// Gamma is gamma(W) of the mixing weights; 0 <= Gamma < 1.
	Gamma float64 `json:"gamma"`
	// Links is the number of directed links, twice the edges, and MaxDegree the
	// largest number of neighbours. They are 0 if only Gamma is known; then the plan
	// has no number of messages and bytes.
	Links     int `json:"links,omitzero"`
	MaxDegree int `json:"max_degree,omitzero"`
	// SumRounds and BroadcastRounds are the rounds of a sum over all nodes and of a
	// broadcast by node 0; without a graph they are 0, and the plan leaves them out.
	SumRounds       int `json:"sum_rounds,omitzero"`
	BroadcastRounds int `json:"broadcast_rounds,omitzero"`

	// Rounds is the number of rounds of averaging that the network can afford in an
	// iteration, for the connectivity that it then needs; 0 stands for the larger of
	// T_con,init and T_con,GD of Dif-AltGDmin.
	Rounds int `json:"rounds,omitzero"`

	// Constants are the C of the formulas.
	Constants Constants `json:"constants"`
	// Time is how long a message takes. With jitter, Links must be known.
	Time simulation.TimeModel `json:"time_model"`
	// Speed of a node in multiply-adds per second, of which an iteration is taken to
	// need n d r for a task.
	Speed float64 `json:"speed"`
}

// DefaultSpeed is what one core with AVX-512 was measured to do in an iteration of
// this module, between 1.1e10 and 1.9e10, rounded down.
const DefaultSpeed = 1e10

// Constants are the numbers C that the paper's orders of growth leave open, one for
// each formula.
type Constants struct {
	Power      float64 `json:"power"`       // of T_pm
	InitRounds float64 `json:"init_rounds"` // of T_con,init
	Iterations float64 `json:"iterations"`  // of T_GD
	Rounds     float64 `json:"rounds"`      // of T_con,GD
	DecRounds  float64 `json:"dec_rounds"`  // of both T_con of Dec-AltGDmin
	Samples    float64 `json:"samples"`     // of n T
}

var (
	// UnitConstants takes every C as 1.
	UnitConstants = Constants{1, 1, 1, 1, 1, 1}
	// MeasuredConstants bring the formulas near to simulations at kappa = 1.5 with
	// about as few samples as in the paper's figures, n T = 5 to 10 times d r, without
	// sample splitting. docs/theory.md has the measurements and how far the formulas
	// are off elsewhere: C of T_GD falls to 2 with many samples and rises to 20 with
	// hardly enough, and no one C of n T suits two values of kappa.
	MeasuredConstants = Constants{Power: 1, InitRounds: 0.3, Iterations: 6, Rounds: 0.3, DecRounds: 0.6, Samples: 0.01}
)

// SetNetwork sets what is known of a network: Nodes, Gamma, Links, MaxDegree,
// SumRounds and BroadcastRounds.
func (in *Input) SetNetwork(w *topology.Weights) error {
	g := w.Graph()
	in.Nodes, in.Gamma, in.Links, in.MaxDegree = g.Len(), w.Gamma(), 2*g.Edges(), 0
	z := make([][]float64, g.Len())
	for i := range z {
		in.MaxDegree = max(in.MaxDegree, g.Degree(i))
		z[i] = []float64{0}
	}
	net, err := consensus.New(w, nil)
	if err != nil {
		return err
	}
	if err := net.Sum(context.Background(), z); err != nil {
		return err
	}
	sum := net.Traffic()
	if err := net.Broadcast(context.Background(), 0, z); err != nil {
		return err
	}
	in.SumRounds, in.BroadcastRounds = int(sum.Rounds), int(net.Traffic().Minus(sum).Rounds)
	return nil
}

// Validate returns an error that names the first parameter out of range.
func (in *Input) Validate() error {
	for _, c := range []struct {
		name         string
		value, least int
	}{{"nodes", in.Nodes, 1}, {"links", in.Links, 0}, {"degree", in.MaxDegree, 0}, {"rounds", in.Rounds, 0}} {
		if c.value < c.least {
			return fmt.Errorf("%s is %d: need at least %d", c.name, c.value, c.least)
		}
	}
	if !(in.Kappa >= 1) || math.IsInf(in.Kappa, 0) {
		return fmt.Errorf("kappa is %v: must be finite and at least 1", in.Kappa)
	}
	data := synth.Data{Features: in.Features, Tasks: in.Tasks, Samples: in.Samples, Rank: in.Rank, Kappa: in.Kappa}
	if err := data.Validate(); err != nil {
		return err
	}
	switch {
	case in.Nodes > in.Tasks:
		return fmt.Errorf("nodes is %d, more than tasks = %d: every node needs a task", in.Nodes, in.Tasks)
	case in.MaxDegree >= in.Nodes:
		return fmt.Errorf("degree is %d: a node has at most nodes - 1 = %d neighbours", in.MaxDegree, in.Nodes-1)
	case !(in.Mu >= 1) || math.IsInf(in.Mu, 0):
		return fmt.Errorf("mu is %v: must be finite and at least 1", in.Mu)
	case !(in.Epsilon > 0 && in.Epsilon < 1):
		return fmt.Errorf("epsilon is %v: must lie between 0 and 1, both excluded", in.Epsilon)
	case !(in.Gamma >= 0 && in.Gamma < 1):
		return fmt.Errorf("gamma is %v: must be at least 0 and less than 1, or averaging does not converge", in.Gamma)
	case !(in.Speed > 0) || math.IsInf(in.Speed, 0):
		return fmt.Errorf("speed is %v multiply-adds/s: must be positive and finite", in.Speed)
	case in.Time.Jitter > 0 && in.Links == 0 && in.Nodes > 1:
		return fmt.Errorf("jitter is %v, but how long the slowest message takes depends on their number, and the graph is not known", in.Time.Jitter)
	}
	return in.Time.Validate()
}

// Orders are the paper's orders of growth: its formulas without their constants.
// Logarithms are natural.
type Orders struct {
	Power      float64 // T_pm
	Iterations float64 // T_GD
	// What log(1/gamma) divides to give a number of rounds: log(L/eps_con) of eq. (2).
	InitAgree, Agree, DecAgree float64
	Samples                    float64 // n T
}

// Orders evaluates Theorem 1 a) to c) and, for Dec-AltGDmin, the consensus accuracy
// log(1/eps_con) >~ log(L d kappa (1/epsilon)^(kappa^2)) that Experiment 2 cites.
func (in *Input) Orders() Orders {
	l, d, r := math.Log(float64(in.Nodes)), math.Log(float64(in.Features)), math.Log(float64(in.Rank))
	kappa, eps := math.Log(in.Kappa), -math.Log(in.Epsilon)
	k2, rank := in.Kappa*in.Kappa, float64(in.Rank)
	return Orders{
		Power:      k2 * (d + kappa),
		InitAgree:  l + d + r + kappa,
		Iterations: k2 * eps,
		Agree:      l + r + kappa,
		DecAgree:   l + d + kappa + k2*eps,
		Samples:    k2 * k2 * k2 * in.Mu * in.Mu * float64(in.Features+in.Tasks) * rank * (k2*rank + eps),
	}
}

// rounds returns T_con for an accuracy of agreement, log(L/eps_con): eq. (2) solved for
// T_con.
func (in *Input) rounds(agree float64) float64 { return agree / -math.Log(in.Gamma) }
