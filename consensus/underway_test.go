package consensus_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/internal/faults"
	"github.com/difalt/difalt/topology"
)

// A census counts the frames that have gone along each link, and those that have been used: at the
// other end the next exchange has begun.
type census struct {
	mu         sync.Mutex
	sent, used map[wire.Link]int
	most       int // frames that were under way along a link
	idle       int // links along which nothing went in a round
}

type censused struct {
	wire.Transport
	*census
	links []wire.Link
	next  *uint64
	came  *[]wire.Link // in the exchange before
}

func (x censused) Exchange(ctx context.Context, seq uint64, out, in [][]byte, due []bool) error {
	x.mu.Lock()
	if seq == *x.next {
		*x.next++
		for _, l := range *x.came {
			x.used[l]++
		}
		*x.came = nil
		for k, l := range x.links {
			if due[k] {
				*x.came = append(*x.came, wire.Link{Node: l.Peer, Peer: l.Node})
			}
			if len(out[k]) == 0 {
				x.idle++
				continue
			}
			x.sent[l]++
			x.most = max(x.most, x.sent[l]-x.used[l])
		}
	}
	x.mu.Unlock()
	return x.Transport.Exchange(ctx, seq, out, in, due)
}

// TestFramesUnderWay: whatever the nodes do in turn, and however late frames come, no more than two
// are under way along a link; and along a tree most links are silent.
func TestFramesUnderWay(t *testing.T) {
	t.Parallel()
	for _, w := range append(networks(t)[:2], longPath(t)) {
		for _, a := range []consensus.Agreement{{}, {Codec: consensus.Int8, Polynomial: consensus.Tree}} {
			c := &census{sent: map[wire.Link]int{}, used: map[wire.Link]int{}}
			what := fmt.Sprintf("%v on %v", a, w)
			synctest.Test(t, func(t *testing.T) {
				_, errs, _ := run(t, w, splits(w.Len())[3], func(g *topology.Graph, groups [][]int) ([]wire.Transport, error) {
					ts, err := lossy(faults.Links{Loss: .3, Delay: .3})(g, groups)
					for k := range ts {
						ts[k] = censused{ts[k], c, wire.Links(g, groups[k]), new(uint64), new([]wire.Link)}
					}
					return ts, err
				}, func(ctx context.Context, n *consensus.Network) (z [][]float64, err error) {
					z = rowsOf(n)
					for k := range 12 {
						if err == nil {
							err = n.Broadcast(ctx, k/4*2, z)
						}
						if err == nil && k%5 == 0 {
							err = n.Sum(ctx, z)
						}
					}
					if err == nil {
						_, err = everything(a)(ctx, n)
					}
					return z, err
				})
				noErrors(t, what, errs)
			})
			if c.most != 2 || c.idle == 0 {
				t.Errorf("%s: %d frames under way along a link, and %d times none was sent", what, c.most, c.idle)
			}
		}
	}
}
