package consensus_test

import (
	"encoding/binary"
	"math"

	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/internal/testnet"
)

// A tamperer changes a frame that comes along a link. It knows what the node at the other end knows.
type tamperer func(p []byte, o wire.Origin, n uint64) []byte

// resealed gives a frame that was changed its right checksum.
func resealed(change func(p []byte) []byte) tamperer {
	return func(p []byte, o wire.Origin, n uint64) []byte { return testnet.Seal(change(p), o, n) }
}

// insert puts bytes at some place of a frame.
func insert(p []byte, at int, more ...byte) []byte {
	return append(append(append([]byte(nil), p[:at]...), more...), p[at:]...)
}

// forged makes a frame without flags say that a node had a number that is not finite in a round.
func forged(node int, seq, time uint64) tamperer {
	return resealed(func(p []byte) []byte {
		word := []byte{1, byte(wire.Sum)} // flags
		for _, v := range []uint64{uint64(node), seq, time} {
			word = binary.AppendUvarint(word, v)
		}
		p[0] |= 0x80
		return insert(p, 2, word...)
	})
}

// appendNaN makes the last number of the code NaN.
func appendNaN(p []byte) []byte {
	binary.LittleEndian.PutUint64(p[len(p)-4-8:], math.Float64bits(math.NaN()))
	return p
}
