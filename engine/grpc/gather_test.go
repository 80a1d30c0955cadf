package grpc

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc/credentials"
)

// A counted connection counts its writes, and fails from one of them on, unless that is 0.
type counted struct {
	net.Conn
	writes, failing *atomic.Int64
}

var errCut = errors.New("cut")

func (c counted) Write(p []byte) (int, error) {
	if n := c.writes.Add(1); c.failing.Load() > 0 && n >= c.failing.Load() {
		return 0, errCut
	}
	return c.Conn.Write(p)
}

// TestGather: what is written at once, of many records, reaches the network as one piece,
// with the same bytes at the other end, in either direction;
// and an error of the network is one of the caller's.
func TestGather(t *testing.T) {
	p := newParty(t, "path", 2)
	config := tlsConfig(p.c, p.id(0).Certificate, func(error) {}, func(int) error { return nil })
	config.NextProtos = []string{"h2"}
	creds := gathering{credentials.NewTLS(config)}.Clone()
	l := must2(net.Listen("tcp", "127.0.0.1:0"))
	defer l.Close()
	var writes, failing [2]atomic.Int64
	server := make(chan net.Conn)
	go func() {
		c, _, err := creds.ServerHandshake(counted{must2(l.Accept()), &writes[1], &failing[1]})
		if err != nil {
			t.Error(err)
		}
		server <- c
	}()
	a, _, err := creds.ClientHandshake(t.Context(), "", counted{must2(net.Dial("tcp", l.Addr().String())), &writes[0], &failing[0]})
	if err != nil {
		t.Fatal(err)
	}
	ends := [2]net.Conn{a, <-server}
	rng := rand.New(rand.NewPCG(3, 5))
	for _, size := range []int{1, 100, 16 << 10, 16<<10 + 1, 32 << 10, 300 << 10} {
		for k, from := range ends {
			sent, got := make([]byte, size), make([]byte, size)
			for i := range sent {
				sent[i] = byte(rng.Uint32())
			}
			before := writes[k].Load()
			wrote := make(chan error, 1)
			go func() { _, err := from.Write(sent); wrote <- err }()
			if _, err := io.ReadFull(ends[1-k], got); err != nil {
				t.Fatal(err)
			}
			if err := <-wrote; err != nil || !bytes.Equal(sent, got) {
				t.Errorf("%d bytes: %v, or other bytes", size, err)
			}
			if n := writes[k].Load() - before; n > 1 {
				t.Errorf("%d bytes: %d pieces", size, n)
			}
		}
	}
	failing[0].Store(1)
	if n, err := a.Write(make([]byte, 40<<10)); n != 0 || !errors.Is(err, errCut) {
		t.Errorf("%d bytes, %v", n, err)
	}
	for _, c := range ends {
		c.Close()
	}
}
