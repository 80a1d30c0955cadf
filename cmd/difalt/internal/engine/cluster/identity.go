package cluster

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/binary"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"os"
	"slices"
	"time"

	"github.com/difalt/difalt/cmd/difalt/internal/place"
	"github.com/difalt/difalt/cmd/difalt/internal/text"
	"github.com/difalt/difalt/consensus/transport"
)

// NewKey returns a new key of a node and its PEM text, PKCS #8.
func NewKey() (ed25519.PrivateKey, []byte) {
	_, key, _ := ed25519.GenerateKey(nil)      // never fails: it ends the program
	der, _ := x509.MarshalPKCS8PrivateKey(key) // Ed25519 never fails
	return key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}

// readKey reads a key file. It refuses one that others may read or write; see private.
func readKey(path string) (ed25519.PrivateKey, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, text.Cause(err)
	}
	if owner, known := ownerOf(info); known && !private(info.Mode(), owner, os.Geteuid()) {
		return nil, fmt.Errorf("others may read this key or write it (mode %#o): chmod 600", info.Mode().Perm())
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(content)
	if block == nil {
		return nil, errors.New("not a key in PEM")
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, err
	}
	key, ok := parsed.(ed25519.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("a key of type %T: expected Ed25519", parsed)
	}
	return key, nil
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

// Identify returns the index of the node that shows a certificate, or an error with the reason why it is not
// a node of the list.
func (c *Cluster) Identify(chain []*x509.Certificate) (int, error) {
	key, ok := chain[0].PublicKey.(ed25519.PublicKey) // TLS requires a certificate
	if !ok {
		return -1, fmt.Errorf("it has a key of type %T: expected Ed25519", chain[0].PublicKey)
	}
	return c.nodeOf(key)
}

// nodeOf returns the index of the node that has a public key.
func (c *Cluster) nodeOf(key ed25519.PublicKey) (int, error) {
	pin := PinOf(key)
	if i := slices.IndexFunc(c.Nodes, func(n Node) bool { return n.Pin == pin }); i >= 0 {
		return i, nil
	}
	return -1, fmt.Errorf("it has key %s, which is not in the list of nodes", pin)
}

// An Identity is the private key of a node.
type Identity struct {
	Node int // index in Cluster.Nodes
	key  ed25519.PrivateKey
}

// Certificate returns a self-signed certificate around the key, as TLS requires. Peers check the key only.
func (id *Identity) Certificate() tls.Certificate {
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "difalt"},
		NotBefore: time.Unix(0, 0),
		NotAfter:  time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC), // "no date", RFC 5280
	}
	// Ed25519 never fails.
	der, _ := x509.CreateCertificate(rand.Reader, template, template, id.key.Public(), id.key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: id.key}
}

// ReadIdentity returns the identity of the node whose key is in a file; see readKey and NewIdentity. Errors
// name the file.
func ReadIdentity(c *Cluster, path string) (id *Identity, err error) {
	key, err := readKey(path)
	if err == nil {
		id, err = NewIdentity(c, key)
	}
	if err != nil {
		return nil, place.Named(path, text.Cause(err))
	}
	return id, nil
}

// NewIdentity returns the identity of the node that has a key, or an error if c has no such node.
func NewIdentity(c *Cluster, key ed25519.PrivateKey) (*Identity, error) {
	node, err := c.nodeOf(key.Public().(ed25519.PublicKey))
	return &Identity{node, key}, err
}

// Sign returns a proof that the node of id sends msg: its public key, whose hash is in the list, and a
// signature.
func (c *Cluster) Sign(id *Identity, msg []byte) (proof []byte) {
	public := id.key.Public().(ed25519.PublicKey)
	return append(slices.Clone(public), ed25519.Sign(id.key, c.statement(msg))...)
}

// Verify implements transport.Signer.
func (c *Cluster) Verify(node int, msg, proof []byte) error {
	if err := c.verify(node, msg, proof); err != nil {
		return &transport.PeerError{Peer: node, Kind: transport.Refused,
			Err: fmt.Errorf("a statement in its name, passed on by others, has no valid signature: %w", err)}
	}
	return nil
}

func (c *Cluster) verify(node int, msg, proof []byte) error {
	if len(proof) != ed25519.PublicKeySize+ed25519.SignatureSize {
		return fmt.Errorf("a proof of %d bytes: must have %d", len(proof), ed25519.PublicKeySize+ed25519.SignatureSize)
	}
	key := ed25519.PublicKey(proof[:ed25519.PublicKeySize])
	switch i, err := c.nodeOf(key); {
	case err != nil:
		return err
	case i != node:
		return fmt.Errorf("it has the key of %s", c.Label(i))
	case !ed25519.Verify(key, c.statement(msg), proof[len(key):]):
		return errors.New("another signature")
	}
	return nil
}

// statement returns the bytes that a node signs for msg in this run. They differ from everything that TLS
// signs with the key of this node.
func (c *Cluster) statement(msg []byte) []byte {
	p := []byte("difalt: statement of a node\x00")
	return append(binary.LittleEndian.AppendUint64(p, c.RunID()), msg...)
}
