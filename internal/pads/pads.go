// Package pads makes the random words that hide what a node adds to a sum. Every two nodes that
// are partners share a secret, and from it an endless stream of words. Of every sum one of the
// two adds the next words of the stream to its own, and the other takes them away, so that they
// cancel in the sum over all nodes. No word of a stream is used twice: a stream only goes on, and
// nothing of it can be kept and taken up again.
package pads

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
)

// A Source adds pads to integers, each of them so many words, the lowest first, modulo two to the
// power of their bits.
type Source interface {
	Add(words []uint64, limbs int)
}

// AddTo adds integers of so many words to others, and SubFrom takes them away: with carry, since
// from sums of single words more could be told than from the sum of the integers.
func AddTo(sum, v []uint64, limbs int) {
	for k := 0; k+limbs <= len(sum); k += limbs {
		carry := uint64(0)
		for j := k; j < k+limbs; j++ {
			sum[j], carry = bits.Add64(sum[j], v[j], carry)
		}
	}
}

// SubFrom is described at AddTo.
func SubFrom(sum, v []uint64, limbs int) {
	for k := 0; k+limbs <= len(sum); k += limbs {
		borrow := uint64(0)
		for j := k; j < k+limbs; j++ {
			sum[j], borrow = bits.Sub64(sum[j], v[j], borrow)
		}
	}
}

// A Provider is a transport of a test, which gives its nodes the pads that the test wants.
type Provider interface{ Pads(node int) Source }

// Pads are those of a node: a stream a partner.
type Pads struct {
	streams []stream
	room    []byte
	pad     []uint64
}

type stream struct {
	cipher.Stream
	adds bool // the other end takes away
}

// Seed returns what the rings of partners and the streams of all nodes follow from, where public
// has the keys of all and context what tells this network from all others: other keys of anybody
// make other streams.
func Seed(public []*ecdh.PublicKey, context []byte) []byte {
	salt := sha256.New()
	salt.Write(context)
	for _, key := range public {
		salt.Write(key.Bytes())
	}
	return salt.Sum(nil)
}

// New returns the pads of node i, whose key is own, where public has the keys of all nodes, of
// which it uses those of its partners. It returns an error if one of these is none.
func New(i int, own *ecdh.PrivateKey, public []*ecdh.PublicKey, seed []byte) (*Pads, error) {
	p := &Pads{room: make([]byte, roomLen), pad: make([]uint64, roomLen/8)}
	for _, j := range Partners(i, len(public), seed) {
		secret, err := own.ECDH(public[j])
		if err != nil {
			return nil, fmt.Errorf("the key of node %d: %w", j, err)
		}
		key, err := hkdf.Key(sha256.New, secret, seed, fmt.Sprintf("difalt pads %d %d", min(i, j), max(i, j)), 16)
		if err != nil {
			return nil, err
		}
		block, err := aes.NewCipher(key)
		if err != nil {
			return nil, err
		}
		p.streams = append(p.streams, stream{cipher.NewCTR(block, make([]byte, aes.BlockSize)), i < j})
	}
	return p, nil
}

const roomLen = 8 << 10

var nothing [roomLen]byte

// Add implements Source.
func (p *Pads) Add(words []uint64, limbs int) {
	for len(words) > 0 {
		part := words[:min(len(words), roomLen/8/limbs*limbs)]
		words = words[len(part):]
		room, pad := p.room[:8*len(part)], p.pad[:len(part)]
		for _, s := range p.streams {
			s.XORKeyStream(room, nothing[:len(room)])
			for k := range pad {
				pad[k] = binary.LittleEndian.Uint64(room[8*k:])
			}
			if s.adds {
				AddTo(part, pad, limbs)
			} else {
				SubFrom(part, pad, limbs)
			}
		}
	}
}

// AllPairs is the largest network in which all nodes are partners of one another.
const AllPairs = 50

// Partners returns the partners of node i of so many, ascending. In large networks they are its
// neighbours on random rings through all nodes, two on each: some 3 log2 nodes in all. Then
// whoever wants to see what a node adds must work together with all of these, and whoever wants
// to see the sum of several nodes, with all partners that any of them has outside. The rings
// follow from the seed, which nobody can choose, since all tell the hash of their key before any
// tells the key.
func Partners(i, nodes int, seed []byte) (list []int) {
	if nodes <= AllPairs {
		for j := range nodes {
			if j != i {
				list = append(list, j)
			}
		}
		return list
	}
	rng := rand.New(rand.NewChaCha8([32]byte(seed)))
	for range (3*bits.Len(uint(nodes)) + 1) / 2 {
		ring := rng.Perm(nodes)
		at := slices.Index(ring, i)
		list = append(list, ring[(at+1)%nodes], ring[(at+nodes-1)%nodes])
	}
	slices.Sort(list)
	return slices.Compact(list)
}
