// Package testdoor lets package testnet make networks whose masks a test knows or replaces. Package consensus
// exports no such constructor: it registers the constructor here.
package testdoor

import (
	"github.com/difalt/difalt/consensus/transport"
	"github.com/difalt/difalt/internal/mask"
	"github.com/difalt/difalt/topology"
)

// Masks returns the masks of a node.
type Masks func(node int) mask.Source

// NewNetwork is consensus.New with given masks of the hosted nodes, in place of masks that nodes make from
// keys that they exchange. It returns a *consensus.Network. Package consensus sets it once.
var NewNetwork func(w *topology.Weights, t transport.Transport, source Masks) (network any, err error)
