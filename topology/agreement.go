package topology

import (
	"fmt"
	"strings"

	"github.com/difalt/difalt/kernel"
)

// A Polynomial says which polynomial of W a number of rounds of AGREE applies.
type Polynomial uint8

const (
	// Plain, the default, is W^k after k rounds: Alg. 1 of the paper.
	Plain Polynomial = iota
	// Chebyshev is the polynomial of degree k that averages most for what is known of
	// gamma(W). On poorly connected graphs it does in about the square root of the
	// rounds what Plain does.
	Chebyshev
)

var polynomialNames = []string{"plain", "chebyshev"}

// String returns the short name that ParsePolynomial reads.
func (p Polynomial) String() string {
	if int(p) < len(polynomialNames) {
		return polynomialNames[p]
	}
	return fmt.Sprintf("Polynomial(%d)", uint8(p))
}

// ParsePolynomial returns the polynomial with the given short name: plain or
// chebyshev.
func ParsePolynomial(name string) (Polynomial, error) {
	for i, s := range polynomialNames {
		if s == name {
			return Polynomial(i), nil
		}
	}
	return 0, fmt.Errorf("topology: unknown polynomial %q; valid are %s", name, strings.Join(polynomialNames, ", "))
}

// An Agreement says how nodes agree. Its parts compose with one another and with
// all weights; the zero value is the paper's AGREE in float64, over links that do
// not fail. Messages of stream Exact are always mixed like that.
type Agreement struct {
	Polynomial Polynomial
	// Gamma is a bound on gamma(W) for Chebyshev, such as Weights.Gamma() returns,
	// 0 <= Gamma < 1. If it is 0, NewMixer lets the nodes estimate it, and counts what
	// they send. A wrong bound costs speed; averaging settles with any.
	Gamma float64
	// Compressor codes what is sent; nil sends float64.
	Compressor Compressor
	// Damping is the consensus step, 0 < Damping <= 1, that is taken in place of 1: Z_g
	// + Damping * sum_j W_gj (Z_j - Z_g). 0 takes the largest known to settle on every graph
	// in this combination of Polynomial, Compressor, Sporadic and Links; larger ones
	// may diverge.
	Damping float64
	// Sporadic makes nodes with little news stay silent, 0 < Sporadic <= 0.7; 0 lets
	// all speak in every round. A node speaks when the difference between its vector
	// and what the neighbours know of it is longer than a threshold: Sporadic times the
	// difference that it last sent, shrunk by 0.9 in every round since. So the
	// threshold follows the computation as it converges, silence ends by itself and no
	// error stays. Meanwhile neighbours go on moving towards what a silent node has
	// said. Up to 0.4 that does no harm and spares up to a third of the messages; above
	// it the default Damping is 0.5, more than half of the messages are spared, and
	// rounds average less. Chebyshev needs the news in time and refuses it.
	Sporadic float64
	Links    Links
	// Seed drives stochastic rounding, the links' failures and the estimate of gamma.
	Seed uint64
}

// Limits of Agreement.Sporadic, measured on rings, stars and random graphs: the
// largest that settles, and the largest that does without damping, also in a solver
// whose steps depend on good averages.
const (
	maxSporadic      = 0.7
	undampedSporadic = 0.4
)

// silentDecay is how much the threshold of a node shrinks in a silent round.
const silentDecay = 0.9

// Validate returns an error that names the first field with a value out of range.
func (a Agreement) Validate() error {
	probability := func(name string, p float64) error {
		if !(p >= 0 && p < 1) {
			return fmt.Errorf("topology: %s = %v: need 0 <= %s < 1", name, p, name)
		}
		return nil
	}
	if int(a.Polynomial) >= len(polynomialNames) {
		return fmt.Errorf("topology: %v is not a polynomial", a.Polynomial)
	}
	if !(a.Damping >= 0 && a.Damping <= 1) {
		return fmt.Errorf("topology: Damping = %v: need 0 < Damping <= 1, or 0 for the default", a.Damping)
	}
	if !(a.Sporadic >= 0 && a.Sporadic <= maxSporadic) {
		return fmt.Errorf("topology: Sporadic = %v: need 0 <= Sporadic <= %v", a.Sporadic, maxSporadic)
	}
	if a.Sporadic > 0 && a.Polynomial == Chebyshev {
		return fmt.Errorf("topology: chebyshev does not settle when nodes are silent: Sporadic = %v", a.Sporadic)
	}
	for _, f := range []struct {
		name  string
		value float64
	}{
		{"Gamma", a.Gamma},
		{"Links.Loss", a.Links.Loss}, {"Links.Delay", a.Links.Delay}, {"Links.Duplicate", a.Links.Duplicate},
	} {
		if err := probability(f.name, f.value); err != nil {
			return err
		}
	}
	if a.Compressor != nil {
		if damping, _ := a.Compressor.Limits(a.Polynomial); !(damping > 0) {
			return fmt.Errorf("topology: %v does not settle with differences coded as coarsely as by %v; use int4 or finer, or plain", a.Polynomial, a.Compressor)
		}
	}
	if sum := a.Links.Loss + a.Links.Delay; sum >= 1 {
		return fmt.Errorf("topology: Links.Loss + Links.Delay = %v: must be less than 1", sum)
	}
	return nil
}

// String returns the parts of a that are not the default, such as "chebyshev int4
// loss:0.1", and "plain" for the zero value.
func (a Agreement) String() string {
	parts := []string{a.Polynomial.String()}
	if a.Compressor != nil {
		parts = append(parts, a.Compressor.String())
	}
	for _, f := range []struct {
		name  string
		value float64
	}{
		{"gamma", a.Gamma}, {"damping", a.Damping}, {"sporadic", a.Sporadic},
		{"loss", a.Links.Loss}, {"delay", a.Links.Delay}, {"duplicate", a.Links.Duplicate},
	} {
		if f.value != 0 {
			parts = append(parts, fmt.Sprintf("%s:%v", f.name, f.value))
		}
	}
	if len(parts) > 1 && a.Polynomial == Plain {
		parts = parts[1:]
	}
	return strings.Join(parts, " ")
}

// NewMixer returns the mixer of all nodes of w, in this process, that agree in the
// given way: a Local for the zero Agreement. pool may be nil, which is serial; it
// remains the caller's, to share and to close.
//
// All mixers that it returns overwrite messages by the same bits for any number of
// workers, serve one goroutine at a time, and do not allocate in Mix but for the
// first call with a stream or a number of rounds. With symmetric weights they keep
// the mean over the nodes to rounding, whatever is lost. With a compressor, Mix
// returns an error that wraps ErrNotFinite and names the node if a vector cannot be
// coded; the mixer is then of no more use. A mixer that keeps
// something from one call to the next also implements encoding.BinaryMarshaler and
// encoding.BinaryUnmarshaler: a new mixer made from equal arguments that takes over
// that state continues with the same bits.
//
// It returns an error if a is not valid, if Chebyshev is asked for with weights
// whose eigenvalues are not all real, or with a compressor that is too coarse for
// it.
func NewMixer(w *Weights, pool *kernel.Pool, a Agreement) (Mixer, error) {
	if err := a.Validate(); err != nil {
		return nil, err
	}
	damping, limit := a.limits()
	bound, setUp := 0.0, Traffic{}
	if a.Polynomial == Chebyshev {
		if !w.real {
			return nil, fmt.Errorf("topology: chebyshev needs real eigenvalues, and those of %v are not", w)
		}
		if bound = a.Gamma; bound == 0 {
			bound, setUp = estimateGamma(w, a.Seed)
		}
		bound = min(bound, limit)
	}
	exact := NewLocal(w, pool)
	exact.traffic = setUp
	if a.Compressor != nil || damping != 1 || a.Sporadic != 0 || a.Links != (Links{}) {
		return newExchange(exact, w, pool, a, damping, bound), nil
	}
	if bound == 0 {
		return exact, nil
	}
	fast := NewLocal(w, pool)
	fast.bound = bound
	return &accelerated{exact, fast}, nil
}

// limits returns the consensus step and the largest bound on gamma(W). For Chebyshev
// over failing links, which change W from round to round, they were measured like
// those of a quantiser, up to 30 % loss.
func (a Agreement) limits() (damping, gamma float64) {
	damping, gamma = 1, 1
	if a.Compressor != nil {
		damping, gamma = a.Compressor.Limits(a.Polynomial)
	}
	if a.Sporadic > undampedSporadic {
		damping = min(damping, 0.5)
	}
	if a.Polynomial == Chebyshev && a.Links != (Links{}) {
		damping, gamma = min(damping, 0.8), min(gamma, 0.9)
	}
	if a.Damping != 0 {
		damping = a.Damping
	}
	return damping, gamma
}
