package testnet

import (
	"crypto/ecdh"
	"crypto/rand"
	"crypto/sha256"
	"testing"

	"github.com/difalt/difalt/internal/mask"
)

// A Spy masks the words of a node, and keeps its masked words of the present sum.
type Spy struct {
	*mask.Masks
	Words []uint64
	bound bool // masks follow from results
}

// Spies returns masks for all nodes that follow from keys, as the masks of a network do. They also follow
// from results if bound is set.
func Spies(t testing.TB, nodes int, bound bool) []*Spy {
	t.Helper()
	own, public, all := make([]*ecdh.PrivateKey, nodes), make([]*ecdh.PublicKey, nodes), make([]*Spy, nodes)
	for i := range own {
		own[i], _ = ecdh.X25519().GenerateKey(rand.Reader) // never fails
		public[i] = own[i].PublicKey()
	}
	for i := range all {
		m, err := mask.New(i, own[i], public, nil)
		if err != nil {
			t.Fatal(err)
		}
		all[i] = &Spy{Masks: m, bound: bound}
	}
	return all
}

// Next begins the masks that follow from results with the given digest.
func (s *Spy) Next(digest [sha256.Size]byte) {
	s.Words = nil
	if !s.bound {
		digest = [sha256.Size]byte{}
	}
	s.Masks.Next(digest)
}

// Add masks words, and keeps them.
func (s *Spy) Add(words []uint64, limbs int) {
	s.Masks.Add(words, limbs)
	s.Words = append(s.Words, words...)
}
