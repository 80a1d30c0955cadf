package testnet

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/difalt/difalt/consensus/wire"
)

// Frame returns frame number n of o, of a sum, with a code, by the format of frames once more.
func Frame(o wire.Origin, n uint64, code []byte) []byte {
	p := append([]byte{byte(wire.Sum), byte(n)}, code...)
	return Seal(append(p, 0, 0, 0, 0), o, n)
}

// Seal gives a frame the checksum of frame number n of o.
func Seal(p []byte, o wire.Origin, n uint64) []byte {
	known := []byte{3} // the version
	known = binary.LittleEndian.AppendUint64(known, o.Run)
	known = binary.LittleEndian.AppendUint32(known, o.Epoch)
	known = binary.LittleEndian.AppendUint32(known, uint32(o.Node))
	table, end := crc32.MakeTable(crc32.Castagnoli), len(p)-4
	sum := crc32.Update(crc32.Checksum(known, table)^uint32(n), table, p[:end])
	binary.LittleEndian.PutUint32(p[end:], sum)
	return p
}

// Open returns the parts of a frame, which must be one: its channel, the part of a header
// reduction and the code.
func Open(p []byte) (channel wire.Channel, part, code []byte) {
	channel, rest, flags := wire.Channel(p[0]&^0x80), p[2:len(p)-4], byte(0)
	if p[0] >= 0x80 {
		flags, rest = rest[0], rest[1:]
	}
	if flags&1 != 0 { // a failure
		rest = rest[1:]
		for range 3 {
			_, n := binary.Uvarint(rest)
			rest = rest[n:]
		}
	}
	if flags&2 != 0 {
		length, n := binary.Uvarint(rest)
		part, rest = rest[n:][:length], rest[n:][length:]
	}
	return channel, part, rest
}
