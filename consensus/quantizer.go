package consensus

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
)

// quantizerStream keeps the random numbers of stochastic rounding apart from other
// uses of a seed.
const quantizerStream = 0x726f756e64 // "round"

// Distances of neighbouring levels of few bits, in units of the root mean square:
// for three levels near the one that loses least of normal entries, for two levels,
// between which only stochastic rounding has a choice, the range of most entries.
const (
	ternaryStep = 1.2
	binaryStep  = 2
)

// smallestNormal is the smallest float32 with all its digits.
const smallestNormal = 0x1p-126

// A quantizer codes an entry as one of few equidistant levels, symmetric about
// zero, times a scale that all entries share.
type quantizer struct {
	bits       int
	stochastic bool
}

// Quantizer returns the codec that codes an entry by 1, 2, 4, 8 or 16 bits,
// and a vector by one scale more.
//
// With one bit the levels are -1/2 and 1/2; with b > 1 they are the integers up to
// 2^(b-1) - 1 in modulus, so that zeros stay zeros. With four bits or more the
// levels reach to the largest entry; with fewer they follow the root mean square.
// Entries go to the nearest level or, if stochastic, at random to one of the two
// that enclose them, the nearer the likelier. The scale that is sent is then the
// one with the smallest squared error: with it the code of v is never further from
// v than zero is, whatever was rounded where.
//
// It returns an error for other numbers of bits.
func Quantizer(bits int, stochastic bool) (Codec, error) {
	switch bits {
	case 1, 2, 4, 8, 16:
		return quantizer{bits, stochastic}, nil
	}
	return nil, fmt.Errorf("consensus: %d bits an entry: must be 1, 2, 4, 8 or 16", bits)
}

func (q quantizer) String() string {
	if q.stochastic {
		return fmt.Sprintf("int%d:stochastic", q.bits)
	}
	return fmt.Sprintf("int%d", q.bits)
}

// Limits returns limits that were measured with a margin on rings, paths, stars,
// grids and random graphs, with normal, heavy-tailed and one-hot entries. Eight bits
// and more need none. Four bits need none for Plain, and 0.8 and 0.98 for Chebyshev:
// where an eigenvalue near -1 turns a vector over in every round, its differences
// are large, and so are the errors of their codes, which the acceleration amplifies. Fewer
// bits lag too far behind for Chebyshev; for Plain the step is 0.7 for 2 bits and
// 0.5 for one, and 0.5 and 0.35 if stochastic.
func (q quantizer) Limits(p Polynomial) (step, gamma float64) {
	switch {
	case q.bits >= 8 || q.bits == 4 && p == Plain:
		return 1, 1
	case q.bits == 4:
		return 0.8, 0.98
	case p != Plain:
		return 0, 0
	case q.bits == 2 && !q.stochastic:
		return 0.7, 1
	case q.bits == 2 || !q.stochastic:
		return 0.5, 1
	}
	return 0.35, 1
}

// codes returns the largest code and the one, possibly halfway between two, that
// stands for zero. Code c stands for level c - center.
func (q quantizer) codes() (largest int, center float64) {
	largest = max(1, 1<<q.bits-2)
	return largest, float64(largest) / 2
}

// inverseStep returns one over the distance of neighbouring levels, or zero for
// a v that is too small to be told from zero.
func (q quantizer) inverseStep(v []float64) (float64, error) {
	largest := 0.0
	for _, x := range v {
		largest = max(largest, math.Abs(x)) // NaN if x is
	}
	if !(largest <= math.MaxFloat32) {
		return 0, ErrNotFinite
	}
	if largest < smallestNormal {
		return 0, nil
	}
	if q.bits >= 4 {
		_, center := q.codes()
		return center / largest, nil
	}
	squares := 0.0
	for _, x := range v {
		squares += x * x / (largest * largest)
	}
	rms := largest * math.Sqrt(squares/float64(len(v)))
	if q.bits == 1 {
		return 1 / (binaryStep * rms), nil
	}
	return 1 / (ternaryStep * rms), nil
}

// MaxLen counts the scale and the bits of n entries.
func (q quantizer) MaxLen(n int) int { return maxHeader + 4 + (n*q.bits+7)/8 }

func (q quantizer) AppendEncode(dst []byte, v []float64, seed uint64) ([]byte, error) {
	inverse, err := q.inverseStep(v)
	if err != nil {
		return dst, err
	}
	dst = appendHeader(dst, byte(q.bits), len(v))
	scaleAt := len(dst)
	dst = binary.LittleEndian.AppendUint32(dst, 0)
	var noise rand.PCG
	noise.Seed(seed, quantizerStream)
	var word, dice uint64 // of codes, of random bits
	fill := 0             // bits in word
	product, squares := 0.0, 0.0
	largest, center := q.codes()
	up := 0.5 // to the nearest level
	for i, x := range v {
		if q.stochastic {
			if i%4 == 0 {
				dice = noise.Uint64()
			}
			up = float64(dice&0xffff) * 0x1p-16
			dice >>= 16
		}
		c := min(max(int(x*inverse+center+up), 0), largest)
		level := float64(c) - center
		product += level * x
		squares += level * level
		word |= uint64(c) << fill
		if fill += q.bits; fill == 64 {
			dst = binary.LittleEndian.AppendUint64(dst, word)
			word, fill = 0, 0
		}
	}
	for ; fill > 0; fill -= 8 {
		dst = append(dst, byte(word))
		word >>= 8
	}
	if squares > 0 {
		// Minimises |v - scale level|; levels chosen at random may point away from v.
		scale := float32(max(0, product/squares))
		binary.LittleEndian.PutUint32(dst[scaleAt:], math.Float32bits(scale))
	}
	return dst, nil
}

func (q quantizer) Decode(v []float64, p []byte) ([]byte, error) {
	p, err := readHeader(p, byte(q.bits), len(v))
	if err != nil {
		return nil, err
	}
	size := 4 + (len(v)*q.bits+7)/8
	if len(p) < size {
		return nil, errShort(len(p), size)
	}
	scale, err := readFloat32(p)
	if err != nil {
		return nil, err
	}
	codes, rest := p[4:size], p[size:]
	largest, center := q.codes()
	if q.bits == 16 {
		for i := range v {
			c := int(binary.LittleEndian.Uint16(codes[2*i:]))
			if c > largest {
				return nil, fmt.Errorf("consensus: coded vector has code %d at entry %d, the largest is %d", c, i, largest)
			}
			v[i] = scale * (float64(c) - center)
		}
		return rest, nil
	}
	mask := byte(1<<q.bits - 1)
	perByte := 8 / q.bits
	for i := range v {
		c := int(codes[i/perByte] >> (i % perByte * q.bits) & mask)
		if c > largest {
			return nil, fmt.Errorf("consensus: coded vector has code %d at entry %d, the largest is %d", c, i, largest)
		}
		v[i] = scale * (float64(c) - center)
	}
	return rest, nil
}
