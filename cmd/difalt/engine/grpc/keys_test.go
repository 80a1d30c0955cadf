package grpc

import (
	"errors"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/engine/cluster"
	"github.com/difalt/difalt/consensus/wire"
)

// A forger proves its keys by what a test wants.
type forger struct {
	*Transport
	sign func(msg []byte) ([]byte, error)
}

func (f forger) Sign(msg []byte) ([]byte, error) { return f.sign(msg) }

// TestForgedKeys: a node that shows a key for masks which it has not signed ends the run before
// anything is added, at all nodes, with its name.
func TestForgedKeys(t *testing.T) {
	t.Parallel()
	for what, forge := range map[string]func(p *party, list []*Transport) func(msg []byte) ([]byte, error){
		"signed by another node": func(_ *party, list []*Transport) func([]byte) ([]byte, error) { return list[3].Sign },
		"another key than is signed": func(_ *party, list []*Transport) func([]byte) ([]byte, error) {
			return func([]byte) ([]byte, error) { return list[1].Sign([]byte("another key")) }
		},
		"of another run": func(p *party, _ []*Transport) func([]byte) ([]byte, error) {
			other := p.changed(func(c *cluster.Cluster) { c.Run = "00000000000000ff" })
			return func(msg []byte) ([]byte, error) { return other.Sign(p.id(1), msg) }
		},
		"nonsense": func(*party, []*Transport) func([]byte) ([]byte, error) {
			return func([]byte) ([]byte, error) { return []byte("a proof"), nil }
		},
		"nothing": func(*party, []*Transport) func([]byte) ([]byte, error) {
			return func([]byte) ([]byte, error) { return nil, nil }
		},
	} {
		p := newParty(t, "path", 4)
		list := p.all(t, quick())
		sign := forge(p, list)
		errs := each(list, func(tr *Transport) error {
			if err := tr.Join(t.Context()); err != nil {
				return err
			}
			var at wire.Transport = tr
			if tr.node == 1 {
				at = forger{tr, sign}
			}
			_, err := work(t.Context(), p.c, at, 20)
			tr.Leave(err)
			return err
		})
		for i, err := range errs {
			var e *wire.PeerError
			if !errors.As(err, &e) || e.Peer != 1 || e.Kind != wire.Refused {
				t.Errorf("%s: node %d: %v, want that the key of node 1 is refused", what, i, err)
			}
		}
	}
}

// TestSpoiltKeys: the same when a node passes on another key than it was given. Whose key it
// was is named, and that others have passed it on.
func TestSpoiltKeys(t *testing.T) {
	t.Parallel()
	p := newParty(t, "path", 3)
	list := p.all(t, quick())
	msg := []byte("a key")
	proof := must[[]byte](t)(list[0].Sign(msg))
	proof[len(proof)-1] ^= 1
	peerError(t, "spoilt", list[2].Verify(0, msg, proof), 0, wire.Refused, "passed on by others")
}
