// Package theory evaluates what Theorem 1 and the complexities of the Dif-AltGDmin paper
// ask of a problem on a network: samples, iterations, rounds, bytes and time; and the rate at which
// iterations converge near a solution.
package theory

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"time"

	"github.com/difalt/difalt/cmd/difalt/internal/simulation"
	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/collective"
	"github.com/difalt/difalt/consensus/wire"
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

// validate returns an error that names parameters that do not go together. The range of each is the caller's to check.
func (in *Input) validate() error {
	data := synth.Data{Features: in.Features, Tasks: in.Tasks, Samples: in.Samples, Rank: in.Rank, Kappa: in.Kappa}
	if err := data.Validate(in.Nodes); err != nil {
		return err
	}
	switch {
	case in.MaxDegree >= in.Nodes:
		return fmt.Errorf("degree is %d: a node has at most nodes - 1 = %d neighbours", in.MaxDegree, in.Nodes-1)
	case in.Time.Jitter > 0 && in.Links == 0 && in.Nodes > 1:
		return fmt.Errorf("jitter is %v, but how long the slowest message takes depends on their number, and the graph is not known", time.Duration(math.Round(in.Time.Jitter*float64(time.Second))))
	}
	return nil
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

// A Plan is what Theorem 1 and the complexities after it say about a problem on a
// network, for Dif-AltGDmin beside Dec-AltGDmin.
type Plan struct {
	Input Input `json:"input"`

	// TotalSamples is C kappa^6 mu^2 (d+T) r (kappa^2 r + log(1/epsilon)), what n T
	// must reach (Theorem 1 c). The paper states it for Dif-AltGDmin, with fresh
	// samples in every iteration.
	TotalSamples float64 `json:"total_samples"`
	// SamplesPerTask is the n that follows from it, at least max(log T, log d, r) as
	// step 1 of the proof asks; Enough says whether Input.Samples reaches it.
	SamplesPerTask float64 `json:"samples_per_task"`
	Enough         bool    `json:"enough"`
	// Unknowns is (d+T-r) r / T, the free numbers of a d x T matrix of rank r for each
	// task: with fewer samples no method can recover it.
	Unknowns float64 `json:"unknowns_per_task"`

	// Rounds is the number of rounds in an iteration that LargestGamma is for.
	Rounds float64 `json:"rounds"`

	Dif MethodPlan `json:"dif"`
	Dec MethodPlan `json:"dec"`
}

// A MethodPlan is the part of a Plan about one method.
type MethodPlan struct {
	PowerIterations float64 `json:"power_iterations"` // T_pm
	InitRounds      float64 `json:"init_rounds"`      // T_con,init
	Iterations      float64 `json:"iterations"`       // T_GD
	Rounds          float64 `json:"rounds"`           // T_con,GD

	// LargestGamma is the largest gamma(W), that is the worst connectivity, with which
	// Plan.Rounds rounds suffice (eq. 2).
	LargestGamma float64 `json:"largest_gamma"`

	// Operations is the paper's time complexity, eq. (4), summed over the nodes:
	// (T_con,init T_pm + T_con,GD T_GD) n d r T. It counts the arithmetic of an
	// iteration once for every round of averaging, and is an upper bound.
	Operations float64 `json:"operations"`
	// Entries is the paper's communication complexity, in numbers sent:
	// (T_con,init T_pm + T_con,GD T_GD) d r L max_g deg_g; 0 if the degree is not
	// known. It is an upper bound for messages to every neighbour, without the broadcast
	// of a power iteration.
	Entries float64 `json:"entries,omitzero"`

	// Init and Descent are the two phases as package difalt runs them, and Total
	// their sum.
	Init    Cost `json:"init"`
	Descent Cost `json:"descent"`
	Total   Cost `json:"total"`
}

// A Cost is what a phase takes.
type Cost struct {
	// Rounds of averaging, one after the other.
	Rounds float64 `json:"rounds"`
	// Messages and their Bytes, over all links; 0 if the graph is not known.
	Messages float64 `json:"messages,omitzero"`
	Bytes    float64 `json:"bytes,omitzero"`
	// Communication is the time of the rounds under the time model, in seconds, and
	// Computation that of the node with the most tasks.
	Communication float64 `json:"communication_seconds"`
	Computation   float64 `json:"computation_seconds"`
}

// countLimit bounds what a plan counts: beyond it float64 loses units, and the plan
// any meaning.
const countLimit = 1e15

// New evaluates the formulas. Counts are rounded up to whole numbers, at least
// 1. It returns an error that names parameters that do not go together, or a count beyond
// 1e15.
func New(in Input) (*Plan, error) {
	if err := in.validate(); err != nil {
		return nil, err
	}
	c, t := &in.Constants, in.Orders()
	dif := MethodPlan{
		PowerIterations: count(c.Power * t.Power),
		InitRounds:      count(in.rounds(c.InitRounds * t.InitAgree)),
		Iterations:      count(c.Iterations * t.Iterations),
		Rounds:          count(in.rounds(c.Rounds * t.Agree)),
	}
	// Dec-AltGDmin has the same iterations. All its averaging, that of the
	// initialisation too, is to the accuracy of the result: kappa^4 and
	// log^2(1/epsilon) in both of its time complexities.
	dec := dif
	dec.InitRounds = count(in.rounds(c.DecRounds * t.DecAgree))
	dec.Rounds = dec.InitRounds

	p := &Plan{Input: in, Rounds: cmp.Or(float64(in.Rounds), max(dif.InitRounds, dif.Rounds)), TotalSamples: c.Samples * t.Samples}
	p.SamplesPerTask = math.Ceil(max(p.TotalSamples/float64(in.Tasks),
		math.Log(float64(in.Tasks)), math.Log(float64(in.Features)), float64(in.Rank)))
	p.Enough = float64(in.Samples) >= p.SamplesPerTask
	p.Unknowns = float64((in.Features+in.Tasks-in.Rank)*in.Rank) / float64(in.Tasks)
	dif.LargestGamma = math.Exp(-max(c.InitRounds*t.InitAgree, c.Rounds*t.Agree) / p.Rounds)
	dec.LargestGamma = math.Exp(-c.DecRounds * t.DecAgree / p.Rounds)
	for _, m := range []*MethodPlan{&dif, &dec} {
		in.addCosts(m)
		if largest := max(m.Total.Rounds, m.Iterations, p.TotalSamples); !(largest <= countLimit) {
			return nil, fmt.Errorf("kappa is %v, epsilon %v, gamma %v: the plan needs %.1e rounds, iterations or samples, beyond any use",
				in.Kappa, in.Epsilon, in.Gamma, largest)
		}
	}
	p.Dif, p.Dec = dif, dec
	return p, nil
}

// count rounds up to a whole number, at least 1.
func count(x float64) float64 { return max(1, math.Ceil(x)) }

// addCosts fills in all that follows from the numbers of iterations and rounds.
func (in *Input) addCosts(m *MethodPlan) {
	entries := float64(in.Features) * float64(in.Rank)
	perTask := float64(in.Samples) * entries
	heaviest := math.Ceil(float64(in.Tasks)/float64(in.Nodes)) * perTask / in.Speed
	nested := m.InitRounds*m.PowerIterations + m.Rounds*m.Iterations
	m.Operations = nested * perTask * float64(in.Tasks)
	m.Entries = nested * entries * float64(in.Nodes) * float64(in.MaxDegree)

	// Alg. 2: one sum of 17 numbers, of which the threshold is part (lines 1 to 3), as so many
	// entries as half of what goes up and down has bytes for; then the product (line 12) and the
	// broadcast of node 0 (line 15), with which go r singular values.
	up, down := collective.SumBytes(17, in.Nodes)
	m.Init = in.collective(in.SumRounds, 2, 1, float64(up+down)/16)
	m.Init.add(in.phase(m.InitRounds, m.PowerIterations, entries))
	broadcast := in.collective(in.BroadcastRounds, 1, m.PowerIterations, entries+float64(in.Rank))
	broadcast.Bytes += wire.FrameOverhead * broadcast.Messages // every message is answered by a header
	broadcast.Messages *= 2
	m.Init.add(broadcast)
	m.Init.Computation = m.PowerIterations * heaviest
	m.Descent = in.phase(m.Rounds, m.Iterations, entries) // Alg. 3, line 13
	m.Descent.Computation = m.Iterations * heaviest
	m.Total = m.Init
	m.Total.add(m.Descent)
}

// phase returns the cost of AGREE on messages of a number of entries, again and
// again.
func (in *Input) phase(rounds, times, entries float64) Cost {
	return in.cost(rounds*times, rounds*times*float64(in.Links), entries)
}

// collective returns the cost of an operation along a tree of all nodes, which sends
// passes messages over each of its edges, again and again.
func (in *Input) collective(rounds int, passes, times, entries float64) Cost {
	messages := passes * float64(in.Nodes-1)
	if in.Links == 0 {
		messages = 0
	}
	return in.cost(times*float64(rounds), times*messages, entries)
}

func (in *Input) cost(rounds, messages, entries float64) Cost {
	c := Cost{Rounds: rounds, Messages: messages, Bytes: (8*entries + wire.FrameOverhead) * messages}
	if rounds > 0 {
		// Of n jitters, uniform between 0 and 1, the largest is n/(n+1) on average.
		n := messages / rounds
		c.Communication = rounds * (in.Time.Message(8*entries) + in.Time.Jitter*n/(n+1))
	}
	return c
}

func (c *Cost) add(o Cost) {
	c.Rounds += o.Rounds
	c.Messages += o.Messages
	c.Bytes += o.Bytes
	c.Communication += o.Communication
	c.Computation += o.Computation
}
