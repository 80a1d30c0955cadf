package cluster

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/base64"
	"encoding/binary"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/big"
	"os"
	"slices"
	"time"

	"github.com/difalt/difalt/consensus/wire"
)

// NewKey returns a new key of a node and its PEM text, PKCS #8.
func NewKey() (ed25519.PrivateKey, []byte) {
	seed := make([]byte, ed25519.SeedSize)
	_, _ = rand.Read(seed) // never fails: it ends the program
	key := ed25519.NewKeyFromSeed(seed)
	der, _ := x509.MarshalPKCS8PrivateKey(key) // knows Ed25519
	return key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
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
		return nil, fmt.Errorf("%s: a key of type %T: expected Ed25519", path, parsed)
	}
	return key, nil
}

// readSecret reads a file that only one user can read.
func readSecret(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if owner, known := ownerOf(info); known && !private(info.Mode(), owner, os.Geteuid()) {
		return nil, fmt.Errorf("%s: others may read this key or write it (mode %#o): chmod 600", path, info.Mode().Perm())
	}
	return io.ReadAll(f)
}

// private reports whether a file with this mode and owner is for one user only. The group may read a file of
// root, if the user is not root: containers get their secrets that way.
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

// certificate returns a self-signed certificate around a pinned key, as TLS requires. Peers check the key
// only.
func certificate(key ed25519.PrivateKey) tls.Certificate {
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "difalt"},
		NotBefore: time.Unix(0, 0),
		NotAfter:  time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC), // "no date", RFC 5280
	}
	der, _ := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key) // knows Ed25519
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// Identify returns the index of the node that shows a chain of certificates, or an error with the reason why
// it is not a node of the list.
func (c *Cluster) Identify(chain []*x509.Certificate) (int, error) {
	if len(chain) == 0 {
		return -1, errors.New("it shows no key")
	}
	if c.Authority != "" {
		return c.certified(chain)
	}
	key, ok := chain[0].PublicKey.(ed25519.PublicKey)
	if !ok {
		return -1, fmt.Errorf("it has a key of type %T: expected Ed25519", chain[0].PublicKey)
	}
	if i := c.NodeOf(PinOf(key)); i >= 0 {
		return i, nil
	}
	return -1, fmt.Errorf("it has key %s, which is not in the list of nodes", PinOf(key))
}

// certified returns the node whose name is in a certificate that the authority has signed.
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
		if slices.Contains(chain[0].DNSNames, n.Name) {
			return i, nil
		}
	}
	return -1, fmt.Errorf("it has a certificate for %q, which is not a name in the list of nodes", chain[0].DNSNames)
}

// roots returns the certificates of the authority, or nil without one.
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

// An Identity is the private key of a node, with the certificate that it shows in TLS.
type Identity struct {
	Node        int // index in Cluster.Nodes
	Certificate tls.Certificate
}

// Pin returns the pin of the identity's key, empty if that is not an Ed25519 key.
func (id *Identity) Pin() Pin {
	if key, ok := id.Certificate.PrivateKey.(ed25519.PrivateKey); ok {
		return PinOf(key.Public().(ed25519.PublicKey))
	}
	return ""
}

// ReadIdentity reads the key of a node and, unless its path is empty, the certificate from the authority. It
// returns an error if they do not belong to a node of c.
func ReadIdentity(c *Cluster, key, cert string) (*Identity, error) {
	if cert == "" {
		k, err := ReadKey(key)
		if err != nil {
			return nil, err
		}
		return identityOf(c, certificate(k), key)
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
	return identityOf(c, own, cert)
}

// NewIdentity returns the identity of the node that has a key.
func NewIdentity(c *Cluster, key ed25519.PrivateKey) (*Identity, error) {
	return identityOf(c, certificate(key), "the key")
}

// identityOf returns the identity of the node that has a certificate; errors begin with its origin, from.
func identityOf(c *Cluster, own tls.Certificate, from string) (*Identity, error) {
	chain, err := x509.ParseCertificates(bytes.Join(own.Certificate, nil))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", from, err)
	}
	node, err := c.Identify(chain)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", from, err)
	}
	return &Identity{node, own}, nil
}

// A proof shows to all nodes, not only to neighbours, that a node has made a statement. It contains the
// certificates of TLS, since the list of nodes has only the hash of a key.
type proof struct {
	Certificates [][]byte
	Signature    []byte
}

// Sign implements wire.Signer for the node of id.
func (c *Cluster) Sign(id *Identity, msg []byte) ([]byte, error) {
	key, ok := id.Certificate.PrivateKey.(crypto.Signer)
	if !ok {
		return nil, fmt.Errorf("a key of type %T cannot sign", id.Certificate.PrivateKey)
	}
	_, options, err := algorithm(key.Public())
	if err != nil {
		return nil, err
	}
	signature, err := crypto.SignMessage(key, rand.Reader, c.statement(id.Node, msg), options)
	if err != nil {
		return nil, err
	}
	p, err := asn1.Marshal(proof{id.Certificate.Certificate, signature})
	if err == nil && len(p) > wire.MaxProof {
		err = fmt.Errorf("a proof of %d bytes, more than %d: the certificates of this node are too long", len(p), wire.MaxProof)
	}
	return p, err
}

// Verify implements wire.Signer.
func (c *Cluster) Verify(node int, msg, proof []byte) error {
	if err := c.verify(node, msg, proof); err != nil {
		return &wire.PeerError{Peer: node, Kind: wire.Refused, Err: fmt.Errorf("a statement in its name, passed on by others, has no valid signature: %w", err)}
	}
	return nil
}

func (c *Cluster) verify(node int, msg, shown []byte) error {
	if node < 0 || node >= len(c.Nodes) {
		return errors.New("there is no such node")
	}
	if len(shown) > wire.MaxProof {
		return fmt.Errorf("a proof of %d bytes, more than %d", len(shown), wire.MaxProof)
	}
	var p proof
	if rest, err := asn1.Unmarshal(shown, &p); err != nil || len(rest) > 0 || len(p.Certificates) == 0 {
		return errors.New("not a proof")
	}
	chain, err := x509.ParseCertificates(bytes.Join(p.Certificates, nil))
	if err != nil {
		return err
	}
	if i, err := c.Identify(chain); err != nil {
		return err
	} else if i != node {
		return fmt.Errorf("it has the key of %s", c.Label(i))
	}
	how, _, err := algorithm(chain[0].PublicKey)
	if err != nil {
		return err
	}
	if chain[0].CheckSignature(how, c.statement(node, msg), p.Signature) != nil {
		return errors.New("another signature")
	}
	return nil
}

// statement returns the bytes that a node signs for msg in this run. They differ from everything that TLS
// signs with the same key.
func (c *Cluster) statement(node int, msg []byte) []byte {
	p := []byte("difalt: statement of a node\x00")
	p = binary.LittleEndian.AppendUint64(p, c.RunID())
	p = binary.LittleEndian.AppendUint32(p, uint32(node))
	return append(p, msg...)
}

// algorithm returns how a key signs.
func algorithm(key crypto.PublicKey) (x509.SignatureAlgorithm, crypto.SignerOpts, error) {
	switch key.(type) {
	case ed25519.PublicKey:
		return x509.PureEd25519, crypto.Hash(0), nil
	case *ecdsa.PublicKey:
		return x509.ECDSAWithSHA256, crypto.SHA256, nil
	case *rsa.PublicKey:
		return x509.SHA256WithRSAPSS, &rsa.PSSOptions{SaltLength: rsa.PSSSaltLengthEqualsHash, Hash: crypto.SHA256}, nil
	}
	return 0, nil, fmt.Errorf("a key of type %T cannot sign", key)
}
