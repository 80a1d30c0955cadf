package grpc

import (
	"context"
	"crypto/tls"
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
	list := newParty(b, "ring", nodes).joined(b, quick())
	good := frame(0, size)
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

// benchmarkTLS writes and reads frames on all edges of every node, in both directions at once.
func benchmarkTLS(b *testing.B, p *party, size int) {
	config := &tls.Config{Certificates: []tls.Certificate{p.id(0).Certificate}, InsecureSkipVerify: true, MinVersion: tls.VersionTLS13}
	var ends []net.Conn
	for range p.c.Edges {
		l, in := listen(b), make(chan *tls.Conn)
		go func() { in <- tls.Server(must(l.Accept()), config) }()
		out := tls.Client(must(net.Dial("tcp", l.Addr().String())), config)
		accepted := <-in
		go accepted.Handshake()
		if err := out.Handshake(); err != nil {
			b.Fatal(err)
		}
		ends = append(ends, out, accepted)
	}
	b.ResetTimer()
	var wg sync.WaitGroup
	for _, c := range ends {
		send, got := make([]byte, wire.FrameOverhead+size), make([]byte, wire.FrameOverhead+size)
		wg.Go(func() {
			for range b.N {
				done := make(chan error)
				go func() { _, err := c.Write(send); done <- err }()
				if _, err := io.ReadFull(c, got); err != nil {
					b.Error(err)
				}
				if err := <-done; err != nil {
					b.Error(err)
				}
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	for _, c := range ends {
		c.Close()
	}
}
