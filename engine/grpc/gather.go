package grpc

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"

	"github.com/difalt/difalt/internal/crowd"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
)

// gathering are credentials by which what gRPC writes at once reaches the network at once.
// TLS alone would write every record by a system call of its own.
type gathering struct {
	credentials.TransportCredentials
}

func (g gathering) ClientHandshake(ctx context.Context, authority string, raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	below := &gatherer{Conn: raw, to: raw}
	above, info, err := g.TransportCredentials.ClientHandshake(ctx, authority, below)
	if err != nil {
		return nil, nil, err
	}
	return &gathered{above, below}, info, nil
}

func (g gathering) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	below := &gatherer{Conn: raw, to: raw}
	if c, ok := raw.(*crowd.Conn); ok {
		below.to = c.Conn // which can write several pieces at once
	}
	above, info, err := g.TransportCredentials.ServerHandshake(below)
	if err != nil {
		return nil, nil, err
	}
	return &gathered{above, below}, info, nil
}

func (g gathering) Clone() credentials.TransportCredentials {
	return gathering{g.TransportCredentials.Clone()}
}

// A gathered is a connection above TLS; below is the one under TLS.
type gathered struct {
	net.Conn
	below *gatherer
}

// record is what fits into one record of TLS.
const record = 16 << 10

// Write has one caller at a time, as gRPC has it. What goes before the last record is buffered,
// for which it is copied; so the last one is a full one.
func (c *gathered) Write(p []byte) (int, error) {
	before := max(0, len(p)-record)
	if before > 0 {
		c.below.buffer(true)
		_, err := c.Conn.Write(p[:before])
		c.below.buffer(false)
		if err != nil {
			return 0, err
		}
	}
	if _, err := c.Conn.Write(p[before:]); err != nil {
		return 0, err
	}
	return len(p), nil
}

// A gatherer keeps what comes while it is buffering, and writes it at once with what comes
// next, always in the order of the calls: TLS also writes when it reads, and when it closes.
type gatherer struct {
	net.Conn
	to        io.Writer // of the same connection
	mu        sync.Mutex
	buffering bool
	buffered  []byte
	pieces    [2][]byte
}

func (g *gatherer) buffer(on bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.buffering = on
}

func (g *gatherer) Write(p []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.buffering:
		g.buffered = append(g.buffered, p...)
		return len(p), nil
	case len(g.buffered) == 0:
		return g.to.Write(p)
	}
	g.pieces = [2][]byte{g.buffered, p}
	pieces := net.Buffers(g.pieces[:])
	_, err := pieces.WriteTo(g.to)
	g.buffered = g.buffered[:0]
	if err != nil {
		return 0, err
	}
	return len(p), nil
}

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
