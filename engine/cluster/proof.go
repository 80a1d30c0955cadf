package cluster

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/asn1"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/difalt/difalt/consensus/wire"
)

// proof is what shows to all nodes, not only to the neighbours, that a node has said
// something. The certificates are those that it shows in TLS: of a key the list of nodes
// has no more than the hash.
type proof struct {
	Certificates [][]byte
	Signature    []byte
}

// Sign implements wire.Signer for the node that id is of.
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
		return &wire.PeerError{Peer: node, Kind: wire.Refused, Err: fmt.Errorf("what has come in its name, by way of others, is not signed by it: %w", err)}
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
	if !c.has(node, chain[0]) {
		if i, err := c.Identify(chain); err != nil {
			return err
		} else if i != node {
			return fmt.Errorf("it has the key of %s", c.Label(i))
		}
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

// has reports whether a certificate has a key of which the list has the pin for a node: at
// once, where Identify looks at all nodes.
func (c *Cluster) has(node int, cert *x509.Certificate) bool {
	key, ok := cert.PublicKey.(ed25519.PublicKey)
	return ok && slices.Contains(c.Nodes[node].Pins, PinOf(key))
}

// statement is what is signed: that a node says msg in this run and epoch. What TLS signs by
// the same key begins otherwise, so that neither can be taken for the other.
func (c *Cluster) statement(node int, msg []byte) []byte {
	p := []byte("difalt: a node says in a run\x00")
	p = binary.LittleEndian.AppendUint64(p, c.RunID())
	p = binary.LittleEndian.AppendUint32(p, c.Epoch)
	p = binary.LittleEndian.AppendUint32(p, uint32(node))
	return append(p, msg...)
}

// algorithm is by what a key signs.
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
