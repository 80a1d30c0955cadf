package connlimit

import (
	"errors"
	"net"
	"slices"
	"testing"
)

// A guest is a connection from an address.
type guest struct {
	net.Conn
	from   string
	closed bool
}

type address string

func (a address) Network() string { return "tcp" }
func (a address) String() string  { return string(a) }

func (g *guest) RemoteAddr() net.Addr { return address(g.from) }
func (g *guest) Close() error         { g.closed = true; return nil }

// A queue is a listener to which guests come.
type queue struct {
	net.Listener
	guests []*guest
}

func (q *queue) Close() error { return nil }

func (q *queue) Accept() (net.Conn, error) {
	if len(q.guests) == 0 {
		return nil, errors.New("nobody")
	}
	g := q.guests[0]
	q.guests = q.guests[1:]
	return g, nil
}

// TestLimit: for each connection too many, the oldest one of the most frequent origin is closed.
// Authenticated and closed connections do not count.
func TestLimit(t *testing.T) {
	q := &queue{}
	var onEvict []string
	l := Limit(q, 3, func(from string) { onEvict = append(onEvict, from) })
	come := func(from string) (*guest, *Conn) {
		g := &guest{from: from}
		q.guests = append(q.guests, g)
		c, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		return g, c.(*Conn)
	}
	first, known := come("10.0.0.1:1")
	known.Authenticated()
	second, _ := come("10.0.0.1:2")
	third, _ := come("10.0.0.2:1")
	fourth, _ := come("10.0.0.2:2")
	all := []*guest{first, second, third, fourth}
	closed := func() (list []int) {
		for k, g := range all {
			if g.closed {
				list = append(list, k)
			}
		}
		return list
	}
	if len(closed()) > 0 {
		t.Fatalf("closed %d", closed())
	}
	fifth, c := come("10.0.0.3:1")
	all = append(all, fifth)
	if !slices.Equal(closed(), []int{2}) {
		t.Fatalf("closed %d, want the older one of 10.0.0.2", closed())
	}
	c.Close()
	sixth, _ := come("[2001:db8::1]:1")
	seventh, _ := come("[2001:db8::2]:1")
	all = append(all, sixth, seventh)
	if !slices.Equal(closed(), []int{2, 4, 5}) {
		t.Fatalf("closed %d, want the older one of the network 2001:db8::/64", closed())
	}
	if !slices.Equal(onEvict, []string{"10.0.0.2", "2001:db8::/64"}) {
		t.Errorf("told of %q", onEvict)
	}
	if _, err := l.Accept(); err == nil {
		t.Error("no error of the listener")
	}
	l.Close()
	if !slices.Equal(closed(), []int{1, 2, 3, 4, 5, 6}) {
		t.Errorf("closed %d, want all but who is known", closed())
	}
}
