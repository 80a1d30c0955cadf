package masked

import (
	"fmt"
	"math"
	"math/bits"
)

// FixedPoint converts float64 to integers whose sums are exact, whatever their order: a number is rounded
// towards zero to a multiple of 2^low, and becomes that multiple in two's complement, with room for the sum
// over all nodes. An integer has three words, the lowest first, which are added with carry: sums of single
// words would reveal more than the sum.
type FixedPoint struct {
	low int // for 8 nodes -124
}

const (
	digits = 3
	// top is the exponent of the limit of a number: its magnitude is below 2^64.
	top             = 64
	limit           = 1 << top
	significandBits = 53
	wordBits        = 64
)

// NewFixedPoint returns the conversion for sums over the given number of nodes.
func NewFixedPoint(nodes int) *FixedPoint {
	return &FixedPoint{low: top + 1 + bits.Len(uint(nodes-1)) - digits*wordBits}
}

// Segments returns the segments of n numbers that go up the tree, and of their sums, which come down.
func (w *FixedPoint) Segments(n int) (up, down Segment) {
	return Segment{n, digits * wordBits}, Segment{n, wordBits}
}

// Check returns an error if v has an entry that is NaN or not below 2^64 in magnitude.
func (w *FixedPoint) Check(v []float64) error {
	for k, x := range v {
		if !(math.Abs(x) < limit) {
			return fmt.Errorf("number %d is %v: must be below 2^%d in magnitude", k, x, top)
		}
	}
	return nil
}

// place returns |x| 2^-low, rounded towards zero, as significand 2^at. All bits of sign are set if x is
// negative, and clear otherwise.
func place(x float64, low int) (significand uint64, at uint, sign uint64) {
	const exponentBits, bias = 11, 1075 // of float64: x = significand 2^(exponent - bias)
	b := math.Float64bits(x)
	exponent := int(b >> (significandBits - 1) & (1<<exponentBits - 1))
	significand = b & (1<<(significandBits-1) - 1)
	if exponent > 0 {
		significand |= 1 << (significandBits - 1)
	} else {
		exponent = 1
	}
	shift := exponent - bias - low
	if shift < 0 {
		significand >>= uint(-shift)
		shift = 0
	}
	return significand, uint(shift), uint64(int64(b) >> (wordBits - 1))
}

// Add adds the numbers v, which Check has accepted, to words. A negative number adds its complement and
// one, which leaves the words below its lowest one unchanged.
func (w *FixedPoint) Add(words []uint64, v []float64) {
	for _, x := range v {
		significand, at, sign := place(x, w.low)
		s, from := at%wordBits, words[at/wordBits:digits]
		low, high, carry := significand<<s, significand>>1>>(wordBits-1-s), sign&1
		from[0], carry = bits.Add64(from[0], low^sign, carry)
		for k := 1; k < len(from); k++ {
			from[k], carry = bits.Add64(from[k], high^sign, carry)
			high = 0
		}
		words = words[digits:]
	}
}

// Decode overwrites down with the float64 nearest to the integers of total, as bits.
// It overwrites total.
func (w *FixedPoint) Decode(down, total []uint64) {
	for k := range down {
		down[k] = math.Float64bits(w.number(total[k*digits:][:digits]))
	}
}

func (w *FixedPoint) number(words []uint64) float64 {
	negative := int64(words[digits-1]) < 0
	if negative {
		carry := uint64(1)
		for k := range words {
			words[k], carry = bits.Add64(^words[k], 0, carry)
		}
	}
	top := digits - 1
	for top > 0 && words[top] == 0 {
		top--
	}
	// The highest 64 bits, whose last one is set if any bit below them is, round as the integer does.
	shift := uint(bits.LeadingZeros64(words[top]))
	high, below := words[top]<<shift, uint64(0)
	if top > 0 {
		high |= words[top-1] >> 1 >> (wordBits - 1 - shift)
		below = words[top-1] << shift
	}
	for _, word := range words[:max(top-1, 0)] {
		below |= word
	}
	if below != 0 {
		high |= 1
	}
	x := math.Ldexp(float64(high), w.low+top*wordBits-int(shift))
	if negative {
		return -x
	}
	return x
}
