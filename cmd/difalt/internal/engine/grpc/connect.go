package grpc

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"regexp"
	"strings"
	"time"

	"github.com/difalt/difalt/cmd/difalt/internal/connlimit"
	rpc "google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

const (
	method = "/difalt.Edge/Exchange"
	// keepaliveTime and keepaliveTimeout detect a dead connection.
	keepaliveTime    = 10 * time.Second
	keepaliveTimeout = 5 * time.Second
	// maxHeaders is the largest length of the headers of a call in bytes.
	maxHeaders = 8 << 10
	// firstPause and longPause bound the time between two attempts to connect.
	firstPause = 50 * time.Millisecond
	longPause  = 2 * time.Second
)

// description describes the service, as generated code would.
var description = rpc.ServiceDesc{
	ServiceName: "difalt.Edge", HandlerType: (*any)(nil),
	Streams: []rpc.StreamDesc{{
		StreamName: "Exchange", ServerStreams: true, ClientStreams: true,
		Handler: func(srv any, s rpc.ServerStream) error { return srv.(*Transport).accept(s) },
	}},
}

func (t *Transport) serve(own tls.Certificate, l net.Listener) {
	config := tlsConfig(t.cluster, own, func(error) {}, func(int) error { return nil })
	window := windowOf(t.o.MaxFrame)
	t.server.calls = map[int]calls{}
	t.server.Server = rpc.NewServer(
		rpc.Creds(serverCredentials{credentials.NewTLS(config), t}),
		rpc.ReadBufferSize(0), // TLS has a buffer
		rpc.InitialWindowSize(window), rpc.InitialConnWindowSize(window),
		rpc.MaxHeaderListSize(maxHeaders), rpc.MaxRecvMsgSize(chunk), rpc.MaxConcurrentStreams(1),
		rpc.WaitForHandlers(true), rpc.ConnectionTimeout(t.handshakeTimeout()),
		rpc.KeepaliveParams(keepalive.ServerParameters{Time: keepaliveTime, Timeout: keepaliveTimeout}),
		rpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{
			MinTime: keepaliveTimeout, PermitWithoutStream: true,
		}),
	)
	t.server.RegisterService(&description, t)
	most := mostPending(mostFiles(), len(t.edges))
	guarded := connlimit.Limit(l, most, func(from string) {
		t.refused(fmt.Sprintf("%s: more than %d unauthenticated connections", from, most))
	})
	t.wg.Go(func() { _ = t.server.Serve(guarded) }) // it returns when Leave stops the server
}

// windowOf returns gRPC's window: two frames and notes, since no neighbour is more than a round ahead, but
// at most 16 MiB. gRPC's own estimate, which also ends there, would send a ping with almost every frame.
func windowOf(frame int) int32 { return int32(min(2*frame+chunk, 16<<20)) }

// accept serves a node that has dialled.
func (t *Transport) accept(s rpc.ServerStream) error {
	from, _ := peer.FromContext(s.Context())
	c := from.AuthInfo.(*caller) // see serverCredentials
	e := t.edgeTo(c.node)
	if e == nil || c.node < t.node {
		err := fmt.Sprintf("%s at %v is in the cluster, but has no edge on which it dials %s",
			t.cluster.Label(c.node), from.Addr, t.cluster.Label(t.node))
		t.refused(err)
		return status.Error(codes.PermissionDenied, err)
	}
	timer := time.AfterFunc(t.handshakeTimeout(), func() { c.conn.Close() })
	their, err := receiveHandshake(s)
	timer.Stop()
	if err != nil {
		return status.Error(codes.InvalidArgument, err.Error())
	}
	return t.welcome(e, c, their, s)
}

// welcome answers a neighbour that has the right key, after its handshake.
func (t *Transport) welcome(e *edge, c *caller, their *handshake, s rpc.ServerStream) error {
	own := t.ownHandshake(e)
	differs, apart := disagree(t.cluster, own, their), error(nil)
	if differs == nil {
		apart = t.admit(e, their)
		own = t.ownHandshake(e) // with the frames of the session that it has ended
	}
	if err := sendJSON(s, own); err != nil {
		return err
	}
	switch {
	case differs != nil:
		t.refused(differs.Error())
		t.refuse(e, differs)
		return status.Error(codes.FailedPrecondition, differs.Error())
	case apart != nil:
		return status.Error(codes.Unavailable, apart.Error())
	}
	t.uses(c)
	t.noteTrouble(e, t.exchangeFrames(t.ctx, e, s, their))
	return nil
}

// keepDialling connects to a neighbour, and again after every failure, until the edge has ended.
func (t *Transport) keepDialling(e *edge, own tls.Certificate) {
	pause := firstPause
	for {
		t.mu.Lock()
		last := e.last
		over := e.errs.final != nil // a failure or a Bye
		t.mu.Unlock()
		if over || t.ctx.Err() != nil {
			return
		}
		err := t.dial(e, own)
		t.mu.Lock()
		if connected := e.last != last; connected {
			pause = firstPause
		}
		t.mu.Unlock()
		if err != nil && t.ctx.Err() == nil {
			t.noteTrouble(e, err)
		}
		select {
		case <-time.After(pause/2 + rand.N(pause/2)):
		case <-t.ctx.Done():
			return
		}
		pause = min(2*pause, longPause)
	}
}

// dial connects to a neighbour once, and returns when the connection has ended.
func (t *Transport) dial(e *edge, own tls.Certificate) error {
	t.endSession(e)
	ctx, cancel := context.WithCancelCause(t.ctx)
	defer cancel(nil)
	address := e.address
	config := tlsConfig(t.cluster, own, func(err error) { cancel(&refusal{address + ": " + err.Error()}) },
		func(i int) error {
			if i == e.peer {
				return nil
			}
			return fmt.Errorf("it has the key of %s", t.cluster.Label(i))
		})
	window := windowOf(t.o.MaxFrame)
	conn, err := rpc.NewClient("passthrough:///"+address,
		rpc.WithTransportCredentials(credentials.NewTLS(config)), rpc.WithNoProxy(),
		rpc.WithReadBufferSize(0), // TLS has a buffer
		rpc.WithInitialWindowSize(window), rpc.WithInitialConnWindowSize(window), rpc.WithMaxHeaderListSize(maxHeaders),
		rpc.WithKeepaliveParams(keepalive.ClientParameters{
			Time: keepaliveTime, Timeout: keepaliveTimeout, PermitWithoutStream: true,
		}),
		rpc.WithDefaultCallOptions(rpc.CallContentSubtype(codecName), rpc.MaxCallRecvMsgSize(chunk)),
	)
	if err != nil {
		return err
	}
	defer conn.Close()
	timer := time.AfterFunc(t.handshakeTimeout(), func() {
		cancel(fmt.Errorf("no answer from %s for %v", address, t.handshakeTimeout()))
	})
	defer timer.Stop()
	s, err := conn.NewStream(ctx, &description.Streams[0], method)
	if err == nil {
		err = t.shakeHands(ctx, e, s, timer)
	} else {
		err = t.explainRefusal(e, err)
	}
	if ctx.Err() != nil && t.ctx.Err() == nil {
		return context.Cause(ctx) // without the words that gRPC adds
	}
	return err
}

// shakeHands exchanges handshakes with the other end, and then frames.
func (t *Transport) shakeHands(ctx context.Context, e *edge, s rpc.ClientStream, timer *time.Timer) error {
	own := t.ownHandshake(e)
	if err := sendJSON(s, own); err != nil {
		return t.explainRefusal(e, s.RecvMsg(&bytesMessage{}))
	}
	their, err := receiveHandshake(s)
	if err != nil {
		return t.explainRefusal(e, err)
	}
	if !timer.Stop() {
		return context.DeadlineExceeded // dial returns the cause
	}
	if err := disagree(t.cluster, own, their); err != nil {
		t.refuse(e, err)
		return err
	}
	if err := t.admit(e, their); err != nil {
		return err
	}
	return t.exchangeFrames(ctx, e, s, their)
}

// explainRefusal returns the cause of an error that came before a handshake; a refusal of this node is
// permanent.
func (t *Transport) explainRefusal(e *edge, err error) error {
	switch status.Code(err) {
	case codes.PermissionDenied, codes.FailedPrecondition:
		said := &refusal{fmt.Sprintf("%s refuses this node: %s", t.cluster.Label(e.peer),
			status.Convert(err).Message())}
		t.refuse(e, said)
		return said
	}
	text := plain(err)
	if strings.Contains(text, "remote error: tls:") {
		return &refusal{"it refuses the key of this node: " + text}
	}
	return errors.New(text)
}

// ownPort matches the local end of a connection, whose port changes every time.
var ownPort = regexp.MustCompile(` tcp \S+->`)

// plain returns the cause of an error of gRPC.
func plain(err error) string {
	if err == nil {
		return "no answer"
	}
	text := cmp.Or(status.Convert(err).Message(), err.Error())
	// A failure to connect is wrapped in several layers of text.
	for _, outer := range []string{`connection error: desc = "`, `transport: `, `error reading from server: `,
		`error reading server preface: `} {
		if _, inner, ok := strings.Cut(text, outer); ok {
			text = strings.TrimSuffix(inner, `"`)
		}
	}
	return ownPort.ReplaceAllString(strings.ReplaceAll(text, `\"`, `"`), " tcp ")
}
