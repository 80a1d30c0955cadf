package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
)

// A frame is, in this order:
//
//	1 byte   channel, and 128 if there are flags
//	1 byte   number of the frame along its link, modulo 256
//	1 byte   flags, if any: there is a failure; there is a header part
//	         the failure: channel, node, round and time, see failure
//	         the length of the header part, a varint, and the header part
//	         the code
//	4 bytes  CRC-32C, little-endian
//
// The checksum is also of what both ends know: the version of this format, the Origin, and 32 bits
// of the number of the frame.
const (
	// FrameOverhead is by how many bytes a frame is longer than its code, if it has no flags.
	FrameOverhead = 1 + 1 + checksumLen
	// MaxHeader bounds by how many bytes a frame is longer than its header part and its code.
	MaxHeader = FrameOverhead + 1 + 1 + 4*binary.MaxVarintLen64

	frameVersion = 3
	checksumLen  = 4
	moreFlag     = 0x80 // of the first byte
	flagFailure  = 1
	flagPart     = 2
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// An Origin is what never changes of the frames of a node. It is not sent: a frame of another
// one has another checksum.
type Origin struct {
	Run   uint64
	Epoch uint32
	Node  int
}

// A seed is the checksum of what both ends know.
type seed uint32

// seed returns that of an origin.
func (o Origin) seed() seed {
	p := []byte{frameVersion}
	p = binary.LittleEndian.AppendUint64(p, o.Run)
	p = binary.LittleEndian.AppendUint32(p, o.Epoch)
	p = binary.LittleEndian.AppendUint32(p, uint32(o.Node))
	return seed(crc32.Checksum(p, castagnoli))
}

// checksum returns that of frame number n, but for its last bytes, which hold it.
func (s seed) checksum(p []byte, n uint64) uint32 {
	return crc32.Update(uint32(s)^uint32(n), castagnoli, p)
}

// A frame is what crosses a link in a round.
type frame struct {
	channel    Channel
	failure    failure
	headerPart []byte // part of what a HeaderPart has to send
	code       []byte // of the message; empty if the sender is silent
}

// append appends f, as frame number n of an origin, to dst.
func (f *frame) append(dst []byte, s seed, n uint64) []byte {
	start, flags := len(dst), byte(0)
	if f.failure.set {
		flags |= flagFailure
	}
	if len(f.headerPart) > 0 {
		flags |= flagPart
	}
	dst = append(dst, byte(f.channel), byte(n))
	if flags != 0 {
		dst[start] |= moreFlag
		dst = append(dst, flags)
	}
	if f.failure.set {
		dst = f.failure.append(dst)
	}
	if len(f.headerPart) > 0 {
		dst = binary.AppendUvarint(dst, uint64(len(f.headerPart)))
		dst = append(dst, f.headerPart...)
	}
	dst = append(dst, f.code...)
	return binary.LittleEndian.AppendUint32(dst, s.checksum(dst[start:], n))
}

// FrameNumber returns the number of the frame p along its link modulo 256, and false if p is
// too short for a frame.
func FrameNumber(p []byte) (uint8, bool) {
	if len(p) < FrameOverhead {
		return 0, false
	}
	return p[1], true
}

// CheckFrame returns an error unless p is frame number n of o along a link, as it was sent. The
// network does so with every frame that it is given.
func CheckFrame(p []byte, o Origin, n uint64) error { return o.seed().check(p, n) }

func (s seed) check(p []byte, n uint64) error {
	end := len(p) - checksumLen
	switch {
	case len(p) < FrameOverhead:
		return fmt.Errorf("consensus: a frame is cut off in its header: %d bytes", len(p))
	case p[1] != byte(n) || binary.LittleEndian.Uint32(p[end:]) != s.checksum(p[:end], n):
		return errors.New("consensus: a frame has another checksum: it is damaged, of another run or not the one that is due")
	}
	return nil
}

// parse overwrites f by frame number n of an origin; its parts alias p.
func (f *frame) parse(p []byte, s seed, n uint64) error {
	if err := s.check(p, n); err != nil {
		return err
	}
	more, flags := p[0]&moreFlag != 0, byte(0)
	*f = frame{channel: Channel(p[0] &^ moreFlag)}
	p = p[2 : len(p)-checksumLen]
	if more && len(p) > 0 {
		flags, p = p[0], p[1:]
	}
	if more != (flags != 0) || flags&^(flagFailure|flagPart) != 0 {
		return fmt.Errorf("consensus: a frame with flags %#x", flags)
	}
	if flags&flagFailure != 0 {
		if p = f.failure.parse(p); p == nil {
			return errors.New("consensus: a frame is cut off in its word of a failure")
		}
	}
	if flags&flagPart != 0 {
		length, size := binary.Uvarint(p)
		if size <= 0 || length == 0 || length > uint64(len(p)-size) {
			return errors.New("consensus: a frame is cut off in its header part")
		}
		p = p[size:]
		f.headerPart, p = p[:length:length], p[length:]
	}
	f.code = p
	return nil
}

// AppendFloats appends the entries of v as float64.
func AppendFloats(dst []byte, v []float64) []byte {
	for _, x := range v {
		dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(x))
	}
	return dst
}

// ReadFloats overwrites v by the float64 in p, which must be as many, and finite.
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

// A Channel says what a frame is part of: the averaging of a stream of messages, or a
// collective operation. The numbers are part of the format of frames and must not change:
// a new channel gets a number that none has had.
type Channel uint8

// The channels of streams are below 64, those of collective operations above.
const (
	StreamExact    Channel = 0
	StreamBasis    Channel = 1
	StreamGradient Channel = 2
	StreamTracker  Channel = 3

	Sum       Channel = 64
	Broadcast Channel = 66
	Mean      Channel = 67
	Keys      Channel = 71
	Count     Channel = 72
	Gather    Channel = 73
)

var channelNames = map[Channel]string{
	StreamExact:    "stream exact",
	StreamBasis:    "stream basis",
	StreamGradient: "stream gradient",
	StreamTracker:  "stream tracker",

	Sum:       "a sum over the nodes",
	Broadcast: "a broadcast",
	Mean:      "the mean over the nodes",
	Keys:      "an exchange of keys",
	Count:     "a count of the nodes",
	Gather:    "an exchange of bytes",
}

// String returns what the channel is for, in words.
func (c Channel) String() string {
	if name, ok := channelNames[c]; ok {
		return name
	}
	return fmt.Sprintf("channel %d", uint8(c))
}
