package difalt

import (
	"fmt"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/kernel"
)

// Method is the algorithm that the Solver runs.
type Method uint8

const (
	// DifAltGDmin adapts, then combines: every node takes a gradient step on its own
	// U_g, and the results are averaged (Alg. 3).
	DifAltGDmin Method = iota
	// AltGDmin is the centralised algorithm: a server sums all gradients, takes the
	// step, and broadcasts U.
	AltGDmin
	// DecAltGDmin combines, then adjusts: the gradients are averaged, and every node
	// takes the step on its own U_g.
	DecAltGDmin
	// DGD is the paper's variant of decentralised gradient descent,
	// U_g <- QR((1/deg_g) sum_{j in N_g} U_j - eta grad_g). It stalls.
	DGD
	// ScaledDiffusion is DifAltGDmin with the gradient multiplied by the inverse of
	// sum_t b_t b_t', on which the nodes agree too (r(r+1)/2 numbers more a round). The
	// number of iterations then hardly depends on the condition number. A node with
	// fewer than r tasks thereby reveals their b_t, up to a rotation.
	ScaledDiffusion
	// GradientTracking is ScaledDiffusion with an agreed estimate of the whole
	// gradient in place of the node's own (twice the communication per round). It
	// allows full steps with little mixing. Along consensus.Tree there is nothing to track,
	// so that it equals ScaledDiffusion.
	GradientTracking
	// Accelerated is ScaledDiffusion under Anderson acceleration, with coefficients on
	// which the nodes agree in the same messages: a third to a tenth of the iterations.
	Accelerated
	// AcceleratedTracking is GradientTracking under Anderson acceleration. It ends at a
	// minimiser for the data of all nodes, also where noise makes the minimisers of the
	// nodes differ and Accelerated with few rounds ends between them. With StopAtNoise it runs as
	// Accelerated until an estimate of the distance to the minimiser shows that the unexplained
	// part of the responses is mostly noise, since only noise makes a difference, and
	// tracks from then on, with more rounds if Rounds are too few for that. Along
	// consensus.Tree it equals Accelerated.
	AcceleratedTracking
	// Newton runs as Accelerated until P shows that the condition number is above 50. From then on it
	// takes Gauss-Newton steps, solved by conjugate gradients, of which every product counts as an
	// iteration: half as many as Accelerated from a condition number of 100 on. It needs
	// sums: in gossip, with PreconditionerNone and with SampleSplit it equals Accelerated.
	Newton

	// EXTRA, ExactDiffusion and DIGing are baselines of decentralised optimisation, which correct
	// the bias of diffusion; see baselines.go. They do without the projection.
	EXTRA
	ExactDiffusion
	// ScaledExactDiffusion is ExactDiffusion with gradients multiplied by P^-1. Under noise it is
	// biased, since the P of the nodes differ after few rounds.
	ScaledExactDiffusion
	DIGing
)

// traits are what the solver knows of a method.
type traits struct {
	name string
	new  func(*setup) method
	// mixer returns what averages for the nodes, in one round an iteration; nil is AGREE, as
	// Options.Agreement and Options.Rounds say.
	mixer       func(*consensus.Network, *kernel.Pool) *consensus.Mixer
	paper       bool // the paper compares it
	central     bool // there is one U, which a server keeps
	scaled      bool // steps are as long as the curvature allows
	accelerated bool // under Anderson acceleration
	baseline    bool // somebody else's, to compare with
}

// methods is the table of methods. A new method takes a constant above, a line here, and a
// file. Snapshots and other programs know methods by name, so that constants may be renumbered.
var methods = [...]traits{
	DifAltGDmin:         {name: "dif", new: newDiffusion, paper: true},
	AltGDmin:            {name: "altgdmin", new: newAdjustment, mixer: server, paper: true, central: true},
	DecAltGDmin:         {name: "dec", new: newAdjustment, paper: true},
	DGD:                 {name: "dgd", new: newNeighborDescent, mixer: (*consensus.Network).NewNeighborMean, paper: true},
	ScaledDiffusion:     {name: "scaled", new: newScaledDiffusion, scaled: true},
	GradientTracking:    {name: "tracking", new: newGradientTracking, scaled: true},
	Accelerated:         {name: "accelerated", new: newAccelerated, scaled: true, accelerated: true},
	AcceleratedTracking: {name: "accelerated-tracking", new: newAcceleratedTracking, scaled: true, accelerated: true},
	Newton:              {name: "newton", new: newNewton, scaled: true, accelerated: true},

	EXTRA:                {name: "extra", new: newBaseline, baseline: true},
	ExactDiffusion:       {name: "exact", new: newBaseline, baseline: true},
	ScaledExactDiffusion: {name: "scaled-exact", new: newBaseline, scaled: true, baseline: true},
	DIGing:               {name: "diging", new: newBaseline, baseline: true},
}

func server(n *consensus.Network, _ *kernel.Pool) *consensus.Mixer { return n.NewServer() }

// String returns the short name that ParseMethod or ParseBaseline reads, such as dif or newton.
func (m Method) String() string {
	if int(m) < len(methods) {
		return methods[m].name
	}
	return fmt.Sprintf("Method(%d)", uint8(m))
}

// Agrees reports whether nodes agree in the iterations as Options.Agreement says. DGD averages over
// neighbours instead, and AltGDmin sums. What is no method does not agree.
func (m Method) Agrees() bool { return int(m) < len(methods) && methods[m].mixer == nil }

// Methods returns all methods except the Baselines.
func Methods() []Method { return methodsThat(func(t *traits) bool { return !t.baseline }) }

// Baselines returns the methods that only serve for comparison.
func Baselines() []Method { return methodsThat(func(t *traits) bool { return t.baseline }) }

// PaperMethods returns the methods that the paper compares.
func PaperMethods() []Method { return methodsThat(func(t *traits) bool { return t.paper }) }

func methodsThat(are func(*traits) bool) (those []Method) {
	for m := range methods {
		if are(&methods[m]) {
			those = append(those, Method(m))
		}
	}
	return those
}

// ParseMethod returns the one of Methods with a short name.
func ParseMethod(name string) (Method, error) { return parse("method", name, Methods()) }

// ParseBaseline returns the one of Baselines with a short name.
func ParseBaseline(name string) (Method, error) { return parse("baseline", name, Baselines()) }

// parse returns the value of a short name.
func parse[T fmt.Stringer](what, name string, all []T) (none T, err error) {
	for _, v := range all {
		if v.String() == name {
			return v, nil
		}
	}
	return none, fmt.Errorf("difalt: unknown %s %q: want one of %v", what, name, all)
}

// A Preconditioner says by what the accelerated methods multiply gradients.
type Preconditioner uint8

const (
	// PreconditionerScaled, the default, is the inverse of sum_t b_t b_t', on which the
	// nodes agree: the condition number hardly matters then.
	PreconditionerScaled Preconditioner = iota
	// PreconditionerNone takes twice the paper's step instead: nothing but Z and inner
	// products of its changes leaves a node in the iterations. For small condition numbers.
	PreconditionerNone
)

var preconditionerNames = []string{"scaled", "none"}

// String returns the short name that ParsePreconditioner reads: scaled or none.
func (p Preconditioner) String() string {
	if int(p) < len(preconditionerNames) {
		return preconditionerNames[p]
	}
	return fmt.Sprintf("Preconditioner(%d)", uint8(p))
}

// ParsePreconditioner returns the preconditioner of a short name.
func ParsePreconditioner(name string) (Preconditioner, error) {
	return parse("preconditioner", name, []Preconditioner{PreconditionerScaled, PreconditionerNone})
}

// traits returns those of the method of valid options.
func (o *Options) traits() *traits {
	if int(o.Method) < len(methods) {
		return &methods[o.Method]
	}
	return new(traits)
}

// sharesBasis reports whether all of so many nodes compute with one U: those of an accelerated method who get
// the mean itself, along a tree or as a single node.
func (o *Options) sharesBasis(nodes int) bool {
	return o.traits().accelerated && (o.Agreement.Polynomial == consensus.Tree || nodes == 1)
}

// tracks reports whether gradients may be tracked.
func (o *Options) tracks() bool {
	return (o.Method == GradientTracking || o.Method == AcceleratedTracking) && o.Agreement.Polynomial != consensus.Tree
}

// judges reports whether the distance to a minimiser is estimated.
func (o *Options) judges() bool {
	return (!o.EveryIteration || o.Method == AcceleratedTracking && o.StopAtNoise) && !o.SampleSplit
}

// sumsCoefficients reports whether the iterations need P; otherwise they depend on eta.
func (o *Options) sumsCoefficients() bool {
	return o.traits().scaled && !(o.traits().accelerated && o.Accelerated.Preconditioner == PreconditionerNone)
}
