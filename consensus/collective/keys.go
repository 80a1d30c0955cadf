package collective

import (
	"bytes"
	"context"
	"crypto/ecdh"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

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
// only partners can compute. It is not counted as traffic, since nodes of one process need none.
func (c *Collectives) Confirm(ctx context.Context) error {
	k := c.keys
	if k == nil {
		return nil
	}
	check := zeroRows(len(k.rounds.Hosted))
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

// zeroRows returns n rows without numbers.
func zeroRows(n int) [][]float64 { return make([][]float64, n) }

// Join exchanges the keys of the nodes, before the first operation and never again. Every node makes a new
// key, and signs it if the transport is a wire.Signer. Unsigned keys protect against neighbours that read
// messages, but not against a neighbour that replaces the keys of others by its own. Join returns a
// *wire.PeerError with the node whose signature is wrong, if that node is a partner of a hosted node. It is
// not counted as traffic.
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

// join makes keys, exchanges them and returns the pads of the hosted nodes.
func (k *keys) join(exchange func([][]byte) ([][]byte, error)) ([]pads.Source, error) {
	j := &joining{keys: k, own: make([]*ecdh.PrivateKey, len(k.rounds.Hosted))}
	for i := range j.own {
		var err error
		if j.own[i], err = ecdh.X25519().GenerateKey(rand.Reader); err != nil {
			return nil, fmt.Errorf("consensus: a key for masks: %w", err)
		}
	}
	sent := make([][]byte, len(j.own))
	if k.rounds.Graph.Len() > pads.AllPairs {
		// Partners follow from the keys. The nodes exchange the hashes of their keys first: otherwise a
		// node that receives all other keys before it sends its own could try keys until the partners of
		// some node are all its accomplices.
		for i, key := range j.own {
			hash := sha256.Sum256(key.PublicKey().Bytes())
			sent[i] = hash[:]
		}
		var err error
		if j.hashes, err = exchange(sent); err != nil {
			return nil, err
		}
	}
	signer, signs := k.rounds.Transport().(wire.Signer)
	for i, key := range j.own {
		sent[i] = key.PublicKey().Bytes()
		if signs {
			proof, err := signer.Sign(sent[i])
			if err != nil {
				return nil, fmt.Errorf("consensus: signing a key for masks: %w", err)
			}
			sent[i] = append(sent[i], proof...)
		}
	}
	all, err := exchange(sent)
	if err != nil {
		return nil, err
	}
	return j.pads(all, signer)
}

// A joining is an exchange of keys under way.
type joining struct {
	*keys
	own    []*ecdh.PrivateKey // of the hosted nodes
	hashes [][]byte           // of the keys of all nodes, if they were exchanged first
}

const keyLen = 32

// pads returns the pads of the hosted nodes, where all are the keys of all nodes with their signatures.
//
// It verifies the signatures of the partners of the hosted nodes only. The pads of a node depend on its own
// key and on those of its partners. In a large network its partners depend on the keys of all nodes: a node
// that relays wrong keys must have relayed their hashes before, and does not know the key of this node
// then. So it cannot choose the partners, and does not know which signatures will be verified. At best some
// nodes get other seeds than others, and masks that do not cancel.
func (j *joining) pads(all [][]byte, signer wire.Signer) ([]pads.Source, error) {
	public := make([]*ecdh.PublicKey, len(all))
	for node, sent := range all {
		n := min(len(sent), keyLen)
		var err error
		if hash := sha256.Sum256(sent[:n]); j.hashes != nil && !bytes.Equal(hash[:], j.hashes[node]) {
			err = errors.New("does not have the hash that was sent before")
		} else if public[node], err = ecdh.X25519().NewPublicKey(sent[:n]); err == nil && signer == nil && len(sent) > n {
			err = fmt.Errorf("has %d bytes more than a key", len(sent)-n)
		}
		if err != nil {
			return nil, &wire.PeerError{Peer: node, Kind: wire.Refused, Err: fmt.Errorf("its key for masks, as relayed by other nodes: %w", err)}
		}
	}
	seed := pads.Seed(public, binary.LittleEndian.AppendUint64(nil, j.rounds.Identity()))
	list := pads.Partners(len(all), seed)
	if signer != nil {
		if err := j.verify(all, signer, list); err != nil {
			return nil, err
		}
	}
	var made []pads.Source
	for i, node := range j.rounds.Hosted {
		p, err := pads.New(node, j.own[i], public, seed, list)
		if err != nil {
			return nil, fmt.Errorf("consensus: %w", err)
		}
		made = append(made, p)
	}
	return made, nil
}

// verify returns a *wire.PeerError about a partner of a hosted node whose signature is wrong.
func (j *joining) verify(all [][]byte, signer wire.Signer, list [][]int) error {
	var nodes []int
	for _, node := range j.rounds.Hosted {
		nodes = append(nodes, list[node]...)
	}
	slices.Sort(nodes)
	for _, node := range slices.Compact(nodes) {
		if err := signer.Verify(node, all[node][:keyLen], all[node][keyLen:]); err != nil {
			return err
		}
	}
	return nil
}
