// Package crowd bounds how many connections to a listener strangers can keep open, so that
// they cannot take the descriptors that a program needs for its work.
package crowd

import (
	"net"
	"net/netip"
	"slices"
	"sync"
)

// A Listener accepts all who come. When there are too many strangers it closes the
// connection that is the oldest of those that come from where most come from: who is new and
// shows soon who it is gets through, from elsewhere at any rate.
type Listener struct {
	net.Listener
	most int
	full func(from string)

	mu        sync.Mutex // of what follows
	strangers []*Conn    // oldest first
}

// Limit returns a listener with at most so many strangers at once. full is called with where
// a connection is from that is closed since there are more.
func Limit(l net.Listener, most int, full func(from string)) *Listener {
	return &Listener{Listener: l, most: most, full: full}
}

// Accept returns a *Conn.
func (l *Listener) Accept() (net.Conn, error) {
	accepted, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &Conn{Conn: accepted, listener: l, from: origin(accepted.RemoteAddr())}
	if out := l.enter(c); out != nil {
		out.Close()
		l.full(out.from)
	}
	return c, nil
}

// enter adds a stranger, and returns who has to go for it.
func (l *Listener) enter(c *Conn) *Conn {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.strangers = append(l.strangers, c)
	if len(l.strangers) <= l.most {
		return nil
	}
	count := map[string]int{}
	for _, s := range l.strangers {
		count[s.from]++
	}
	return slices.MaxFunc(l.strangers, func(a, b *Conn) int { return count[a.from] - count[b.from] }) // the first of several
}

// Close closes the listener and the connections of strangers: nobody waits for them any more.
func (l *Listener) Close() error {
	err := l.Listener.Close()
	l.mu.Lock()
	strangers := slices.Clone(l.strangers)
	l.mu.Unlock()
	for _, s := range strangers {
		s.Close()
	}
	return err
}

// A Conn is a stranger's until Admit.
type Conn struct {
	net.Conn
	listener *Listener
	from     string
}

// Admit takes it that c is no stranger's any more.
func (c *Conn) Admit() {
	l := c.listener
	l.mu.Lock()
	defer l.mu.Unlock()
	l.strangers = slices.DeleteFunc(l.strangers, func(s *Conn) bool { return s == c })
}

// Close closes the connection.
func (c *Conn) Close() error {
	c.Admit()
	return c.Conn.Close()
}

// origin is where a connection comes from: an address, or the network of an IPv6 address, of
// which one machine has as many as it likes.
func origin(a net.Addr) string {
	at, err := netip.ParseAddrPort(a.String())
	if err != nil {
		return a.String()
	}
	ip := at.Addr().Unmap().WithZone("")
	if ip.Is6() {
		if network, err := ip.Prefix(64); err == nil {
			return network.Masked().String()
		}
	}
	return ip.String()
}
