// Package noise draws the noise of differential privacy: integers from the discrete Gaussian distribution, by
// integer arithmetic and from unpredictable random bits.
//
// The doubles that a sum with floating-point noise can take depend on the number without noise, and reveal
// it. See Mironov 2012, On significance of the least significant bits for differential privacy. Here every
// number has exactly the probability of the formula, as far as the bits of ChaCha8 are random. See Canonne,
// Kamath and Steinke 2020, The discrete Gaussian for differential privacy, algorithms 1 to 3.
package noise

import (
	crypto "crypto/rand"
	"math/rand/v2"
)

// Deviation is S, the parameter of the distribution: P(k) is proportional to exp(-k^2 / (2 S^2)). The
// standard deviation equals S up to a part below 1e-100.
const Deviation = 1 << deviationBits

const deviationBits = 20

// A Source draws noise. It serves one goroutine at a time.
type Source struct {
	random *rand.Rand
}

// New returns a source with a seed of 256 bits from the operating system.
func New() *Source {
	var seed [32]byte
	_, _ = crypto.Read(seed[:]) // ends the program if it fails
	return &Source{rand.New(rand.NewChaCha8(seed))}
}

// Gaussian draws k from a discrete Laplace distribution of scale S and accepts it with probability
// exp(-(|k| - S)^2 / (2 S^2)).
func (s *Source) Gaussian() int64 {
	for {
		k := s.laplace()
		off := max(k, -k) - Deviation
		if s.accept(uint64(off*off), 2*deviationBits+1) {
			return k
		}
	}
}

// laplace draws a number with P(k) proportional to exp(-|k| / S).
func (s *Source) laplace() int64 {
	for {
		low := s.random.Uint64N(Deviation)
		if !s.accept(low, deviationBits) {
			continue
		}
		k := int64(low)
		for s.accept(1, 0) {
			k += Deviation
		}
		switch negative := s.random.Uint64()&1 == 0; {
		case !negative:
			return k
		case k != 0: // 0 has one sign
			return -k
		}
	}
}

// accept returns true with probability exp(-a / 2^bits).
func (s *Source) accept(a uint64, bits int) bool {
	for ; a >= 1<<bits; a -= 1 << bits {
		if !s.acceptBelow1(1<<bits, bits) {
			return false
		}
	}
	return s.acceptBelow1(a, bits)
}

// acceptBelow1 is accept for a <= 2^bits. In a sequence of draws with probabilities a, a/2, a/3, ... over
// 2^bits, the number of successes before the first failure is even with probability exp(-a / 2^bits).
func (s *Source) acceptBelow1(a uint64, bits int) bool {
	even := true
	for k := uint64(1); s.random.Uint64N(k<<bits) < a; k++ {
		even = !even
	}
	return even
}
