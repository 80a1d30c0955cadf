package grpc

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"os"
	"time"
)

// NewKey returns a new key of a node and its PEM text, PKCS #8.
func NewKey() (ed25519.PrivateKey, []byte, error) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, nil, err
	}
	return key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}

// ReadKey reads a key file. It refuses one that other users of the machine may read.
func ReadKey(path string) (ed25519.PrivateKey, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Mode().Perm()&0o077 != 0 && os.PathSeparator == '/' {
		return nil, fmt.Errorf("%s: others may read this key (mode %#o): chmod 600", path, info.Mode().Perm())
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, fmt.Errorf("%s: not a key in PEM", path)
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	key, ok := parsed.(ed25519.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("%s: a key of type %T: want Ed25519", path, parsed)
	}
	return key, nil
}

// PinOf returns the pin of a public key.
func PinOf(key ed25519.PublicKey) Pin {
	hash := sha256.Sum256(key)
	return Pin(pinPrefix + base64.RawStdEncoding.EncodeToString(hash[:]))
}

// certificate returns what TLS wants around a key. Nothing in it matters but the key:
// who may talk, and until when, is what cluster.json says.
func certificate(key ed25519.PrivateKey) (tls.Certificate, error) {
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "difalt"},
		NotBefore: time.Unix(0, 0), NotAfter: time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC), // "no date", RFC 5280
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}

// tlsConfig is that of both ends. TLS 1.3 proves that the other end has the key that it
// shows; check says whether it may be that of node i, which is -1 for a stranger.
func tlsConfig(c *Cluster, own tls.Certificate, check func(i int, pin Pin) error) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{own},
		ClientAuth: tls.RequireAnyClientCert, SessionTicketsDisabled: true,
		InsecureSkipVerify: true, // of names and authorities, which have no say: see VerifyConnection
		VerifyConnection: func(s tls.ConnectionState) error {
			i, pin, err := c.identify(s)
			if err != nil {
				return err
			}
			return check(i, pin)
		},
	}
}

// identify returns which node is at the other end of a connection, -1 for a stranger.
func (c *Cluster) identify(s tls.ConnectionState) (int, Pin, error) {
	if len(s.PeerCertificates) == 0 {
		return -1, "", errors.New("no key was shown")
	}
	key, ok := s.PeerCertificates[0].PublicKey.(ed25519.PublicKey)
	if !ok {
		return -1, "", fmt.Errorf("a key of type %T was shown: want Ed25519", s.PeerCertificates[0].PublicKey)
	}
	pin := PinOf(key)
	return c.NodeOf(pin), pin, nil
}
