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
// the next difference. Averaging converges on every graph with all of them.
type Codec uint8

// The codecs. Their numbers are the bits of an entry, and part of the code.
const (
	None    Codec = 0 // float64, as it is
	Int4    Codec = 4 // integers of 4 bits, and a scale for all entries; so the next two
	Int8    Codec = 8
	Int16   Codec = 16
	Float32 Codec = 32 // every entry rounded to float32
)

// codecs are all of them, in the order in which messages and help list them.
var codecs = []Codec{None, Float32, Int16, Int8, Int4}

// ErrNotFinite is wire.ErrNotFinite: a number cannot be sent.
var ErrNotFinite = wire.ErrNotFinite

// String returns the text that ParseCodec reads: none, float32, or intN of N bits.
func (c Codec) String() string {
	switch {
	case c == None:
		return "none"
	case c == Float32:
		return "float32"
	case slices.Contains(codecs, c):
		return fmt.Sprintf("int%d", uint8(c))
	}
	return fmt.Sprintf("Codec(%d)", uint8(c))
}

// CodecNames returns the names that ParseCodec reads.
func CodecNames() (names []string) {
	for _, c := range codecs {
		names = append(names, c.String())
	}
	return names
}

// ParseCodec returns the codec with the given name, one of CodecNames.
func ParseCodec(name string) (Codec, error) {
	names := CodecNames()
	if k := slices.Index(names, name); k >= 0 {
		return codecs[k], nil
	}
	return None, fmt.Errorf("consensus: unknown compression %q; valid are %s", name, strings.Join(names, ", "))
}

// Every code but that of None begins with a version, the codec and the number of entries.
const (
	codeVersion = 1
	maxHeader   = 2 + binary.MaxVarintLen64
)

// size returns the bytes of n entries, and of their scale if there is one.
func (c Codec) size(n int) int {
	switch c {
	case None:
		return 8 * n
	case Float32:
		return 4 * n
	}
	return 4 + (n*int(c)+7)/8
}

// MaxLen returns the length that no code of n entries exceeds.
func (c Codec) MaxLen(n int) int {
	if c == None {
		return c.size(n)
	}
	return maxHeader + c.size(n)
}

// AppendEncode appends the coded v to dst. It returns ErrNotFinite if an entry is NaN
// or beyond the range of float32, of None of float64, and does not allocate if dst has room.
func (c Codec) AppendEncode(dst []byte, v []float64) ([]byte, error) {
	if c == None {
		if !wire.Finite(v) {
			return dst, ErrNotFinite
		}
		return wire.AppendFloats(dst, v), nil
	}
	dst = binary.AppendUvarint(append(dst, codeVersion, byte(c)), uint64(len(v)))
	at, size := len(dst), c.size(len(v))
	dst = slices.Grow(dst, size)[:at+size]
	clear(dst[at:])
	if c == Float32 {
		return dst, round(dst[at:], v)
	}
	return dst, c.quantize(dst[at:], v)
}

// Decode overwrites v by the vector at the front of p and returns what follows it.
// It returns an error if p is not the whole code of a vector of len(v) entries by c.
func (c Codec) Decode(v []float64, p []byte) (rest []byte, err error) {
	if c != None {
		if p, err = c.readHeader(p, len(v)); err != nil {
			return nil, err
		}
	}
	size := c.size(len(v))
	if len(p) < size {
		return nil, fmt.Errorf("consensus: coded vector is cut off: %d bytes of %d", len(p), size)
	}
	switch c {
	case None:
		return p[size:], wire.ReadFloats(v, p[:size])
	case Float32:
		return p[size:], readRounded(v, p)
	}
	return p[size:], c.dequantize(v, p)
}

// readHeader returns what follows the header of a code of n entries.
func (c Codec) readHeader(p []byte, n int) ([]byte, error) {
	if len(p) < 2 {
		return nil, errors.New("consensus: coded vector is cut off in its header")
	}
	if p[0] != codeVersion {
		return nil, fmt.Errorf("consensus: coded vector has version %d, want %d", p[0], codeVersion)
	}
	if p[1] != byte(c) {
		return nil, fmt.Errorf("consensus: coded vector is of kind %d, want %d", p[1], c)
	}
	entries, length := binary.Uvarint(p[2:])
	if length <= 0 {
		return nil, errors.New("consensus: coded vector is cut off in its header")
	}
	if entries != uint64(n) {
		return nil, fmt.Errorf("consensus: coded vector has %d entries, want %d", entries, n)
	}
	return p[2+length:], nil
}

// readFloat32 returns the finite number at the front of p, which has 4 bytes.
func readFloat32(p []byte) (float64, error) {
	v := float64(math.Float32frombits(binary.LittleEndian.Uint32(p)))
	if v-v != 0 {
		return 0, fmt.Errorf("consensus: coded vector contains %v", v)
	}
	return v, nil
}

// round codes entries as float32.
func round(p []byte, v []float64) error {
	for i, x := range v {
		f := float32(x)
		if f-f != 0 {
			return ErrNotFinite
		}
		binary.LittleEndian.PutUint32(p[4*i:], math.Float32bits(f))
	}
	return nil
}

func readRounded(v []float64, p []byte) (err error) {
	for i := range v {
		if v[i], err = readFloat32(p[4*i:]); err != nil {
			return err
		}
	}
	return nil
}

// smallestNormal is the smallest float32 with all its digits.
const smallestNormal = 0x1p-126

// zero returns the code of zero: half of the largest one.
func (c Codec) zero() int { return 1<<(c-1) - 1 }

// quantize codes an entry as the nearest of the integers up to 2^(bits-1) - 1 in modulus times
// a scale that all entries share: zeros stay zeros, and the levels go up to the largest entry.
// The scale that is sent is then the one with the smallest squared error: with it the code of v
// is never further from v than zero is.
func (c Codec) quantize(p []byte, v []float64) error {
	largest := largestOfAll(v)
	if !(largest <= math.MaxFloat32) {
		return ErrNotFinite
	}
	zero := c.zero()
	center, inverse := float64(zero), 0.0 // of the distance of neighbouring levels
	if largest >= smallestNormal {
		inverse = center / largest
	}
	product, squares, to := 0.0, int64(0), p[4:]
	for i, x := range v {
		code := int(x*inverse + center + 0.5) // from 0 to 2 zero
		level := int64(code - zero)
		product += float64(level) * x
		squares += level * level
		switch c {
		case Int4: // the first in the lower bits
			to[i/2] |= byte(code << (i % 2 * 4))
		case Int8:
			to[i] = byte(code)
		default:
			binary.LittleEndian.PutUint16(to[2*i:], uint16(code))
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
func (c Codec) unpack(codes []uint16, p []byte) {
	switch c {
	case Int4:
		for i := range codes {
			codes[i] = uint16(p[i/2]>>(i%2*4)) & 15
		}
	case Int8:
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

func (c Codec) dequantize(v []float64, p []byte) error {
	scale, err := readFloat32(p)
	if err != nil {
		return err
	}
	zero := c.zero()
	var codes [packed]uint16
	for at := 0; at < len(v); at += packed {
		part := v[at:min(at+packed, len(v))]
		c.unpack(codes[:len(part)], p[4+at*int(c)/8:])
		for i := range part {
			code := int(codes[i])
			if code > 2*zero {
				return fmt.Errorf("consensus: coded vector has code %d at entry %d, the largest is %d", code, at+i, 2*zero)
			}
			part[i] = scale * float64(code-zero)
		}
	}
	return nil
}
