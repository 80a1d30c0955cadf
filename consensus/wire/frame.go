package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
)

// HeaderLen is the number of bytes with which every frame begins.
const HeaderLen = 56

const (
	frameMagic   = "dfLT"
	frameVersion = 2
	flagSilent   = 1 // no code follows
)

// Offsets in a header, little-endian: the magic, one byte each of version, flags,
// control word and channel, then run (8 bytes), epoch, sender (4 each), sequence number
// (8), the control word's node (4) and sequence number (8), the lengths of the parts
// (4 each) and the CRC-32C of all but itself.
const (
	atRun        = 8
	atEpoch      = 16
	atSender     = 20
	atSeq        = 24
	atNode       = 32
	atSince      = 36
	atHeaderPart = 44
	atCode       = 48
	atChecksum   = 52
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// A header is what a node says in every round, even if it is silent.
type header struct {
	channel Channel
	run     uint64
	epoch   uint32
	sender  int
	seq     uint64
	failure failure
}

// A frame is what crosses a link in one round.
type frame struct {
	header
	headerPart []byte // part of what a HeaderPart has to send
	code       []byte // of the message; empty if the sender is silent
}

// appendFrame appends f to dst.
func appendFrame(dst []byte, f *frame) []byte {
	start := len(dst)
	flags, control := byte(0), byte(0)
	if len(f.code) == 0 {
		flags = flagSilent
	}
	if f.failure.set {
		control = 1 + byte(f.failure.channel)
	}
	dst = append(dst, frameMagic...)
	dst = append(dst, frameVersion, flags, control, byte(f.channel))
	dst = binary.LittleEndian.AppendUint64(dst, f.run)
	dst = binary.LittleEndian.AppendUint32(dst, f.epoch)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(f.sender))
	dst = binary.LittleEndian.AppendUint64(dst, f.seq)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(f.failure.node))
	dst = binary.LittleEndian.AppendUint64(dst, f.failure.seq)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(f.headerPart)))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(f.code)))
	dst = append(dst, 0, 0, 0, 0)
	dst = append(append(dst, f.headerPart...), f.code...)
	binary.LittleEndian.PutUint32(dst[start+atChecksum:], checksum(dst[start:]))
	return dst
}

// checksum returns the CRC-32C of a frame but for the four bytes that hold it.
func checksum(p []byte) uint32 {
	return crc32.Update(crc32.Checksum(p[:atChecksum], castagnoli), castagnoli, p[HeaderLen:])
}

// FrameLen returns the length of the frame that begins with the header p, of which it
// reads HeaderLen bytes. It returns an error if p is not the beginning of a frame of
// this version; without its end it cannot be checked further, see CheckFrame. A
// transport must not set aside as much memory as a header claims before it has come.
func FrameLen(p []byte) (int, error) {
	if len(p) < HeaderLen {
		return 0, fmt.Errorf("consensus: a frame is cut off in its header: %d bytes of %d", len(p), HeaderLen)
	}
	if string(p[:4]) != frameMagic {
		return 0, fmt.Errorf("consensus: a frame begins with %q", p[:4])
	}
	if p[4] != frameVersion {
		return 0, fmt.Errorf("consensus: a frame of version %d, want %d", p[4], frameVersion)
	}
	headerPart, code := binary.LittleEndian.Uint32(p[atHeaderPart:]), binary.LittleEndian.Uint32(p[atCode:])
	if total := HeaderLen + uint64(headerPart) + uint64(code); total <= math.MaxInt32 {
		return int(total), nil
	}
	return 0, fmt.Errorf("consensus: a frame claims %d and %d bytes", headerPart, code)
}

// CheckFrame returns an error unless p is a whole frame as it was sent. The network does
// so with every frame that it is given.
func CheckFrame(p []byte) error {
	n, err := FrameLen(p)
	switch {
	case err != nil:
		return err
	case n != len(p):
		return fmt.Errorf("consensus: a frame has %d bytes, want %d", len(p), n)
	case binary.LittleEndian.Uint32(p[atChecksum:]) != checksum(p):
		return errors.New("consensus: a frame has another checksum")
	}
	return nil
}

// FrameSeq returns the sequence number in a header.
func FrameSeq(p []byte) uint64 { return binary.LittleEndian.Uint64(p[atSeq:]) }

// parseFrame returns the frame p; its parts alias p.
func parseFrame(p []byte) (frame, error) {
	if err := CheckFrame(p); err != nil {
		return frame{}, err
	}
	var f frame
	flags, control := p[5], p[6]
	f.channel = Channel(p[7])
	f.run = binary.LittleEndian.Uint64(p[atRun:])
	f.epoch = binary.LittleEndian.Uint32(p[atEpoch:])
	f.sender = int(binary.LittleEndian.Uint32(p[atSender:]))
	f.seq = FrameSeq(p)
	if control > 0 {
		f.failure = failure{
			set: true, channel: Channel(control - 1),
			node: int(binary.LittleEndian.Uint32(p[atNode:])), seq: binary.LittleEndian.Uint64(p[atSince:]),
		}
	}
	split := HeaderLen + int(binary.LittleEndian.Uint32(p[atHeaderPart:]))
	f.headerPart, f.code = p[HeaderLen:split:split], p[split:]
	if (flags&flagSilent != 0) != (len(f.code) == 0) || flags&^flagSilent != 0 {
		return frame{}, fmt.Errorf("consensus: a frame with flags %#x has a code of %d bytes", flags, len(f.code))
	}
	return f, nil
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
