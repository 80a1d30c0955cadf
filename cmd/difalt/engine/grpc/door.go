package grpc

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"time"

	"github.com/difalt/difalt/cmd/difalt/engine/cluster"
	"github.com/difalt/difalt/cmd/difalt/internal/crowd"
	rpc "google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/encoding"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/mem"
)

// A door is the credentials of the server: it lets in who has a key of the cluster.
type door struct {
	credentials.TransportCredentials
	t *Transport
}

// A caller is who has come in, as the methods of the service see it.
type caller struct {
	credentials.TLSInfo
	node int
	conn *crowd.Conn
}

func (d door) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	above, info, err := d.TransportCredentials.ServerHandshake(raw)
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
	t.mu.Unlock()
	if c.node > t.node && t.edgeTo(c.node) != nil {
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

// tlsConfig is that of both ends. TLS 1.3 proves that the other end has the key that it
// shows; check says whether it may be node i. A stranger has been refused before.
func tlsConfig(c *cluster.Cluster, own tls.Certificate, refuse func(error), check func(i int) error) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{own},
		ClientAuth: tls.RequireAnyClientCert, SessionTicketsDisabled: true,
		DynamicRecordSizingDisabled: true, // frames are never small for long
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

// Ready asks grpc.health.v1 at an address of a node of c whether all neighbours of that
// node are there. id may be that of any node. It returns an error if they are not, if
// nobody answers before ctx ends, or if whoever answers is no node of c.
func Ready(ctx context.Context, c *cluster.Cluster, id *cluster.Identity, address string) error {
	asking, refuse := context.WithCancelCause(ctx)
	defer refuse(nil)
	config := tlsConfig(c, id.Certificate, refuse, func(int) error { return nil })
	conn, err := rpc.NewClient("passthrough:///"+address, rpc.WithTransportCredentials(credentials.NewTLS(config)), rpc.WithNoProxy())
	if err != nil {
		return err
	}
	defer conn.Close()
	r, err := healthpb.NewHealthClient(conn).Check(asking, &healthpb.HealthCheckRequest{})
	if asking.Err() != nil && ctx.Err() == nil {
		return fmt.Errorf("%s: %w", address, context.Cause(asking))
	}
	if err != nil {
		return fmt.Errorf("%s: %s", address, plain(err))
	}
	if r.GetStatus() != healthpb.HealthCheckResponse_SERVING {
		return fmt.Errorf("%s: not ready: not all neighbours are connected", address)
	}
	return nil
}

// chunk is the longest message. What has come of one is kept until the rest has, and of a
// member that sends it byte by byte several times as much.
const chunk = 64 << 10

// codecName is the content subtype of our streams. The health service keeps protobuf.
const codecName = "difalt"

func init() { encoding.RegisterCodecV2(rawCodec{}) }

// bytesMessage is a message of rawCodec: it is sent as it is, and what is received is
// appended to it, or to what room returns, which is given its first byte: so a frame is copied
// once, to where it stays.
type bytesMessage struct {
	p    []byte
	room func(first byte) []byte
}

// A rawCodec adds nothing to a message. gRPC sends after SendMsg has returned, and no copy
// is made: see wire.Transport for whose the memory is.
type rawCodec struct{}

func (rawCodec) Name() string { return codecName }

func (rawCodec) Marshal(v any) (mem.BufferSlice, error) {
	m, ok := v.(*bytesMessage)
	if !ok {
		return nil, fmt.Errorf("grpc: a message of type %T", v)
	}
	return mem.BufferSlice{mem.SliceBuffer(m.p)}, nil
}

func (rawCodec) Unmarshal(data mem.BufferSlice, v any) error {
	m, ok := v.(*bytesMessage)
	if !ok {
		return fmt.Errorf("grpc: a message of type %T", v)
	}
	if m.room != nil {
		var first [1]byte
		data.CopyTo(first[:])
		m.p = m.room(first[0])
	}
	for _, b := range data {
		m.p = append(m.p, b.ReadOnlyData()...)
	}
	return nil
}
