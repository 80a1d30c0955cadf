package theory

import (
	"fmt"
	"math"

	"github.com/difalt/difalt/consensus/collective"
	"github.com/difalt/difalt/consensus/wire"
)

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
// 1. It returns an error that names a parameter out of range, or a count beyond
// 1e15.
func New(in Input) (*Plan, error) {
	if err := in.Validate(); err != nil {
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

	p := &Plan{Input: in, Rounds: float64(in.Rounds), TotalSamples: c.Samples * t.Samples}
	p.SamplesPerTask = math.Ceil(max(p.TotalSamples/float64(in.Tasks),
		math.Log(float64(in.Tasks)), math.Log(float64(in.Features)), float64(in.Rank)))
	p.Enough = float64(in.Samples) >= p.SamplesPerTask
	p.Unknowns = float64((in.Features+in.Tasks-in.Rank)*in.Rank) / float64(in.Tasks)
	if p.Rounds == 0 {
		p.Rounds = max(dif.InitRounds, dif.Rounds)
	}
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
		c.Communication = rounds * (in.Time.Message(8*entries) + in.Time.Jitter.Seconds()*n/(n+1))
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
