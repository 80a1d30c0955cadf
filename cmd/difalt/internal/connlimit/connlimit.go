// Package connlimit limits the number of unauthenticated connections to a listener, so that they cannot take
// the descriptors that a program needs for its work.
package connlimit

import (
	"net"
	"net/netip"
	"slices"
	"sync"
)

// A Listener accepts all connections. If too many are unauthenticated, it closes the oldest one of the most
// frequent origin. So a new connection has time to authenticate itself.
type Listener struct {
	net.Listener
	most    int
	onEvict func(from string)

	mu      sync.Mutex // guards pending
	pending []*Conn    // connections that are not authenticated yet, oldest first
}

// Limit returns a listener with at most the given number of unauthenticated connections. It calls onEvict
// with the origin of every connection that it closes because there are more.
func Limit(l net.Listener, most int, onEvict func(from string)) *Listener {
	return &Listener{Listener: l, most: most, onEvict: onEvict}
}

// Accept returns a *Conn.
func (l *Listener) Accept() (net.Conn, error) {
	accepted, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &Conn{Conn: accepted, listener: l, from: origin(accepted.RemoteAddr())}
	l.mu.Lock()
	l.pending = append(l.pending, c)
	list := slices.Clone(l.pending)
	l.mu.Unlock()
	if len(list) > l.most {
		count := map[string]int{}
		for _, s := range list {
			count[s.from]++
		}
		// MaxFunc returns the first of several.
		out := slices.MaxFunc(list, func(a, b *Conn) int { return count[a.from] - count[b.from] })
		out.Close()
		l.onEvict(out.from)
	}
	return c, nil
}

// Close closes the listener and the unauthenticated connections.
func (l *Listener) Close() error {
	err := l.Listener.Close()
	l.mu.Lock()
	pending := slices.Clone(l.pending)
	l.mu.Unlock()
	for _, s := range pending {
		s.Close()
	}
	return err
}

// A Conn is unauthenticated until Authenticated.
type Conn struct {
	net.Conn
	listener *Listener
	from     string
}

// Authenticated marks c as authenticated, so that it no longer counts as pending.
func (c *Conn) Authenticated() {
	l := c.listener
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pending = slices.DeleteFunc(l.pending, func(s *Conn) bool { return s == c })
}

// Close closes the connection.
func (c *Conn) Close() error {
	c.Authenticated()
	return c.Conn.Close()
}

// origin returns the address that a connection comes from, or the network of an IPv6 address, since one
// machine can have many of them.
func origin(a net.Addr) string {
	at, err := netip.ParseAddrPort(a.String())
	if err != nil {
		return a.String()
	}
	ip := at.Addr().Unmap().WithZone("")
	if ip.Is6() {
		network, _ := ip.Prefix(64) // valid for every IPv6 address
		return network.String()
	}
	return ip.String()
}
