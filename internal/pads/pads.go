// Package pads makes the random words that mask the contribution of a node to a sum. Every two partners
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
	"math/rand/v2"
	"slices"
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

// Pads are the pads of a node: a stream for every partner.
type Pads struct {
	node     int
	partners []partner
	list     [][]int // of every node: its partners
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

// Seed returns the seed of the partners and keys of all nodes, where public has the keys of all nodes, and
// context identifies the network.
func Seed(public []*ecdh.PublicKey, context []byte) []byte {
	salt := sha256.New()
	salt.Write(context)
	for _, key := range public {
		salt.Write(key.Bytes())
	}
	return salt.Sum(nil)
}

// New returns the pads of node i, whose key is own, where public has the keys and list the partners of all
// nodes. It returns an error if the key of a partner is invalid.
func New(i int, own *ecdh.PrivateKey, public []*ecdh.PublicKey, seed []byte, list [][]int) (*Pads, error) {
	p := &Pads{node: i, list: list, room: make([]byte, roomLen), pad: make([]uint64, roomLen/8)}
	for _, j := range list[i] {
		secret, err := own.ECDH(public[j])
		if err != nil {
			return nil, fmt.Errorf("the key of node %d: %w", j, err)
		}
		both, err := hkdf.Key(sha256.New, secret, seed, fmt.Sprintf("difalt pads %d %d", min(i, j), max(i, j)), 2*sha256.Size)
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
		stream := sha256.Sum256(append(both[:0], partner.key[:]...)) // the key of the stream does not give the next key
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
		at := tagLen * slices.Index(p.list[s.node], p.node)
		if tags := all[s.node]; len(tags) < at+tagLen || !hmac.Equal(tags[at:at+tagLen], s.appendTag(nil, digest, s.node)) {
			return false
		}
	}
	return true
}

// AllPairs is the size of the largest network whose nodes are all partners.
const AllPairs = 50

// Partners returns the partners of every node in a network of the given size, in ascending order. In
// networks above AllPairs they are its neighbours on random rings through all nodes, two on each: about 3
// log2 nodes in all. To read the contribution of a node, all of its partners must collude; to read the sum
// of several nodes, all outside partners of these. The rings follow from the seed, which has 32 bytes.
func Partners(nodes int, seed []byte) [][]int {
	list := make([][]int, nodes)
	if nodes <= AllPairs {
		for i := range list {
			for j := range nodes {
				if j != i {
					list[i] = append(list[i], j)
				}
			}
		}
		return list
	}
	rng := rand.New(rand.NewChaCha8([32]byte(seed)))
	for range (3*bits.Len(uint(nodes)) + 1) / 2 {
		ring := rng.Perm(nodes)
		for at, i := range ring {
			list[i] = append(list[i], ring[(at+1)%nodes], ring[(at+nodes-1)%nodes])
		}
	}
	for i := range list {
		slices.Sort(list[i])
		list[i] = slices.Compact(list[i])
	}
	return list
}
