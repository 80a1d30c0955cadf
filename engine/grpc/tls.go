package grpc

import (
	"context"
	"crypto/tls"
	"fmt"
	"sync/atomic"

	"github.com/difalt/difalt/engine/cluster"
	rpc "google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
)

// tlsConfig is that of both ends. TLS 1.3 proves that the other end has the key that it
// shows; check says whether it may be node i. A stranger has been refused before.
func tlsConfig(c *cluster.Cluster, own tls.Certificate, refuse func(error), check func(i int) error) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{own},
		ClientAuth: tls.RequireAnyClientCert, SessionTicketsDisabled: true,
		DynamicRecordSizingDisabled: true, // see gathered.Write; frames are never small for long
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
	var refused atomic.Pointer[error]
	config := tlsConfig(c, id.Certificate, func(err error) { refused.Store(&err) }, func(int) error { return nil })
	conn, err := rpc.NewClient("passthrough:///"+address, rpc.WithTransportCredentials(credentials.NewTLS(config)), rpc.WithNoProxy())
	if err != nil {
		return err
	}
	defer conn.Close()
	r, err := healthpb.NewHealthClient(conn).Check(ctx, &healthpb.HealthCheckRequest{})
	if why := refused.Load(); why != nil {
		return fmt.Errorf("%s: %w", address, *why)
	}
	if err != nil {
		return fmt.Errorf("%s: %s", address, plain(err))
	}
	if r.GetStatus() != healthpb.HealthCheckResponse_SERVING {
		return fmt.Errorf("%s: not ready: not all neighbours are connected", address)
	}
	return nil
}
