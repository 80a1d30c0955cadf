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
	Float32 Codec = coding{"float32", 32, rounding{}}
	Int16   Codec = coding{"int16", 16, quantizer(16)}
	Int8    Codec = coding{"int8", 8, quantizer(8)}
	Int4    Codec = coding{"int4", 4, quantizer(4)}
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

// Every code begins with a version, the kind of its codec and the number of entries.
const (
	codeVersion = 1
	maxHeader   = 2 + binary.MaxVarintLen64
)

// A coding is a Codec: a header and what comes after it.
type coding struct {
	name string
	kind byte // in the header; must not change
	payload
}

// A payload is the part of a code that differs between codecs.
type payload interface {
	// size returns the bytes for n entries.
	size(n int) int
	// encode writes the code of v to p, which is zero. It returns ErrNotFinite as
	// Codec.AppendEncode does.
	encode(p []byte, v []float64) error
	// decode overwrites v by what p stands for, or returns an error if that is nothing.
	decode(v []float64, p []byte) error
}

func (c coding) String() string { return c.name }

func (c coding) MaxLen(n int) int { return maxHeader + c.size(n) }

func (c coding) AppendEncode(dst []byte, v []float64) ([]byte, error) {
	dst = binary.AppendUvarint(append(dst, codeVersion, c.kind), uint64(len(v)))
	at, size := len(dst), c.size(len(v))
	dst = slices.Grow(dst, size)[:at+size]
	clear(dst[at:])
	return dst, c.encode(dst[at:], v)
}

func (c coding) Decode(v []float64, p []byte) ([]byte, error) {
	if len(p) < 2 {
		return nil, errors.New("consensus: coded vector is cut off in its header")
	}
	if p[0] != codeVersion {
		return nil, fmt.Errorf("consensus: coded vector has version %d, want %d", p[0], codeVersion)
	}
	if p[1] != c.kind {
		return nil, fmt.Errorf("consensus: coded vector is of kind %d, want %d", p[1], c.kind)
	}
	n, length := binary.Uvarint(p[2:])
	if length <= 0 {
		return nil, errors.New("consensus: coded vector is cut off in its header")
	}
	if n != uint64(len(v)) {
		return nil, fmt.Errorf("consensus: coded vector has %d entries, want %d", n, len(v))
	}
	p = p[2+length:]
	size := c.size(len(v))
	if len(p) < size {
		return nil, fmt.Errorf("consensus: coded vector is cut off: %d bytes of %d", len(p), size)
	}
	return p[size:], c.decode(v, p[:size])
}

// readFloat32 returns the finite number at the front of p, which has 4 bytes.
func readFloat32(p []byte) (float64, error) {
	v := float64(math.Float32frombits(binary.LittleEndian.Uint32(p)))
	if v-v != 0 {
		return 0, fmt.Errorf("consensus: coded vector contains %v", v)
	}
	return v, nil
}

// rounding codes entries as float32.
type rounding struct{}

func (rounding) size(n int) int { return 4 * n }

func (rounding) encode(p []byte, v []float64) error {
	for i, x := range v {
		f := float32(x)
		if f-f != 0 {
			return ErrNotFinite
		}
		binary.LittleEndian.PutUint32(p[4*i:], math.Float32bits(f))
	}
	return nil
}

func (rounding) decode(v []float64, p []byte) (err error) {
	for i := range v {
		if v[i], err = readFloat32(p[4*i:]); err != nil {
			return err
		}
	}
	return nil
}

// smallestNormal is the smallest float32 with all its digits.
const smallestNormal = 0x1p-126

// A quantizer codes an entry in so many bits, as the nearest of the integers up to
// 2^(bits-1) - 1 in modulus times a scale that all entries share: zeros stay zeros, and
// the levels go up to the largest entry. The scale that is sent is then the one with the
// smallest squared error: with it the code of v is never further from v than zero is.
type quantizer int

// zero returns the code of zero: half of the largest one.
func (q quantizer) zero() int { return 1<<(q-1) - 1 }

// size counts the scale and the bits of n entries.
func (q quantizer) size(n int) int { return 4 + (n*int(q)+7)/8 }

func (q quantizer) encode(p []byte, v []float64) error {
	largest := largestOfAll(v)
	if !(largest <= math.MaxFloat32) {
		return ErrNotFinite
	}
	zero := q.zero()
	center, inverse := float64(zero), 0.0 // of the distance of neighbouring levels
	if largest >= smallestNormal {
		inverse = center / largest
	}
	product, squares, to := 0.0, int64(0), p[4:]
	for i, x := range v {
		c := int(x*inverse + center + 0.5) // from 0 to 2 zero
		level := int64(c - zero)
		product += float64(level) * x
		squares += level * level
		switch q {
		case 4: // the first in the lower bits
			to[i/2] |= byte(c << (i % 2 * 4))
		case 8:
			to[i] = byte(c)
		default:
			binary.LittleEndian.PutUint16(to[2*i:], uint16(c))
		}
	}
	if squares > 0 { // minimises |v - scale level|
		binary.LittleEndian.PutUint32(p, math.Float32bits(float32(product/float64(squares))))
	}
	return nil
}

// largestOfAll returns the largest absolute value in v, NaN if one of its entries is: without
// the sign the bits of numbers are ordered as integers, those of NaN above all others.
func largestOfAll(v []float64) float64 {
	const sign = 1 << 63
	most := uint64(0)
	for _, x := range v {
		most = max(most, math.Float64bits(x)&^sign)
	}
	return math.Float64frombits(most)
}

// packed is how many codes are unpacked at a time: whole bytes of them, few enough
// to stay in the first-level cache.
const packed = 128

// unpack reads codes of so many bits each.
func (q quantizer) unpack(codes []uint16, p []byte) {
	switch q {
	case 4:
		for i := range codes {
			codes[i] = uint16(p[i/2]>>(i%2*4)) & 15
		}
	case 8:
		p = p[:len(codes)]
		for i := range codes {
			codes[i] = uint16(p[i])
		}
	default:
		for i := range codes {
			codes[i] = binary.LittleEndian.Uint16(p[2*i:])
		}
	}
}

func (q quantizer) decode(v []float64, p []byte) error {
	scale, err := readFloat32(p)
	if err != nil {
		return err
	}
	zero := q.zero()
	var codes [packed]uint16
	for at := 0; at < len(v); at += packed {
		part := v[at:min(at+packed, len(v))]
		q.unpack(codes[:len(part)], p[4+at*int(q)/8:])
		for i := range part {
			c := int(codes[i])
			if c > 2*zero {
				return fmt.Errorf("consensus: coded vector has code %d at entry %d, the largest is %d", c, at+i, 2*zero)
			}
			part[i] = scale * float64(c-zero)
		}
	}
	return nil
}
