package grpc

import (
	"crypto/ed25519"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/difalt/difalt/cmd/difalt/internal/engine/cluster"
	"github.com/difalt/difalt/internal/check"
)

// open counts the connections that the other end has not closed.
func open(list []net.Conn) (n int) {
	for _, c := range list {
		_ = c.SetReadDeadline(time.Now().Add(5 * time.Millisecond))
		if _, err := io.Copy(io.Discard, c); errors.Is(err, os.ErrDeadlineExceeded) {
			n++
		}
	}
	return n
}

// becomes waits until no more than so many connections are open.
func becomes(t *testing.T, what string, list []net.Conn, most int) {
	t.Helper()
	n := 0
	for end := time.Now().Add(patienceOfTests); time.Now().Before(end); {
		if n = open(list); n <= most {
			return
		}
	}
	t.Errorf("%s: %d of %d connections are open, want at most %d", what, n, len(list), most)
}

// TestUnauthenticated: connections without a key are limited in number, and neither keep neighbours from
// joining nor from connecting again.
func TestUnauthenticated(t *testing.T) {
	t.Parallel()
	p, o := newParty(t, "path", 2), quick()
	var log record
	o.Report = log.report
	a, target := p.transport(t, 0, o), p.c.Nodes[0].Address
	p.c.Nodes[0].Address, _ = cut(t, target, 3, 3, 200, 4000, false)
	var idle []net.Conn
	more := func() {
		for range 300 {
			conn := check.OK(net.Dial("tcp", target))
			t.Cleanup(func() { conn.Close() })
			idle = append(idle, conn)
		}
	}
	more()
	list := []*Transport{a, p.transport(t, 1, o)}
	noErrors(t, each(list, func(tr *Transport) error { return tr.Join(t.Context()) }))
	more()
	becomes(t, "pending", idle, mostPending(mostFiles(), 1))
	sameBits(t, p.c, list, 200)
	from := check.Loopback(t)
	if strings.Contains(from, ":") {
		from = "::/64" // the network counts where an outsider can have any address of it
	}
	if !log.has("refused: " + from + ": more than") {
		t.Errorf("no report: %s", log.String())
	}
}

// members returns connections to a node by a key, after the handshake.
func (p *party) members(t *testing.T, key ed25519.PrivateKey, to, n int) (list []net.Conn) {
	config := tlsConfig(p.c, check.OK(cluster.NewIdentity(p.c, key)).Certificate(), func(error) {},
		func(int) error { return nil })
	config.NextProtos = []string{"h2"}
	for range n {
		conn := check.OK(tls.Dial("tcp", p.c.Nodes[to].Address, config))
		t.Cleanup(func() { conn.Close() })
		// The beginning of HTTP/2, and no settings.
		check.OK(conn.Write(append([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), 0, 0, 0, 4, 0, 0, 0, 0, 0)))
		list = append(list, conn)
	}
	return list
}

// TestOneMember: a member keeps one connection besides the connection of its edge.
func TestOneMember(t *testing.T) {
	t.Parallel()
	p := newParty(t, "path", 4)
	list := p.joined(t, quick())
	begin(t, list)
	becomes(t, "a neighbour", p.members(t, p.keys[2], 1, 20), 1)
	becomes(t, "no neighbour", p.members(t, p.keys[3], 1, 20), 1)
	noErrors(t, each(list, func(tr *Transport) error { return exchange(t, tr, 1) }))
}

// http2 makes a frame of HTTP/2.
func http2(kind, flags byte, stream uint32, payload []byte) []byte {
	n := len(payload)
	p := binary.BigEndian.AppendUint32([]byte{byte(n >> 16), byte(n >> 8), byte(n), kind, flags}, stream)
	return append(p, payload...)
}

// field is a header of HTTP/2 that is not compressed.
func field(name, value string) []byte {
	p := append([]byte{0}, integer(len(name))...)
	p = append(append(p, name...), integer(len(value))...)
	return append(p, value...)
}

// integer is a length in a header of HTTP/2.
func integer(n int) (p []byte) {
	if n < 127 {
		return []byte{byte(n)}
	}
	p, n = append(p, 127), n-127
	for ; n >= 128; n >>= 7 {
		p = append(p, byte(n)|128)
	}
	return append(p, byte(n))
}

// request is how a call of gRPC begins.
func request(path string) []byte {
	content := "application/grpc"
	if path == method {
		content += "+" + codecName
	}
	return slices.Concat(field(":method", "POST"), field(":scheme", "https"), field(":path", path),
		field(":authority", "a"),
		field("te", "trailers"), field("content-type", content))
}

// flood begins calls, and sends a first part and then another one again and again.
func flood(conn net.Conn, path string, kind byte, first, again []byte, times int) {
	_ = conn.SetWriteDeadline(time.Now().Add(2 * time.Second))
	go func() { _, _ = io.Copy(io.Discard, conn) }()
	for stream := uint32(1); stream < 6; stream += 2 {
		p := http2(1, 4*(1-kind/9), stream, request(path)) // the headers are over unless they go on
		p = append(p, http2(kind, 0, stream, first)...)
		for range times {
			if p = append(p, http2(kind, 0, stream, again)...); len(p) < 1<<16 {
				continue
			}
			if _, err := conn.Write(p); err != nil {
				return
			}
			p = p[:0]
		}
		if kind == 9 {
			break // they have no end, so nothing else can begin
		}
	}
}

// heap returns the megabytes in use.
func heap() float64 {
	var m runtime.MemStats
	for range 2 {
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc) / 1e6
}

// TestMemberMemory: a member whose headers or messages do not end makes a node use little memory: 2.4 MB for
// a connection with 65,000 buffers of a byte. The node closes three of the four, but they end when they have
// a processor, so that all may count.
func TestMemberMemory(t *testing.T) {
	p, o := newParty(t, "path", 2), brief()
	o.MaxFrame = 100_000
	p.transport(t, 0, o)
	before := heap()
	var headers []byte
	for range 4 {
		headers = append(headers, field("x", strings.Repeat("y", 4000))...)
	}
	begins := []byte{0, 0, 0, 0xff, 0xff} // a message that does not come whole
	for _, x := range []struct {
		what, path   string
		kind         byte
		first, again []byte
		times        int
	}{
		{"headers", method, 9, headers, headers, 14 << 20 / len(headers)},
		{"messages without an end", method, 0, begins, make([]byte, 0x3fff), 4},
		{"the same byte by byte", method, 0, begins, []byte{0}, 65_000},
		{"the same to an unknown method", "/grpc.health.v1.Health/Watch", 0, begins, []byte{0}, 65_000},
	} {
		var list []net.Conn
		for range 4 {
			conn := p.members(t, p.keys[1], 0, 1)[0]
			list = append(list, conn)
			flood(conn, x.path, x.kind, x.first, x.again, x.times)
		}
		used := 0.0
		for range 20 {
			used = max(used, heap()-before)
			time.Sleep(20 * time.Millisecond)
		}
		if used > 16 {
			t.Errorf("%s: %.1f MB in memory", x.what, used)
		}
		for _, c := range list {
			c.Close()
		}
		left := heap() - before // until the node has let go
		for end := time.Now().Add(patienceOfTests); left > 1 && time.Now().Before(end); left = heap() - before {
			time.Sleep(10 * time.Millisecond)
		}
		check.FailIf(t, left > 1, "%s: %.1f MB stay in memory", x.what, left)
	}
}

// TestMostPending: pending connections leave enough files for the edges and for checkpoints, and the
// neighbours of a large network can come at once where there are files for them.
func TestMostPending(t *testing.T) {
	for _, x := range []struct{ files, edges, want int }{
		{256, 2, 63}, {256, 100, 14}, {64, 2, 15}, {20, 9, 8}, {1024, 2, 130}, {1 << 20, 300, 428},
	} {
		if most := mostPending(x.files, x.edges); most != x.want || x.files >= 64 && most+2*x.edges > x.files-40 {
			t.Errorf("%d files, %d edges: %d pending, want %d", x.files, x.edges, most, x.want)
		}
	}
}
