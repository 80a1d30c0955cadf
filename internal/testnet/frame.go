package testnet

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/difalt/difalt/consensus/wire"
)

// Frame returns a frame of a sum with a sequence number and a code, by the format of frames
// once more.
func Frame(seq uint64, code []byte) []byte {
	p := make([]byte, wire.HeaderLen, wire.HeaderLen+len(code))
	copy(p, "dfLT")
	p[4], p[7] = 2, byte(wire.Sum)
	if len(code) == 0 {
		p[5] = 1
	}
	binary.LittleEndian.PutUint32(p[48:], uint32(len(code)))
	return Renumber(append(p, code...), seq)
}

// Renumber gives a frame another sequence number, and the checksum that it has then.
func Renumber(p []byte, seq uint64) []byte {
	binary.LittleEndian.PutUint64(p[24:], seq)
	table := crc32.MakeTable(crc32.Castagnoli)
	binary.LittleEndian.PutUint32(p[52:], crc32.Update(crc32.Checksum(p[:52], table), table, p[wire.HeaderLen:]))
	return p
}
