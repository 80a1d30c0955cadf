package nodes

import (
	"fmt"
	"slices"

	"github.com/difalt/difalt/consensus/wire"
)

// trouble returns the error that a node has, as this process has heard. Who lives here is named
// in it; whoever else, by a *wire.PeerError: that is no failure of this process, and has come
// by way of others.
func (group *Group) trouble(g int, text string) error {
	switch {
	case g < 0:
		return fmt.Errorf("a node says that it has an error, and does not say which: %w", wire.ErrUntrue)
	case group.hosts(g):
		return fmt.Errorf("%s: %s", group.Name(g), text)
	}
	return &wire.PeerError{Peer: g, Kind: wire.Closed, Err: fmt.Errorf("as it says, by way of others: %s", text)}
}

// clash returns err, about what does not go together at nodes g and h. Where all nodes live
// here it is that; for one of the two the other has it, and for all others the second one.
func (group *Group) clash(g, h int, err error) error {
	switch {
	case group.Net.AllHosted():
		return err
	case group.hosts(h) && !group.hosts(g):
		return &wire.PeerError{Peer: g, Kind: wire.Refused, Err: err}
	case group.hosts(g) && !group.hosts(h):
		return &wire.PeerError{Peer: h, Kind: wire.Refused, Err: err}
	case group.hosts(g):
		return err
	}
	return &wire.PeerError{Peer: h, Kind: wire.Protocol, Err: fmt.Errorf("as they say, by way of others: %w", err)}
}

func (group *Group) hosts(g int) bool { return slices.Contains(group.Net.Hosted(), g) }
