package collective

import (
	"context"
	"crypto/ecdh"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/internal/pads"
)

// keys hold the pads of the hosted nodes. nil keys mask nothing.
type keys struct {
	rounds *wire.Rounds
	pads   []pads.Source // of the hosted nodes; nil before the exchange of keys
	digest [sha256.Size]byte
	bytes  []byte // room for the bytes of a result
}

// mask adds pads to the words of the hosted nodes. The pads depend on the results of all operations so far.
func (k *keys) mask(r *relay) {
	if k == nil {
		return
	}
	for i, source := range k.pads {
		source.Next(k.digest)
		words := r.row(i)
		for _, s := range r.up {
			source.Add(words[:s.words()], s.limbs())
			words = words[s.words():]
		}
	}
}

// bind makes later pads depend on a result that has come down the tree.
func (k *keys) bind(channel wire.Channel, result []byte) {
	if k == nil {
		return
	}
	part := sha256.Sum256(result)
	state := append(append(k.bytes[:0], k.digest[:]...), byte(channel))
	k.bytes = append(state, part[:]...)
	k.digest = sha256.Sum256(k.bytes)
	k.rounds.SetTag(binary.LittleEndian.Uint32(k.digest[:]))
}

// bindWords is bind for words of a form.
func (k *keys) bindWords(channel wire.Channel, form Form, words []uint64) {
	if k == nil {
		return
	}
	k.bytes = form.append(k.bytes[:0], words)
	k.bind(channel, k.bytes)
}

// Bind makes the masks of all later operations depend on a state that all nodes share, such as the one a
// run continues from. If two nodes pass different bytes, the next total is random, and all nodes return
// wire.ErrInconsistent.
func (c *Collectives) Bind(ctx context.Context, state []byte) error {
	if err := c.Join(ctx); err != nil {
		return err
	}
	c.keys.bind(stateChannel, state)
	return nil
}

// stateChannel separates the states of Bind from the results of operations.
const stateChannel wire.Channel = 255

// Confirm returns wire.ErrInconsistent unless all nodes have received the same results in all operations so
// far. A total alone cannot prove this against a root that replaces it: here the nodes exchange tags which
// two nodes alone can compute. It is not counted as traffic, since nodes of one process need none.
func (c *Collectives) Confirm(ctx context.Context) error {
	k := c.keys
	if k == nil {
		return nil
	}
	check := make([][]float64, len(k.rounds.Hosted))                         // rows without numbers
	if err := c.SumOn(ctx, wire.Sum, new(wire.Traffic), check); err != nil { // random if masks differ
		return err
	}
	digest := k.digest
	own := make([][]byte, len(k.pads))
	for i, source := range k.pads {
		own[i] = source.Tags(digest)
	}
	all, err := c.gather(ctx, wire.Keys, own, new(wire.Traffic))
	if err != nil {
		c.rounds.End(ctx, err)
		return err
	}
	for _, source := range k.pads {
		if !source.Confirm(digest, all) {
			c.rounds.End(ctx, wire.ErrInconsistent)
			return wire.ErrInconsistent
		}
	}
	return nil
}

// Join exchanges the keys of the nodes, before the first operation and never again. Every node makes a new
// key, and signs it if the transport is a wire.Signer. Unsigned keys protect against neighbours that read
// messages, but not against a neighbour that replaces the keys of others by its own. Join returns a
// *wire.PeerError with the node whose signature is wrong. It is not counted as traffic.
func (c *Collectives) Join(ctx context.Context) error {
	k := c.keys
	if k == nil || k.pads != nil {
		return nil
	}
	if p, ok := k.rounds.Transport().(pads.Provider); ok {
		for _, node := range k.rounds.Hosted {
			k.pads = append(k.pads, p.Pads(node))
		}
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	exchange := func(said [][]byte) ([][]byte, error) { return c.gather(ctx, wire.Keys, said, new(wire.Traffic)) }
	made, err := k.join(exchange)
	if err != nil {
		k.rounds.End(ctx, err)
		return err
	}
	k.pads = made
	return nil
}

// MaxMasked is the largest number of nodes of a network with masks: every two nodes share a secret.
const MaxMasked = 1000

// join makes keys, exchanges them and returns the pads of the hosted nodes.
func (k *keys) join(exchange func([][]byte) ([][]byte, error)) (made []pads.Source, err error) {
	if n := k.rounds.Graph.Len(); n > MaxMasked {
		return nil, fmt.Errorf("consensus: masks for %d nodes: at most %d", n, MaxMasked)
	}
	signer, signs := k.rounds.Transport().(wire.Signer)
	own, sent := make([]*ecdh.PrivateKey, len(k.rounds.Hosted)), make([][]byte, len(k.rounds.Hosted))
	for i := range own {
		if own[i], err = ecdh.X25519().GenerateKey(rand.Reader); err != nil {
			return nil, fmt.Errorf("consensus: a key for masks: %w", err)
		}
		if sent[i] = own[i].PublicKey().Bytes(); signs {
			sent[i] = append(sent[i], signer.Sign(sent[i])...)
		}
	}
	all, err := exchange(sent)
	if err != nil {
		return nil, err
	}
	public, err := k.publicKeys(all, signer)
	if err != nil {
		return nil, err
	}
	for i, node := range k.rounds.Hosted {
		p, err := pads.New(node, own[i], public, binary.LittleEndian.AppendUint64(nil, k.rounds.Identity()))
		if err != nil {
			return nil, fmt.Errorf("consensus: %w", err)
		}
		made = append(made, p)
	}
	return made, nil
}

const keyLen = 32

// publicKeys returns the keys of all nodes, where all are these keys with their signatures. It returns a
// *wire.PeerError about a node elsewhere whose key or signature is wrong.
func (k *keys) publicKeys(all [][]byte, signer wire.Signer) ([]*ecdh.PublicKey, error) {
	public := make([]*ecdh.PublicKey, len(all))
	for node, sent := range all {
		n := min(len(sent), keyLen)
		var err error
		if public[node], err = ecdh.X25519().NewPublicKey(sent[:n]); err == nil && signer == nil && len(sent) > n {
			err = fmt.Errorf("has %d bytes more than a key", len(sent)-n)
		}
		if err != nil {
			return nil, &wire.PeerError{Peer: node, Kind: wire.Refused, Err: fmt.Errorf("its key for masks, as relayed by other nodes: %w", err)}
		}
		if signer != nil && k.rounds.Index[node] < 0 {
			if err := signer.Verify(node, sent[:n], sent[n:]); err != nil {
				return nil, err
			}
		}
	}
	return public, nil
}
