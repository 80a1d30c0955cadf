package testnet

import (
	"crypto/ecdh"
	"crypto/rand"
	"crypto/sha256"
	"testing"

	"github.com/difalt/difalt/internal/pads"
)

// A Spy is the pads of a node that keeps the masked words of its own: those of the present sum.
type Spy struct {
	*pads.Pads
	Words []uint64
	bound bool // pads follow from results
}

// Spies returns pads for all nodes that follow from keys, as those of a network do. They follow from results
// if bound is set.
func Spies(t testing.TB, nodes int, bound bool) []*Spy {
	t.Helper()
	own, public, all := make([]*ecdh.PrivateKey, nodes), make([]*ecdh.PublicKey, nodes), make([]*Spy, nodes)
	for i := range own {
		own[i], _ = ecdh.X25519().GenerateKey(rand.Reader) // never fails
		public[i] = own[i].PublicKey()
	}
	for i := range all {
		p, err := pads.New(i, own[i], public, nil)
		if err != nil {
			t.Fatal(err)
		}
		all[i] = &Spy{Pads: p, bound: bound}
	}
	return all
}

// Next begins the pads that follow from results with the given digest.
func (s *Spy) Next(digest [sha256.Size]byte) {
	if s.Words = nil; !s.bound {
		digest = [sha256.Size]byte{}
	}
	s.Pads.Next(digest)
}

// Add masks words, and keeps them.
func (s *Spy) Add(words []uint64, limbs int) {
	s.Pads.Add(words, limbs)
	s.Words = append(s.Words, words...)
}
