// Package mask makes the random words that mask the contribution of a node to a sum. Every two nodes
// share a secret. Before each sum, a new key follows from the key before and from a digest of all results
// that both have received; from it follows a stream of words. One of the two adds the words to its own, the
// other subtracts them, so that they cancel in the sum over all nodes. No word is used twice.
//
// If the partners have received different results, their words are independent, and the sum is random.
package mask

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
	"slices"
)

// A Source adds masks to integers.
type Source interface {
	// Next starts the masks of the next sum, which depend on the digest.
	Next(digest [sha256.Size]byte)
	// Add adds the next masks to integers of limbs words each, the lowest word first, modulo 2^(64 limbs).
	Add(words []uint64, limbs int)
	// Tags returns a tag of the digest for every partner of the node. Only the two partners can compute it.
	Tags(digest [sha256.Size]byte) []byte
	// Confirm reports whether all partners have tagged this digest; all[j] are the tags of node j.
	Confirm(digest [sha256.Size]byte, all [][]byte) bool
}

// AddTo adds the integers of v, of limbs words each, to the integers of sum, with carry.
func AddTo(sum, v []uint64, limbs int) {
	for k := 0; k+limbs <= len(sum); k += limbs {
		carry := uint64(0)
		for j := k; j < k+limbs; j++ {
			sum[j], carry = bits.Add64(sum[j], v[j], carry)
		}
	}
}

// SubFrom subtracts the integers of v, of limbs words each, from the integers of sum, with borrow.
func SubFrom(sum, v []uint64, limbs int) {
	for k := 0; k+limbs <= len(sum); k += limbs {
		borrow := uint64(0)
		for j := k; j < k+limbs; j++ {
			sum[j], borrow = bits.Sub64(sum[j], v[j], borrow)
		}
	}
}

// Masks are the masks of a node: a stream for every other node, its partner.
type Masks struct {
	node     int
	partners []partner
	room     []byte
	words    []uint64
}

type partner struct {
	node   int
	key    [sha256.Size]byte // of the next sum
	tag    [sha256.Size]byte // key of tags
	stream cipher.Stream
	adds   bool // the partner subtracts
}

// A KeyError reports a public key with which no secret can be shared.
type KeyError struct {
	Node int // whose key it is
	Err  error
}

func (e *KeyError) Error() string { return fmt.Sprintf("the key of node %d: %v", e.Node, e.Err) }

// Unwrap returns Err.
func (e *KeyError) Unwrap() error { return e.Err }

// New returns the masks of node i. own is its key, public has the keys of all nodes, and context identifies
// the network. It returns an error if a key is missing, and a *KeyError if the key of another node is
// invalid.
func New(i int, own *ecdh.PrivateKey, public []*ecdh.PublicKey, context []byte) (*Masks, error) {
	if i < 0 || i >= len(public) {
		return nil, fmt.Errorf("masks of node %d of %d", i, len(public))
	}
	if own == nil {
		return nil, fmt.Errorf("node %d has no private key", i)
	}
	if j := slices.Index(public, nil); j >= 0 {
		return nil, fmt.Errorf("node %d has no key", j)
	}
	m := &Masks{node: i, room: make([]byte, roomLen), words: make([]uint64, roomLen/8)}
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
			return nil, &KeyError{j, err}
		}
		info := fmt.Sprintf("difalt pads %d %d", min(i, j), max(i, j))
		both, err := hkdf.Key(sha256.New, secret, salt.Sum(nil), info, 2*sha256.Size)
		if err != nil {
			return nil, err
		}
		m.partners = append(m.partners, partner{
			node: j, key: [sha256.Size]byte(both), tag: [sha256.Size]byte(both[sha256.Size:]), adds: i < j,
		})
	}
	return m, nil
}

// Next implements Source. The key before is overwritten.
func (m *Masks) Next(digest [sha256.Size]byte) {
	for k := range m.partners {
		partner := &m.partners[k]
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
func (m *Masks) Add(words []uint64, limbs int) {
	for len(words) > 0 {
		part := words[:min(len(words), roomLen/8/limbs*limbs)]
		words = words[len(part):]
		room, next := m.room[:8*len(part)], m.words[:len(part)]
		for _, s := range m.partners {
			s.stream.XORKeyStream(room, nothing[:len(room)])
			for k := range next {
				next[k] = binary.LittleEndian.Uint64(room[8*k:])
			}
			if s.adds {
				AddTo(part, next, limbs)
			} else {
				SubFrom(part, next, limbs)
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
func (m *Masks) Tags(digest [sha256.Size]byte) (tags []byte) {
	for k := range m.partners {
		tags = m.partners[k].appendTag(tags, digest, m.node)
	}
	return tags
}

// Confirm implements Source.
func (m *Masks) Confirm(digest [sha256.Size]byte, all [][]byte) bool {
	for k := range m.partners {
		s := &m.partners[k]
		at := tagLen * m.node // in the tags of the partner, which has none for itself
		if s.node < m.node {
			at -= tagLen
		}
		if s.node >= len(all) || len(all[s.node]) < at+tagLen {
			return false
		}
		if !hmac.Equal(all[s.node][at:at+tagLen], s.appendTag(nil, digest, s.node)) {
			return false
		}
	}
	return true
}
