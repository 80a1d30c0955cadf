package grpc

import (
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"time"

	"github.com/difalt/difalt/internal/crowd"
	"google.golang.org/grpc/credentials"
)

// A door is the credentials of the server: it lets in who has a key of the cluster.
type door struct {
	gathering
	t *Transport
}

// A caller is who has come in, as the methods of the service see it.
type caller struct {
	credentials.TLSInfo
	node int
	conn *crowd.Conn
}

func (d door) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	above, info, err := d.gathering.ServerHandshake(raw)
	if err != nil {
		d.t.turnedAway(raw.RemoteAddr(), err)
		return nil, nil, err
	}
	shown, ok := info.(credentials.TLSInfo)
	if !ok {
		return nil, nil, errors.New("no TLS")
	}
	node, err := d.t.cluster.Identify(shown.State.PeerCertificates)
	if err != nil {
		return nil, nil, err
	}
	c := &caller{shown, node, raw.(*crowd.Conn)}
	d.t.arrive(c)
	return above, c, nil
}

func (d door) Clone() credentials.TransportCredentials { return d }

// calls are the connections that a node has made to this one.
type calls struct {
	used   *crowd.Conn // by a session, or the last that was
	newest *crowd.Conn // before it is used; also to ask for the health of this node
}

// arrive takes it that a node has connected. It can keep one connection beside that of its
// edge: what does not come to anything gives way to the next. Those that dial an edge are
// no strangers.
func (t *Transport) arrive(c *caller) {
	t.mu.Lock()
	was := t.server.calls[c.node]
	t.server.calls[c.node] = calls{was.used, c.conn}
	dials := t.dialler(c.node) != nil
	t.mu.Unlock()
	if dials {
		c.conn.Admit()
	}
	if was.newest != nil && was.newest != was.used {
		was.newest.Close()
	}
}

// uses takes it that a session has begun on the connection of a caller.
func (t *Transport) uses(c *caller) {
	t.mu.Lock()
	was := t.server.calls[c.node]
	t.server.calls[c.node] = calls{c.conn, was.newest}
	t.mu.Unlock()
	if was.used != nil && was.used != c.conn {
		was.used.Close()
	}
}

// dialler returns the edge on which a node dials this one, nil if there is none.
func (t *Transport) dialler(node int) *edge {
	if e := t.edgeTo(node); e != nil && node > t.node {
		return e
	}
	return nil
}

// edgeTo returns the edge with a node, nil if there is none.
func (t *Transport) edgeTo(node int) *edge {
	k := slices.IndexFunc(t.edges, func(e *edge) bool { return e.peer == node })
	if k < 0 {
		return nil
	}
	return t.edges[k]
}

// mostStrangers is how many connections strangers may have where a process may have so many
// files: enough for all neighbours to come at once, and a quarter at most of what the edges
// leave.
func mostStrangers(files, edges int) int {
	return max(8, min((files-2*edges)/4, 128+edges))
}

// refusals are those of the last minute: nobody can fill the log by trying again and again.
type refusals struct {
	since time.Time
	texts []string
	more  int
}

const (
	refusalPeriod = time.Minute
	mostRefusals  = 10 // in a period
)

// turnedAway reports why somebody has not come in, from another port every time. Who
// only looks whether anybody listens, or is cut off, is not worth a word.
func (t *Transport) turnedAway(from net.Addr, err error) {
	var broken *net.OpError
	if errors.Is(err, io.EOF) || errors.As(err, &broken) {
		return
	}
	host, _, split := net.SplitHostPort(from.String())
	if split != nil {
		host = from.String()
	}
	t.refused(fmt.Sprintf("%s: %v", host, err))
}

// refused reports that somebody was refused: once in a while, if it is always the same.
func (t *Transport) refused(text string) {
	r := &t.server.refusals
	t.mu.Lock()
	if time.Since(r.since) > refusalPeriod {
		if r.more > 0 {
			defer t.o.Report(fmt.Sprintf("refused: %d more since %s", r.more, r.since.Format(time.TimeOnly)))
		}
		*r = refusals{since: time.Now()}
	}
	news := !slices.Contains(r.texts, text)
	if news && len(r.texts) == mostRefusals {
		news, r.more = false, r.more+1
	}
	if news {
		r.texts = append(r.texts, text)
	}
	t.mu.Unlock()
	if news {
		t.o.Report("refused: " + text)
	}
}
