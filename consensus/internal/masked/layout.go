package masked

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"

	"github.com/difalt/difalt/internal/mask"
)

// A Layout describes the bytes of integers modulo powers of two, segment after segment.
type Layout []Segment

// A Segment is N integers modulo 2^Bits. Bits is at most 57, or a multiple of 64; then an integer has
// several words, the lowest first.
type Segment struct{ N, Bits int }

// limbs returns the number of words of an integer, and words the number of words of the segment.
func (s Segment) limbs() int { return max(1, s.Bits/wordBits) }
func (s Segment) words() int { return s.N * s.limbs() }

// countOf returns the segment of n counts from 0 to nodes, with a sign.
func countOf(n, nodes int) Segment { return Segment{n, bits.Len(uint(nodes)) + 1} }

// words returns the number of words.
func (f Layout) words() (n int) {
	for _, s := range f {
		n += s.words()
	}
	return n
}

// Len returns the number of bytes; every segment starts a new byte.
func (f Layout) Len() (n int) {
	for _, s := range f {
		n += s.len()
	}
	return n
}

func (s Segment) len() int {
	if s.Bits >= wordBits {
		return s.words() * (wordBits / 8)
	}
	return (s.N*s.Bits + 7) / 8
}

// append appends the bytes of words.
func (f Layout) append(dst []byte, words []uint64) []byte {
	for _, s := range f {
		own := words[:s.words()]
		if s.Bits >= wordBits {
			for _, w := range own {
				dst = binary.LittleEndian.AppendUint64(dst, w)
			}
		} else {
			dst = s.pack(dst, own)
		}
		words = words[len(own):]
	}
	return dst
}

func (s Segment) pack(dst []byte, words []uint64) []byte {
	kept, bits := uint64(0), 0 // bits that do not fill a byte yet
	for _, w := range words {
		kept |= w & (1<<s.Bits - 1) << bits
		for bits += s.Bits; bits >= 8; bits -= 8 {
			dst = append(dst, byte(kept))
			kept >>= 8
		}
	}
	if bits > 0 {
		dst = append(dst, byte(kept))
	}
	return dst
}

// read overwrites words with the words in p, which has Len bytes: signed integers in two's complement.
func (f Layout) read(words []uint64, p []byte) {
	for _, s := range f {
		own := words[:s.words()]
		if s.Bits >= wordBits {
			for k := range own {
				own[k] = binary.LittleEndian.Uint64(p[8*k:])
			}
		} else {
			s.unpack(own, p)
		}
		words, p = words[len(own):], p[s.len():]
	}
}

func (s Segment) unpack(words []uint64, p []byte) {
	kept, bits, shift := uint64(0), 0, wordBits-s.Bits
	for k := range words {
		for ; bits < s.Bits; bits += 8 {
			kept |= uint64(p[0]) << bits
			p = p[1:]
		}
		words[k] = uint64(int64(kept<<shift) >> shift)
		kept >>= s.Bits
		bits -= s.Bits
	}
}

// normalize replaces every integer of less than a word by the integer of the smallest magnitude that is
// equal to it modulo 2^Bits, in two's complement.
func (f Layout) normalize(words []uint64) {
	for _, s := range f {
		own := words[:s.words()]
		words = words[len(own):]
		if s.Bits >= wordBits {
			continue
		}
		shift := wordBits - s.Bits
		for k, w := range own {
			own[k] = uint64(int64(w<<shift) >> shift)
		}
	}
}

// finite returns an error if a word of 64 bits is a float64 that is not finite.
func (f Layout) finite(words []uint64) error {
	for _, s := range f {
		own := words[:s.words()]
		words = words[len(own):]
		for k := 0; s.Bits == wordBits && k < len(own); k++ {
			if x := math.Float64frombits(own[k]); x-x != 0 {
				return fmt.Errorf("number %d is %v", k, x)
			}
		}
	}
	return nil
}

// add adds the integers of v to the integers of sum.
func (f Layout) add(sum, v []uint64) {
	for _, s := range f {
		n := s.words()
		mask.AddTo(sum[:n], v, s.limbs())
		sum, v = sum[n:], v[n:]
	}
}
