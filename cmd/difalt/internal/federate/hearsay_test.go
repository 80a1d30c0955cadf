package federate

import (
	"errors"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/engine/cluster"
	"github.com/difalt/difalt/consensus/wire"
)

// TestHearsay: what a node has heard is put into words as hearsay, with all who pass it on.
func TestHearsay(t *testing.T) {
	c := &cluster.Cluster{}
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		c.Nodes = append(c.Nodes, cluster.Node{Name: name})
	}
	for _, x := range []struct {
		via  []int
		kind wire.Kind
		want string
	}{
		{nil, wire.Closed, `node "f" has failed (closed, round 7): gone`},
		{[]int{1}, wire.Closed, `node "b" says that node "f" has failed (closed, round 7): gone`},
		{[]int{1, 2}, wire.Timeout, `node "b" says that node "c" says that node "f" has failed (timeout, round 7): gone`},
		{[]int{0, 1, 2, 3, 4}, wire.Closed, `node "a" says that node "b" says (and so on, 2 more) that node "e" says that node "f" has failed (closed, round 7): gone`},
		{nil, wire.Refused, `node "f" and this one refuse each other: gone`},
		{[]int{1, 2}, wire.Refused, `node "b" says that node "c" says that it and node "f" refuse each other: gone`},
	} {
		err := Explain(c, &wire.PeerError{Peer: 5, Via: x.via, Round: 7, Kind: x.kind, Err: errors.New("gone")})
		if err.Error() != x.want {
			t.Errorf("%d: %v\nwant %s", x.via, err, x.want)
		}
	}
}
