package difalt_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/internal/testnet"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/topology"
)

// swapped runs o on a problem in which nodes i and j exchange their data, and returns what the
// others can tell; see testnet.Swap. leak is called by every node after the run.
func swapped(t *testing.T, p *difalt.Problem, w *topology.Weights, i, j int, o difalt.Options, leak func(net *consensus.Network, p *difalt.Problem) error) error {
	t.Helper()
	return testnet.Swap(w.Graph(), i, j, func(node int, tr wire.Transport, swap bool) error {
		net, err := consensus.New(w, tr)
		if err != nil {
			return err
		}
		if swap && (node == i || node == j) {
			node = i + j - node
		}
		own, o := part(p, []int{node}), o
		if o.Method == auto {
			if o, err = difalt.Auto(t.Context(), own, net, o); err != nil {
				return err
			}
			o.Agreement.Polynomial, o.Method = consensus.Tree, difalt.Newton
		}
		if _, err := difalt.Run(t.Context(), own, net, o); err != nil && !errors.Is(err, difalt.ErrDiverged) {
			return err
		}
		return leak(net, own)
	})
}

const auto = difalt.Method(255) // as Auto says

func noLeak(*consensus.Network, *difalt.Problem) error { return nil }

// dealt is a problem with so many tasks of different lengths at every node.
func dealt(tasks ...int) *synthetic {
	total := 0
	for _, k := range tasks {
		total += k
	}
	return deal(gaussian(3, 1, 10, total, 2, func(t int) int { return 12 + t%5 }, 0.05), tasks)
}

// alongTree are options with everything that a run may send along a tree.
func alongTree(t *testing.T, method difalt.Method, code string) difalt.Options {
	t.Helper()
	codec, err := consensus.ParseCodec(code)
	if err != nil {
		t.Fatal(err)
	}
	return difalt.Options{Rank: 2, Method: method, Iterations: 25, Workers: 1, Agreement: consensus.Agreement{Polynomial: consensus.Tree, Codec: codec}}
}

// TestSwap: along a tree all nodes but two, together, cannot tell which of the two has which
// data, however many tasks they have: every byte that they send and receive is the same, from
// the start to the end. The two are leaves, neighbours, or the root and a leaf.
func TestSwap(t *testing.T) {
	for _, tasks := range [][]int{{6, 6, 6, 6, 6}, {1, 9, 4, 2, 6}} {
		s := dealt(tasks...)
		w := network(t, "path", 5, topology.Metropolis, 1).Weights()
		for _, code := range []string{"none", "int8", "int4"} {
			for k, method := range append(difalt.Methods(), auto) {
				if method == difalt.DGD { // knows no tree
					continue
				}
				pair := [][2]int{{0, 4}, {0, 1}, {2, 4}}[(k+len(code))%3]
				if err := swapped(t, s.Problem, w, pair[0], pair[1], alongTree(t, method, code), noLeak); err != nil {
					t.Errorf("%v, %s, %d tasks, nodes %d: %v", method, code, tasks, pair, err)
				}
			}
		}
	}
}

// TestSwapOptions is TestSwap with what options add to a run, and with data that need units of
// their own or numbers outside of the first window of sums.
func TestSwapOptions(t *testing.T) {
	w := network(t, "er:0.5", 6, topology.Metropolis, 2).Weights()
	s := dealt(2, 3, 7, 1, 4, 5)
	for name, set := range map[string]func(o *difalt.Options, p *difalt.Problem){
		"noise":     func(o *difalt.Options, _ *difalt.Problem) { o.StopAtNoise = true },
		"looks":     func(o *difalt.Options, _ *difalt.Problem) { o.StopAtNoise, o.Rank, o.Iterations = true, 3, 60 },
		"mixed":     func(o *difalt.Options, _ *difalt.Problem) { o.MixedPrecision = true },
		"normalize": func(o *difalt.Options, _ *difalt.Problem) { o.NormalizeTasks, o.Ridge = true, 0.1 },
		"plain P":   func(o *difalt.Options, _ *difalt.Problem) { o.Accelerated.Preconditioner = difalt.PreconditionerNone },
		"every":     func(o *difalt.Options, _ *difalt.Problem) { o.EveryIteration = true },
		"diverges":  func(o *difalt.Options, _ *difalt.Problem) { o.Step, o.Scaled.Step, o.Iterations = 1e3, 100, 60 },
		"small":     func(_ *difalt.Options, p *difalt.Problem) { rescale(p, 0x1p-90, 0x1p-140) },
		"large":     func(_ *difalt.Options, p *difalt.Problem) { rescale(p, 0x1p80, 0x1p15) },
		"offset":    func(_ *difalt.Options, p *difalt.Problem) { change(p, 1, 1, 40) },
		"offset and ridge": func(o *difalt.Options, p *difalt.Problem) {
			o.Ridge = 0.5
			change(p, 3, 1, 40)
		},
	} {
		for _, method := range []difalt.Method{difalt.DifAltGDmin, difalt.Accelerated} {
			p := &difalt.Problem{Nodes: append([]*kernel.Tasks(nil), s.Nodes...)}
			o := alongTree(t, method, "none")
			set(&o, p)
			if err := swapped(t, p, w, 1, 3, o, noLeak); err != nil {
				t.Errorf("%v, %s: %v", method, name, err)
			}
		}
	}
}

// rescale multiplies features and responses.
func rescale(p *difalt.Problem, x, y float64) { change(p, x, y, 0) }

// change does so after it has added an offset to features.
func change(p *difalt.Problem, x, y, offset float64) {
	for g, k := range p.Nodes {
		rows := make([]int, k.Len())
		for t := range rows {
			rows[t] = k.Samples(t)
		}
		b := kernel.NewBuilder(k.Features(), rows, kernel.Float64)
		row := make([]float64, k.Features())
		for t, n := range rows {
			for i := range n {
				k.Row(row, t, i)
				for c := range row {
					row[c] = (row[c] + offset) * x
				}
				b.SetRow(t, i, row, k.Y(t)[i]*y)
			}
		}
		p.Nodes[g] = b.Tasks()
	}
}

// TestSwapFindsLeaks: messages of one node alone show, and so do estimates in gossip.
func TestSwapFindsLeaks(t *testing.T) {
	s := dealt(6, 6, 6, 6, 6)
	w := network(t, "path", 5, topology.Metropolis, 1).Weights()
	quick := alongTree(t, difalt.DifAltGDmin, "none")
	quick.Iterations = 2
	number := func(p *difalt.Problem) float64 { x, _ := p.Nodes[0].MaxAbs(); return x }
	for name, leak := range map[string]func(net *consensus.Network, p *difalt.Problem) error{
		"a broadcast": func(net *consensus.Network, p *difalt.Problem) error {
			return net.Broadcast(t.Context(), 4, [][]float64{{number(p)}})
		},
		"bytes of all": func(net *consensus.Network, p *difalt.Problem) error {
			_, err := net.Gather(t.Context(), [][]byte{appendFloats(nil, 64, number(p))})
			return err
		},
		"a sum by places": func(net *consensus.Network, p *difalt.Problem) error {
			z := make([]float64, net.Len())
			z[net.Hosted()[0]] = number(p)
			return net.Sum(t.Context(), [][]float64{z})
		},
	} {
		if err := swapped(t, s.Problem, w, 0, 4, quick, leak); err == nil || !strings.Contains(err.Error(), "testnet: ") {
			t.Errorf("%s is not found: %v", name, err)
		}
	}
	for _, o := range []difalt.Options{
		{Rank: 2, Iterations: 2},
		{Rank: 2, Iterations: 2, Method: difalt.Accelerated, Agreement: consensus.Agreement{Polynomial: consensus.Chebyshev, Codec: consensus.Int8}},
		{Rank: 2, Iterations: 2, Method: difalt.DGD},
	} {
		if err := swapped(t, s.Problem, w, 0, 4, o, noLeak); err == nil || !strings.Contains(err.Error(), "testnet: ") {
			t.Errorf("gossip of %v is not found: %v", fmt.Sprint(o.Method), err)
		}
	}
}
