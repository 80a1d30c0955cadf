package masked

import (
	"context"
	"crypto/ecdh"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/difalt/difalt/consensus/internal/frame"
	"github.com/difalt/difalt/consensus/internal/rounds"
	"github.com/difalt/difalt/consensus/transport"
	"github.com/difalt/difalt/internal/mask"
)

// keys hold the masks of the hosted nodes. nil keys mask nothing.
type keys struct {
	engine *rounds.Engine
	masks  []mask.Source // of the hosted nodes; nil before the exchange of keys
	digest [sha256.Size]byte
	bytes  []byte // room for the bytes of a result
}

// newKeys returns the keys of the hosted nodes. A source replaces the exchange of keys.
func newKeys(e *rounds.Engine, source func(node int) mask.Source) *keys {
	k := &keys{engine: e}
	if source != nil {
		for _, node := range e.Hosted {
			k.masks = append(k.masks, source(node))
		}
	}
	return k
}

// mask adds masks to the words of the hosted nodes. The masks depend on the results of all operations so far.
func (k *keys) mask(r *relay) {
	if k == nil {
		return
	}
	for i, source := range k.masks {
		source.Next(k.digest)
		words := r.row(i)
		for _, s := range r.layoutUp {
			source.Add(words[:s.words()], s.limbs())
			words = words[s.words():]
		}
	}
}

// bind makes later masks depend on a result that has come down the tree.
func (k *keys) bind(channel frame.Channel, result []byte) {
	if k == nil {
		return
	}
	part := sha256.Sum256(result)
	state := append(append(k.bytes[:0], k.digest[:]...), byte(channel))
	k.bytes = append(state, part[:]...)
	k.digest = sha256.Sum256(k.bytes)
	k.engine.SetTag(binary.LittleEndian.Uint32(k.digest[:]))
}

// bindWords is bind for the words of a layout.
func (k *keys) bindWords(channel frame.Channel, layout Layout, words []uint64) {
	if k == nil {
		return
	}
	k.bytes = layout.append(k.bytes[:0], words)
	k.bind(channel, k.bytes)
}

// Bind makes the masks of all later operations depend on a state that all nodes share. If two nodes pass
// different bytes, the next total is random, and all nodes return rounds.ErrInconsistent.
func (c *Collectives) Bind(ctx context.Context, state []byte) error {
	if err := c.engine.Ready(ctx); err != nil {
		return err
	}
	if err := c.Join(ctx); err != nil {
		return err
	}
	c.keys.bind(stateChannel, state)
	return nil
}

// stateChannel separates the states of Bind from the results of operations.
const stateChannel frame.Channel = 255

// Confirm returns rounds.ErrInconsistent unless all nodes have received equal results in all operations so
// far. A total alone cannot prove this against a root that replaces it: here the nodes exchange tags which
// two nodes alone can compute. It is not counted as traffic, since nodes of one process need none.
func (c *Collectives) Confirm(ctx context.Context) error {
	if err := c.engine.Ready(ctx); err != nil {
		return err
	}
	k := c.keys
	if k == nil {
		return nil
	}
	check := make([][]float64, len(k.engine.Hosted))                               // rows without numbers
	if err := c.SumOn(ctx, frame.Sum, new(transport.Traffic), check); err != nil { // random if masks differ
		return err
	}
	digest := k.digest
	own := make([][]byte, len(k.masks))
	for i, source := range k.masks {
		own[i] = source.Tags(digest)
	}
	all, err := c.gather(ctx, frame.Keys, own, new(transport.Traffic))
	if err != nil {
		c.engine.End(ctx, err)
		return err
	}
	for _, source := range k.masks {
		if !source.Confirm(digest, all) {
			c.engine.End(ctx, rounds.ErrInconsistent)
			return rounds.ErrInconsistent
		}
	}
	return nil
}

// Join exchanges the keys of the nodes, before the first operation and never again. Every node makes a new
// key, and signs it if the transport is a transport.Signer. Unsigned keys protect against neighbours that
// read messages, but not against a neighbour that replaces the keys of other nodes by its own. Join returns a
// *transport.PeerError with the node whose signature is wrong. It is not counted as traffic.
func (c *Collectives) Join(ctx context.Context) error {
	k := c.keys
	if k == nil || k.masks != nil {
		return nil
	}
	if err := c.engine.Ready(ctx); err != nil {
		return err
	}
	exchange := func(said [][]byte) ([][]byte, error) {
		return c.gather(ctx, frame.Keys, said, new(transport.Traffic))
	}
	made, err := k.join(exchange)
	if err != nil {
		k.engine.End(ctx, err)
		return err
	}
	k.masks = made
	return nil
}

// MaxNodes is the largest number of nodes of a network with masks: every two nodes share a secret.
const MaxNodes = 1000

// join makes keys, exchanges them and returns the masks of the hosted nodes.
func (k *keys) join(exchange func([][]byte) ([][]byte, error)) (made []mask.Source, err error) {
	if n := k.engine.Graph.Len(); n > MaxNodes {
		return nil, fmt.Errorf("masks for %d nodes: at most %d", n, MaxNodes)
	}
	signer, signs := k.engine.Transport().(transport.Signer)
	own, sent := make([]*ecdh.PrivateKey, len(k.engine.Hosted)), make([][]byte, len(k.engine.Hosted))
	for i := range own {
		if own[i], err = ecdh.X25519().GenerateKey(rand.Reader); err != nil {
			return nil, fmt.Errorf("a key for masks: %w", err)
		}
		sent[i] = own[i].PublicKey().Bytes()
		if signs {
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
	for i, node := range k.engine.Hosted {
		m, err := mask.New(node, own[i], public, binary.LittleEndian.AppendUint64(nil, k.engine.Identity()))
		bad := new(mask.KeyError)
		switch {
		case errors.As(err, &bad):
			return nil, wrongKey(bad.Node, bad.Err)
		case err != nil:
			return nil, err
		}
		made = append(made, m)
	}
	return made, nil
}

// wrongKey returns the error about the key of a node, which other nodes have passed on.
func wrongKey(node int, err error) error {
	err = fmt.Errorf("its key for masks, as relayed by other nodes: %w", err)
	return &transport.PeerError{Peer: node, Kind: transport.Refused, Err: err}
}

const keyLen = 32

// publicKeys returns the keys of all nodes, where all are these keys with their signatures. It returns a
// *transport.PeerError about a node elsewhere whose key or signature is wrong.
func (k *keys) publicKeys(all [][]byte, signer transport.Signer) ([]*ecdh.PublicKey, error) {
	public := make([]*ecdh.PublicKey, len(all))
	for node, sent := range all {
		n := min(len(sent), keyLen)
		var err error
		public[node], err = ecdh.X25519().NewPublicKey(sent[:n])
		if err == nil && signer == nil && len(sent) > n {
			err = fmt.Errorf("has %d bytes more than a key", len(sent)-n)
		}
		if err != nil {
			return nil, wrongKey(node, err)
		}
		if signer != nil && k.engine.Index[node] < 0 {
			if err := signer.Verify(node, sent[:n], sent[n:]); err != nil {
				return nil, err
			}
		}
	}
	return public, nil
}
