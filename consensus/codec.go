package consensus

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// A Codec codes vectors as bytes and back, with a loss of accuracy that does no harm:
// mixers do not code a vector but its difference from the replica that the neighbours
// have of it. A decoded difference is nearer to the true one than zero is, so the
// replica comes nearer with every message, and what one code leaves out is part of
// the next difference.
//
// Codecs are immutable and safe to share.
type Codec interface {
	// AppendEncode appends the coded v to dst. seed drives stochastic rounding; the
	// same v and seed give the same bytes. It returns ErrNotFinite if an entry is NaN
	// or beyond the range of float32, and does not allocate if dst has room.
	AppendEncode(dst []byte, v []float64, seed uint64) ([]byte, error)
	// Decode overwrites v by the vector at the front of p and returns what follows it.
	// It returns an error if p is not the whole code of a vector of len(v) entries by a
	// codec of this kind.
	Decode(v []float64, p []byte) (rest []byte, err error)
	// MaxLen returns the length that no code of n entries exceeds.
	MaxLen(n int) int
	// Limits returns the largest consensus step (see Agreement.ConsensusStep) and, for
	// Chebyshev, the largest bound on gamma(W) with which averaging by differences
	// coded in this way settles on every graph. A step of 0 says that there is none.
	Limits(p Polynomial) (step, gamma float64)
	// String returns the text that ParseCodec reads.
	String() string
}

// ErrNotFinite is returned when a number cannot be coded since it is NaN, infinite
// or beyond the range of float32: the computation that made it has diverged.
var ErrNotFinite = errors.New("consensus: a message is not finite")

// validCodecs is what ParseCodec accepts, for its error messages.
const validCodecs = "none, float32, intB and intB:stochastic for B of 1, 2, 4, 8, 16, topk:FRACTION"

// ParseCodec returns the codec that a short text describes:
//
//	none               nil: float64
//	float32            Float32
//	int4               Quantizer of 4 bits, rounding to nearest; also 1, 2, 8, 16
//	int4:stochastic    the same, rounding at random
//	topk:0.1           TopK of a tenth of the entries
func ParseCodec(spec string) (Codec, error) {
	kind, arg, hasArg := strings.Cut(spec, ":")
	var c Codec
	var err error
	switch bits, isInt := strings.CutPrefix(kind, "int"); {
	case spec == "none":
		return nil, nil
	case spec == "float32":
		return Float32(), nil
	case kind == "topk":
		var fraction float64
		if fraction, err = strconv.ParseFloat(arg, 64); err != nil {
			err = fmt.Errorf("consensus: %q is not a fraction", arg)
		} else {
			c, err = TopK(fraction)
		}
	case isInt && (!hasArg || arg == "stochastic"):
		var b int
		if b, err = strconv.Atoi(bits); err != nil {
			err = fmt.Errorf("consensus: %q is not a number of bits", bits)
		} else {
			c, err = Quantizer(b, hasArg)
		}
	default:
		err = errors.New("consensus: unknown compression")
	}
	if err != nil {
		return nil, fmt.Errorf("%w in %q; valid are %s", err, spec, validCodecs)
	}
	return c, nil
}

// Every code begins with a version, the kind of its codec and the number of
// entries.
const (
	codeVersion = 1
	kindFloat32 = 32 // quantisers have their number of bits
	kindTopK    = 64
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

// appendFloat32 appends v, rounded, and reports whether that is finite.
func appendFloat32(dst []byte, v float64) ([]byte, bool) {
	f := float32(v)
	return binary.LittleEndian.AppendUint32(dst, math.Float32bits(f)), f-f == 0
}

type float32Coder struct{}

// Float32 returns the codec that rounds every entry to float32.
func Float32() Codec { return float32Coder{} }

func (float32Coder) String() string { return "float32" }

// Limits returns 1, 1: none.
func (float32Coder) Limits(Polynomial) (step, gamma float64) { return 1, 1 }

// MaxLen returns the length of every code of n entries.
func (float32Coder) MaxLen(n int) int { return maxHeader + 4*n }

func (float32Coder) AppendEncode(dst []byte, v []float64, _ uint64) ([]byte, error) {
	dst = appendHeader(dst, kindFloat32, len(v))
	for _, x := range v {
		var finite bool
		if dst, finite = appendFloat32(dst, x); !finite {
			return dst, ErrNotFinite
		}
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
