// Package frame defines the bytes of frames. Package rounds sends and receives them; package transport
// checks them.
package frame

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

// A frame consists of
//
//	1 byte   channel
//	1 byte   number of the frame along its link, modulo 256
//	4 bytes  tag of the results that the sender has received, little-endian
//	         the code of the message
//	4 bytes  CRC-32C, little-endian
//
// The checksum also covers what both ends know: the version of this format, the run, the node that sends, and
// 32 bits of the number of the frame.
const (
	// Overhead is the number of bytes that a frame adds to its code.
	Overhead = headerLen + checksumLen

	version     = 4
	headerLen   = 2 + tagLen
	tagLen      = 4
	checksumLen = 4
)

// A Frame holds the contents of a frame.
type Frame struct {
	Channel Channel
	Tag     uint32
	Code    []byte // aliases the bytes of the frame
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// A Seed is the checksum of the version, a run and a node that sends. Frames do not contain these; the
// checksums of frames depend on them.
type Seed uint32

// NewSeed returns the seed of the frames of a node in a run.
func NewSeed(run uint64, node int) Seed {
	p := []byte{version}
	p = binary.LittleEndian.AppendUint64(p, run)
	p = binary.LittleEndian.AppendUint32(p, uint32(node))
	return Seed(crc32.Checksum(p, castagnoli))
}

// checksum returns the checksum of the header and code p of frame number n.
func (s Seed) checksum(p []byte, n uint64) uint32 {
	return crc32.Update(uint32(s)^uint32(n), castagnoli, p)
}

// Begin appends the header of frame number n to dst. The caller appends the code, and then calls End.
func Begin(dst []byte, c Channel, n uint64, tag uint32) []byte {
	return binary.LittleEndian.AppendUint32(append(dst, byte(c), byte(n)), tag)
}

// End appends the checksum of p, which holds frame number n and nothing else.
func (s Seed) End(p []byte, n uint64) []byte {
	return binary.LittleEndian.AppendUint32(p, s.checksum(p, n))
}

// Number returns the number of the frame p along its link modulo 256, and false if p is too short for a
// frame.
func Number(p []byte) (uint8, bool) {
	if len(p) < Overhead {
		return 0, false
	}
	return p[1], true
}

// Open returns the contents of p, which must be frame number n. It returns an error if p is shorter than a
// frame, damaged, or a frame of another run, node or number.
func (s Seed) Open(p []byte, n uint64) (f Frame, err error) {
	end := len(p) - checksumLen
	if end < headerLen {
		return f, fmt.Errorf("a frame has %d bytes: must have at least %d", len(p), Overhead)
	}
	if p[1] != byte(n) || binary.LittleEndian.Uint32(p[end:]) != s.checksum(p[:end], n) {
		return f, errors.New("a frame has a wrong checksum: it is damaged, of another run or out of order")
	}
	return Frame{Channel(p[0]), binary.LittleEndian.Uint32(p[2:]), p[headerLen:end:end]}, nil
}

// A Channel identifies the operation that a frame belongs to. The numbers are part of the frame format: a
// new channel gets a number that was never used.
type Channel uint8

const (
	Average   Channel = 0 // averaging of messages, by gossip or in codes along the tree
	Sum       Channel = 64
	Broadcast Channel = 66
	Mean      Channel = 67
	Keys      Channel = 71
	Gather    Channel = 73
	Farewell  Channel = 74 // the last frame of a node that ends because results were inconsistent
)

var channelNames = map[Channel]string{
	Average:   "averaging",
	Sum:       "a sum over the nodes",
	Broadcast: "a broadcast",
	Mean:      "the mean over the nodes",
	Keys:      "an exchange of keys",
	Gather:    "an exchange of bytes",
	Farewell:  "a farewell",
}

// String returns the purpose of the channel.
func (c Channel) String() string {
	if name, ok := channelNames[c]; ok {
		return name
	}
	return fmt.Sprintf("channel %d", uint8(c))
}
