package grpc

import (
	"crypto/tls"

	"github.com/difalt/difalt/engine/cluster"
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
