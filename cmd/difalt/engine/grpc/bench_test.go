package grpc

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"testing"

	"github.com/difalt/difalt/consensus/wire"
)

// BenchmarkRound is a round of a ring on loopback: over this package, and as a floor over
// TLS on TCP written by hand, which moves the same bytes and has no reconnection, no
// deadline. The checksum of a frame is made and checked by consensus, whatever carries it.
func BenchmarkRound(b *testing.B) {
	for _, nodes := range []int{4, 8} {
		for _, size := range []int{19 << 10, 1 << 20} {
			p := newParty(b, "ring", nodes)
			b.Run(fmt.Sprintf("nodes=%d/bytes=%d/tls", nodes, size), func(b *testing.B) { b.ReportAllocs(); benchmarkTLS(b, p, size) })
			b.Run(fmt.Sprintf("nodes=%d/bytes=%d/grpc", nodes, size), func(b *testing.B) { b.ReportAllocs(); benchmarkGRPC(b, nodes, size) })
		}
	}
}

func benchmarkGRPC(b *testing.B, nodes, size int) {
	p := newParty(b, "ring", nodes)
	list := p.all(b, quick())
	each(list, func(tr *Transport) error { return tr.Join(b.Context()) })
	good := frame(b, 0, size)
	frames := make([][][]byte, nodes)
	for i := range frames {
		frames[i] = [][]byte{slices.Clone(good), slices.Clone(good)}
	}
	b.ResetTimer()
	for _, err := range each(list, func(tr *Transport) error {
		in := make([][]byte, 2)
		for seq := range uint64(b.N) {
			for k, p := range frames[tr.node] {
				if p == nil {
					p = slices.Clone(good)
				}
				p[1] = byte(seq) // its number: the checksum is looked at by consensus
				frames[tr.node][k] = p
			}
			if err := tr.Exchange(context.Background(), seq, frames[tr.node], in, nil); err != nil {
				return err
			}
		}
		return nil
	}) {
		if err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	each(list, func(tr *Transport) error { return tr.Close() })
}

// benchmarkTLS has a goroutine that reads and one that writes an edge, in either
// direction, and pairs of lengths and bytes on the wire.
func benchmarkTLS(b *testing.B, p *party, size int) {
	own := p.id(0).Certificate
	config := &tls.Config{Certificates: []tls.Certificate{own}, InsecureSkipVerify: true, MinVersion: tls.VersionTLS13}
	g := must2(weights(p.c)).Graph()
	ends := make(map[wire.Link]net.Conn)
	for _, e := range p.c.Edges {
		l := must2(net.Listen("tcp", "127.0.0.1:0"))
		in := make(chan net.Conn)
		go func() { in <- tls.Server(must2(l.Accept()), config) }()
		out := tls.Client(must2(net.Dial("tcp", l.Addr().String())), config)
		ends[wire.Link{Node: e[0], Peer: e[1]}], ends[wire.Link{Node: e[1], Peer: e[0]}] = out, <-in
		l.Close()
		shake := ends[wire.Link{Node: e[1], Peer: e[0]}].(*tls.Conn)
		go shake.Handshake()
		if err := out.Handshake(); err != nil {
			b.Fatal(err)
		}
	}
	b.ResetTimer()
	var wg sync.WaitGroup
	for i := range g.Len() {
		wg.Go(func() { exchangeTLS(b, ends, i, g.Neighbors(i), size) })
	}
	wg.Wait()
	b.StopTimer()
	for _, c := range ends {
		c.Close()
	}
}

func exchangeTLS(b *testing.B, ends map[wire.Link]net.Conn, node int, peers []int, size int) {
	send, got := make([]chan []byte, len(peers)), make([]chan []byte, len(peers))
	var wg sync.WaitGroup
	for k, peer := range peers {
		send[k], got[k] = make(chan []byte, 1), make(chan []byte, 1)
		c := ends[wire.Link{Node: node, Peer: peer}]
		wg.Go(func() {
			for p := range send[k] {
				if _, err := c.Write(p); err != nil {
					b.Error(err)
				}
			}
		})
		wg.Go(func() {
			buffers := [2][]byte{}
			for n := range b.N {
				var head [4]byte
				if _, err := io.ReadFull(c, head[:]); err != nil {
					b.Error(err)
					return
				}
				if buffers[n%2] == nil {
					buffers[n%2] = make([]byte, binary.LittleEndian.Uint32(head[:]))
				}
				if _, err := io.ReadFull(c, buffers[n%2]); err != nil {
					b.Error(err)
					return
				}
				got[k] <- buffers[n%2]
			}
		})
	}
	frame := make([]byte, 4+wire.FrameOverhead+size)
	binary.LittleEndian.PutUint32(frame, uint32(len(frame)-4))
	for range b.N {
		for k := range peers {
			send[k] <- frame
		}
		for k := range peers {
			<-got[k]
		}
	}
	for k := range peers {
		close(send[k])
	}
	wg.Wait()
}
