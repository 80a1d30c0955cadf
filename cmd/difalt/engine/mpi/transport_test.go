//go:build mpi

package mpi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/difalt/difalt/cmd/difalt/engine"
	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/topology"
)

// TestSameBits: by 2, 4 and 8 processes, on sparse and dense graphs, averages and sums
// have the bits of one process.
func TestSameBits(t *testing.T) { succeeds(t, "same bits") }

func init() {
	parts["same bits"] = func(w *World) error {
		for _, name := range []string{"path", "star", "complete"} {
			g := must(topology.Parse(name, w.Size(), 1))
			tr, err := connect(w, g, quick())
			if err != nil {
				return err
			}
			got, err := work(g, tr)
			if err != nil {
				return err
			}
			want := must(work(g, nil))
			if got[w.Rank()] != want[w.Rank()] || got[w.Rank()] == "" {
				return fmt.Errorf("%s: other bits than in one process", name)
			}
			if err := tr.Close(); err != nil {
				return err
			}
			if err := tr.Exchange(context.Background(), 0, nil, nil, nil); !errors.Is(err, engine.ErrClosed) {
				return fmt.Errorf("after Close: %v", err)
			}
		}
		return nil
	}
}

// work averages and adds by gossip and along the tree, and returns the bits of the results by node.
func work(g *topology.Graph, tr wire.Transport) (map[int]string, error) {
	n, err := consensus.New(must(topology.NewWeights(g, topology.Metropolis)), tr)
	if err != nil {
		return nil, err
	}
	bits := make(map[int]string)
	for _, e := range []consensus.Exchange{must(n.Agree(5, nil)), must(n.TreeMean(consensus.Float64)), must(n.TreeMean(consensus.Int8))} {
		z, sums := make([]consensus.Message, len(n.Hosted())), make([][]float64, len(n.Hosted()))
		for i, node := range n.Hosted() {
			z[i] = consensus.Message{Basis: kernel.NewBasis(3000, 2)}
			rng := rand.New(rand.NewPCG(uint64(node), 5))
			for k := range z[i].Basis.Col(0) {
				z[i].Basis.Col(0)[k] = rng.NormFloat64()
			}
		}
		for round := range 6 {
			if err := e.Average(context.Background(), z); err != nil {
				return nil, err
			}
			for i := range z {
				sums[i] = append([]float64(nil), z[i].Basis.Col(0)[:1+500*(round%2)]...)
			}
			if err := n.Sum(context.Background(), sums); err != nil {
				return nil, err
			}
		}
		for i, node := range n.Hosted() {
			bits[node] += fmt.Sprintf("%x %x", z[i].Basis.Data(), sums[i])
		}
	}
	return bits, nil
}

// TestLengths: frames of any lengths, other ones on every link and in every round, arrive as they were sent.
func TestLengths(t *testing.T) { succeeds(t, "lengths") }

func init() {
	parts["lengths"] = func(w *World) error {
		g := ring(w)
		tr, err := connect(w, g, quick())
		if err != nil {
			return err
		}
		peers := g.Neighbors(w.Rank())
		sent := func(from, to int, seq uint64) []byte {
			rng := rand.New(rand.NewPCG(uint64(from*100+to), seq))
			length := 0
			if rng.IntN(3) > 0 {
				length = 8 * rng.IntN(1<<rng.IntN(16)) // to half a megabyte
			}
			return frame(length, uint64(from), uint64(to), seq)
		}
		out, in := make([][]byte, len(peers)), make([][]byte, len(peers))
		for seq := range uint64(150) {
			for k, j := range peers {
				out[k] = sent(w.Rank(), j, seq)
			}
			if err := tr.Exchange(context.Background(), seq, out, in, nil); err != nil {
				return err
			}
			for k, j := range peers {
				if !bytes.Equal(in[k], sent(j, w.Rank(), seq)) {
					return fmt.Errorf("round %d: a frame from %d is not what was sent", seq, j)
				}
			}
			if peers, _ := tr.Waiting(); peers != nil {
				return fmt.Errorf("done, but waits for %d", peers)
			}
		}
		return nil
	}
}

// TestRefusals: what differs is named at every process, before anything else is sent, and
// the trouble of one is known to all.
func TestRefusals(t *testing.T) {
	for part, wants := range map[string][]string{
		"other settings": {"rank 1: consensus: node 0, round 0: refused: --rank is 2 at node 0, but 3 at node 1",
			"rank 0: consensus: node 1, round 0: refused: --rank is 3 at node 1, but 2 at node 0", "rank 3: consensus: node 1"},
		"more settings": {"rank 0: consensus: node 1, round 0: refused: --ridge is 1 at node 1, but unknown at node 0",
			"rank 1: consensus: node 0, round 0: refused: --ridge is unknown at node 0, but 1 at node 1"},
		"trouble":     {"rank 2: no such file", "rank 0: consensus: node 2, round 0: closed: it has failed", "rank 3: consensus: node 2"},
		"other size":  {"rank 0: mpi: a graph of 5 nodes for 4 processes", "rank 3: mpi: a graph of 5 nodes for 4 processes"},
		"nobody else": {"rank 0: mpi: not all of the 4 processes are there after 300ms"},
	} {
		text, code := play(t, 4, part)
		if code != 1 {
			t.Errorf("%s: exit code %d: %s", part, code, text)
		}
		mentions(t, part, text, wants...)
	}
}

func init() {
	joins := func(change func(w *World, o *engine.Options)) func(w *World) error {
		return func(w *World) error {
			o := quick()
			o.Settings = []wire.Setting{{Name: "--rank", Value: "2"}}
			change(w, &o)
			_, err := connect(w, ring(w), o)
			if err == nil {
				return errors.New("no error")
			}
			return err
		}
	}
	parts["other settings"] = joins(func(w *World, o *engine.Options) {
		if w.Rank() == 1 {
			o.Settings[0].Value = "3"
		}
	})
	parts["more settings"] = joins(func(w *World, o *engine.Options) {
		if w.Rank() == 1 {
			o.Settings = append(o.Settings, wire.Setting{Name: "--ridge", Value: "1"})
		}
	})
	parts["trouble"] = func(w *World) error {
		tr, why := w.New(ring(w), quick()), errors.New("no such file")
		if w.Rank() == 2 {
			tr.Refuse(context.Background(), why)
			return why
		}
		return tr.Join(context.Background())
	}
	parts["nobody else"] = joins(func(w *World, o *engine.Options) {
		if o.JoinTimeout = 300 * time.Millisecond; w.Rank() != 0 {
			time.Sleep(time.Minute)
		}
	})
	parts["other size"] = func(w *World) error {
		_, err := connect(w, must(topology.Ring(5)), quick())
		return err
	}
}
