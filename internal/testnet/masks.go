package testnet

import (
	"crypto/sha256"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/transport"
	"github.com/difalt/difalt/internal/mask"
	"github.com/difalt/difalt/internal/testdoor"
	"github.com/difalt/difalt/topology"
)

// Masks returns the masks of a node.
type Masks = testdoor.Masks

// NewNetwork is consensus.New with masks in place of masks that nodes make from keys. They may be nil.
func NewNetwork(w *topology.Weights, t transport.Transport, masks Masks) (*consensus.Network, error) {
	if masks == nil {
		return consensus.New(w, t)
	}
	n, err := testdoor.NewNetwork(w, t, masks)
	if err != nil {
		return nil, err
	}
	return n.(*consensus.Network), nil
}

// Unmasked are the Masks of nodes that mask nothing, so that a test sees their words.
func Unmasked(int) mask.Source { return noMask{} }

// noMask masks nothing.
type noMask struct{}

// Add implements mask.Source.
func (noMask) Add([]uint64, int) {}

// Next implements mask.Source: masks do not depend on results.
func (noMask) Next([sha256.Size]byte) {}

// Tags implements mask.Source.
func (noMask) Tags([sha256.Size]byte) []byte { return nil }

// Confirm implements mask.Source.
func (noMask) Confirm([sha256.Size]byte, [][]byte) bool { return true }
