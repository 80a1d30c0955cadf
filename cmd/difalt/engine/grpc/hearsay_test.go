package grpc

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/difalt/difalt/consensus/wire"
)

// says checks that err says that a node has failed, by the word of others.
func says(t *testing.T, what string, err error, node int, kind wire.Kind, via ...int) {
	t.Helper()
	var e *wire.PeerError
	if !errors.As(err, &e) || e.Peer != node || e.Kind != kind || !slices.Equal(e.Via, via) {
		t.Errorf("%s: %v, want that nodes %d say that node %d has failed (%v)", what, err, via, node, kind)
	}
}

// TestHearsay: on a path, node 1 sends node 0 what is not due, or says of it what is not so.
// Nodes 2 and 3 hear what is said, of whom, and by whom; nobody takes it for his own finding.
func TestHearsay(t *testing.T) {
	t.Parallel()
	asleep := &wire.PeerError{Peer: 0, Kind: wire.Timeout, Err: errors.New("asleep")}
	for _, x := range []struct {
		what  string
		spoil func(p []byte) []byte // of what node 1 sends node 0
		lie   error                 // with which node 1 leaves
		found error                 // with which node 0 leaves, of what its caller has found
		node  int
		kind  wire.Kind
		via   [][]int // by node
	}{
		{"seq", func([]byte) []byte { return frame(t, 9, 8) }, nil, nil, 1, wire.Protocol, [][]int{nil, {0}, {1, 0}, {2, 1, 0}}},
		{"short", func(p []byte) []byte { return p[:4] }, nil, nil, 1, wire.Corrupt, [][]int{nil, {0}, {1, 0}, {2, 1, 0}}},
		{"nan", nil, nil, &wire.PeerError{Peer: 1, Kind: wire.Protocol, Err: errors.New("number 3 is NaN")}, 1, wire.Protocol, [][]int{nil, {0}, {1, 0}, {2, 1, 0}}},
		{"a lie", nil, asleep, nil, 0, wire.Timeout, [][]int{{1}, nil, {1}, {2, 1}}},
		{"a lie of far away", nil, &wire.PeerError{Peer: 3, Via: []int{2}, Kind: wire.Timeout, Err: errors.New("asleep")}, nil, 3, wire.Timeout, [][]int{{1, 2}, nil, {1, 2}, {2, 1}}},
	} {
		p := newParty(t, "path", 4)
		list := p.all(t, quick())
		begin(t, list)
		errs := each(list, func(tr *Transport) (err error) {
			switch {
			case tr.node == 1 && x.lie != nil:
				err = x.lie
			case tr.node == 0 && x.found != nil:
				err = x.found
			case tr.node == 1 && x.spoil != nil:
				f := frame(t, 1, 8)
				err = tr.Exchange(t.Context(), 1, [][]byte{x.spoil(slices.Clone(f)), f}, make([][]byte, 2), nil)
				if err == nil {
					err = exchange(t, tr, 2)
				}
			default:
				err = exchange(t, tr, 1)
			}
			tr.Leave(err)
			return err
		})
		for i, err := range errs {
			if x.lie == nil || i != 1 {
				says(t, fmt.Sprintf("%s, node %d", x.what, i), err, x.node, x.kind, x.via[i]...)
			}
		}
	}
}

// TestNobodyByThatNumber: a word on nodes that are not there is a lie of who says it.
func TestNobodyByThatNumber(t *testing.T) {
	for _, lie := range []*wire.PeerError{{Peer: 9}, {Peer: -1}, {Peer: 0, Via: []int{9}}, {Peer: 0, Via: make([]int, 4)}} {
		p := newParty(t, "path", 3)
		o := quick()
		o.Linger = 300 * time.Millisecond
		list := p.all(t, o)
		begin(t, list)
		go list[1].Leave(lie)
		says(t, lie.Error(), exchange(t, list[2], 1), 1, wire.Protocol)
	}
}
