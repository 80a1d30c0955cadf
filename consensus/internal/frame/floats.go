package frame

import (
	"encoding/binary"
	"fmt"
	"math"
)

// AppendFloats appends the entries of v as little-endian float64.
func AppendFloats(dst []byte, v []float64) []byte {
	for _, x := range v {
		dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(x))
	}
	return dst
}

// ReadFloats overwrites v with the float64 in p. It returns an error if p does not hold len(v) numbers
// below limit in magnitude; v is then unspecified.
func ReadFloats(v []float64, p []byte, limit float64) error {
	if len(p) != 8*len(v) {
		return fmt.Errorf("%d bytes, want %d", len(p), 8*len(v))
	}
	for k := range v {
		x := math.Float64frombits(binary.LittleEndian.Uint64(p[8*k:]))
		if !(math.Abs(x) < limit) {
			return fmt.Errorf("number %d is %v", k, x)
		}
		v[k] = x
	}
	return nil
}
