package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
)

// A frame consists of
//
//	1 byte   channel
//	1 byte   number of the frame along its link, modulo 256
//	4 bytes  tag of the results that the sender has received, little-endian
//	         the code of the message
//	4 bytes  CRC-32C, little-endian
//
// The checksum also covers the version of this format, the Origin, and 32 bits of the number of the frame,
// which both ends know.
const (
	// FrameOverhead is the number of bytes that a frame adds to its code.
	FrameOverhead = headerLen + checksumLen

	frameVersion = 4
	headerLen    = 2 + tagLen
	tagLen       = 4
	checksumLen  = 4
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// An Origin identifies the sender of frames. It is not sent: the checksum of a frame depends on it.
type Origin struct {
	Run  uint64
	Node int
}

// A seed is the checksum of an Origin and the version.
type seed uint32

func (o Origin) seed() seed {
	p := []byte{frameVersion}
	p = binary.LittleEndian.AppendUint64(p, o.Run)
	p = binary.LittleEndian.AppendUint32(p, uint32(o.Node))
	return seed(crc32.Checksum(p, castagnoli))
}

// checksum returns the checksum of the header and code p of frame number n.
func (s seed) checksum(p []byte, n uint64) uint32 {
	return crc32.Update(uint32(s)^uint32(n), castagnoli, p)
}

// beginFrame appends the header of frame number n to dst. The caller appends the code, and then calls
// endFrame.
func beginFrame(dst []byte, c Channel, n uint64, tag uint32) []byte {
	return binary.LittleEndian.AppendUint32(append(dst, byte(c), byte(n)), tag)
}

// endFrame appends the checksum of p, which holds frame number n and nothing else.
func (s seed) endFrame(p []byte, n uint64) []byte {
	return binary.LittleEndian.AppendUint32(p, s.checksum(p, n))
}

// FrameNumber returns the number of the frame p along its link modulo 256, and false if p is too short for
// a frame.
func FrameNumber(p []byte) (uint8, bool) {
	if len(p) < FrameOverhead {
		return 0, false
	}
	return p[1], true
}

// CheckFrame returns an error unless p is frame number n of o along a link, undamaged. The network checks
// every frame in this way; a transport may do so earlier.
func CheckFrame(p []byte, o Origin, n uint64) error {
	_, err := o.seed().open(p, n)
	return err
}

// A frame is the content of the bytes that cross a link.
type frame struct {
	channel Channel
	tag     uint32
	code    []byte // aliases the bytes
}

// open returns frame number n.
func (s seed) open(p []byte, n uint64) (f frame, err error) {
	end := len(p) - checksumLen
	if end < headerLen {
		return f, fmt.Errorf("consensus: a frame has %d bytes: must have at least %d", len(p), FrameOverhead)
	}
	if p[1] != byte(n) || binary.LittleEndian.Uint32(p[end:]) != s.checksum(p[:end], n) {
		return f, errors.New("consensus: a frame has a wrong checksum: it is damaged, of another run or out of order")
	}
	return frame{Channel(p[0]), binary.LittleEndian.Uint32(p[2:]), p[headerLen:end:end]}, nil
}

// AppendFloats appends the entries of v as little-endian float64.
func AppendFloats(dst []byte, v []float64) []byte {
	for _, x := range v {
		dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(x))
	}
	return dst
}

// ReadFloats overwrites v with the float64 in p. It returns an error if p does not hold len(v) finite
// numbers; v is then unspecified.
func ReadFloats(v []float64, p []byte) error {
	if len(p) != 8*len(v) {
		return fmt.Errorf("consensus: %d bytes, want %d", len(p), 8*len(v))
	}
	for k := range v {
		x := math.Float64frombits(binary.LittleEndian.Uint64(p[8*k:]))
		if x-x != 0 {
			return fmt.Errorf("consensus: number %d is %v", k, x)
		}
		v[k] = x
	}
	return nil
}

// Finite reports whether no entry of v is NaN or infinite.
func Finite(v []float64) bool {
	for _, x := range v {
		if x-x != 0 {
			return false
		}
	}
	return true
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
	Farewell  Channel = 74 // the last frame of a node that ends with ErrInconsistent
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
