package testnet_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/difalt/difalt/consensus"
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

// TestLosesAll: links that lose nearly all frames deliver in the end; after the time limit of a round the
// peer has timed out.
func TestLosesAll(t *testing.T) {
	w := path(t, 2)
	for _, x := range []struct {
		loss    float64
		timeout time.Duration
		fails   bool
	}{
		{.95, 0, false},
		{.999999, time.Second / 10, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			ts, err := testnet.Connect(w.Graph(), [][]int{{0}, {1}}, testnet.Options{RoundTimeout: x.timeout, Loss: x.loss})
			if err != nil {
				t.Fatal(err)
			}
			done := make(chan error)
			for k, tr := range ts {
				go func() {
					n, err := consensus.New(w, tr)
					for range 30 {
						if err == nil {
							z := [][]float64{{float64(k + 1)}}
							if err = n.Sum(t.Context(), z); err == nil && z[0][0] != 3 {
								t.Errorf("process %d: %v", k, z)
							}
						}
					}
					tr.Close()
					done <- err
				}()
			}
			for range ts {
				var peer *wire.PeerError
				switch err := <-done; {
				case !x.fails && err != nil:
					t.Error(err)
				case x.fails && (!errors.As(err, &peer) || peer.Kind != wire.Timeout && peer.Kind != wire.Closed):
					t.Errorf("%v, want a timeout", err)
				}
			}
		})
	}
}

// TestCaller: the caller's context is not the peer's failure, and Close ends a wait.
func TestCaller(t *testing.T) {
	w := path(t, 2)
	synctest.Test(t, func(t *testing.T) {
		ts, err := testnet.Connect(w.Graph(), [][]int{{0}, {1}}, testnet.Options{RoundTimeout: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		n, err := consensus.New(w, ts[0])
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var peer *wire.PeerError
		if err := n.Sum(ctx, [][]float64{{1}}); !errors.Is(err, context.DeadlineExceeded) || errors.As(err, &peer) {
			t.Errorf("deadline of the caller: %v", err)
		}
		frame := func() error { return ts[0].Exchange(t.Context(), 1, [][]byte{nil}, [][]byte{nil}, nil) }
		if err := frame(); !errors.As(err, &peer) || peer.Kind != wire.Timeout || peer.Peer != 1 {
			t.Errorf("a silent peer: %v", err)
		}
		time.AfterFunc(time.Second, func() { ts[0].Close() })
		if err := frame(); !errors.Is(err, testnet.ErrClosed) {
			t.Errorf("closed while it waits: %v", err)
		}
		m, err := consensus.New(w, ts[1])
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Sum(t.Context(), [][]float64{{1}}); !errors.As(err, &peer) || peer.Kind == wire.Timeout {
			t.Errorf("a peer that has closed: %v", err)
		}
		ts[1].Close()
		ts[1].Close()
	})
}

func TestConnectErrors(t *testing.T) {
	g := path(t, 3).Graph()
	for want, x := range map[string]struct {
		groups [][]int
		loss   float64
	}{
		"loss is 2":         {[][]int{{0}, {1}, {2}}, 2},
		"are not all nodes": {[][]int{{0}, {1}}, 0},
	} {
		if _, err := testnet.Connect(g, x.groups, testnet.Options{Loss: x.loss}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
