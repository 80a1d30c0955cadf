package grpc

import (
	"fmt"

	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
)

// chunk is the longest message. What has come of one is kept until the rest has, and of a
// member that sends it byte by byte several times as much.
const chunk = 64 << 10

// codecName is the content subtype of our streams. The health service keeps protobuf.
const codecName = "difalt"

func init() { encoding.RegisterCodecV2(rawCodec{}) }

// bytesMessage is a message of rawCodec: it is sent as it is, and what is received is
// appended to it, or to what room returns, which is given its first byte: so a frame is copied
// once, to where it stays.
type bytesMessage struct {
	p    []byte
	room func(first byte) []byte
}

// A rawCodec adds nothing to a message. gRPC sends after SendMsg has returned, and no copy
// is made: see wire.Transport for whose the memory is.
type rawCodec struct{}

func (rawCodec) Name() string { return codecName }

func (rawCodec) Marshal(v any) (mem.BufferSlice, error) {
	m, ok := v.(*bytesMessage)
	if !ok {
		return nil, fmt.Errorf("grpc: a message of type %T", v)
	}
	return mem.BufferSlice{mem.SliceBuffer(m.p)}, nil
}

func (rawCodec) Unmarshal(data mem.BufferSlice, v any) error {
	m, ok := v.(*bytesMessage)
	if !ok {
		return fmt.Errorf("grpc: a message of type %T", v)
	}
	if m.room != nil {
		var first [1]byte
		data.CopyTo(first[:])
		m.p = m.room(first[0])
	}
	for _, b := range data {
		m.p = append(m.p, b.ReadOnlyData()...)
	}
	return nil
}
