package grpc

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"

	"github.com/difalt/difalt/cmd/difalt/internal/connlimit"
	"github.com/difalt/difalt/cmd/difalt/internal/engine/cluster"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
)

// A serverCredentials holds the credentials of the server: it accepts connections with a key of the cluster.
type serverCredentials struct {
	credentials.TransportCredentials
	t *Transport
}

// A caller is an authenticated connection, as the methods of the service see it.
type caller struct {
	credentials.TLSInfo
	node int
	conn *connlimit.Conn
}

func (d serverCredentials) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	above, info, err := d.TransportCredentials.ServerHandshake(raw)
	if err != nil {
		d.t.reject(raw.RemoteAddr(), err)
		return nil, nil, err
	}
	shown := info.(credentials.TLSInfo)
	node, err := d.t.cluster.Identify(shown.State.PeerCertificates)
	if err != nil {
		return nil, nil, err
	}
	c := &caller{shown, node, raw.(*connlimit.Conn)}
	d.t.arrive(c)
	return above, c, nil
}

func (d serverCredentials) Clone() credentials.TransportCredentials { return d }

// calls are the connections that a node has made to this one.
type calls struct {
	used   *connlimit.Conn // by the current or the last session
	newest *connlimit.Conn // by none yet
}

// arrive records that a node has connected. Besides the connection of its edge, a node can
// keep one more: a newer one replaces it. Neighbours that dial count as authenticated.
func (t *Transport) arrive(c *caller) {
	t.mu.Lock()
	was := t.server.calls[c.node]
	t.server.calls[c.node] = calls{was.used, c.conn}
	t.mu.Unlock()
	if c.node > t.node && t.edgeTo(c.node) != nil {
		c.conn.Authenticated()
	}
	if was.newest != nil && was.newest != was.used {
		was.newest.Close()
	}
}

// uses records that a session has started on the connection of a caller.
func (t *Transport) uses(c *caller) {
	t.mu.Lock()
	was := t.server.calls[c.node]
	t.server.calls[c.node] = calls{c.conn, was.newest}
	t.mu.Unlock()
	if was.used != nil && was.used != c.conn {
		was.used.Close()
	}
}

// edgeTo returns the edge to a node, or nil.
func (t *Transport) edgeTo(node int) *edge {
	k := slices.IndexFunc(t.edges, func(e *edge) bool { return e.peer == node })
	if k < 0 {
		return nil
	}
	return t.edges[k]
}

// mostPending returns the limit of unauthenticated connections of a process that can open the given number
// of files: enough for all neighbours together, and at most a quarter of the files that the edges leave.
func mostPending(files, edges int) int {
	return max(8, min((files-2*edges)/4, 128+edges))
}

// mostRefusals is how many refusals a process reports: attempts cannot fill the log.
const mostRefusals = 20

// reject reports why a handshake has failed. Connections that end early, such as port scans, are not
// reported.
func (t *Transport) reject(from net.Addr, err error) {
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

// refused reports a refusal once.
func (t *Transport) refused(text string) {
	t.mu.Lock()
	list := t.server.refusals
	news := len(list) < mostRefusals && !slices.Contains(list, text)
	if news {
		t.server.refusals = append(list, text)
	}
	t.mu.Unlock()
	if news {
		t.o.Report("refused: " + text)
	}
	if news && len(list) == mostRefusals-1 {
		t.o.Report("refused: further refusals are not reported")
	}
}

// tlsConfig returns the configuration of both ends. TLS 1.3 proves that the other end has the key that it
// shows. check returns an error if node i may not be the other end, and refuse receives every such error.
func tlsConfig(c *cluster.Cluster, own tls.Certificate, refuse func(error), check func(i int) error) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{own},
		ClientAuth: tls.RequireAnyClientCert, SessionTicketsDisabled: true,
		DynamicRecordSizingDisabled: true, // frames are rarely small
		InsecureSkipVerify:          true, // VerifyConnection does it
		VerifyConnection: func(s tls.ConnectionState) error {
			i, err := c.Identify(s.PeerCertificates)
			if err == nil {
				err = check(i)
			}
			if err != nil {
				refuse(err)
			}
			return err
		},
	}
}

// chunk is the largest length of a message in bytes. gRPC keeps an incomplete message in memory, and several
// times as much if it arrives byte by byte.
const chunk = 64 << 10

// codecName is the content subtype of our streams.
const codecName = "difalt"

func init() { encoding.RegisterCodecV2(rawCodec{}) }

// A bytesMessage is a message of rawCodec. Received bytes are appended to p, or to the memory that room
// returns: a frame is copied once, to its final place.
type bytesMessage struct {
	p    []byte
	room func() []byte
}

// A rawCodec sends bytes as they are. gRPC sends after SendMsg has returned, without a copy:
// transport.Transport defines how long memory must not change.
type rawCodec struct{}

func (rawCodec) Name() string { return codecName }

func (rawCodec) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(v.(*bytesMessage).p)}, nil
}

func (rawCodec) Unmarshal(data mem.BufferSlice, v any) error {
	m := v.(*bytesMessage)
	if m.room != nil {
		m.p = m.room()
	}
	for _, b := range data {
		m.p = append(m.p, b.ReadOnlyData()...)
	}
	return nil
}
