//go:build faults && linux

package faults

import (
	"context"
	"crypto/ed25519"
	"crypto/tls"
	"fmt"
	mrand "math/rand/v2"
	"net"
	"slices"
	"sync"

	rpc "google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/mem"
)

func publicKey(key ed25519.PrivateKey) ed25519.PublicKey { return key.Public().(ed25519.PublicKey) }

// meddle stands between two nodes with the keys of both, as no stranger could, and changes
// what one of them sends to the other.
func meddle(how, folder, target, dialler, real string, rng *mrand.Rand) error {
	front, err := certificate(folder, target)
	if err != nil {
		return err
	}
	back, err := certificate(folder, dialler)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", hub+":7000")
	if err != nil {
		return err
	}
	conn, err := rpc.NewClient("passthrough:///"+real, rpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{
		Certificates: []tls.Certificate{back}, InsecureSkipVerify: true,
	})))
	if err != nil {
		return err
	}
	// The changes come after so many messages, and a few times.
	m := &meddler{how: how, at: 20 + rng.IntN(500), left: 3, towards: rng.IntN(2)}
	server := rpc.NewServer(
		rpc.Creds(credentials.NewTLS(&tls.Config{Certificates: []tls.Certificate{front}, ClientAuth: tls.RequireAnyClientCert})),
		rpc.ForceServerCodecV2(plain{}),
		rpc.UnknownServiceHandler(func(_ any, s rpc.ServerStream) error { return m.forward(conn, s) }),
	)
	fmt.Println(ready)
	return server.Serve(l)
}

// plain sends and receives bytes as they are.
type plain struct{}

func (plain) Name() string { return "difalt" }

func (plain) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(*v.(*[]byte))}, nil
}

func (plain) Unmarshal(data mem.BufferSlice, v any) error {
	*v.(*[]byte) = data.Materialize()
	return nil
}

// A meddler changes frames in one direction of one edge.
type meddler struct {
	how       string
	at, left  int
	towards   int // 0 changes what the dialler sends
	mu        sync.Mutex
	seen      int
	old, held []byte
}

func (m *meddler) forward(conn *rpc.ClientConn, s rpc.ServerStream) error {
	ctx, cancel := context.WithCancel(s.Context())
	defer cancel()
	method, _ := rpc.MethodFromServerStream(s)
	c, err := conn.NewStream(ctx, &rpc.StreamDesc{ServerStreams: true, ClientStreams: true}, method, rpc.ForceCodecV2(plain{}), rpc.CallContentSubtype("difalt"))
	if err != nil {
		return err
	}
	done := make(chan error, 2)
	go func() { done <- m.copy(c, s, m.towards == 0) }()
	go func() { done <- m.copy(s, c, m.towards == 1) }()
	return <-done
}

type stream interface {
	SendMsg(any) error
	RecvMsg(any) error
}

func (m *meddler) copy(to, from stream, changes bool) error {
	for {
		var p []byte
		if err := from.RecvMsg(&p); err != nil {
			return err
		}
		list := [][]byte{p}
		if changes && len(p) > 0 && p[0] != '{' && len(p) < 64<<10 {
			list = m.change(p)
		}
		for i := range list {
			if err := to.SendMsg(&list[i]); err != nil {
				return err
			}
		}
	}
}

// change returns what is sent in place of a frame.
func (m *meddler) change(p []byte) [][]byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.seen++
	old := m.old
	if m.seen%5 == 0 {
		m.old = slices.Clone(p)
	}
	if m.held != nil {
		held := m.held
		m.held = nil
		return [][]byte{p, held}
	}
	if m.seen < m.at || m.left == 0 {
		return [][]byte{p}
	}
	m.left--
	m.at += 7
	switch m.how {
	case "duplicate":
		return [][]byte{p, p}
	case "replay":
		return [][]byte{old, p}
	case "reorder":
		m.held = p
		return nil
	case "future":
		p = slices.Clone(p)
		p[1] += 3
		return [][]byte{p}
	}
	p = slices.Clone(p) // a flipped bit
	p[len(p)-1-m.seen%8] ^= 2
	return [][]byte{p}
}
