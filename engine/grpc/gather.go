package grpc

import (
	"context"
	"net"
	"sync"

	"google.golang.org/grpc/credentials"
)

// gathering are credentials by which what gRPC writes at once reaches the network at once.
// TLS alone would write every record of 16 KiB by a system call of its own.
type gathering struct {
	credentials.TransportCredentials
}

func (g gathering) ClientHandshake(ctx context.Context, authority string, raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	below := &gatherer{Conn: raw}
	above, info, err := g.TransportCredentials.ClientHandshake(ctx, authority, below)
	if err != nil {
		return nil, nil, err
	}
	return &gathered{above, below}, info, nil
}

func (g gathering) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	below := &gatherer{Conn: raw}
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

// Write has one caller at a time, as gRPC has it.
func (c *gathered) Write(p []byte) (int, error) {
	c.below.hold()
	n, err := c.Conn.Write(p)
	if sent := c.below.release(); err == nil && sent != nil {
		return 0, sent
	}
	return n, err
}

// A gatherer writes what comes between hold and release at once, and everything else as it
// comes, always in the order of the calls: TLS also writes when it reads, and when it closes.
type gatherer struct {
	net.Conn
	mu      sync.Mutex
	holding bool
	held    []byte
}

func (g *gatherer) hold() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.holding = true
}

func (g *gatherer) Write(p []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.holding {
		g.held = append(g.held, p...)
		return len(p), nil
	}
	return g.Conn.Write(p)
}

func (g *gatherer) release() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.holding = false
	if len(g.held) == 0 {
		return nil
	}
	_, err := g.Conn.Write(g.held)
	g.held = g.held[:0]
	return err
}
