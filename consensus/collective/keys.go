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

// Keys are the pads of the hosted nodes, and how they come by them. nil masks nothing.
type Keys struct {
	rounds *wire.Rounds
	own    []*ecdh.PrivateKey // of the hosted nodes, until all have the keys of all
	hashes [][]byte           // of the keys of all nodes, if they were told first
	pads   []pads.Source      // of the hosted nodes; nil: not yet
}

// mask adds pads to the words of hosted node i.
func (k *Keys) mask(words []uint64, form Form, i int) {
	if k == nil {
		return
	}
	for _, s := range form {
		k.pads[i].Add(words[:s.words()], s.limbs())
		words = words[s.words():]
	}
}

// Join lets the nodes tell one another their keys, before the first operation and never again:
// a network that is made anew, as after a node was lost, has other ones. A node makes a key for
// this, and signs it if its transport is a wire.Signer; otherwise masks protect against
// neighbours that look, but not against those that give out keys of their own for those of
// others. It returns a *wire.PeerError with the node whose signature does not hold, where that
// matters to a hosted node; see take. It is not
// counted as traffic, which is the same if all nodes live in one process.
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
	said := make([][]byte, len(k.rounds.Hosted))
	signer, signs := k.rounds.Transport().(wire.Signer)
	if k.own == nil { // otherwise what has been said is repeated
		for range said {
			key, err := ecdh.X25519().GenerateKey(rand.Reader)
			if err != nil {
				return fmt.Errorf("consensus: a key for masks: %w", err)
			}
			k.own = append(k.own, key)
		}
	}
	if k.rounds.Graph.Len() > pads.AllPairs && k.hashes == nil {
		// Partners follow from the keys, so that the nodes tell the hashes of theirs first: otherwise whoever
		// hears all other keys before its own is due could try keys until somebody's partners are all
		// its friends.
		for i, key := range k.own {
			hash := sha256.Sum256(key.PublicKey().Bytes())
			said[i] = hash[:]
		}
		hashes, err := c.tell(ctx, said)
		if err != nil {
			return err
		}
		k.hashes = hashes
	}
	for i, key := range k.own {
		said[i] = key.PublicKey().Bytes()
		if signs {
			proof, err := signer.Sign(said[i])
			if err != nil {
				return fmt.Errorf("consensus: signing a key for masks: %w", err)
			}
			said[i] = append(said[i], proof...)
		}
	}
	all, err := c.tell(ctx, said)
	if err != nil {
		return err
	}
	return k.take(all, signer)
}

// tell returns what all nodes say of their keys. It is not repeated after Rewind.
func (c *Collectives) tell(ctx context.Context, said [][]byte) ([][]byte, error) {
	all, err := c.gather(ctx, wire.Keys, said, new(wire.Traffic))
	if err == nil {
		c.rounds.Forget()
	}
	return all, err
}

const keyLen = 32

// take makes pads of what all nodes have said.
//
// It verifies the signatures of the partners of the hosted nodes, not of all. The pads of a node
// depend on its own key and on those of its partners; and who its partners are, in a large
// network, on the keys of all. Whoever passes on others in place of these must do so by their
// hashes already, before this node has told its own key, which nobody can guess, and which it
// takes from nobody else: so he cannot choose its partners, nor know whose keys will be
// verified. At best some nodes have another seed than others, and masks that do not cancel: sums
// are wrong, as any node can make them by its own numbers, and hide no less.
func (k *Keys) take(all [][]byte, signer wire.Signer) error {
	public := make([]*ecdh.PublicKey, len(all))
	for node, said := range all {
		n := min(len(said), keyLen)
		var err error
		if hash := sha256.Sum256(said[:n]); k.hashes != nil && !bytes.Equal(hash[:], k.hashes[node]) {
			err = errors.New("is not the one whose hash it has told before")
		} else if public[node], err = ecdh.X25519().NewPublicKey(said[:n]); err == nil && signer == nil && len(said) > n {
			err = fmt.Errorf("has %d bytes more", len(said)-n)
		}
		if err != nil {
			return &wire.PeerError{Peer: node, Kind: wire.Refused, Err: fmt.Errorf("its key for masks, as other nodes have passed it on: %w", err)}
		}
	}
	var about []byte
	run, epoch := k.rounds.Identity()
	about = binary.LittleEndian.AppendUint64(about, run)
	about = binary.LittleEndian.AppendUint32(about, epoch)
	seed := pads.Seed(public, about)
	if signer != nil {
		if err := k.verify(all, signer, seed); err != nil {
			return err
		}
	}
	var made []pads.Source
	for i, node := range k.rounds.Hosted {
		p, err := pads.New(node, k.own[i], public, seed)
		if err != nil {
			return fmt.Errorf("consensus: %w", err)
		}
		made = append(made, p)
	}
	k.pads, k.own, k.hashes = made, nil, nil
	return nil
}

// verify returns a *wire.PeerError about a partner of a hosted node that has not signed the
// key that has come in its name.
func (k *Keys) verify(all [][]byte, signer wire.Signer, seed []byte) error {
	var nodes []int
	for _, node := range k.rounds.Hosted {
		nodes = append(nodes, pads.Partners(node, len(all), seed)...)
	}
	slices.Sort(nodes)
	for _, node := range slices.Compact(nodes) {
		if err := signer.Verify(node, all[node][:keyLen], all[node][keyLen:]); err != nil {
			return err
		}
	}
	return nil
}
