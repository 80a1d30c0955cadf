package testnet_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/internal/testnet"
	"github.com/difalt/difalt/topology"
)

func path(t testing.TB, nodes int) *topology.Weights {
	t.Helper()
	g, err := topology.Path(nodes)
	if err != nil {
		t.Fatal(err)
	}
	w, err := topology.NewWeights(g, topology.Metropolis)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// TestEnds: an exchange that waits ends with its context, with its transport and with its peer, and each is
// another error.
func TestEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ts, err := testnet.Connect(path(t, 2).Graph(), [][]int{{0}, {1}}, testnet.Options{})
		if err != nil {
			t.Fatal(err)
		}
		wait := func(ctx context.Context, k int) error {
			return ts[k].Exchange(ctx, 0, [][]byte{nil}, [][]byte{nil}, nil)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := wait(ctx, 0); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the context ends: %v", err)
		}
		time.AfterFunc(time.Second, func() { ts[0].Close() })
		if err := wait(t.Context(), 0); !errors.Is(err, testnet.ErrClosed) {
			t.Errorf("the transport is closed: %v", err)
		}
		var peer *wire.PeerError
		if err := wait(t.Context(), 1); !errors.As(err, &peer) || peer.Peer != 0 || peer.Kind != wire.Closed {
			t.Errorf("the peer has closed: %v", err)
		}
		ts[0].Close() // once more
	})
	if _, err := testnet.Connect(path(t, 3).Graph(), [][]int{{0}, {1}}, testnet.Options{}); err == nil {
		t.Error("a node without a process is accepted")
	}
}
