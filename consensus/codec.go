package consensus

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/difalt/difalt/consensus/wire"
)

// A Codec codes vectors as bytes and back, with a loss of accuracy that does no harm:
// mixers do not code a vector but its difference from the replica that the neighbours
// have of it. A decoded difference is nearer to the true one than zero is, so the
// replica comes nearer with every message, and what one code leaves out is part of
// the next difference.
//
// Codecs are immutable and safe to share. Averaging converges on every graph with those
// that are no coarser than Int4.
type Codec interface {
	// AppendEncode appends the coded v to dst. It returns ErrNotFinite if an entry is NaN
	// or beyond the range of float32, and does not allocate if dst has room.
	AppendEncode(dst []byte, v []float64) ([]byte, error)
	// Decode overwrites v by the vector at the front of p and returns what follows it.
	// It returns an error if p is not the whole code of a vector of len(v) entries by a
	// codec of this kind.
	Decode(v []float64, p []byte) (rest []byte, err error)
	// MaxLen returns the length that no code of n entries exceeds.
	MaxLen(n int) int
	// String returns the text that ParseCodec reads.
	String() string
}

// The codecs: Float32 rounds every entry to float32; Int16, Int8 and Int4 code an entry
// in 16, 8 and 4 bits, and a vector in one scale more.
var (
	Float32 Codec = float32Coder{}
	Int16   Codec = quantizer(16)
	Int8    Codec = quantizer(8)
	Int4    Codec = quantizer(4)
)

// codecs are all of them, in the order in which messages and help list them.
var codecs = []Codec{Float32, Int16, Int8, Int4}

// noCodec is the name of no codec, which is float64.
const noCodec = "none"

// ErrNotFinite is wire.ErrNotFinite: a number cannot be sent.
var ErrNotFinite = wire.ErrNotFinite

// CodecNames returns the names that ParseCodec reads.
func CodecNames() []string {
	names := []string{noCodec}
	for _, c := range codecs {
		names = append(names, c.String())
	}
	return names
}

// ParseCodec returns the codec with the given name, one of CodecNames; that of none, which
// is float64, is nil.
func ParseCodec(name string) (Codec, error) {
	names := CodecNames()
	switch k := slices.Index(names, name); {
	case k > 0:
		return codecs[k-1], nil
	case k == 0:
		return nil, nil
	}
	return nil, fmt.Errorf("consensus: unknown compression %q; valid are %s", name, strings.Join(names, ", "))
}

// Every code begins with a version, the kind of its codec and the number of
// entries.
const (
	codeVersion = 1
	kindFloat32 = 32 // quantisers have their number of bits
	maxHeader   = 2 + binary.MaxVarintLen64
)

func appendHeader(dst []byte, kind byte, entries int) []byte {
	return binary.AppendUvarint(append(dst, codeVersion, kind), uint64(entries))
}

// readHeader returns what follows a header, which must be as expected.
func readHeader(p []byte, kind byte, entries int) ([]byte, error) {
	if len(p) < 2 {
		return nil, errors.New("consensus: coded vector is cut off in its header")
	}
	if p[0] != codeVersion {
		return nil, fmt.Errorf("consensus: coded vector has version %d, want %d", p[0], codeVersion)
	}
	if p[1] != kind {
		return nil, fmt.Errorf("consensus: coded vector is of kind %d, want %d", p[1], kind)
	}
	n, size := binary.Uvarint(p[2:])
	if size <= 0 {
		return nil, errors.New("consensus: coded vector is cut off in its header")
	}
	if n != uint64(entries) {
		return nil, fmt.Errorf("consensus: coded vector has %d entries, want %d", n, entries)
	}
	return p[2+size:], nil
}

func errShort(have, want int) error {
	return fmt.Errorf("consensus: coded vector is cut off: %d bytes of %d", have, want)
}

// readFloat32 returns the finite number at the front of p, which has 4 bytes.
func readFloat32(p []byte) (float64, error) {
	v := float64(math.Float32frombits(binary.LittleEndian.Uint32(p)))
	if v-v != 0 {
		return 0, fmt.Errorf("consensus: coded vector contains %v", v)
	}
	return v, nil
}

type float32Coder struct{}

func (float32Coder) String() string { return "float32" }

// MaxLen returns the length of every code of n entries.
func (float32Coder) MaxLen(n int) int { return maxHeader + 4*n }

func (float32Coder) AppendEncode(dst []byte, v []float64) ([]byte, error) {
	dst = appendHeader(dst, kindFloat32, len(v))
	for _, x := range v {
		f := float32(x)
		if f-f != 0 {
			return dst, ErrNotFinite
		}
		dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(f))
	}
	return dst, nil
}

func (float32Coder) Decode(v []float64, p []byte) ([]byte, error) {
	p, err := readHeader(p, kindFloat32, len(v))
	if err != nil {
		return nil, err
	}
	if len(p) < 4*len(v) {
		return nil, errShort(len(p), 4*len(v))
	}
	for i := range v {
		if v[i], err = readFloat32(p[4*i:]); err != nil {
			return nil, err
		}
	}
	return p[4*len(v):], nil
}

// smallestNormal is the smallest float32 with all its digits.
const smallestNormal = 0x1p-126

// A quantizer codes an entry in so many bits, as the nearest of the integers up to
// 2^(bits-1) - 1 in modulus times a scale that all entries share: zeros stay zeros, and
// the levels reach to the largest entry. The scale that is sent is then the one with the
// smallest squared error: with it the code of v is never further from v than zero is.
type quantizer int

func (q quantizer) String() string { return fmt.Sprintf("int%d", int(q)) }

// zero returns the code of zero: half of the largest one.
func (q quantizer) zero() int { return 1<<(q-1) - 1 }

// size returns the length of the codes of n entries.
func (q quantizer) size(n int) int { return (n*int(q) + 7) / 8 }

// MaxLen counts the scale and the bits of n entries.
func (q quantizer) MaxLen(n int) int { return maxHeader + 4 + q.size(n) }

func (q quantizer) AppendEncode(dst []byte, v []float64) ([]byte, error) {
	largest := 0.0
	for _, x := range v {
		largest = max(largest, math.Abs(x)) // NaN if x is
	}
	if !(largest <= math.MaxFloat32) {
		return dst, ErrNotFinite
	}
	zero := q.zero()
	center, inverse := float64(zero), 0.0 // of the distance of neighbouring levels
	if largest >= smallestNormal {
		inverse = center / largest
	}
	dst = appendHeader(dst, byte(q), len(v))
	scaleAt := len(dst)
	dst = slices.Grow(dst, 4+q.size(len(v)))[:scaleAt+4+q.size(len(v))]
	clear(dst[scaleAt:])
	codes := dst[scaleAt+4:]
	product, squares := 0.0, 0.0
	for i, x := range v {
		c := min(max(int(x*inverse+center+0.5), 0), 2*zero)
		level := float64(c - zero)
		product += level * x
		squares += level * level
		at := i * int(q)
		codes[at/8] |= byte(c << (at % 8))
		if q > 8 {
			codes[at/8+1] = byte(c >> 8)
		}
	}
	if squares > 0 { // minimises |v - scale level|
		binary.LittleEndian.PutUint32(dst[scaleAt:], math.Float32bits(float32(product/squares)))
	}
	return dst, nil
}

func (q quantizer) Decode(v []float64, p []byte) ([]byte, error) {
	p, err := readHeader(p, byte(q), len(v))
	if err != nil {
		return nil, err
	}
	size := 4 + q.size(len(v))
	if len(p) < size {
		return nil, errShort(len(p), size)
	}
	scale, err := readFloat32(p)
	if err != nil {
		return nil, err
	}
	codes, zero := p[4:size], q.zero()
	for i := range v {
		at := i * int(q)
		c := int(codes[at/8]>>(at%8)) & (1<<q - 1)
		if q > 8 {
			c |= int(codes[at/8+1]) << 8
		}
		if c > 2*zero {
			return nil, fmt.Errorf("consensus: coded vector has code %d at entry %d, the largest is %d", c, i, 2*zero)
		}
		v[i] = scale * float64(c-zero)
	}
	return p[size:], nil
}
