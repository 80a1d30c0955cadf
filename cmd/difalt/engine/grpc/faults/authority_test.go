//go:build faults && linux

package faults

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"time"

	"github.com/difalt/difalt/cmd/difalt/engine/cluster"
)

// certify puts an authority in the place of the keys of the cluster, and gives every node
// a certificate; that of node expired has expired, but the node does not look.
func (t *trial) certify(expired int) error {
	public, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return err
	}
	now := time.Now()
	root := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, root, root, public, key)
	if err != nil {
		return err
	}
	c, err := cluster.Read(t.path("cluster.json"))
	if err != nil {
		return err
	}
	c.Authority = block(der)
	for i, name := range nodes {
		c.Nodes[i].Pin = ""
		own, err := cluster.ReadKey(t.path(name + ".key"))
		if err != nil {
			return err
		}
		leaf := &x509.Certificate{SerialNumber: big.NewInt(2), DNSNames: []string{name}, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(time.Hour)}
		if i == expired {
			leaf.NotAfter = now.Add(-time.Minute)
		}
		der, err := x509.CreateCertificate(rand.Reader, leaf, root, own.Public(), key)
		if err == nil {
			err = os.WriteFile(t.path(name+".crt"), []byte(block(der)), 0o600)
		}
		if err != nil {
			return err
		}
		t.own[i] = []string{"--cert", t.path(name + ".crt")}
	}
	text, err := c.Text()
	if err != nil {
		return err
	}
	return os.WriteFile(t.path("cluster.json"), text, 0o600)
}

func block(der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}
