package consensus_test

import (
	"encoding/binary"
	"hash/crc32"
	"math"

	"github.com/difalt/difalt/consensus/wire"
)

// The format of frames, once more: the lengths of the two parts are at 44 and 48, and
// the CRC-32C of all but itself at 52.

// reseal gives a frame that was changed its right checksum.
func reseal(p []byte) []byte {
	table := crc32.MakeTable(crc32.Castagnoli)
	sum := crc32.Update(crc32.Checksum(p[:52], table), table, p[wire.HeaderLen:])
	binary.LittleEndian.PutUint32(p[52:], sum)
	return p
}

// resealed changes a byte of the header.
func resealed(at int, by byte) func([]byte) []byte {
	return func(p []byte) []byte {
		p[at] += by
		if at == 6 { // of a round that has not been yet
			binary.LittleEndian.PutUint64(p[36:], 1<<40)
		}
		return reseal(p)
	}
}

// appendNaN makes the last number of the code NaN.
func appendNaN(p []byte) []byte {
	binary.LittleEndian.PutUint64(p[len(p)-8:], math.Float64bits(math.NaN()))
	return reseal(p)
}

// lengthen appends a number to the code.
func lengthen(p []byte) []byte {
	binary.LittleEndian.PutUint32(p[48:], binary.LittleEndian.Uint32(p[48:])+8)
	return append(p, make([]byte, 8)...)
}
