package consensus

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// topK codes the entries of largest modulus.
type topK struct{ fraction float64 }

// TopK returns the codec that codes the given fraction of the entries, those
// of largest modulus and at least one, by their positions and float32 values; the
// others count as zero. Of equal entries the first are taken. It returns an error
// unless 0 < fraction <= 1.
func TopK(fraction float64) (Codec, error) {
	if !(fraction > 0 && fraction <= 1) {
		return nil, fmt.Errorf("consensus: top-k of a fraction %v of the entries: need 0 < fraction <= 1", fraction)
	}
	return topK{fraction}, nil
}

func (t topK) String() string { return fmt.Sprintf("topk:%v", t.fraction) }

// Limits returns a step of 0.7 sqrt(fraction) for Plain, measured with a margin:
// larger ones make the entries that wait for their turn oscillate. There is none for
// Chebyshev.
func (t topK) Limits(p Polynomial) (step, gamma float64) {
	if p != Plain {
		return 0, 0
	}
	return 0.7 * math.Sqrt(t.fraction), 1
}

// MaxLen counts the number of entries that are kept and, for each, a float32 and the gap
// before it. A gap takes one byte for every 7 bits; since gaps add up to less than n, at
// most n/128 of them take a second byte, and fewer still a third.
func (t topK) MaxLen(n int) int { return maxHeader + binary.MaxVarintLen64 + t.kept(n)*5 + n/64 }

// kept returns how many of n entries are coded.
func (t topK) kept(n int) int { return int(math.Ceil(t.fraction * float64(n))) }

func (t topK) AppendEncode(dst []byte, v []float64, _ uint64) ([]byte, error) {
	dst = appendHeader(dst, kindTopK, len(v))
	k := t.kept(len(v))
	limit, above := kthModulus(v, k)
	ties := k - above
	if limit == 0 { // fewer than k entries are not zero
		k, ties = above, 0
	}
	dst = binary.AppendUvarint(dst, uint64(k))
	next := 0
	for i, x := range v {
		m := modulus(x)
		if m < limit || m == limit && ties == 0 {
			continue
		}
		if m == limit {
			ties--
		}
		dst = binary.AppendUvarint(dst, uint64(i-next))
		next = i + 1
		var finite bool
		if dst, finite = appendFloat32(dst, x); !finite {
			return dst, ErrNotFinite
		}
	}
	return dst, nil
}

// modulus returns an integer that is ordered like |x|, NaN last.
func modulus(x float64) uint64 { return math.Float64bits(x) &^ (1 << 63) }

// kthModulus returns the k-th largest modulus of the entries of v, 0 for k = 0,
// and how many are larger. It looks for one byte of it after the other.
func kthModulus(v []float64, k int) (limit uint64, above int) {
	if k == 0 {
		return 0, 0
	}
	var known uint64 // mask of the bytes found
	left := k
	for shift := 56; shift >= 0; shift -= 8 {
		var count [256]int
		for _, x := range v {
			if m := modulus(x); m&known == limit {
				count[m>>shift&255]++
			}
		}
		digit := 255
		for ; count[digit] < left; digit-- {
			left -= count[digit]
		}
		limit |= uint64(digit) << shift
		known |= 255 << shift
	}
	return limit, k - left
}

func (t topK) Decode(v []float64, p []byte) ([]byte, error) {
	p, err := readHeader(p, kindTopK, len(v))
	if err != nil {
		return nil, err
	}
	k, size := binary.Uvarint(p)
	if size <= 0 {
		return nil, errors.New("consensus: coded vector is cut off before its entries")
	}
	p = p[size:]
	clear(v)
	next := 0
	for range k { // ends with p, whatever k claims
		gap, size := binary.Uvarint(p)
		if size <= 0 || len(p) < size+4 {
			return nil, fmt.Errorf("consensus: coded vector is cut off after entry %d", next-1)
		}
		if gap >= uint64(len(v)-next) {
			return nil, fmt.Errorf("consensus: coded vector has an entry at %d + %d of %d", next, gap, len(v))
		}
		i := next + int(gap)
		if v[i], err = readFloat32(p[size:]); err != nil {
			return nil, err
		}
		p, next = p[size+4:], i+1
	}
	return p, nil
}
