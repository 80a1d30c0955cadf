package cluster

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
	"io"
	"io/fs"
	"math/big"
	"os"
	"slices"
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

// ReadKey reads a key file. It refuses one that others may read or write: see readSecret.
func ReadKey(path string) (ed25519.PrivateKey, error) {
	text, err := readSecret(path)
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

// readSecret reads a file that is private to a user.
func readSecret(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat() // of what is read
	if err != nil {
		return nil, err
	}
	if owner, known := ownerOf(info); known && !private(info.Mode(), owner, os.Geteuid()) {
		return nil, fmt.Errorf("%s: others may read this key or write it (mode %#o): chmod 600", path, info.Mode().Perm())
	}
	return io.ReadAll(f)
}

// private reports whether a file with this mode and owner is for one user only: nobody else
// may do anything with it. But the group may read one of root, for a user who is not root:
// there is no other way for that user to read it, and so containers get their secrets.
func private(mode fs.FileMode, owner, user int) bool {
	if owner == 0 && user != 0 {
		return mode.Perm()&0o037 == 0
	}
	return mode.Perm()&0o077 == 0
}

// PinOf returns the pin of a public key.
func PinOf(key ed25519.PublicKey) Pin {
	hash := sha256.Sum256(key)
	return Pin(pinPrefix + base64.RawStdEncoding.EncodeToString(hash[:]))
}

// certificate returns what TLS wants around a pinned key. Nothing in it matters but the key:
// who may talk, and until when, is what cluster.json says.
func certificate(key ed25519.PrivateKey) (tls.Certificate, error) {
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "difalt"},
		NotBefore: time.Unix(0, 0), NotAfter: time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC), // "no date", RFC 5280
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}

// Identify returns which node shows a certificate and those behind it, or an error that
// says why it is none.
func (c *Cluster) Identify(chain []*x509.Certificate) (int, error) {
	if len(chain) == 0 {
		return -1, errors.New("no key was shown")
	}
	leaf := chain[0]
	key, pinned := leaf.PublicKey.(ed25519.PublicKey)
	if pinned {
		if i := c.NodeOf(PinOf(key)); i >= 0 {
			return i, nil
		}
	}
	switch {
	case c.Authority != "":
		return c.certified(chain)
	case !pinned:
		return -1, fmt.Errorf("it has a key of type %T: want Ed25519", leaf.PublicKey)
	}
	return -1, fmt.Errorf("it has key %s, which is that of no node of the cluster", PinOf(key))
}

// certified returns the node without pins whose name the authority has put into a
// certificate.
func (c *Cluster) certified(chain []*x509.Certificate) (int, error) {
	roots, err := c.roots()
	if err != nil {
		return -1, err
	}
	between := x509.NewCertPool()
	for _, cert := range chain[1:] {
		between.AddCert(cert)
	}
	if _, err := chain[0].Verify(x509.VerifyOptions{Roots: roots, Intermediates: between, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}}); err != nil {
		return -1, fmt.Errorf("its certificate for %q: %w", chain[0].DNSNames, err)
	}
	for i, n := range c.Nodes {
		if len(n.Pins) == 0 && slices.Contains(chain[0].DNSNames, n.Name) {
			return i, nil
		}
	}
	return -1, fmt.Errorf("it has a certificate for %q, which is the name of no node without a key in the cluster", chain[0].DNSNames)
}

// roots returns the authority, nil if there is none.
func (c *Cluster) roots() (*x509.CertPool, error) {
	if c.Authority == "" {
		return nil, nil
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM([]byte(c.Authority)) {
		return nil, errors.New("authority: no certificate in PEM")
	}
	return roots, nil
}

// An Identity is by what a node shows who it is.
type Identity struct {
	Node        int             // its number
	Certificate tls.Certificate // what it shows in TLS, with its key
}

// ReadIdentity reads the key of a node and, unless its path is empty, the certificate that
// an authority has given it. It returns an error if they are those of no node of c.
func ReadIdentity(c *Cluster, key, cert string) (*Identity, error) {
	if cert == "" {
		k, err := ReadKey(key)
		if err != nil {
			return nil, err
		}
		id, err := NewIdentity(c, k)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		return id, nil
	}
	secret, err := readSecret(key)
	if err != nil {
		return nil, err
	}
	shown, err := os.ReadFile(cert)
	if err != nil {
		return nil, err
	}
	own, err := tls.X509KeyPair(shown, secret)
	if err != nil {
		return nil, fmt.Errorf("%s and %s: %w", cert, key, err)
	}
	id, err := identityOf(c, own)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", cert, err)
	}
	return id, nil
}

// NewIdentity returns that of the node that may show a key.
func NewIdentity(c *Cluster, key ed25519.PrivateKey) (*Identity, error) {
	own, err := certificate(key)
	if err != nil {
		return nil, err
	}
	return identityOf(c, own)
}

// identityOf returns that of the node that may show a certificate.
func identityOf(c *Cluster, own tls.Certificate) (*Identity, error) {
	var chain []*x509.Certificate
	for _, der := range own.Certificate {
		parsed, err := x509.ParseCertificate(der)
		if err != nil {
			return nil, err
		}
		chain = append(chain, parsed)
	}
	node, err := c.Identify(chain)
	return &Identity{node, own}, err
}
