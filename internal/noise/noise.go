// Package noise draws the noise of differential privacy: integers from the discrete Gaussian distribution, by
// integer arithmetic alone and from random bits that nobody can predict.
//
// Floating point is no place for such noise: which doubles a sum with it can be tells what was added up (Mironov
// 2012, On significance of the least significant bits for differential privacy). Here a number has the
// probability that the formula gives, exactly, as far as the bits of ChaCha8 are random (Canonne, Kamath and Steinke 2020, The discrete
// Gaussian for differential privacy, algorithms 1 to 3).
package noise

import (
	"context"
	crypto "crypto/rand"
	"math/rand/v2"
)

// Deviation is S, the parameter of the distribution: P(k) is proportional to exp(-k^2 / (2 S^2)). Its standard deviation is S, but for
// a part below 1e-100.
const Deviation = 1 << deviationBits

const deviationBits = 20

// A Source draws noise. It serves one goroutine at a time.
type Source struct{ random *rand.Rand }

// New returns a source that begins with 256 bits of the system's randomness. Only tests fix what it draws, by Fixed.
func New(ctx context.Context) *Source {
	seed, fixed := ctx.Value(key{}).([32]byte)
	if !fixed {
		_, _ = crypto.Read(seed[:]) // never fails: it ends the program
	}
	return &Source{rand.New(rand.NewChaCha8(seed))}
}

type key struct{}

// Fixed returns a context with which New always draws the same, for tests.
func Fixed(ctx context.Context, seed [32]byte) context.Context {
	return context.WithValue(ctx, key{}, seed)
}

// A Tape keeps what comes of noise. Tests let a second run go on with what came of a first, since what is told later depends on what was told
// before: so they see what a later step tells of data by itself.
type Tape struct {
	kept [][]float64
	next int
	Play bool // and do not record
}

type tapeKey struct{}

// Taped returns a context in which Play uses a tape, for tests.
func Taped(ctx context.Context, t *Tape) context.Context { return context.WithValue(ctx, tapeKey{}, t) }

// Play overwrites v by what is on the tape of a test, or records it there; without a tape it does nothing.
func Play(ctx context.Context, v []float64) {
	t, ok := ctx.Value(tapeKey{}).(*Tape)
	switch {
	case !ok:
	case t.Play:
		copy(v, t.kept[t.next])
		t.next++
	default:
		t.kept = append(t.kept, append([]float64(nil), v...))
	}
}

// Gaussian draws a number: one of a discrete Laplace distribution of scale S that is accepted with probability
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

// acceptBelow1 is accept for a <= 2^bits: of draws with probabilities a, a/2, a/3, ... over 2^bits the number before the first
// that fails is even with probability exp(-a / 2^bits).
func (s *Source) acceptBelow1(a uint64, bits int) bool {
	even := true
	for k := uint64(1); s.random.Uint64N(k<<bits) < a; k++ {
		even = !even
	}
	return even
}
