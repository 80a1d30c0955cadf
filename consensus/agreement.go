package consensus

import (
	"fmt"
	"slices"
	"strings"

	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/kernel"
)

// A Polynomial says which polynomial of W a number of rounds of AGREE applies.
type Polynomial uint8

const (
	// Plain, the default, is W^k after k rounds: Alg. 1 of the paper.
	Plain Polynomial = iota
	// Chebyshev is the polynomial of degree k that averages most for the
	// given gamma(W). On poorly connected graphs it does in about the square root of the
	// rounds what Plain does.
	Chebyshev
	// Tree is no gossip: the messages are added up the tree of the network's collective
	// operations and their mean comes down again, in 2 x height rounds of 2(L-1) messages
	// in all, whatever the number of rounds. All nodes end with the same bits. It
	// needs no weights, and sends in float64 often less than gossip does in 8 bits; nodes
	// on the way see sums. Without a Codec it is exact.
	Tree
)

var polynomialNames = []string{"plain", "chebyshev", "tree"}

// String returns the short name that ParsePolynomial reads.
func (p Polynomial) String() string {
	if int(p) < len(polynomialNames) {
		return polynomialNames[p]
	}
	return fmt.Sprintf("Polynomial(%d)", uint8(p))
}

// ParsePolynomial returns the polynomial with the given short name: plain, chebyshev or
// tree.
func ParsePolynomial(name string) (Polynomial, error) {
	if i := slices.Index(polynomialNames, name); i >= 0 {
		return Polynomial(i), nil
	}
	return 0, fmt.Errorf("consensus: unknown kind of agreement %q; valid are %s", name, strings.Join(polynomialNames, ", "))
}

// An Agreement says how nodes agree. Its parts compose with one another and with
// all weights; the zero value is the paper's AGREE in float64. Messages of stream
// Exact are always mixed like that.
type Agreement struct {
	Polynomial Polynomial
	// Codec codes what is sent.
	Codec Codec
	// Trigger makes nodes with little news stay silent, 0 < Trigger <= 0.7; 0 lets all
	// send in every round (an event trigger). A node sends when its vector is further
	// from its replica, which is what the neighbours have of it, than a threshold:
	// Trigger times the difference that it last sent, shrunk by 0.9 in every round since.
	// So the threshold follows the computation as it converges, silence ends by itself
	// and no error stays. Meanwhile neighbours go on moving towards what a silent node
	// has said. With enough rounds, 0.4 spares up to a third of the messages; above it nodes
	// go only half of the way in a round, more than half of the messages are spared, and
	// rounds average less. Few rounds with silent nodes are no average on which long steps
	// can rely: difalt.Options refuses what fails there. Chebyshev needs the news in time
	// and refuses it.
	Trigger float64
	// RoundByRound never applies several rounds at once as a power of W, so that the
	// result has the bits that it has with nodes in several processes. It costs speed
	// where all nodes live in this one, and changes nothing elsewhere.
	RoundByRound bool
}

// Limits of Agreement.Trigger, measured on rings, stars and random graphs: the
// largest that converges, and the largest that does with a consensus step of 1, also in
// a solver whose steps depend on good averages.
const (
	maxTrigger      = 0.7
	fullStepTrigger = 0.4
)

// silentDecay is how much the threshold of a node shrinks in a silent round.
const silentDecay = 0.9

// Validate returns an error that names the first field with a value out of range.
func (a Agreement) Validate() error {
	switch {
	case int(a.Polynomial) >= len(polynomialNames):
		return fmt.Errorf("consensus: %v is not a polynomial", a.Polynomial)
	case !slices.Contains(codecs, a.Codec):
		return fmt.Errorf("consensus: %v is not a codec", a.Codec)
	case !(a.Trigger >= 0 && a.Trigger <= maxTrigger):
		return fmt.Errorf("consensus: Trigger = %v: need 0 <= Trigger <= %v", a.Trigger, maxTrigger)
	case a.Trigger > 0 && a.Polynomial == Chebyshev:
		return fmt.Errorf("consensus: chebyshev does not converge when nodes are silent: Trigger = %v", a.Trigger)
	case a.Trigger > 0 && a.Polynomial == Tree:
		return fmt.Errorf("consensus: along a tree every node sends once: Trigger = %v", a.Trigger)
	}
	return nil
}

// String returns the parts of a that are not the default, such as "chebyshev int4
// trigger:0.4", and "plain" for the zero value. RoundByRound is left out.
func (a Agreement) String() string {
	var parts []string
	if a.Polynomial != Plain {
		parts = append(parts, a.Polynomial.String())
	}
	if a.Codec != None {
		parts = append(parts, a.Codec.String())
	}
	if a.Trigger != 0 {
		parts = append(parts, fmt.Sprintf("trigger:%v", a.Trigger))
	}
	if len(parts) == 0 {
		return Plain.String()
	}
	return strings.Join(parts, " ")
}

// Settings returns what all nodes must have alike, and a mixer that goes on from the state
// of another. RoundByRound is not part of it.
func (a Agreement) Settings() []wire.Setting {
	return append(settingsOf(a.Polynomial.String()),
		wire.Setting{Name: "the codec", Value: a.Codec.String()}, wire.Setting{Name: "the trigger", Value: fmt.Sprint(a.Trigger)})
}

// settingsOf returns the settings of a mixer that has nothing else to agree on.
func settingsOf(protocol string) []wire.Setting {
	return []wire.Setting{{Name: "the protocol of averaging", Value: protocol}}
}

// limits returns the consensus step s of
//
//	Z_g <- Z_g + s sum_j W_gj (Z_j - Z_g),
//
// and the largest bound on gamma(W) for Chebyshev, with which averaging converges on every
// graph. They were measured with a margin on rings, paths, stars, grids and random
// graphs, with normal, heavy-tailed and one-hot entries. Int4 needs them for Chebyshev:
// where an eigenvalue near -1 turns a vector over in every round, its differences are
// large, and so are the errors of their codes, which the acceleration amplifies.
func (a Agreement) limits() (step, gamma float64) {
	switch {
	case a.Codec == Int4 && a.Polynomial == Chebyshev:
		return 0.8, 0.98
	case a.Trigger > fullStepTrigger:
		return 0.5, 1
	}
	return 1, 1
}

// NewMixer returns the mixer of nodes that agree in the given way. pool may be nil,
// which is serial; it remains the caller's, to share and to close. It returns an error
// if a is not valid, or if Chebyshev is asked for with weights whose eigenvalues are not
// all real.
func (n *Network) NewMixer(a Agreement, pool *kernel.Pool) (*Mixer, error) {
	if err := a.Validate(); err != nil {
		return nil, err
	}
	pool = orSerial(pool)
	switch {
	case a.Polynomial == Tree && a.Codec == None:
		mean := n.newTreeMean(false)
		return n.newMixer(a.Settings(), mean, mean, new(coder)), nil
	case a.Polynomial == Tree:
		coded := n.newCodedTree(a)
		return n.newMixer(a.Settings(), n.newTreeMean(false), byRounds{operation: coded}, &coded.coder), nil
	case a.Polynomial == Chebyshev && !n.weights.RealEigenvalues():
		return nil, fmt.Errorf("consensus: chebyshev needs real eigenvalues, and those of %v are not", n.weights)
	}
	step, bound := a.limits()
	if a.Polynomial == Plain {
		bound = 0
	} else {
		bound = min(bound, n.weights.Gamma())
	}
	exact := n.newGossip(n.weights.At, pool, Agreement{}, 1, 0)
	all := byRounds{exact, n.newPower(a, 0, pool)}
	if a.RoundByRound = false; a == (Agreement{}) {
		return n.newMixer(a.Settings(), all, all, &exact.coder), nil
	}
	coded := n.newGossip(n.weights.At, pool, a, step, bound)
	by := byRounds{operation: coded}
	if all.power != nil && a.Codec == None && step == 1 && a.Trigger == 0 {
		by.power = n.newPower(a, bound, pool)
	}
	return n.newMixer(a.Settings(), all, by, &coded.coder), nil
}

// orSerial returns the pool, or one without goroutines of its own.
func orSerial(pool *kernel.Pool) *kernel.Pool {
	if pool == nil {
		pool = kernel.NewPool(1)
	}
	return pool
}

// NewServer returns the mixer of a federation with a fusion centre, which AltGDmin
// needs: Mix, of one round, overwrites every message by the mean over all nodes. The
// mean is added up the tree of the network's collective operations; it is counted as
// through a server that is none of the nodes: two rounds, of a message a node each.
func (n *Network) NewServer() *Mixer {
	mean := n.newTreeMean(true)
	return n.newMixer(settingsOf("server"), mean, mean, new(coder))
}

// NewNeighborMean returns the mixer of the DGD variant: a round replaces the message
// of node g by (1/deg_g) sum_{j in N_g} Z_j, without its own. Unlike EqualNeighbor
// weights it exists on any graph, bipartite ones included, since the method takes one
// round an iteration and does not need its powers to converge. A node without
// neighbours keeps its message.
func (n *Network) NewNeighborMean(pool *kernel.Pool) *Mixer {
	mean := n.newGossip(func(i, _ int) float64 { return 1 / float64(n.Graph().Degree(i)) }, orSerial(pool), Agreement{}, 1, 0)
	return n.newMixer(settingsOf("neighbour mean"), byRounds{operation: mean}, byRounds{operation: mean}, &mean.coder)
}
