// Package pads makes the random words that mask the contribution of a node to a sum. Every two nodes
// share a secret. Before each sum, a new key follows from the key before and from a digest of all results
// that both have received; from it follows a stream of words. One of the two adds the words to its own, the
// other subtracts them, so that they cancel in the sum over all nodes. No word is used twice.
//
// If the partners have received different results, their words are independent, and the sum is random.
package pads

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/bits"
)

// A Source adds pads to integers.
type Source interface {
	// Next starts the pads of the next sum, which depend on the digest.
	Next(digest [sha256.Size]byte)
	// Add adds the next pads to integers of limbs words each, the lowest word first, modulo 2^(64 limbs).
	Add(words []uint64, limbs int)
	// Tags returns a tag of the digest for every partner of the node. Only the two partners can compute it.
	Tags(digest [sha256.Size]byte) []byte
	// Confirm reports whether the tags of all partners are those of the digest; all[j] are the tags of node
	// j.
	Confirm(digest [sha256.Size]byte, all [][]byte) bool
}

// AddTo adds integers of limbs words each to others, with carry.
func AddTo(sum, v []uint64, limbs int) {
	for k := 0; k+limbs <= len(sum); k += limbs {
		carry := uint64(0)
		for j := k; j < k+limbs; j++ {
			sum[j], carry = bits.Add64(sum[j], v[j], carry)
		}
	}
}

// SubFrom subtracts integers of limbs words each from others, with borrow.
func SubFrom(sum, v []uint64, limbs int) {
	for k := 0; k+limbs <= len(sum); k += limbs {
		borrow := uint64(0)
		for j := k; j < k+limbs; j++ {
			sum[j], borrow = bits.Sub64(sum[j], v[j], borrow)
		}
	}
}

// A Provider is a transport of a test that supplies the pads of its nodes.
type Provider interface{ Pads(node int) Source }

// Pads are the pads of a node: a stream for every other node, its partner.
type Pads struct {
	node     int
	partners []partner
	room     []byte
	pad      []uint64
}

type partner struct {
	node   int
	key    [sha256.Size]byte // of the next sum
	tag    [sha256.Size]byte // key of tags
	stream cipher.Stream
	adds   bool // the partner subtracts
}

// New returns the pads of node i, whose key is own, where public has the keys of all nodes, and context
// identifies the network. It returns an error if the key of another node is invalid.
func New(i int, own *ecdh.PrivateKey, public []*ecdh.PublicKey, context []byte) (*Pads, error) {
	p := &Pads{node: i, room: make([]byte, roomLen), pad: make([]uint64, roomLen/8)}
	salt := sha256.New()
	salt.Write(context)
	for _, key := range public {
		salt.Write(key.Bytes())
	}
	for j, key := range public {
		if j == i {
			continue
		}
		secret, err := own.ECDH(key)
		if err != nil {
			return nil, fmt.Errorf("the key of node %d: %w", j, err)
		}
		both, err := hkdf.Key(sha256.New, secret, salt.Sum(nil), fmt.Sprintf("difalt pads %d %d", min(i, j), max(i, j)), 2*sha256.Size)
		if err != nil {
			return nil, err
		}
		p.partners = append(p.partners, partner{node: j, key: [sha256.Size]byte(both), tag: [sha256.Size]byte(both[sha256.Size:]), adds: i < j})
	}
	return p, nil
}

// Next implements Source. The key before is overwritten.
func (p *Pads) Next(digest [sha256.Size]byte) {
	for k := range p.partners {
		partner := &p.partners[k]
		var both [2 * sha256.Size]byte
		copy(both[:], partner.key[:])
		copy(both[sha256.Size:], digest[:])
		partner.key = sha256.Sum256(both[:])
		// The next key does not follow from the key of the stream.
		stream := sha256.Sum256(append(both[:0], partner.key[:]...))
		block, err := aes.NewCipher(stream[:])
		if err != nil {
			panic(err) // the length is right
		}
		partner.stream = cipher.NewCTR(block, make([]byte, aes.BlockSize))
	}
}

const roomLen = 8 << 10

var nothing [roomLen]byte

// Add implements Source.
func (p *Pads) Add(words []uint64, limbs int) {
	for len(words) > 0 {
		part := words[:min(len(words), roomLen/8/limbs*limbs)]
		words = words[len(part):]
		room, pad := p.room[:8*len(part)], p.pad[:len(part)]
		for _, s := range p.partners {
			s.stream.XORKeyStream(room, nothing[:len(room)])
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

const tagLen = 16

// appendTag appends the tag of a digest from one partner for the other.
func (s *partner) appendTag(dst []byte, digest [sha256.Size]byte, from int) []byte {
	h := hmac.New(sha256.New, s.tag[:])
	h.Write(binary.LittleEndian.AppendUint64(digest[:], uint64(from)))
	return append(dst, h.Sum(nil)[:tagLen]...)
}

// Tags implements Source.
func (p *Pads) Tags(digest [sha256.Size]byte) (tags []byte) {
	for k := range p.partners {
		tags = p.partners[k].appendTag(tags, digest, p.node)
	}
	return tags
}

// Confirm implements Source.
func (p *Pads) Confirm(digest [sha256.Size]byte, all [][]byte) bool {
	for k := range p.partners {
		s := &p.partners[k]
		at := tagLen * p.node // in the tags of the partner, which has none for itself
		if s.node < p.node {
			at -= tagLen
		}
		if tags := all[s.node]; len(tags) < at+tagLen || !hmac.Equal(tags[at:at+tagLen], s.appendTag(nil, digest, s.node)) {
			return false
		}
	}
	return true
}
